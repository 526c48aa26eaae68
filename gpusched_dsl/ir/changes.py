"""The differences of two grounded problems: columns and rows matched by their names, then compared.

A column is the same column in both problems when family name, part and index labels are the same, wherever it stands:
a set that gained or lost an element shifts the numbers and the codes of all that come behind it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from gpusched_dsl.ir.arrays import Bools, Codes, Floats
from gpusched_dsl.ir.domains import Component, Domain, ScalarDomain
from gpusched_dsl.ir.matrix import Matrix
from gpusched_dsl.ir.problem import Family, Objective, Problem


class Matched(Struct, frozen=True, eq=False, dict=True):
    """Which numbers are one and the same thing: `old_of[i]` is the old number of new number i, -1 where it is new."""

    old_of: Codes
    old_count: int

    @cached_property
    def kept_numbers(self) -> Codes:
        """The new numbers that have an old one; `old_of[kept]` are these."""
        return np.flatnonzero(self.old_of >= 0)

    @cached_property
    def new_of(self) -> Codes:
        """The new number of each old one, -1 where it is gone."""
        numbers = np.full(self.old_count, -1, dtype=np.int64)
        numbers[self.old_of[self.kept_numbers]] = self.kept_numbers
        return numbers

    @cached_property
    def is_identity(self) -> bool:
        """Whether no column or row was added, removed or renumbered."""
        return len(self.old_of) == self.old_count and bool((self.old_of == np.arange(self.old_count)).all())

    def carry(self, values: NDArray[np.generic], new: NDArray[np.generic]) -> NDArray[np.generic]:
        """Old `values` in the new order, with those of `new` (one per new number) where there is none."""
        result = new.copy()
        result[self.kept_numbers] = values[self.old_of[self.kept_numbers]]
        return result


class Coefficients(Struct, frozen=True, eq=False):
    """Coefficients of rows and columns that both problems have, by their new numbers.

    `changed` have another value, `added` had none, `removed` have none any more: a row and a column each. A zero that
    is written out counts as a coefficient.
    """

    changed: tuple[Codes, Codes]
    added: tuple[Codes, Codes]
    removed: tuple[Codes, Codes]

    @property
    def same_places(self) -> bool:
        return not len(self.added[0]) and not len(self.removed[0])


class Changes(Struct, frozen=True, eq=False, dict=True):
    """How `new` differs from `old`. All numbers of columns and rows are those of `new`; of removed ones,
    those of `old`.
    """

    old: Problem
    new: Problem
    columns: Matched
    rows: Matched

    @property
    def same_numbering(self) -> bool:
        return self.columns.is_identity and self.rows.is_identity

    @cached_property
    def kept_share(self) -> float:
        """Which part of the new columns and rows there was before; 1 for a problem without any."""
        count = self.new.columns + self.new.rows
        return (len(self.columns.kept_numbers) + len(self.rows.kept_numbers)) / count if count else 1.0

    @cached_property
    def bounds(self) -> Codes:
        """Kept columns with other bounds."""
        return _differences(self.columns, (self.old.lower, self.new.lower), (self.old.upper, self.new.upper))

    @cached_property
    def integrality(self) -> Codes:
        """Return the kept columns that changed their integrality."""
        return _differences(self.columns, (self.old.integer, self.new.integer))

    @cached_property
    def sides(self) -> Codes:
        """Kept rows with other sides."""
        old, new = self.old, self.new
        return _differences(self.rows, (old.row_lower, new.row_lower), (old.row_upper, new.row_upper))

    @cached_property
    def costs(self) -> Codes:
        """Kept columns with another cost in the first objective."""
        old, new = _first_objective(self.old), _first_objective(self.new)
        return _differences(self.columns, (_costs(old, self.old), _costs(new, self.new)))

    @property
    def offset(self) -> float:
        """By how much the constant of the first objective grew."""
        old, new = _first_objective(self.old), _first_objective(self.new)
        return (0.0 if new is None else new.offset) - (0.0 if old is None else old.offset)

    @property
    def sense(self) -> bool:
        """Whether the first objective is pushed the other way; without an objective it is a minimum of nothing."""
        return _sense(_first_objective(self.old)) != _sense(_first_objective(self.new))

    @cached_property
    def coefficients(self) -> Coefficients:
        return _coefficients(self)

    @cached_property
    def is_empty(self) -> bool:
        """Whether the problems are equal except for names of objectives and source positions."""
        return (
            self.same_numbering
            and not any(map(len, (self.bounds, self.integrality, self.sides, self.costs)))
            and self.coefficients.same_places
            and not len(self.coefficients.changed[0])
            and self.offset == 0
            and not self.sense
        )

    def point(self, point: Floats) -> Floats:
        """An old point in the new columns; those that are new lie at the bound (or 0) nearest to 0."""
        nearest = np.clip(0.0, self.new.lower, self.new.upper)
        return np.asarray(self.columns.carry(point, np.where(np.isfinite(nearest), nearest, 0.0)), dtype=np.float64)


def changes(old: Problem, new: Problem) -> Changes:
    """Match columns and rows of two problems by their names; compare the rest on demand."""
    columns = _match(old.column_families, new.column_families, old.columns, new.columns)
    rows = _match(old.constraints, new.constraints, old.rows, new.rows)
    return Changes(old, new, columns, rows)


# --- matching --------------------------------------------------------------------------------------------------------


def _match(old: Sequence[Family], new: Sequence[Family], old_count: int, count: int) -> Matched:
    """Families of one name and part are matched in their order."""
    before: dict[tuple[str, int, int], Family] = {}
    for family in old:
        before[_number_family(before, family)] = family
    after: dict[tuple[str, int, int], Family] = {}
    old_of = np.full(count, -1, dtype=np.int64)
    for family in new:
        key = _number_family(after, family)
        after[key] = family
        same = before.get(key)
        if same is not None:
            places = places_in(same.domain, family.domain)
            old_of[family.slice] = np.where(places >= 0, places + same.first, -1)
    return Matched(old_of, old_count)


def _number_family(seen: dict[tuple[str, int, int], Family], family: Family) -> tuple[str, int, int]:
    number = 0
    while (family.name, family.part, number) in seen:
        number += 1
    return (family.name, family.part, number)


def places_in(old: Domain, new: Domain) -> Codes:
    """The position in `old` of each tuple of `new`, compared by labels; -1 where it is not there."""
    if old is new:
        return np.arange(new.size, dtype=np.int64)
    if old.arity != new.arity or old.size == 0:
        return np.full(new.size, -1, dtype=np.int64)
    if isinstance(new, ScalarDomain):
        return np.zeros(1, dtype=np.int64)
    columns: list[Codes] = []
    outside: Bools | None = None
    for before, after, codes in zip(old.components, new.components, new.columns(), strict=True):
        translated = _translate(before, after, codes)
        if translated is None:
            return np.full(new.size, -1, dtype=np.int64)
        if translated is not codes:
            missing = translated < 0
            outside = missing if outside is None else outside | missing
        columns.append(translated)
    places = old.locate(columns)
    return places if outside is None else np.where(outside, -1, places)


def _translate(old: Component, new: Component, codes: Codes) -> Codes | None:
    """Codes of `new` as those of `old`, -1 where it has no such element; None where one of them counts by integers."""
    if old is None or new is None:
        return codes if old is new else None
    if old is new or old.labels == new.labels:
        return codes
    known = old.code_of  # one look-up per element of the set, not per tuple
    translation = np.array([known.get(label, -1) for label in new.labels], dtype=np.int64)
    return translation[codes]


# --- comparing -------------------------------------------------------------------------------------------------------


def _differences(matched: Matched, *pairs: tuple[NDArray[np.generic], NDArray[np.generic]]) -> Codes:
    kept, before = matched.kept_numbers, matched.old_of[matched.kept_numbers]
    differ = np.zeros(len(kept), dtype=np.bool_)
    for old, new in pairs:
        differ |= old[before] != new[kept]
    return kept[differ]


def _first_objective(problem: Problem) -> Objective | None:
    return problem.objectives[0] if problem.objectives else None


def _costs(objective: Objective | None, problem: Problem) -> Floats:
    return np.zeros(problem.columns) if objective is None else objective.costs(problem.columns)


def _sense(objective: Objective | None) -> str:
    return "minimize" if objective is None else objective.sense


def _coefficients(changes: Changes) -> Coefficients:
    width = max(changes.new.columns, 1)
    old_keys, old_values = _keys(changes.old.matrix, changes.rows.new_of, changes.columns.new_of, width)
    row_numbers = np.where(changes.rows.old_of >= 0, np.arange(changes.new.rows), -1)
    across = np.where(changes.columns.old_of >= 0, np.arange(changes.new.columns), -1)
    keys, values = _keys(changes.new.matrix, row_numbers, across, width)
    none = np.zeros(0, dtype=np.int64)
    if np.array_equal(old_keys, keys):
        return Coefficients(_split(keys[old_values != values], width), (none, none), (none, none))
    both, in_old, in_new = np.intersect1d(old_keys, keys, assume_unique=True, return_indices=True)
    return Coefficients(
        _split(both[old_values[in_old] != values[in_new]], width),
        _split(np.setdiff1d(keys, both, assume_unique=True), width),
        _split(np.setdiff1d(old_keys, both, assume_unique=True), width),
    )


def _keys(matrix: Matrix, row_numbers: Codes, column_numbers: Codes, width: int) -> tuple[Codes, Floats]:
    """One number per entry of rows and columns that are numbered, and its value."""
    rows, columns = row_numbers[matrix.row_of], column_numbers[matrix.columns]
    both = (rows >= 0) & (columns >= 0)
    return rows[both] * width + columns[both], matrix.values[both]


def _split(keys: Codes, width: int) -> tuple[Codes, Codes]:
    rows, columns = np.divmod(keys, width)
    return rows, columns
