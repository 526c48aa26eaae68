"""What the text before the cursor allows next: the parser's state, open brackets, and the indices in scope."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from lark import Token

from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.parsing.grammar import CLOSER_OF, OPENER_OF
from gpusched_dsl.language.parsing.lexing import lex
from gpusched_dsl.language.parsing.parse_loop import ParserState
from gpusched_dsl.language.source import Source
from gsdsl_editor.chunks import HEADS, last_statement

_WORD = re.compile(r"\w*\Z")


@dataclass(frozen=True, slots=True)
class IndexBinding:
    """An index at the cursor: the name of its set ("" for another domain), and its component of the elements."""

    name: str
    domain: str
    component: int


@dataclass(slots=True)
class Cursor:
    """The cursor in its statement.

    `word` begins at offset `start`. `tokens` are those of the statement before the word, with their roles. `expected`
    are the terminals that can follow; None if the statement has an error before. `in_text` is true inside quotes.
    """

    keyword: str
    start: int
    word: str
    tokens: list[Token]
    expected: frozenset[str] | None
    in_text: bool = False
    brackets: list[int] = field(default_factory=list)

    @property
    def last(self) -> str:
        """The last word or sign before the cursor."""
        return str(self.tokens[-1]) if self.tokens else ""

    @property
    def first(self) -> str:
        """The first word of the statement."""
        return str(self.tokens[0]) if self.tokens else ""

    def subscript(self) -> tuple[str, int] | None:
        """The name before the innermost open `[`, and the number of the subscript at the cursor."""
        if not self.brackets or self.tokens[self.brackets[-1]].type != "LSQB":
            return None
        at = self.brackets[-1]
        if at == 0 or self.tokens[at - 1].type not in ("NAME", "MIN"):
            return None
        depth, number = 0, 0
        for token in self.tokens[at + 1 :]:
            depth += (token.type in CLOSER_OF) - (token.type in OPENER_OF)
            number += token.type == "COMMA" and depth == 0
        return str(self.tokens[at - 1]), number


def cursor_at(text: str, offset: int) -> Cursor:
    """Read the statement before an offset."""
    before = text[:offset]
    match = _WORD.search(before)
    start = offset if match is None else match.start()
    word = before[start:]
    keyword, begin = last_statement(before[:start])
    line = before[before.rfind("\n", 0, start) + 1 : start]
    in_text = line.split("#")[0].count('"') % 2 == 1 if '"' in line else False
    if in_text:
        start = before.rfind('"') + 1
        word = before[start:]
    head = HEADS.get(keyword, "")
    shown = before[begin : start - 1 if in_text else start]
    lexed = lex(Source("", head + shown), Diagnostics())
    tokens = lexed.tokens if lexed is not None else []
    read, expected = _read(tokens)
    own = [token for token in read if (token.start_pos or 0) >= len(head)]
    cursor = Cursor(keyword, start, word, own, expected, in_text)
    for number, token in enumerate(own):
        if token.type in CLOSER_OF:
            cursor.brackets.append(number)
        elif token.type in OPENER_OF and cursor.brackets:
            cursor.brackets.pop()
    return cursor


def _read(tokens: list[Token]) -> tuple[list[Token], frozenset[str] | None]:
    """The tokens with their roles, and what can follow."""
    state = ParserState()
    read: list[Token] = []
    fits = True
    for number, token in enumerate(tokens):
        following = tokens[number + 1] if number + 1 < len(tokens) else None
        if fits:
            token = state.role(token, following)
            fits = state.fits(token.type)
            if fits:
                state.feed(token)
        read.append(token)
    return read, frozenset(state.expected_terminals()) if fits else None


def indices_at(cursor: Cursor) -> list[IndexBinding]:
    """The indices that are bound at the cursor, innermost last."""
    tokens, depth = cursor.tokens, 0
    found: list[tuple[int, IndexBinding]] = []
    for at, token in enumerate(tokens):
        if token.type in CLOSER_OF:
            depth += 1
        elif token.type in OPENER_OF:
            depth -= 1
            found = [(lives, binding) for lives, binding in found if lives <= depth]
        if token.type != "IN" or at == 0 or (depth == 0 and cursor.keyword == "model"):
            continue
        opener = _opener(tokens, at)
        lives = depth - 1 if opener == "LSQB" else depth
        domain = str(tokens[at + 1]) if at + 1 < len(tokens) and tokens[at + 1].type == "NAME" else ""
        bound = {binding.name for _, binding in found}
        for component, name in enumerate(_names_before(tokens, at)):
            if name not in bound:
                found.append((lives, IndexBinding(name, domain, component)))
    return [binding for _, binding in found]


def _opener(tokens: list[Token], at: int) -> str:
    """The type of the innermost bracket that is open at a token."""
    depth = 0
    for token in reversed(tokens[:at]):
        depth += (token.type in OPENER_OF) - (token.type in CLOSER_OF)
        if depth < 0:
            return str(token.type)
    return ""


def _names_before(tokens: list[Token], at: int) -> list[str]:
    """The names of an index before `in`: one name, or those of a tuple."""
    if tokens[at - 1].type == "NAME":
        return [str(tokens[at - 1])]
    if tokens[at - 1].type != "RPAR":
        return []
    names: list[str] = []
    for token in reversed(tokens[: at - 1]):
        if token.type == "LPAR":
            return names[::-1]
        if token.type == "NAME":
            names.append(str(token))
        elif token.type != "COMMA":
            return []
    return []
