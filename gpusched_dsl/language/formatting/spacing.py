"""The spaces between two neighbouring tokens of a line."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

from lark import Token

_PAIRS = {"LPAR": "RPAR", "LSQB": "RSQB", "LBRACE": "RBRACE"}
_CLOSING = frozenset(_PAIRS.values())
_OPERANDS = frozenset(("NAME", "NUMBER", "STRING", "UNIT_SIGN", "TRUE", "FALSE", *_CLOSING))
_SIMPLE = frozenset(("NAME", "NUMBER"))
_AGGREGATES = ("SUM", "PROD", "MIN", "MAX", "NORM", "ANY", "ALL", "COUNT", "ARGMIN", "ARGMAX", "ALL_DIFFERENT",
               "SOS1", "SOS2", "NO_OVERLAP", "CUMULATIVE")  # fmt: skip
_CALLED = frozenset(("NAME", *_AGGREGATES))
_SIGNS = frozenset(("PLUS", "MINUS"))
_SUBSCRIPT_BEGINS = frozenset(("LSQB", "COMMA", "DOTS"))
_SUBSCRIPT_ENDS = frozenset(("RSQB", "COMMA", "DOTS"))


class Spacing:
    """The place of each token of a text.

    For each token by number: the first token of its `statement`, the innermost `bracket` around it (None if there is
    none; braces around statements do not count), whether it is a `cell` of a table, in a `unit`, a `sign` without left
    operand, a `tight` operator. `opener` gives the other half of each closing bracket.

    `starts` and `braces` are the numbers of the tokens that begin statements and of the braces around statements;
    `units` the character ranges of units, in order.
    """

    def __init__(
        self, tokens: Sequence[Token], starts: set[int], braces: set[int], units: Sequence[tuple[int, int]]
    ) -> None:
        self.tokens = tokens
        self.starts = starts
        self.braces = braces
        self.statement: list[int] = []
        self.bracket: list[int | None] = []
        self.opener: dict[int, int] = {}
        self.cell: list[bool] = []
        self._place_tokens()
        self.unit = self._in_units(units)
        self._places = [t.start_pos or 0 for t in tokens]
        self.sign = [self._is_sign(i) for i in range(len(tokens))]
        self.tight = [self._is_tight(i) for i in range(len(tokens))]

    def before(self, number: int) -> str:
        """The blanks before a token that does not begin a line."""
        a, b = self._type(number - 1), self._type(number)
        if b in ("SEMICOLON", "COMMA"):
            return ""
        if number in self.starts:
            return "  " if a == "SEMICOLON" and b != "RBRACE" else " "
        if number in self.braces or number - 1 in self.braces or a == "COMMA":
            return " "
        if self.unit[number - 1] and self.unit[number]:
            return ""
        if self.tight[number - 1] or self.tight[number] or self.sign[number - 1]:
            return ""
        if a in ("LPAR", "LSQB") or b in ("RPAR", "RSQB") or (a, b) == ("LBRACE", "RBRACE"):
            return ""
        if b == "COLON":
            return " " if self._bracket_type(number) == "LBRACE" else ""
        if b == "LSQB":
            return "" if a in _OPERANDS or a in _CALLED else " "
        if b == "LPAR":
            return "" if self._is_called(number - 1) else " "
        return " "

    def within(self, start: int, end: int) -> range:
        """The numbers of the tokens that begin in a stretch of the text."""
        return range(bisect_left(self._places, start), bisect_left(self._places, end))

    def _type(self, number: int) -> str:
        return self.tokens[number].type if 0 <= number < len(self.tokens) else ""

    def _bracket_type(self, number: int) -> str:
        opened = self.bracket[number]
        return "" if opened is None else self._type(opened)

    def _place_tokens(self) -> None:
        opened: list[int] = []
        first, cells = 0, False
        for i, token in enumerate(self.tokens):
            if i in self.starts:
                first, cells, opened = i, False, []
            if token.type in _CLOSING and i not in self.braces and opened:
                self.opener[i] = opened.pop()
            self.statement.append(first)
            self.bracket.append(opened[-1] if opened else None)
            self.cell.append(cells)
            if token.type in _PAIRS and i not in self.braces:
                opened.append(i)
            if self._type(first) == "TABLE" and (
                token.type == "EQUAL" or (token.type == "COLON" and self._type(first + 2) == "LSQB")
            ):
                cells = token.type == "EQUAL" or not opened

    def _in_units(self, units: Sequence[tuple[int, int]]) -> list[bool]:
        inside: list[bool] = []
        at = 0
        for token in self.tokens:
            place = token.start_pos or 0
            while at < len(units) and units[at][1] <= place:
                at += 1
            inside.append(at < len(units) and units[at][0] <= place)
        return inside

    def _is_sign(self, number: int) -> bool:
        """Whether a plus or minus has no left operand."""
        if self._type(number) not in _SIGNS:
            return False
        return self.cell[number] or number == 0 or self._type(number - 1) not in _OPERANDS

    def _is_tight(self, number: int) -> bool:
        """Whether an operator has no spaces: `1..n`, `x^2`, a time `9:00`, and the minus of a subscript `h-1`."""
        kind = self._type(number)
        if kind in ("DOTS", "CARET") or (kind == "COLON" and self._type(self.statement[number]) == "REPLAN"):
            return True
        return (
            kind in _SIGNS
            and not self.sign[number]
            and self._bracket_type(number) == "LSQB"
            and self._type(number - 1) in _SIMPLE
            and self._type(number + 1) in _SIMPLE
            and self._type(number - 2) in _SUBSCRIPT_BEGINS
            and self._type(number + 2) in _SUBSCRIPT_ENDS
        )

    def _is_called(self, number: int) -> bool:
        """Whether the parenthesis after this token encloses the arguments of a function (not settings, not a role)."""
        if self._type(number) not in _CALLED or number in self.starts:
            return False
        if self.bracket[number] is None and (number > 0 and self._type(number - 1) in ("AS", "GENERATE")):
            return False  # options of a format or generator
        return self._type(self.statement[number]) != "SOLVE" or self.bracket[number] is not None
