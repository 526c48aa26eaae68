"""Reports of unexpected tokens: the remedy, with the edit if it is certain."""

from __future__ import annotations

import re

from lark import Token

from gpusched_dsl.language.diagnostics.diagnostic import Edit, Label
from gpusched_dsl.language.parsing import foreign
from gpusched_dsl.language.parsing.foreign_data import advise_data
from gpusched_dsl.language.parsing.foreign_expressions import advise_expression
from gpusched_dsl.language.parsing.foreign_statements import Advice, advise_statement
from gpusched_dsl.language.parsing.grammar import AGGREGATES, CLOSER_OF
from gpusched_dsl.language.parsing.reader import StatementReader
from gpusched_dsl.language.parsing.wording import expected_text, token_text
from gpusched_dsl.language.units import UNITS

_CALENDAR = (
    'write `calendar from "2026-10-05 00:00" in "Europe/Berlin";`, with `holidays { "2026-12-25" }` before the `;`'
)
_REPLAN = "write `replan at 9:00, 18:00 on weekdays;`, and `replan on ...` as a line of its own"
_NONE: Advice = (None, None)
_COMPARISONS = frozenset(("EQ", "NE", "LE", "GE", "LT", "GT"))
_INDEXED = frozenset(("CONSTRAINT", "PARAM", "VAR", "LET", "RANDOM", "CHECK", "SET"))


def report_unexpected(reader: StatementReader, token: Token) -> None:
    """Report a token that does not fit (GSM1010), or the open bracket that it leaves open (GSM1012)."""
    bracket = reader.open[-1] if reader.open and not reader.open[-1].block else None
    if bracket is not None and token.type in ("SEMICOLON", "RBRACE", "$END"):
        reader.error(
            "GSM1012",
            f"`{bracket.token}` is not closed",
            reader.span(bracket.token),
            "opened here",
            also=Label(reader.span(token), f"`{CLOSER_OF[bracket.token.type][1]}` is missing before this"),
        )
        return
    expected = reader.state.expected_terminals()
    help, fix = _advice(reader, token)
    pair = None if bracket is None else CLOSER_OF[bracket.token.type][0]
    reader.error(
        "GSM1010",
        f"expected {expected_text(expected)}, found {token_text(token)}",
        reader.span(token),
        also=Label(reader.span(bracket.token), "inside this") if bracket and pair in expected else None,
        help=help,
        fix=fix,
    )


def _advice(reader: StatementReader, token: Token) -> Advice:
    """The help for an unexpected token, and its edits; None where nothing is known."""
    before = reader.tokens[reader.at - 1] if reader.at else None
    given = advise_data(reader, token, before)
    if given is not None:
        return given
    if reader.between:
        return advise_statement(reader, token)
    for find in (advise_date, advise_expression, _number, _aggregate, _condition, _indices, _attribute):
        found = find(reader, token, before)
        if found is not None:
            return found
    if str(before) == "NOT":
        assert before is not None
        return "write `not`", Edit(reader.span(before), "not")
    if token.type == "TILDE" and reader.state.accepts("NOT"):
        return "write `not`", foreign.space("not", "", reader.source.text[token.end_pos : (token.end_pos or 0) + 1])
    if str(token) == "%" and not reader.state.accepts("NAME"):
        return "write `a mod b` for the remainder of an integer quotient", foreign.space(
            "mod", _char(reader, -1), _char(reader, 1)
        )
    if token.type in ("IF", "ANY", "ALL", "NOT") and reader.state.accepts("LPAR"):
        return f"put parentheses around the complete `{token} ...`", None
    if token.type == "ELSE" and any(o.token.type == "LPAR" for o in reader.open):
        return "only a subscripted name can have an `else`: `(x[k, h-1] else was[k])`", None
    if token.type == "COLON" and reader.open and not reader.open[-1].block:
        inside = reader.tokens[reader.open[-1].index : reader.at]
        keyed = any(t.type == "COLON" for t in inside)  # `{ a: 4, b: 2 }`
        return "values with keys are a table: `table Jobs: length[h] = a 4  b 2;`" if keyed else None, None
    if reader.statement_type == "TABLE":
        return _table(reader, token, before)
    return _NONE


def _table(reader: StatementReader, token: Token, before: Token | None) -> Advice:
    if "DOT" in reader.state.expected_terminals():
        return "quote a label that is not a plain word", None
    if before is None:
        return _NONE
    if reader.open[-1].token.type == "LSQB" and str(token) in ("x", "*", "cross"):  # `time[Jobs x Machines]`
        return "separate the sets by commas", Edit(reader.source.span(before.end_pos or 0, token.end_pos or 0), ",")
    if token.type == "LSQB" and before.type == "RSQB":  # `time[Jobs, Machines][h]`
        return "write the unit after `in`, as in `table time[Jobs, Machines] in h: ...`", None
    return _NONE


