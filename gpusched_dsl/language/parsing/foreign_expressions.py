"""Expressions of other languages: what to write here, with the edit if it is certain."""

from __future__ import annotations

from lark import Token

from gpusched_dsl.language.diagnostics.diagnostic import Edit
from gpusched_dsl.language.parsing.foreign_statements import Advice, closing_token, first_token, type_before_name
from gpusched_dsl.language.parsing.reader import StatementReader

_ATTRIBUTES = frozenset(("integer", "binary", "default", "symbol", "semicontinuous", "int", "bool"))
_LOOPS = frozenset(("for", "forall", "foreach"))
_COMPARISONS = frozenset(("EQ", "NE", "LE", "GE", "LT", "GT"))


def advise_expression(reader: StatementReader, token: Token, before: Token | None) -> Advice | None:
    """The help for a token that does not fit, and its edits; None where nothing is known."""
    if before is None:
        return None
    for find in (_declared_type, _brackets, _range, _choice, _rows, _list, _attribute):
        found = find(reader, token, before)
        if found is not None:
            return found
    return None


def _declared_type(reader: StatementReader, token: Token, before: Token) -> Advice | None:
    """`var 0..10: x`, `var int: x`, `set of int: S`; `let m == 3`, `let z[i in I]: ...`."""
    first = reader.tokens[reader.first].type
    if first in ("VAR", "SET") and reader.at <= reader.first + 2 and token.type != "SEMICOLON":
        found = type_before_name(reader)
        if found is not None:
            return found
    if first == "LET" and token.type in ("EQ", "COLON") and reader.state.accepts("EQUAL"):
        return "write `=` to name an expression", "=" if token.type == "EQ" else Edit(reader.span(token), " =")
    return None


def _brackets(reader: StatementReader, token: Token, before: Token) -> Advice | None:
    """`x[i][j]`, `x.a`."""
    if reader.tokens[reader.first].type in ("TABLE", "NAME"):
        return None
    if token.type == "LSQB" and before.type == "RSQB" and before.end_pos == token.start_pos:
        both = reader.span(before).to(reader.span(token))
        return "write all subscripts in one pair of brackets: `x[i, j]`", Edit(both, ", ")
    if token.type == "LBRACE" and str(before).lower() == "setof":
        return "write `{ i : (i, j) in Links }`", _comprehension(reader, before)
    if token.type == "DOT" and before.type == "NAME" and before.end_pos == token.start_pos:
        return f"write subscripts in brackets: `{before}[...]`", None
    return None


def _comprehension(reader: StatementReader, word: Token) -> Edit | None:
    """`{ i : (i, j) in Links }` for `setof{(i, j) in Links} i`, up to the end of the statement."""
    closing = closing_token(reader.tokens, reader.at)
    end = None if closing is None else first_token(reader.tokens, closing + 1, "SEMICOLON")
    if closing is None or end is None or end == closing + 1:
        return None
    over, element = reader.text(reader.at + 1, closing), reader.text(closing + 1, end)
    span = reader.span(word).to(reader.span(reader.tokens[end - 1]))
    return None if ":" in over else Edit(span, f"{{ {element} : {over} }}")


def _range(reader: StatementReader, token: Token, before: Token) -> Advice | None:
    """`1:10`, `{1, ..., 5}`."""
    following = reader.next_token()
    first = reader.tokens[reader.first].type
    at = reader.at
    if token.type == "COLON" and before.type == "NUMBER" and following is not None:
        begins = reader.tokens[at - 2]
        ranged = begins.type == "IN" or (first == "SET" and begins.type in ("EQUAL", "LBRACE"))
        if ranged and following.type in ("NUMBER", "NAME"):
            return "write a range with `..`: `1..10`", ".."
    if token.type == "LT" and following is not None and following.type == "LT":  # AMPL's `<<10; 1, 2>> x`
        return "write `piecewise(x, breakpoints = { 10 }, slopes = { 1, 2 })`", None
    if token.type == "DOTS" and before.type == "COMMA":
        return "write a range: `1..5`", None
    return None


