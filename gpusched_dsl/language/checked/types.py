"""Types of checked values."""

from __future__ import annotations

from typing import TypeAlias

from msgspec import Struct

from gpusched_dsl.language.units import DIMENSIONLESS, Unit


class Numeric(Struct, frozen=True):
    """A number in `unit`; `integer` if it is always integer. Indices over integer ranges are Numeric too."""

    integer: bool = False
    unit: Unit = DIMENSIONLESS


class Logical(Struct, frozen=True):
    """True or false; of a decision expression: a 0/1 value."""


class TextType(Struct, frozen=True):
    """A string from a `symbol` parameter."""


class Element(Struct, frozen=True):
    """An element of the root set `root` or of a subset of it: the nominal index type."""

    root: str


class IntervalType(Struct, frozen=True):
    """A stretch of time, whose start and length are numbers in `unit`."""

    unit: Unit = DIMENSIONLESS


ValueType: TypeAlias = Numeric | Logical | TextType | Element | IntervalType
