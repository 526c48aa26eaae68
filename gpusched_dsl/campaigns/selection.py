"""Whether a run of a grid has a value that `--only` states: as written, or an equal number, whatever its unit."""

from __future__ import annotations

import re
from fractions import Fraction

from gpusched_dsl.language.blocks.campaigns.constants import Quantity, Value, Word, value_text
from gpusched_dsl.language.units import Unit, convertible, parse_unit_text

_NUMBER = re.compile(r"([^\s\[\]]+)\s*(?:\[([^\[\]]+)\])?")


def is_value(value: Value | str, wanted: str, first: Value | None = None) -> bool:
    """Whether `wanted` states this value of a factor or a column.

    A number without a unit is in that of the factor's first value, as results show it.
    """
    text = value if isinstance(value, str) else value_text(value)
    if wanted in (text, text.strip('"')) or (isinstance(value, Word) and wanted == value.content):
        return True
    if not isinstance(value, Quantity):
        return isinstance(value, bool) and wanted.lower() == text  # `True`, as tables of other programs show it
    fits = isinstance(first, Quantity) and convertible(value.unit, first.unit)
    stated = _quantity(wanted, first.unit if fits and isinstance(first, Quantity) else value.unit)
    if stated is None or not convertible(stated.unit, value.unit):
        return False
    return stated.number_in(value.unit) == value.number


def _quantity(text: str, unit: Unit) -> Quantity | None:
    """Return the number in a text such as `90` or `1.5[h]`, without a unit in the given one; None for other texts."""
    found = _NUMBER.fullmatch(text.strip())
    if found is None:
        return None
    try:
        number = Fraction(repr(float(found[1])))  # by a float, since `1e-99999999` would take minutes
        return Quantity(number, unit if found[2] is None else parse_unit_text(found[2]))
    except ValueError:
        return None
