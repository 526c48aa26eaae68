"""Neighbourhoods along the indices of a model: all columns of some nodes, of some jobs, of a stretch of time.

The index tuples of the columns say which belong together, better than rows do. A *direction* is a root set, or the
integers; columns are free where one of their indices is among the elements that are drawn: any of a set, a stretch of
the integers. Directions that brought better points are taken more often.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from gpusched_dsl.ir.arrays import Ints, unique
from gpusched_dsl.ir.domains import Component
from gpusched_dsl.ir.problem import Problem


@dataclass(eq=False)
class Direction:
    """`columns[k]` has the element `codes[k]`; `stretch`: elements are in order, and drawn side by side."""

    columns: Ints
    codes: Ints
    stretch: bool
    tries: int = 1
    wins: int = 1
    elements: Ints = field(init=False)

    def __post_init__(self) -> None:
        self.elements = unique(self.codes)

    def draw(self, size: int, random: np.random.Generator) -> Ints:
        """About `size` columns: those of some elements."""
        each = max(1.0, len(self.columns) / len(self.elements))
        count = min(len(self.elements), max(1, round(size / each)))
        if self.stretch:
            first = int(random.integers(len(self.elements) - count + 1))
            chosen = self.elements[first : first + count]
        else:
            chosen = np.sort(random.choice(self.elements, count, replace=False))
        at = np.minimum(np.searchsorted(chosen, self.codes), count - 1)
        columns: Ints = self.columns[chosen[at] == self.codes]
        return columns


def directions_of(problem: Problem) -> list[Direction]:
    """The directions along which the integer columns of a problem lie, those with two elements or more."""
    found: dict[int, tuple[Component, list[Ints], list[Ints]]] = {}
    for family in problem.column_families:
        own = np.flatnonzero(problem.integer[family.slice])
        if not len(own):
            continue
        for component, codes in zip(family.domain.components, family.domain.columns(), strict=True):
            entry = found.setdefault(id(component), (component, [], []))
            entry[1].append(own + family.first)
            entry[2].append(np.asarray(codes, dtype=np.int64)[own])
    directions = [
        Direction(np.concatenate(c), np.concatenate(e), component is None) for component, c, e in found.values()
    ]
    return [d for d in directions if len(d.elements) > 1]


def choose(directions: list[Direction], random: np.random.Generator) -> Direction:
    """One of them by lot, the more often the more of its neighbourhoods brought a better point."""
    weights = np.array([d.wins / d.tries for d in directions])
    return directions[int(random.choice(len(directions), p=weights / weights.sum()))]
