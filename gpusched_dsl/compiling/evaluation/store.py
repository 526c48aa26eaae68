"""The data of an evaluator: universes, sets, parameters, distributions, columns of variables and, later,
their values.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct, field

from gpusched_dsl.ir.arrays import Bools, Codes, Floats, Values, unique
from gpusched_dsl.ir.domains import Component, Domain, Universe
from gpusched_dsl.language.checked import Element, ValueType

if TYPE_CHECKING:
    from gpusched_dsl.ir.distributions import Distribution
    from gpusched_dsl.ir.distributions.stacked import DistinctLaws
    from gpusched_dsl.language.calendar import Calendar


class Param(Struct, frozen=True, eq=False):
    """A parameter as an array over its domain: numbers in the declared unit, element codes, or texts."""

    domain: Domain
    values: Values


class Columns(Struct, frozen=True, eq=False):
    """Where a variable's columns lie. `indexed` is the domain without the `where` condition (else the same object)."""

    domain: Domain
    first: int
    indexed_domain: Domain


class RandomLaws(Struct, frozen=True, eq=False):
    """The laws of a random quantity: position i of the domain has `laws[which[i]]`, independent of all others."""

    domain: Domain
    laws: DistinctLaws
    which: Codes
    _given: dict[tuple[int, float, float], Distribution] = field(default_factory=dict)

    def conditioned_law(self, law: int, low: float, high: float) -> Distribution:
        """Return a distribution conditioned on low < W <= high: the same object for equal arguments."""
        key = (law, low, high)
        if key not in self._given:
            self._given[key] = self.laws[law].truncate(low, high)
        return self._given[key]

    def at(self, domain: Domain, rows: Codes) -> RandomLaws:
        """Return the laws of some positions for another domain, without those that no position has."""
        from gpusched_dsl.ir.distributions.stacked import DistinctLaws

        which = self.which[rows]
        used = unique(which)
        return RandomLaws(domain, DistinctLaws(self.laws[law] for law in used.tolist()), np.searchsorted(used, which))

    def each(self, position: Codes, function: Callable[..., Floats], *arrays: Floats) -> Floats:
        """`function(law, arrays...)` for the law at every position (see `DistinctLaws.each`)."""
        return self.laws.each(self.which[position], function, *arrays)


class ExecutedSpan(Struct, frozen=True, eq=False):
    """A span of time since the last plan: its length, and the data with the decisions in effect in it."""

    times: float
    store: ValueStore


class ValueStore(Struct, eq=False):
    """Everything by name; filled in the order of dependencies. `executed` is known to a run over time only."""

    universes: dict[str, Universe] = field(default_factory=dict)
    sets: dict[str, Domain] = field(default_factory=dict)
    params: dict[str, Param] = field(default_factory=dict)
    randoms: dict[str, RandomLaws] = field(default_factory=dict)
    variables: dict[str, Columns] = field(default_factory=dict)
    point: Floats | None = None
    executed: tuple[ExecutedSpan, ...] = ()
    calendar: Calendar | None = None  # of the scenario, with all holidays

    def component(self, type_: ValueType) -> Component:
        """The universe of an element type, None for integers."""
        return self.universes[type_.root] if isinstance(type_, Element) else None


# Codes that are in no domain, and that order comparisons place before and after every element.
MISSING = np.int64(-(1 << 61))  # before the first element of an ordered set, or no element at all
PAST = np.int64(1 << 61)  # after the last element of an ordered set


def is_element(codes: Codes) -> Bools:
    """Which codes are not one of those two."""
    return np.not_equal(codes, MISSING) & np.not_equal(codes, PAST)


def as_codes(values: Values) -> Codes:
    """Return numbers as integer codes; fractional numbers become MISSING because they are elements of no set."""
    if values.dtype.kind in "iu":
        return values
    rounded = np.rint(values)
    exact = np.abs(values - rounded) <= 1e-9 * np.maximum(1.0, np.abs(rounded))
    return np.where(exact & (np.abs(rounded) < 2**60), rounded, float(MISSING)).astype(np.int64)
