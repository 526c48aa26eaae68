"""Functions of other languages, with the equivalent here."""

from __future__ import annotations

import re
from collections.abc import Sequence

# Another name of the same function.
_SAME = {
    "ln": "log",
    "fabs": "abs",
    "ceiling": "ceil",
    "len": "count",
    "length": "count",
    "size": "count",
    "minimum": "min",
    "maximum": "max",
    "alldifferent": "all_different",
    "alldiff": "all_different",
    "all_diff": "all_different",
    "norm2": "norm",
    "hypot": "norm",
    "dayofweek": "weekday",
    "day_of_week": "weekday",
    "isoweekday": "weekday",
    "hour": "hour_of_day",
    "hourofday": "hour_of_day",
    "day": "day_of_month",
    "holiday": "is_holiday",
}
# The same by other means: the number of arguments and the expression.
_BY_OTHERS = {
    "iif": (3, "(if {plain} then {1} else {2})"),
    "ifelse": (3, "(if {plain} then {1} else {2})"),
    "ifthen": (3, "(if {plain} then {1} else {2})"),
    "pow": (2, "({0} ^ {1})"),
    "power": (2, "({0} ^ {1})"),
    "square": (1, "({0} ^ 2)"),
    "mod": (2, "({0} mod {1})"),
    "div": (2, "({0} div {1})"),
    "log10": (1, "(log({plain}) / log(10))"),
    "log2": (1, "(log({plain}) / log(2))"),
}
# What depends on the language, or on signs, which are not known.
_CHOICES = {
    "sqr": "`a ^ 2` for the square, `sqrt(a)` for the root",
    "trunc": "`floor(a)` or `ceil(a)`",
    "int": "`floor(a)` or `ceil(a)`",
}
_ATOM = re.compile(r"\w+(\.\d+)?|\w+\[[^\[\]()]*\]")


def counts(name: str) -> bool:
    """Whether a function of this name counts the elements of a set elsewhere."""
    return _SAME.get(name.lower()) == "count"


def foreign_function(name: str, arguments: Sequence[str]) -> tuple[str | None, str | None]:
    """The help for a call of a function that is not of this language, and the call or expression that is meant."""
    lowered = name.lower()
    if lowered in _SAME:
        meant = _SAME[lowered]
        return f"the name in gsdsl is `{meant}`", f"{meant}({', '.join(arguments)})"
    if lowered in _CHOICES:
        return f"write {_CHOICES[lowered]}", None
    count, pattern = _BY_OTHERS.get(lowered, (-1, ""))
    if count < 0:
        return None, None
    shown = pattern.format("a", "b", "c", plain="a")
    if len(arguments) != count:
        return f"write `{shown}`", None
    grouped = [text if _ATOM.fullmatch(text) else f"({text})" for text in arguments]
    return f"write `{shown}`", pattern.format(*grouped, plain=arguments[0])
