"""Rows and columns in blocks: by the family they belong to, and by the value of one of their indices."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from gpusched_dsl.explaining.elements import Elements
from gpusched_dsl.explaining.quickxplain import Groups
from gpusched_dsl.ir.arrays import Bools, Codes
from gpusched_dsl.ir.domains import Component
from gpusched_dsl.ir.problem import Family, Problem


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