def _choice(reader: StatementReader, token: Token, before: Token) -> Advice | None:
    """`if c then a`, `if c then a else b endif`, `a if c else b`, `if(c, a, b)`."""
    word = str(token).lower()
    if word in ("endif", "end", "fi") and any(t.type == "IF" for t in reader.tokens[reader.first : reader.at]):
        if reader.state.accepts("ELSE") and not reader.state.accepts("SEMICOLON"):
            return "an `if` needs an `else`; a row under a condition is `condition => row`", None
        space = reader.source.span(before.end_pos or 0, token.end_pos or 0)
        return "an `if` has no end word", Edit(space, "")
    if reader.state.accepts("ELSE") and not reader.state.accepts("SEMICOLON") and token.type in ("SEMICOLON", "RPAR"):
        return (
            "an `if` needs an `else`, as in `if c then a else 0`; a row under a condition is `condition => row`",
            None,
        )
    if token.type == "IF" and (before.type in ("NUMBER", "NAME", "RSQB", "RPAR")) and not reader.open_brackets():
        return "write `if condition then a else b`", None
    if reader.state.accepts("THEN") and token.type == "SEMICOLON":
        return "write `if condition then a else b`", None
    return None


def _rows(reader: StatementReader, token: Token, before: Token) -> Advice | None:
    """`x[i] <= 1 for i in I`, `0 <= x, x <= 1`, `x >= 0 and <= 1`; rows without a name."""
    first = reader.tokens[reader.first]
    if token.type in _COMPARISONS and before.type in ("AND", "OR"):
        return "write both sides of a comparison: `a <= x and x <= b`, or `a <= x <= b`", None
    if first.type != "CONSTRAINT" or reader.open_brackets():
        return None
    if ":" not in (str(t) for t in reader.tokens[reader.first : reader.at]):
        if token.type in (*_COMPARISONS, "PLUS", "MINUS", "STAR") and reader.at > reader.first + 1:
            return "give the constraint a name: `constraint name: ...`", None
        return None
    end = next((i for i in range(reader.at, len(reader.tokens)) if reader.tokens[i].type == "SEMICOLON"), None)
    if end is None:
        return None
    start = reader.at + 1
    if str(token).lower() in _LOOPS and str(reader.tokens[start]).lower() in ("all", "each"):
        start += 1
    looped = str(token).lower() in _LOOPS or token.type == "COMMA"
    over = reader.tokens[start:end]
    if looped and len(over) >= 3 and over[0].type in ("NAME", "LPAR") and any(t.type == "IN" for t in over):
        help = "write indices after the name: `constraint name[i in Set]: ...`"
        colon = reader.first + 2
        plain = reader.tokens[colon].type == "COLON" and not {t.type for t in over} & {"IF", "COLON", "LE", "GE"}
        if not plain:
            return help, None
        name = reader.tokens[reader.first + 1]
        tail = reader.source.span(before.end_pos or 0, over[-1].end_pos or 0)
        behind = reader.source.span(name.end_pos or 0, name.end_pos or 0)
        return help, [Edit(behind, f"[{reader.text(start, end)}]"), Edit(tail, "")]
    if token.type == "COMMA" and any(t.type in _COMPARISONS for t in over):
        return "join conditions with `and`", None
    return None


def _list(reader: StatementReader, token: Token, before: Token) -> Advice | None:
    """`[1, 2]`: a set has braces, and values are in a scenario."""
    if token.type != "LSQB" or not reader.state.accepts("LBRACE") or before.type not in ("EQUAL", "LPAR"):
        return None
    closing = closing_token(reader.tokens, reader.at)
    if reader.tokens[reader.first].type == "SET" and closing is not None:
        edits = [Edit(reader.span(token), "{"), Edit(reader.span(reader.tokens[closing]), "}")]
        return "write a set in braces: `{ 1, 2 }`", edits
    if before.type == "LPAR":
        return "write `sum[i in Set] x[i]`", None
    return "give the values in a scenario: `scenario S for M { q = [1, 2]; }`", None


def _attribute(reader: StatementReader, token: Token, before: Token) -> Advice | None:
    """`var z, integer;`, `param q[I], integer;`, `param a, b;`."""
    first = reader.tokens[reader.first]
    if token.type != "COMMA" or first.type not in ("VAR", "PARAM", "SET") or reader.open_brackets():
        return None
    following = reader.next_token()
    if following is None:
        return None
    word = str(following).lower()
    if word in _ATTRIBUTES or (following.type in _COMPARISONS and first.type == "PARAM"):
        return "write attributes without a comma between them", ""
    rest = [t.type for t in reader.tokens[reader.at : reader.at + 3]]
    if first.type != "VAR" and rest[:2] == ["COMMA", "NAME"]:
        alone = rest == ["COMMA", "NAME", "SEMICOLON"] and reader.at == reader.first + 2
        return f"declare each name separately: `{first} a; {first} b;`", f"; {first}" if alone else None
    return None
