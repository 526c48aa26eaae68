"""Types of checked values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from gpusched_dsl.language.units import DIMENSIONLESS, Unit


@dataclass(frozen=True, slots=True)
class Numeric:
    """A number in `unit`; `integer` if it is always integer. Indices over integer ranges are Numeric too."""

    integer: bool = False
    unit: Unit = DIMENSIONLESS


@dataclass(frozen=True, slots=True)
class Logical:
    """True or false; of a decision expression: a 0/1 value."""


@dataclass(frozen=True, slots=True)
class TextType:
    """A string from a `symbol` parameter."""


@dataclass(frozen=True, slots=True)
class Element:
    """An element of the root set `root` or of a subset of it: the nominal index type."""

    root: str


@dataclass(frozen=True, slots=True)
class IntervalType:
    """A stretch of time, whose start and length are numbers in `unit`."""

    unit: Unit = DIMENSIONLESS


ValueType: TypeAlias = Numeric | Logical | TextType | Element | IntervalType
