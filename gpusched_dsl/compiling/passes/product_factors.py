"""Products split into 0/1 factors and the one that is left, with the range of that one."""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from gpusched_dsl.compiling.analysis.integrality import integer_affines
from gpusched_dsl.compiling.passes.steps import Analysis
from gpusched_dsl.ir.arrays import Bools, Codes, Floats, Int32s
from gpusched_dsl.ir.definitions import Affines, Definition, Product
from gpusched_dsl.language.source import Span


def literals_of(analysis: Analysis, definition: Definition) -> Bools:
    """The arguments that can only be 0 or 1."""
    low, high = analysis.bounds.of(definition.arguments)
    return integer_affines(definition.arguments, analysis.problem.integer) & (low >= 0) & (high <= 1)


class GuardedFactors(Struct, frozen=True, eq=False):
    """Entries `results[i] == (product of its literals) * factor[i]`.

    `literals` are the 0/1 expressions of all entries, `owner` the entry of each, `low .. high` the range of `factor`;
    `down`, `up` which halves are needed. `family` is the name of the results' columns.
    """

    results: Int32s
    literals: Affines
    owner: Codes
    factor: Affines
    low: Floats
    high: Floats
    down: Bools
    up: Bools
    family: str
    name: str
    span: Span | None

    @property
    def count(self) -> int:
        return len(self.results)

    def take(self, entries: Codes) -> GuardedFactors:
        place = np.full(self.count, -1)
        place[entries] = np.arange(len(entries))
        chosen = np.flatnonzero(place[self.owner] >= 0)
        return GuardedFactors(
            self.results[entries], self.literals.take(chosen), place[self.owner[chosen]],
            self.factor.take(entries), self.low[entries], self.high[entries], self.down[entries], self.up[entries],
            self.family, self.name, self.span,
        )  # fmt: skip


def times_of(analysis: Analysis, definition: Product, literal: Bools, entries: Codes) -> GuardedFactors:
    """The chosen entries, increasing: all arguments but one are literals, or all are and the last is the factor."""
    some = np.zeros(definition.size, dtype=np.bool_)
    some[entries] = True
    places = np.flatnonzero(some[definition.entry_of])
    last = definition.starts[1:][entries] - 1
    other = np.zeros(len(definition.entry_of), dtype=np.bool_)
    other[places] = ~literal[places]
    without_rest = np.bincount(definition.entry_of, weights=other, minlength=definition.size)[entries] == 0
    other[last[without_rest]] = True
    owner = np.cumsum(some) - 1
    literals = places[~other[places]]
    factor = definition.arguments.take(places[other[places]])
    low, high = analysis.bounds.of(factor)
    results = definition.results[entries]
    directions = analysis.directions
    return GuardedFactors(
        results, definition.arguments.take(literals), owner[definition.entry_of[literals]], factor, low,
        np.maximum(low, high), directions.down[results], directions.up[results],
        analysis.problem.column_family(int(results[0])).name, definition.name, definition.span,
    )  # fmt: skip