def _number(reader: StatementReader, token: Token, before: Token | None) -> Advice | None:
    """`1_000`, `0x1F`, `5.`, `2b`, `3 h`."""
    if before is None or before.type != "NUMBER":
        return None
    touching = before.end_pos == token.start_pos
    both = reader.span(before).to(reader.span(token))
    if touching and token.type == "NAME" and re.fullmatch(r"(_[0-9]+)+", str(token)):
        plain = both.text.replace("_", "")
        return f"write `{plain}`", Edit(both, plain)
    if touching and (re.fullmatch("0[xX][0-9a-fA-F]+", both.text) or re.fullmatch(".*[eE]", both.text)):
        return "numbers are written as `1000`, `0.25` or `1e-3`", None
    if touching and token.type == "DOT":
        return f"write `{before}`", Edit(reader.span(token), "")
    if token.type in ("NAME", "MIN", "UNIT_SIGN") and reader.state.accepts("LSQB"):
        if token.type == "NAME" and str(token) not in UNITS:
            return (None if str(token).lower() in _AFTER else "write a product with `*`"), None
        return f"write a unit in brackets, `{before}[{token}]`; write a product with `*`", None
    return None


def _aggregate(reader: StatementReader, token: Token, before: Token | None) -> Advice | None:
    if before is None:
        return None
    first = reader.tokens[reader.first].type
    if reader.at == reader.first + 2 and before.type == "NAME":
        if token.type == "EQUAL" and first in ("MINIMIZE", "MAXIMIZE"):
            return f"write `{before}: ...`", ":"
        if token.type in ("NAME", "NUMBER", *AGGREGATES) and first == "CONSTRAINT" and str(token).lower() not in _LOOPS:
            behind = reader.end_of_last()
            return "write a `:` before the condition", Edit(behind, ":")
    if str(token).lower() in _LOOPS and first == "CONSTRAINT":
        return "write indices after the name: `constraint name[i in Set]: ...`", None
    if str(token) in _POWERS:
        return f"write `^ {_POWERS[str(token)]}`", f" ^ {_POWERS[str(token)]}"
    if before.type in AGGREGATES and reader.state.expected_terminals() <= {"LPAR", "LSQB"}:
        return f"write `{before}[j in Jobs] ...`", None
    if token.type in AGGREGATES and before.type == "CONSTRAINT":
        return "give the constraint a name: `constraint name: ...`", None
    if token.type == "COLON" and before.type == "CONSTRAINT":
        return "give the constraint a name: `constraint name: ...`", None
    if token.type == "COLON" and before.type in ("MINIMIZE", "MAXIMIZE"):
        return f"write `{before} ...`, or a name before the `:`", Edit(reader.span(token), "")
    # `exists[i in I] x[i]`: a name with what it runs over in brackets
    if before.type == "RSQB":
        opening = _opening_token(reader.tokens, reader.at - 1)
        word = reader.tokens[opening - 1] if opening else None
        if opening and word is not None and any(t.type == "IN" for t in reader.tokens[opening : reader.at]):
            meant = _AGGREGATES.get(str(word).lower())
            if meant is not None:
                return f"write `{meant}[...]`", Edit(reader.span(word), meant)
            if str(word).lower() in ("avg", "average", "mean"):
                return "write `sum[j in Jobs] x[j] / count(Jobs)`", None
    return None


# What other languages write behind an expression.
_AFTER = frozenset(("for", "forall", "such", "unless", "when", "mod", "div", "xor", "otherwise"))
_LOOPS = ("for", "forall")
_POWERS = {"²": 2, "³": 3}
_AGGREGATES = {
    "forall": "all", "exists": "any", "maximum": "max", "minimum": "min", "product": "prod",
    "alldifferent": "all_different", "alldiff": "all_different",
}  # fmt: skip


def _opening_token(tokens: list[Token], closing: int) -> int | None:
    depth = 0
    for i in range(closing, -1, -1):
        depth += (tokens[i].type == "RSQB") - (tokens[i].type == "LSQB")
        if depth == 0:
            return i
    return None


def _condition(reader: StatementReader, token: Token, before: Token | None) -> Advice | None:
    """Inside index brackets: `:`, `if` or a comma before a condition, `i = 1..3`."""
    bracket = reader.open[-1] if reader.open and not reader.open[-1].block else None
    if bracket is None or bracket.token.type not in ("LSQB", "LBRACE"):
        return None
    inside = reader.tokens[bracket.index + 1 : reader.at]
    indexed = any(t.type == "IN" for t in inside)
    if token.type == "EQUAL" and not indexed and before is not None and before.type == "NAME":
        return f"write `{before} in ...`", foreign.space("in", _char(reader, -1), _char(reader, 1))
    colon = next((t for t in inside if t.type == "COLON"), None)
    if colon is not None and token.type in _COMPARISONS and bracket.token.type == "LBRACE":
        after = inside[inside.index(colon) :]
        if indexed and not any(t.type == "IN" for t in after):
            where = foreign.space("where", _sign_before(reader, colon), _sign_after(reader, colon))
            return "write `{ i in Set where condition }`", Edit(reader.span(colon), where)
    if not indexed or not reader.state.accepts("WHERE"):
        return None
    if token.type in ("COLON", "IF") or str(token) == "such":
        following = reader.next_token()
        two = str(token) == "such" and following is not None and str(following) == "that"
        span = reader.span(token).to(reader.span(following)) if two and following is not None else reader.span(token)
        if str(token) == "such" and not two:
            return None
        where = foreign.space(
            "where", reader.source.text[span.start - 1 : span.start], reader.source.text[span.end : span.end + 1]
        )
        return "write a condition after `where`", Edit(span, where)
    if token.type in _COMPARISONS:
        comma = next((t for t in reversed(inside) if t.type in ("COMMA", "IN")), None)
        if comma is not None and comma.type == "COMMA" and not any(t.type == "WHERE" for t in inside):
            return "write a condition after `where`", Edit(reader.span(comma), " where")
    return None


