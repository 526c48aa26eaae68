"""Functions of the clock: `weekday(t)`, `hour_of_day(t)`, `month(t)`, `day_of_month(t)`, `is_holiday(t)`.

Their argument is a time since the start, of data; a calendar of the scenario makes it a date.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING

from msgspec import Struct

from gpusched_dsl.language import tree
from gpusched_dsl.language.checked import Function, Logical, Numeric, TypedExpr, ValueType
from gpusched_dsl.language.checking.conversion import fit
from gpusched_dsl.language.diagnostics.diagnostic import Label
from gpusched_dsl.language.source import Span
from gpusched_dsl.language.units import UNITS

if TYPE_CHECKING:
    from gpusched_dsl.language.checking.protocol import Checker


CLOCK_FUNCTIONS: dict[str, ValueType] = {
    "weekday": Numeric(True),
    "hour_of_day": Numeric(False, UNITS["h"]),
    "month": Numeric(True),
    "day_of_month": Numeric(True),
    "is_holiday": Logical(),
}
CLOCK_CALL = re.compile(rf"\b({'|'.join(CLOCK_FUNCTIONS)})\s*\(")
CLOCK_MEANINGS = {
    "weekday": "day of the week at time t, 1 for Monday to 7, by the calendar of the scenario",
    "hour_of_day": "hours that the clock on the wall shows at time t, in h, 0 to less than 24",
    "month": "month at time t, 1 to 12",
    "day_of_month": "day of the month at time t, 1 to 31",
    "is_holiday": "whether the date at time t is a holiday of the calendar",
}
CLOCK_RANGES = {"weekday": (1.0, 7.0), "hour_of_day": (0.0, 24.0), "month": (1.0, 12.0), "day_of_month": (1.0, 31.0)}


def clock_function(checker: Checker, expr: tree.Call, typed: TypedExpr) -> TypedExpr | None:
    """Check a call of one of the functions; its checked argument becomes a time in seconds."""
    name = expr.function.text
    if not checker.data_only(typed, f"the argument of `{name}`"):
        return None
    because = Label(expr.function.span, f"`{name}` takes a time since the start")
    seconds = fit(checker, typed, UNITS["s"], because=because)
    if seconds is None:
        return None
    return Function(span=expr.span, type=CLOCK_FUNCTIONS[name], name=name, arguments=(seconds,))


def first_clock_function(part: object) -> Function | None:
    """Return the first function of the clock in checked expressions, declarations or values of any class."""
    waiting = [part]
    while waiting:
        current = waiting.pop()
        if isinstance(current, Function) and current.name in CLOCK_FUNCTIONS:
            return current
        if isinstance(current, Mapping):
            waiting.extend(reversed(list(current.values())))
        elif isinstance(current, tuple):
            waiting.extend(reversed(current))
        elif isinstance(current, Struct) and not isinstance(current, tree.Node | Span):
            waiting.extend(getattr(current, name) for name in reversed(current.__struct_fields__))
        elif is_dataclass(current):  # what a scenario gives
            waiting.extend(getattr(current, each.name) for each in reversed(fields(current)))
    return None
