"""QuickXplain: a minimal set of groups that still has a property, by halving; and rows, bounds and columns in groups.

U. Junker: QUICKXPLAIN: Preferred explanations and relaxations for over-constrained problems, AAAI 2004. The property
must be monotone: what has it keeps it when elements are added (being infeasible, allowing an unbounded ray).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from gpusched_dsl.explaining.elements import Elements
from gpusched_dsl.ir.arrays import Bools, Codes
from gpusched_dsl.ir.domains import Component
from gpusched_dsl.ir.problem import Family, Problem


@dataclass(frozen=True, eq=False)
class Groups:
    """Elements in groups: group g is `members[starts[g]:starts[g+1]]`. Earlier groups are preferred in the answer."""

    members: Codes
    starts: Codes

    @property
    def count(self) -> int:
        return len(self.starts) - 1

    def between(self, low: int, high: int) -> Codes:
        """The members of groups `low .. high - 1`."""
        return self.members[self.starts[low] : self.starts[high]]

    @staticmethod
    def singles(members: Codes) -> Groups:
        return Groups(members, np.arange(len(members) + 1, dtype=np.int64))

    @staticmethod
    def by(labels: Codes, members: Codes) -> Groups:
        """Members with equal labels together, groups in the order of the labels."""
        order = np.argsort(labels, kind="stable")
        ends = np.flatnonzero(np.diff(labels[order])) + 1
        starts = np.concatenate(([0], ends, [len(members)])) if len(members) else np.zeros(1)
        return Groups(members[order], starts.astype(np.int64))


def quickxplain(suffices: Callable[[Bools], bool], background: Bools, groups: Groups) -> Bools:
    """The members of a minimal choice of groups that has the property together with `background`.

    `suffices(mask)` must only be true when that is certain. What it cannot decide makes the answer larger than need
    be, never wrong: all groups together with the background must have the property to begin with.
    """
    if not groups.count or suffices(background):
        return np.zeros(len(background), dtype=np.bool_)

    def search(kept: Bools, grown: bool, low: int, high: int) -> Bools:
        """Return the necessary members of groups `low .. high - 1` besides `kept`; `grown`: since the last call."""
        found = np.zeros(len(kept), dtype=np.bool_)
        if grown and suffices(kept):
            return found
        if high - low == 1:
            found[groups.between(low, high)] = True
            return found
        middle = (low + high) // 2
        with_first = kept.copy()
        with_first[groups.between(low, middle)] = True
        second = search(with_first, True, middle, high)
        first = search(kept | second, bool(second.any()), low, middle)
        return first | second

    return search(background, False, 0, groups.count)


def rows_by_family(elements: Elements, rows: Codes) -> Groups:
    """Rows of one declaration together, parts of a chain too."""
    families = elements.problem.constraints
    names: dict[str, int] = {}
    numbers = np.array([names.setdefault(f.name, len(names)) for f in families], dtype=np.int64)
    return Groups.by(numbers[_family_numbers(families, rows)], rows)


def rows_by_index(elements: Elements, rows: Codes) -> Iterator[tuple[Groups, Codes]]:
    """For every set that indexes some of the rows: those rows in blocks by their element of it, and the other rows."""
    families = elements.problem.constraints
    numbers = _family_numbers(families, rows)
    used = [families[n] for n in np.unique(numbers)]
    for component in _components(used):
        labels = np.full(len(rows), -1, dtype=np.int64)
        indexed = np.zeros(len(rows), dtype=np.bool_)
        for family in used:
            if component not in family.domain.components:
                continue
            own = np.flatnonzero((rows >= family.first) & (rows < family.stop))
            codes = family.domain.columns()[family.domain.components.index(component)]
            labels[own] = codes[rows[own] - family.first]
            indexed[own] = True
        yield Groups.by(labels[indexed], rows[indexed]), rows[~indexed]


def bounds_by_family(elements: Elements, kept: Bools) -> Groups:
    """Group bounds and integrality by kind and variable; those with priority to be kept come first."""
    families = elements.problem.column_families
    members: list[Codes] = []
    labels: list[Codes] = []
    for at, kind in enumerate(("upper", "lower", "integer")):
        columns = np.flatnonzero(elements.of(kind, kept))
        members.append(columns + elements.first(kind))
        labels.append(_family_numbers(families, columns) + at * len(families))
    return Groups.by(np.concatenate(labels), np.concatenate(members))


def columns_by_family(problem: Problem, columns: Codes) -> Groups:
    """Columns of one variable together."""
    return Groups.by(_family_numbers(problem.column_families, columns), columns)


def _components(families: list[Family]) -> list[Component]:
    """The sets that index the families, the one with most elements first; None for integers."""
    found: list[Component] = []
    for family in families:
        for component in family.domain.components:
            if not any(component is known for known in found):
                found.append(component)
    return sorted(found, key=lambda c: 0 if c is None else -len(c.labels))


def _family_numbers(families: tuple[Family, ...], numbers: Codes) -> Codes:
    """Return the family of each row or column; families are contiguous."""
    stops = np.array([f.stop for f in families], dtype=np.int64)
    return np.searchsorted(stops, numbers, side="right")
