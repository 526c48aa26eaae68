"""Keys of data files that are slots of a time column: `slot(time, 15[min])`, with a start of their own or not."""

from __future__ import annotations

from fractions import Fraction

from gpusched_dsl.language import tree
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.scenarios.assignments import ONE, SlotKey
from gpusched_dsl.language.units import Unit, convertible, factor, parse_unit_text, unit_of

_MICROS = 1_000_000
_LONGEST = 100 * 366 * 86_400 * _MICROS


def slot_key(key: tree.DataKey, own: Unit | None, diagnostics: Diagnostics) -> SlotKey | None:
    """The slots of a key; None, reported (GSM1521), where its length or start does not fit.

    `own` is the unit that the format of the file states for the column.
    """
    assert key.function is not None
    seconds = parse_unit_text("s")
    if own is not None and not convertible(own, seconds):
        _report(key, f"column `{key.column}` is in `{own}`, not a time, so it has no slots", diagnostics)
        return None
    if not 1 <= len(key.arguments) <= 2:
        _report(key, "`slot` needs a column of times and a length", diagnostics)
        return None
    length = _micros(key.arguments[0])
    if length is None or not 0 < length <= _LONGEST:
        _report(key, "the length of a slot must be a time above zero", diagnostics, key.arguments[0])
        return None
    start: str | int | None = None
    if len(key.arguments) == 2:
        given = key.arguments[1]
        start = given.value if isinstance(given, tree.Text) else _micros(given)
        if start is None:
            _report(key, "the start of the slots must be a time", diagnostics, given)
            return None
    return SlotKey(length, start, ONE if own is None else factor(own, seconds))


def _micros(expr: tree.Expr) -> int | None:
    """Return a quantity of time in integer microseconds; None for other values."""
    if not isinstance(expr, tree.Number) or expr.unit is None:
        return None
    unit = unit_of(expr.unit, Diagnostics())
    seconds = parse_unit_text("s")
    if unit is None or not convertible(unit, seconds):
        return None
    value = Fraction(expr.value) * factor(unit, seconds) * _MICROS
    return round(value)


def _report(key: tree.DataKey, message: str, diagnostics: Diagnostics, at: tree.Expr | None = None) -> None:
    diagnostics.error(
        "GSM1521",
        message,
        key.span if at is None else at.span,
        "does not fit",
        help=f'write `slot({key.column}, 15[min])`, or `slot({key.column}, 15[min], "2018-06-01 00:00")`',
    )
