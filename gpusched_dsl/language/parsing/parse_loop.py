"""Drives the LALR parser token by token: tokens with two roles, and the possible next tokens."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from lark import Token, Tree
from lark.parsers.lalr_analysis import Shift

from gpusched_dsl.language.parsing.grammar import lark, vocabulary


class ParserState:
    """The parser's stacks, with queries for keyword recognition and error recovery.

    Only tokens that fit are given to the parser, so the stacks are always those of a prefix of a valid text, and can be
    cut back to any earlier depth.
    """

    def __init__(self) -> None:
        interactive = lark().parse_interactive("")
        self._state = interactive.parser_state
        self._states: dict[Any, dict[str, tuple[Any, Any]]] = self._state.parse_conf.parse_table.states

    @property
    def depth(self) -> int:
        return len(self._state.state_stack)

    def cut_back(self, depth: int) -> None:
        """Discard everything that was read since the stack had this depth."""
        del self._state.state_stack[depth:]
        del self._state.value_stack[depth - 1 :]

    def feed(self, token: Token) -> None:
        self._state.feed_token(token)

    def finish(self, last: Token) -> Tree[Token]:
        tree: Tree[Token] = self._state.feed_token(Token.new_borrow_pos("$END", "", last), is_end=True)
        return tree

    def accepts(self, *terminals: str, depth: int | None = None) -> bool:
        """Whether these terminals can follow, one after the other (after the stack cut back to `depth`, if given)."""
        ahead = _Ahead(self._state.state_stack, self.depth if depth is None else depth, [])
        return all(self._advance(ahead, terminal) for terminal in terminals)

    def fits(self, terminal: str) -> bool:
        """Whether a terminal can follow; fast if the table decides it directly."""
        action = self._states[self._state.position].get(terminal)
        return action is not None and (action[0] is Shift or self.accepts(terminal))

    def expected_terminals(self, depth: int | None = None) -> set[str]:
        """Return all possible next terminals, including `$END` (after the stack is cut to `depth`, if given)."""
        state = self._state.state_stack[-1 if depth is None else depth - 1]
        return {t for t in self._states[state] if t.isupper() and self.accepts(t, depth=depth)}

    def role(self, token: Token, following: Token | None) -> Token:
        """Return the token, as a keyword if it is one at this place."""
        if token.type != "NAME":
            return token
        candidates = vocabulary().soft.get(str(token))
        if candidates is None:
            return token
        fitting = [c for c in candidates if self.fits(c)]
        if not fitting:
            return token
        # A statement of a scenario can begin with a keyword or a name: the next token decides.
        if self.fits("NAME") and following is not None:
            after = (following.type, *vocabulary().soft.get(str(following), ()))
            if not any(self.accepts(fitting[0], f) for f in after):
                return token
        return Token.new_borrow_pos(fitting[0], str(token), token)

    def _advance(self, ahead: _Ahead, terminal: str) -> bool:
        """Advance the states by a terminal; return False if it is not allowed. Values do not change."""
        while True:
            action = self._states[ahead.top()].get(terminal)
            if action is None:
                return False
            kind, argument = action
            if kind is Shift:
                ahead.pushed.append(argument)
                return True
            ahead.pop(len(argument.expansion))
            ahead.pushed.append(self._states[ahead.top()][argument.origin.name][1])
            if terminal == "$END" and ahead.top() == self._state.parse_conf.end_state:
                return True


@dataclass(slots=True)
class _Ahead:
    """The states of the parser some tokens ahead: the first `depth` states of its stack, and `pushed` on top."""

    stack: list[Any]
    depth: int
    pushed: list[Any]

    def top(self) -> Any:
        return self.pushed[-1] if self.pushed else self.stack[self.depth - 1]

    def pop(self, count: int) -> None:
        from_pushed = min(count, len(self.pushed))
        if from_pushed:
            del self.pushed[-from_pushed:]
        self.depth -= count - from_pushed