def _sign_before(reader: StatementReader, token: Token) -> str:
    return reader.source.text[(token.start_pos or 0) - 1 : token.start_pos or 0]


def _sign_after(reader: StatementReader, token: Token) -> str:
    return reader.source.text[token.end_pos or 0 : (token.end_pos or 0) + 1]


def _char(reader: StatementReader, side: int) -> str:
    token = reader.tokens[reader.at]
    place = (token.start_pos or 0) - 1 if side < 0 else token.end_pos or 0
    return reader.source.text[place : place + 1]


def _indices(reader: StatementReader, token: Token, before: Token | None) -> Advice | None:
    """`constraint k{i in I}: ...`, `param q(I);`."""
    first = reader.tokens[reader.first].type
    if token.type not in ("LBRACE", "LPAR") or first not in _INDEXED or not reader.state.accepts("LSQB"):
        return None
    assert before is not None
    declares = reader.at == reader.first + 2
    if declares and str(before).lower() in foreign.WORDS:
        return "give the constraint a name: `constraint name[i in Set]: ...`", None
    if declares and str(before).lower() in ("alldifferent", "all_different", "alldiff"):
        return "write `constraint name: all_different[i in Set] x[i];`", None
    closing = "RBRACE" if token.type == "LBRACE" else "RPAR"
    end = next((i for i in range(reader.at, len(reader.tokens)) if reader.tokens[i].type == closing), None)
    within = [] if end is None else reader.tokens[reader.at + 1 : end]
    if not declares and any(t.type == "IN" for t in within):
        return None
    if end is None or not within or {t.type for t in within} & {"LBRACE", "LPAR", "SEMICOLON"}:
        return "write indices in square brackets", None
    edits = [Edit(reader.span(token), "["), Edit(reader.span(reader.tokens[end]), "]")]
    edits += [Edit(reader.span(t), " where ") for t in within if t.type == "COLON"]
    return "write indices in square brackets", edits


def _attribute(reader: StatementReader, token: Token, before: Token | None) -> Advice | None:
    """Parts of a declaration of a variable."""
    if reader.tokens[reader.first].type != "VAR" or before is None:
        return None
    word = str(token).lower()
    if word in foreign.CONTINUOUS:
        return "a variable without a keyword is continuous and free", Edit(
            reader.span(before).to(reader.span(token)), str(before)
        )
    if word in ("positive", "nonnegative", "nonneg"):
        return "write `>= 0`", None if word == "positive" else ">= 0"
    following = reader.next_token()
    if token.type == "COMMA" and following is not None and following.type in _COMPARISONS:
        return "write bounds without a comma between them", ""
    if token.type == "COMMA":
        rest = [t.type for t in reader.tokens[reader.at : reader.at + 3]]
        names = rest == ["COMMA", "NAME", "SEMICOLON"] and reader.at == reader.first + 2
        return "declare each variable separately: `var a; var b;`", "; var" if names else None
    if token.type == "DOTS":
        return "write `integer >= 0 <= 5` for the integers from 0 to 5", None
    if str(before) == "in" and token.type in ("LBRACE", "LSQB", "INTEGER", "BINARY"):
        return "write `binary`, or `integer >= 0 <= 5` for the integers from 0 to 5", None
    if word in ("within", "of"):
        return "write `binary`, `integer` or bounds such as `>= 0 <= 5`", None
    return None


def advise_date(reader: StatementReader, token: Token, before: Token | None) -> Advice | None:
    """`calendar from 2026-10-05`, `replan at 9`, `replan on arrival at 9:00`."""
    words = reader.tokens[reader.first : reader.at + 1]
    if reader.statement_type == "CALENDAR" or (
        [str(word) for word in words[:1]] == ["calendar"] and token.type == "STRING"
    ):
        return _CALENDAR, None
    if before is not None and str(before) == "at" and token.type == "NAME" and reader.statement_type == "REPLAN":
        return f"write `replan on {token}`, or times of the clock: `replan at 9:00`", Edit(reader.span(before), "on")
    if reader.statement_type == "REPLAN" and any(str(word) == "at" for word in words):
        return _REPLAN, None
    return None
