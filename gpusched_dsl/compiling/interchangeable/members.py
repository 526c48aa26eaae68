"""One element as a host of members: its columns split into hubs and, for each member, the same positions.

`run[j, n, v, g]` and `hosts[n, v]` of node n: the members are the jobs, the positions of a job are the pairs (v, g),
the hubs are the types v. What the rows of the node say must not depend on which job it is: they are one template, over
positions and hubs, for every member. Where it depends on numbers of the job, as in a packing, jobs with equal numbers
are a class, and the positions of each class are of their own: thousands of jobs of a few sizes have a few positions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from gpusched_dsl.compiling.interchangeable.equivalence_classes import distinct_rows, split_by_entries
from gpusched_dsl.compiling.interchangeable.generic import Obstacle, OutOfBudget, prefer
from gpusched_dsl.compiling.interchangeable.implied import implied_links
from gpusched_dsl.compiling.interchangeable.integrality_by_rows import integer_columns_by_rows
from gpusched_dsl.compiling.interchangeable.parts import Component
from gpusched_dsl.compiling.interchangeable.quotient import Quotient, place_of
from gpusched_dsl.compiling.interchangeable.work import ElementWork
from gpusched_dsl.ir.arrays import Bools, Codes, Floats, unique
from gpusched_dsl.ir.domains import Packing, TupleDomain, Universe
from gpusched_dsl.ir.problem import Family

MOST_CLASSES = 500  # of members: the patterns of more classes are too many to list


@dataclass(frozen=True, eq=False)
class TemplateRows:
    """Rows `lower <= positions @ v + hubs @ h <= upper`."""

    positions: Floats  # rows x positions
    hubs: Floats  # rows x hubs
    lower: Floats
    upper: Floats


@dataclass(frozen=True, eq=False)
class Template:
    """The columns and rows of one element.

    `column[m, p]` is the column of the quotient at position p of member m, -1 where it has none; `hubs` are the
    columns of hubs. `single` are the rows of one member, the same for all, `common` those over all members: there a
    member counts by the sum of its positions. `exclusive[p]`: of all positions of this kind that a member has, on all
    elements, at most one is 1.
    """

    root: Universe | None
    members: Codes
    column: Codes
    hubs: Codes
    single: TemplateRows
    common: TemplateRows
    exclusive: Bools


def templates_of(quotient: Quotient, component: Component, work: ElementWork | None = None) -> Iterator[Template]:
    """The templates of a component, one for each set of members that fits; raises Obstacle, at the end, if none does.

    The obstacle names the row family that does not fit the largest set.
    """
    work = work or ElementWork.of(quotient.root, quotient.full_size.columns)
    rows = component.rows[~implied_links(quotient, component.rows)]
    _refuse_shared(quotient, rows)
    failure: Obstacle | None = None
    fits = False
    for root in (*_candidates(quotient, component), None):
        try:
            template = _template_of(quotient, component, rows, root, work)
        except Obstacle as obstacle:
            failure = prefer(failure, obstacle)
            continue
        fits = True
        yield template
    if not fits:
        assert failure is not None
        raise failure.kept()  # not what a local of this frame refers to: that would be a cycle


def _template_of(
    quotient: Quotient, component: Component, rows: Codes, root: Universe | None, work: ElementWork
) -> Template:
    """The template in which all members are alike, else the one in which those of a class are."""
    try:
        return _template(quotient, component, rows, root, None, work)
    except Obstacle as obstacle:
        if root is None or isinstance(obstacle, OutOfBudget):
            raise
        classes = classes_of_members(quotient, component, rows, root, work)
        if classes is None:
            raise
    return _template(quotient, component, rows, root, classes, work)


def _refuse_shared(quotient: Quotient, rows: Codes) -> None:
    matrix = quotient.problem.matrix.take(rows)
    shared = np.flatnonzero(quotient.column_class[matrix.columns] < 0)
    if len(shared):
        row = int(rows[matrix.row_of[shared[0]]])
        family = quotient.problem.row_family(row)
        other = quotient.problem.column_family(int(matrix.columns[shared[0]]))
        what = f"`{family.name}` also contains `{other.name}`, which belongs to no element of `{quotient.root}`"
        raise Obstacle(what, family.span)


def _candidates(quotient: Quotient, component: Component) -> list[Universe]:
    """Return the possible sets of members: those that index columns, the largest first."""
    found: dict[int, Universe] = {}
    for family in _families(quotient.problem.column_families, component.columns):
        for part in family.domain.components:
            if part is not None and part is not quotient.universe:
                found[id(part)] = part
    return sorted(found.values(), key=lambda u: -len(u.labels))


def _families(families: Sequence[Family], numbers: Codes) -> list[Family]:
    """The families of some columns or rows, which ascend."""
    return [f for f in families if np.searchsorted(numbers, f.first) < np.searchsorted(numbers, f.stop)]


@dataclass(frozen=True, eq=False)
class _Placed:
    """Columns or rows by member (a code, -1 for none) and kind: those of one kind have one place in the template."""

    member: Codes
    kind: Codes
    kinds: int


def _place(
    quotient: Quotient,
    families: Sequence[Family],
    numbers: Codes,
    root: Universe | None,
    classes: Codes | None = None,
) -> _Placed:
    """The places of columns or rows; with `classes` (one for each code of `root`), those of a class have own kinds."""
    member = np.full(len(numbers), -1, dtype=np.int64)
    kind = np.zeros(len(numbers), dtype=np.int64)
    known = 0
    for family in _families(families, numbers):
        begin, end = np.searchsorted(numbers, (family.first, family.stop))
        positions = numbers[begin:end] - family.first
        codes = [c[positions] for c in family.domain.columns()]
        own = place_of(family.domain, quotient.universe)
        at = None if root is None else _only_place(family, root)
        if at is not None:
            member[begin:end] = codes[at]
        others = [c for place, c in enumerate(codes) if place not in (own, at)]
        if at is not None and classes is not None:
            others.append(classes[codes[at]])
        which, count = _number_tuples(others, end - begin)
        kind[begin:end] = known + which
        known += count
    return _Placed(member, kind, known)


def _only_place(family: Family, root: Universe) -> int | None:
    places = [at for at, part in enumerate(family.domain.components) if part is root]
    if len(places) > 1:
        raise Obstacle(f"`{family.name}` is indexed by two elements of `{root.name}`", family.span)
    return places[0] if places else None


def _number_tuples(columns: Sequence[Codes], size: int) -> tuple[Codes, int]:
    """Equal tuples by equal numbers."""
    if not columns:
        return np.zeros(size, dtype=np.int64), 1
    try:
        keys = Packing.of(columns).keys(columns)
    except OverflowError:
        _, keys = np.unique(np.stack(columns, axis=1), axis=0, return_inverse=True)
    known, which = np.unique(keys.reshape(-1), return_inverse=True)
    return which.reshape(-1).astype(np.int64), len(known)


def classes_of_members(
    quotient: Quotient, component: Component, rows: Codes, root: Universe, work: ElementWork
) -> Codes | None:
    """The class of every code of `root`: members of a class have the same numbers in the same rows and positions.

    None if there are as many classes as members, or more than the states that are listed.
    """
    problem = quotient.problem
    columns = _place(quotient, problem.column_families, component.columns, root)
    places = _place(quotient, problem.constraints, rows, root)
    matrix = problem.matrix.take(rows)
    work.spend(8 * (matrix.nonzeros + len(rows) + len(component.columns)))
    column = np.searchsorted(component.columns, matrix.columns)
    member = np.where(columns.member[column] >= 0, columns.member[column], places.member[matrix.row_of])
    facts = np.concatenate(
        (
            np.stack((0.0 * column, places.kind[matrix.row_of], columns.kind[column], matrix.values), axis=1),
            np.stack((0.0 * rows + 1.0, places.kind, problem.row_lower[rows], problem.row_upper[rows]), axis=1),
            np.stack((0.0 * columns.kind + 2.0, columns.kind, 0.0 * columns.kind, 0.0 * columns.kind), axis=1),
        )
    )
    member = np.concatenate((member, places.member, columns.member))
    owned = np.flatnonzero(member >= 0)
    fact = distinct_rows(facts[owned] + 0.0)[1]  # without negative zeros
    domain = TupleDomain((root, None), (member[owned], fact))
    classes = split_by_entries(np.zeros(len(root.labels), dtype=np.int64), domain, 0, None)
    used = unique(member[owned])
    count = len(unique(classes[used]))
    return None if count in (1, len(used)) or count > MOST_CLASSES else classes


def _template(
    quotient: Quotient,
    component: Component,
    rows: Codes,
    root: Universe | None,
    classes: Codes | None,
    work: ElementWork,
) -> Template:
    problem = quotient.problem
    columns = _place(quotient, problem.column_families, component.columns, root, classes)
    is_hub = columns.member < 0
    position_kinds, position = np.unique(columns.kind[~is_hub], return_inverse=True)
    hubs = np.flatnonzero(is_hub)
    members, member = np.unique(columns.member[~is_hub], return_inverse=True)
    position, member = position.reshape(-1), member.reshape(-1)
    span = problem.column_family(int(component.columns[0])).span
    work.spend(problem.matrix.nonzeros + len(members) * len(position_kinds), span)
    table = np.full((len(members), len(position_kinds)), -1, dtype=np.int64)
    table[member, position] = component.columns[~is_hub]
    of_member = _place(quotient, problem.constraints, rows, root).member >= 0
    integer = integer_columns_by_rows(quotient, component.columns, rows, of_member)
    _refuse_unlike_bounds(quotient, component.columns[~is_hub], integer[~is_hub])

    place = np.empty(len(component.columns), dtype=np.int64)  # positions first, hubs behind
    place[~is_hub] = position
    place[hubs] = len(position_kinds) + np.arange(len(hubs))
    owner = np.full(len(component.columns), -1, dtype=np.int64)
    owner[~is_hub] = columns.member[~is_hub]
    having = np.bincount(position, minlength=len(position_kinds))
    placed = _place(quotient, problem.constraints, rows, root, classes)
    builder = _Rows(quotient, component, rows, placed, place, owner, having, len(hubs), work)
    return Template(
        root,
        members,
        table,
        component.columns[hubs],
        builder.single_rows(),
        builder.common_rows(),
        _exclusive_positions(quotient, table),
    )


class _Rows:
    """The rows of an element as rows of the template."""

    def __init__(
        self,
        quotient: Quotient,
        component: Component,
        rows: Codes,
        placed: _Placed,
        place: Codes,
        owner: Codes,
        having: Codes,
        hubs: int,
        work: ElementWork,
    ) -> None:
        self.quotient, self.rows, self.work = quotient, rows, work
        self.having = having
        self.positions, self.width = len(having), len(having) + hubs
        self.member = placed.member
        # Rows over all members are each of their own kind already: no two of one family agree in all other indices.
        self.kind = placed.kind
        matrix = quotient.problem.matrix.take(rows)
        at = np.searchsorted(component.columns, matrix.columns)
        self.row, self.place, self.values = matrix.row_of.astype(np.int64), place[at], matrix.values
        self.owner = owner[at]
        self.starts = matrix.starts

    def single_rows(self) -> TemplateRows:
        """The rows that a member indexes."""
        rows = np.flatnonzero(self.member >= 0)
        entries = np.flatnonzero(self.member[self.row] >= 0)
        stray = (self.owner[entries] >= 0) & (self.owner[entries] != self.member[self.row[entries]])
        if stray.any():
            self._refuse(int(self.row[entries[stray][0]]), "contains several members")
        return self._merge(rows, entries, each=True)

    def common_rows(self) -> TemplateRows:
        """The rows over all members."""
        return self._merge(np.flatnonzero(self.member < 0), np.flatnonzero(self.member[self.row] < 0), each=False)

    def _merge(self, rows: Codes, entries: Codes, *, each: bool) -> TemplateRows:
        """Merge all rows of a kind to one row of the template; their numbers must agree."""
        problem = self.quotient.problem
        kinds, first, which = np.unique(self.kind[rows], return_index=True, return_inverse=True)
        which = which.reshape(-1)
        lower, upper = problem.row_lower[self.rows[rows]], problem.row_upper[self.rows[rows]]
        unlike = np.flatnonzero((lower != lower[first][which]) | (upper != upper[first][which]))
        if len(unlike):
            self._refuse(int(rows[unlike[0]]), "has different sides for different members")
        kind_of = np.searchsorted(kinds, self.kind[self.row[entries]])
        key = kind_of * self.width + self.place[entries]
        known, at, inverse = np.unique(key, return_index=True, return_inverse=True)
        inverse = inverse.reshape(-1)
        values = self.values[entries]
        unlike = np.flatnonzero(values != values[at][inverse])
        if len(unlike):
            self._refuse(int(self.row[entries[unlike[0]]]), "has different coefficients for different members")
        place = known % self.width if self.width else known
        rows_of_kind = np.bincount(which, minlength=len(kinds))
        hub = place >= self.positions
        wanted = np.where(hub, rows_of_kind[known // max(self.width, 1)], 0)
        wanted[~hub] = self.having[place[~hub]]
        missing = np.flatnonzero(np.bincount(inverse, minlength=len(known)) != wanted)
        if len(missing):
            self._refuse(int(rows[first[known[missing[0]] // self.width]]), "does not exist for every member")
        self.work.spend(len(kinds) * self.width, problem.row_family(int(self.rows[0])).span if len(self.rows) else None)
        dense = np.zeros((len(kinds), self.width))
        dense.reshape(-1)[known] = values[at]
        return TemplateRows(dense[:, : self.positions], dense[:, self.positions :], lower[first], upper[first])

    def _refuse(self, row: int, why: str) -> None:
        family = self.quotient.problem.row_family(int(self.rows[row]))
        raise Obstacle(f"`{family.name}` {why} of an element of `{self.quotient.root}`", family.span)


def _refuse_unlike_bounds(quotient: Quotient, used: Codes, integer: Bools) -> None:
    problem = quotient.problem
    bad = np.flatnonzero((problem.lower[used] != 0) | (problem.upper[used] != 1) | ~integer)
    if len(bad):
        family = problem.column_family(int(used[bad[0]]))
        raise Obstacle(f"`{family.name}` is not binary for each element of `{quotient.root}`", family.span)


def _exclusive_positions(quotient: Quotient, table: Codes) -> Bools:
    """Return positions at most one of which rows over all elements allow for a member.

    Such a row says `sum a x <= cap` once every other column is as small as it can be; those with a > cap / 2 exclude
    each other. For every member the row that covers most of its positions is taken.
    """
    problem = quotient.problem
    matrix = problem.matrix
    local = np.zeros(problem.columns, dtype=np.int64)
    member = np.zeros(problem.columns, dtype=np.int64)
    used = table >= 0
    local[table[used]] = 1
    member[table[used]] = np.nonzero(used)[0]
    entries = np.flatnonzero(quotient.row_class[matrix.row_of] < 0)
    row, column, value = matrix.row_of[entries], matrix.columns[entries], matrix.values[entries]
    ends = np.where(value > 0, problem.lower[column], problem.upper[column])
    with np.errstate(invalid="ignore"):
        least = np.bincount(row, weights=np.where(value != 0, value * ends, 0.0), minlength=problem.rows)
    cap = problem.row_upper - least
    own = (local[column] == 1) & (value > 0)
    row, column, value = row[own], column[own], value[own]
    sizes = quotient.classes.sizes[quotient.column_class[column]]
    tight = value / sizes > cap[row] / 2 * (1 + 1e-9)
    tight &= np.isfinite(cap[row])
    row, column = row[tight], column[tight]
    if not len(row):
        return np.zeros(table.shape[1], dtype=np.bool_)
    pair, count = np.unique(member[column] * problem.rows + row, return_counts=True)
    order = np.lexsort((count, pair // problem.rows))
    last = np.flatnonzero(np.diff(pair[order] // problem.rows, append=-1))
    best = np.full(table.shape[0], -1, dtype=np.int64)
    chosen = pair[order[last]]
    best[chosen // problem.rows] = chosen % problem.rows
    covered = np.zeros(problem.columns, dtype=np.bool_)
    covered[column[best[member[column]] == row]] = True
    return np.asarray(np.where(used, covered[np.maximum(table, 0)], True).all(axis=0))
