"""Data of other languages in scenarios: what to write here, with the edit if it is certain."""

from __future__ import annotations

from itertools import pairwise

from lark import Token

from gpusched_dsl.language.diagnostics.diagnostic import Edit
from gpusched_dsl.language.parsing.foreign_statements import Advice, closing_token, command_advice, kind_at
from gpusched_dsl.language.parsing.reader import StatementReader

_KEYWORDS = frozenset(("SET", "PARAM", "LET", "VAR"))
_LABELS = frozenset(("NAME", "NUMBER", "STRING", "MIN", "MAX"))
_ENDS = frozenset(("COMMA", "RBRACE", "SEMICOLON", "LBRACE", "LPAR", "RPAR", "LSQB", "RSQB"))


def advise_data(reader: StatementReader, token: Token, before: Token | None) -> Advice | None:
    """The help for a token that does not fit in a scenario, and its edits; None where nothing is known."""
    if reader.between:
        return _keyword(reader, token)
    first = reader.tokens[reader.first]
    if before is None or reader.statement_type not in ("NAME", "TABLE"):
        return None
    if reader.statement_type == "TABLE":
        if token.type == "COMMA" and not reader.open_brackets():
            return "separate the cells of a table by spaces", ""
        if token.type == "NUMBER" and str(reader.tokens[reader.first + 2]) == ":" and reader.at == reader.first + 4:
            return "name the columns before the rows: `table Jobs: length = a 4  b 2;`", None
        return None
    if reader.at == reader.first + 1:
        if token.type == "LPAR":
            closing = closing_token(reader.tokens, reader.at)
            edits = None
            if closing is not None and kind_at(reader.tokens, closing + 1) == "EQUAL":
                edits = [Edit(reader.span(token), "["), Edit(reader.span(reader.tokens[closing]), "]")]
            return "write indices in square brackets", edits
        return command_advice(reader, first)
    if token.type == "COLON" and reader.at == reader.first + 3 and before.type == "NUMBER":
        return "write a range with `..`: `1..10`", ".."
    return _labels(reader, token, before)


def _keyword(reader: StatementReader, token: Token) -> Advice | None:
    """`set I = { a };`, `param n = 3;`: a scenario gives values by name."""
    following = reader.next_token()
    if token.type not in _KEYWORDS or not reader.state.accepts("TABLE") or reader.state.accepts("CONSTRAINT"):
        return None
    help = "a scenario gives values by name: `n = 3;`; declarations are in the model"
    behind = reader.tokens[reader.at + 2] if reader.at + 2 < len(reader.tokens) else None
    given = behind is not None and behind.type in ("EQUAL", "LSQB")
    if following is None or following.type != "NAME" or not given or token.type == "VAR":
        return help, None
    return help, Edit(reader.source.span(token.start_pos or 0, following.start_pos or 0), "")


def _labels(reader: StatementReader, token: Token, before: Token) -> Advice | None:
    """`{ a b c }`, `{ gpu:0, 2a }`."""
    bracket = reader.open[-1] if reader.open else None
    if bracket is None or bracket.block or bracket.token.type != "LBRACE":
        return None
    closing = closing_token(reader.tokens, bracket.index)
    if closing is None or any(t.type == "IN" for t in reader.tokens[bracket.index : closing]):
        return None
    tokens, at = reader.tokens, reader.at
    if before.end_pos == token.start_pos and not {before.type, token.type} & _ENDS:
        runs = _runs(tokens, bracket.index + 1, closing)
        own = next(run for run in runs if run[0] <= at <= run[1])
        joined = [r for r in runs if r == own or (r[0] < r[1] and any(t.type == "COLON" for t in tokens[r[0] : r[1]]))]
        if tokens[own[1]].type == "COLON" or any(t.type == "STRING" for a, b in joined for t in tokens[a : b + 1]):
            return None  # `{ x: 1 }`
        spans = [reader.span(tokens[first]).to(reader.span(tokens[last])) for first, last in joined]
        label = reader.span(tokens[own[0]]).to(reader.span(tokens[own[1]])).text
        edits = [Edit(span, f'"{span.text}"') for span in spans]
        return f'quote a label that is not a plain word: `"{label}"`', edits
    if before.type in _LABELS and token.type in _LABELS:
        inside = tokens[bracket.index + 1 : closing]
        if any(t.type not in (*_LABELS, "COMMA") for t in inside):
            return "separate labels by commas", None
        gaps = [
            reader.source.span(a.end_pos or 0, a.end_pos or 0)
            for a, b in pairwise(inside)
            if a.type in _LABELS and b.type in _LABELS
        ]
        return "separate labels by commas", [Edit(gap, ",") for gap in gaps]
    return None


def _runs(tokens: list[Token], start: int, end: int) -> list[tuple[int, int]]:
    """The first and last tokens of pieces of text without spaces and commas."""
    found: list[tuple[int, int]] = []
    for at in range(start, end):
        if tokens[at].type in _ENDS:
            continue
        touches = at > start and tokens[at - 1].end_pos == tokens[at].start_pos and tokens[at - 1].type not in _ENDS
        found.append((found.pop()[0], at) if touches and found else (at, at))
    return found
