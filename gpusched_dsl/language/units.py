"""Dimensions and units: exponent vectors over base dimensions and an exact scale. Checked at compile time, then erased."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True, slots=True)
class Unit:
    """A dimension with a scale.

    `dimension` is a sorted tuple of (base dimension, exponent) without zeros, such as (("money", 1), ("time", -1));
    `scale` is the exact number of base units in one of this unit; `text` is how to print it.
    """

    dimension: tuple[tuple[str, int], ...]
    scale: Fraction
    text: str


DIMENSIONLESS = Unit((), Fraction(1), "1")
