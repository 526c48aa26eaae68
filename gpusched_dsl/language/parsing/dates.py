"""Remedies for calendars and clock times that are written in another way."""

from __future__ import annotations

from lark import Token

from gpusched_dsl.language.diagnostics.diagnostic import Edit
from gpusched_dsl.language.parsing.foreign_statements import Advice
from gpusched_dsl.language.parsing.reader import StatementReader

_CALENDAR = (
    'write `calendar from "2026-10-05 00:00" in "Europe/Berlin";`, with `holidays { "2026-12-25" }` before the `;`'
)
_REPLAN = "write `replan at 9:00, 18:00 on weekdays;`, and `replan on ...` as a line of its own"


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
