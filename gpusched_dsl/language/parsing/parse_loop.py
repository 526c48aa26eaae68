"""Drives the LALR parser token by token: tokens with two roles, and the possible next tokens."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple, TypeAlias

from lark import Token, Tree
from lark.parse_tree_builder import ExpandSingleChild
from msgspec import Struct

from gpusched_dsl.language.parsing.grammar import parser_tables, vocabulary

Extent: TypeAlias = "tuple[int, int] | None"  # from the first character to after the last one; None without characters


class RuleReduction(NamedTuple):
    """What the parser does with `size` values that make a rule: the value of `origin`, or a single value unchanged."""

    size: int
    origin: str
    build: Callable[[list[Any]], Any]
    keeps_single: bool


class ParserActions(dict[int, "dict[str, Any]"]):
    """What follows in each state: by a terminal the next state or a reduction, by a rule the next state.

    The rows of the grammar's tables, read when a state is first met.
    """

    def __init__(self) -> None:
        grammar = parser_tables()
        self.start, self.end = grammar.start, grammar.end
        self._rows, self._symbols, self._rules = grammar.rows, grammar.symbols, grammar.lark.rules
        self._callbacks: dict[Any, Callable[[list[Any]], Any]] = grammar.lark._callbacks
        self._reductions: dict[int, RuleReduction] = {}

    def __missing__(self, state: int) -> dict[str, Any]:
        packed = self._rows[state]
        row = self[state] = {
            self._symbols[symbol]: action if action >= 0 else self._reduction(-1 - action)
            for symbol, action in zip(packed[::2], packed[1::2], strict=True)
        }
        return row

    def _reduction(self, number: int) -> RuleReduction:
        known = self._reductions.get(number)
        if known is None:
            rule = self._rules[number]
            build = self._callbacks[rule]
            keeps = len(rule.expansion) == 1 and isinstance(build, ExpandSingleChild)
            known = self._reductions[number] = RuleReduction(len(rule.expansion), rule.origin.name, build, keeps)
        return known


@cache
def actions() -> ParserActions:
    return ParserActions()


class ParserState:
    """The parser's stacks, with queries for keyword recognition and error recovery.

    Only tokens that fit are given to the parser, so the stacks are always those of a prefix of a valid text, and can be
    cut back to any earlier depth. Every tree gets the extent of its tokens, with those that are no children of it.
    """

    def __init__(self) -> None:
        self._actions = actions()
        self._stack: list[Any] = [self._actions.start]
        self._values: list[Any] = []
        self._extents: list[Extent] = []

    @property
    def depth(self) -> int:
        return len(self._stack)

    def cut_back(self, depth: int) -> None:
        """Discard everything that was read since the stack had this depth."""
        del self._stack[depth:]
        del self._values[depth - 1 :]
        del self._extents[depth - 1 :]

    def feed(self, token: Token) -> None:
        """Read a token that fits."""
        rows, stack, terminal = self._actions, self._stack, token.type
        while type(action := rows[stack[-1]][terminal]) is RuleReduction:
            self._reduce(action)
        stack.append(action)
        self._values.append(token)
        self._extents.append((token.start_pos or 0, token.end_pos or 0))

    def finish(self) -> Tree[Token]:
        """The tree of the whole text, whose end fits."""
        while self._stack[-1] != self._actions.end:
            self._reduce(self._actions[self._stack[-1]]["$END"])
        tree: Tree[Token] = self._values[-1]
        return tree

    def _reduce(self, reduction: RuleReduction) -> None:
        size, origin, build, keeps_single = reduction
        rows, stack = self._actions, self._stack
        if keeps_single:
            stack[-1] = rows[stack[-2]][origin]
            return
        values, extents = self._values, self._extents
        extent: Extent = None
        children: list[Any] = []
        if size:
            children, within = values[-size:], extents[-size:]
            del stack[-size:], values[-size:], extents[-size:]
            extent = within[0] if size == 1 else _hull(within)
        value = build(children)
        if extent is not None and isinstance(value, Tree) and value.meta.empty:
            value.meta.empty, (value.meta.start_pos, value.meta.end_pos) = False, extent
        stack.append(rows[stack[-1]][origin])
        values.append(value)
        extents.append(extent)

    def accepts(self, *terminals: str, depth: int | None = None) -> bool:
        """Whether these terminals can follow, one after the other (after the stack cut back to `depth`, if given)."""
        ahead = _Ahead(self.depth if depth is None else depth, [])
        return all(self._advance(ahead, terminal) for terminal in terminals)

    def fits(self, terminal: str) -> bool:
        """Whether a terminal can follow; fast if the table decides it directly."""
        action = self._actions[self._stack[-1]].get(terminal)
        return action is not None and (type(action) is not RuleReduction or self.accepts(terminal))

    def expected_terminals(self, depth: int | None = None) -> set[str]:
        """Return all possible next terminals, including `$END` (after the stack is cut to `depth`, if given)."""
        state = self._stack[-1 if depth is None else depth - 1]
        return {t for t in self._actions[state] if t.isupper() and self.accepts(t, depth=depth)}

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
        rows, stack, depth, pushed = self._actions, self._stack, ahead.depth, ahead.pushed
        state = pushed[-1] if pushed else stack[depth - 1]
        while (action := rows[state].get(terminal)) is not None:
            if type(action) is not RuleReduction:
                pushed.append(action)
                ahead.depth = depth
                return True
            size, origin, _, _ = action
            if size >= len(pushed):
                depth -= size - len(pushed)
                pushed.clear()
            elif size:
                del pushed[-size:]
            state = rows[pushed[-1] if pushed else stack[depth - 1]][origin]
            pushed.append(state)
            if terminal == "$END" and state == rows.end:
                return True
        return False


class _Ahead(Struct):
    """The states of the parser some tokens ahead: the first `depth` states of its stack, and `pushed` on top."""

    depth: int
    pushed: list[Any]


def _hull(extents: list[Extent]) -> Extent:
    """From the beginning of the first to the end of the last of these that have characters."""
    given = [extent for extent in extents if extent is not None]
    return (given[0][0], given[-1][1]) if given else None
