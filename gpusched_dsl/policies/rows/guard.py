"""Builds the `RowGuard` of one decision."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.sparse import block_array, csr_array

from gpusched_dsl.compiling.evaluation.limits import MemoryLimits
from gpusched_dsl.compiling.evaluation.store import ValueStore
from gpusched_dsl.ir.arrays import Bools, Floats, Ints
from gpusched_dsl.ir.names import entry_name
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.ir.tolerances import INTEGRALITY, ROW_SLACK
from gpusched_dsl.ir.variants import with_fixed
from gpusched_dsl.language.checked import CheckedModel
from gpusched_dsl.language.text.numbers import number_text, with_unit
from gpusched_dsl.policies.broken_rows import broken_by_propagation
from gpusched_dsl.policies.cluster import Cluster
from gpusched_dsl.policies.kernels.later_rows import LinkedRows, no_linked_rows
from gpusched_dsl.policies.kernels.row_guard import (
    CLOSES,
    LIMITS,
    REFUSING,
    GuardArrays,
    RowGuard,
    arrays_of,
    commit,
    guard_with,
    holds_values,
    is_broken,
    restart,
    settle,
)
from gpusched_dsl.policies.rows.alike_nodes import is_limit
from gpusched_dsl.policies.rows.problem import SideProblem, columns_of_places, side_problem_on_nodes
from gpusched_dsl.policies.workload import NONE, Schedule

_MOST_RELAXED = 100  # steps of relaxing; after them consequences of what runs are not followed
_MOST_EVALUATED = 100_000  # columns: of larger models a check of the plan alone takes less time
_MOST_TRAIL, _SHORT_TRAIL = 1 << 23, 1 << 17


class Running(NamedTuple):
    """The jobs that a plan runs, R rows: a row for each of the nodes of a job, with its value there.

    Where jobs have slots or positions, `way` and `node` are those by which the guard finds their columns.
    """

    job: Ints
    node: Ints
    way: Ints
    value: Floats


def running_of(schedule: Schedule) -> Running:
    """Return the jobs that run, each on one node."""
    job = np.flatnonzero(schedule.node != NONE)
    return Running(job, schedule.node[job], schedule.way[job], np.ones(len(job)))


@dataclass(frozen=True, eq=False)
class PlaceRows:
    """The guard of a decision where jobs have places: nodes, slots of nodes, or positions in the queue of a node.

    `relaxed`: rows that are not asked as they are. The jobs that run already break them, and they are relaxed to what
    these use; or they demand what no plan of the policy has. `demands`: rows that may be broken because a job does not
    run. `workers` of each job: the most that the values of its columns add up to.
    """

    guard: RowGuard
    workers: Ints
    relaxed: Bools
    demands: Bools
    job_of_column: Ints  # NONE for a column of another variable

    @cached_property
    def arrays(self) -> GuardArrays:
        """The arrays of the guard by name."""
        return arrays_of(self.guard)

    def unmet(self, running: Running) -> int | None:
        """Return a row that a plan breaks once no other job runs (NONE: an unknown one), None if there is none."""
        if not self.demands.any():
            return None
        column, point = self.columns_of(running), self.point_of(running)
        if holds_values(self.guard, column, point):
            return None
        broken = np.flatnonzero(self._broken_by_places(point))
        return int(broken[0]) if len(broken) else int(self.guard.ints[REFUSING])

    def least_wanted(self, running: Running, queue: Ints, otherwise: int) -> int:
        """Return the row that is given up first of those that a plan breaks: its first job comes last in the queue.

        `otherwise` if they are not rows of the placement's variable.
        """
        guard, broken = self.arrays, self._broken_by_places(self.point_of(running))
        turn = np.full(len(self.workers), len(queue))
        turn[queue] = np.arange(len(queue))
        first = np.full(len(broken), len(queue))
        row = np.repeat(np.arange(len(guard.sides)), np.diff(guard.row_starts))
        own = broken[row] & (self.job_of_column[guard.row_columns] != NONE)
        np.minimum.at(first, row[own], turn[self.job_of_column[guard.row_columns[own]]])
        return int(np.argmax(np.where(broken, first, -1))) if broken.any() else otherwise

    def columns_of(self, running: Running) -> Ints:
        """Return the column of each row of a plan, NONE where the model has none."""
        guard = self.arrays
        found: Ints = guard.column[guard.first[running.way] + guard.place[running.node]]
        return found

    def point_of(self, running: Running) -> Floats:
        """Return the values of all columns of the placement's variable in a plan."""
        point, column = np.zeros(len(self.arrays.bounds)), self.columns_of(running)
        point[column[column != NONE]] = running.value[column != NONE]
        return point

    def _broken_by_places(self, point: Floats) -> Bools:
        """Return which rows of the placement's variable alone a plan breaks."""
        guard = self.arrays
        row = np.repeat(np.arange(len(guard.sides)), np.diff(guard.row_starts))
        value = np.bincount(row, weights=guard.row_values * point[guard.row_columns], minlength=len(guard.sides))
        others = np.zeros(len(guard.sides), dtype=np.bool_)
        others[row[self.job_of_column[guard.row_columns] == NONE]] = True
        slack = guard.sides[:, 2]
        return ~others & ((value > guard.sides[:, 1] + slack) | (value < guard.sides[:, 0] - slack))


@dataclass(frozen=True, eq=False)
class SideRows(PlaceRows):
    """The guard of a decision on nodes. `sides` are those of all rows before any was relaxed."""

    side: SideProblem
    cluster: Cluster
    queue: Ints
    start: Running
    sides: Floats

    def are_obeyed(self, running: Running) -> bool:
        """Whether a plan is known to break no row of the model, by evaluation, as the check of a run finds out again.

        No kernel is asked, and no row is relaxed here.
        """
        source, column = self.side.source, self.columns_of(running)
        if source is not self.side.problem or (column == NONE).any():
            return False
        point = self.point_of(running)
        if len(self.side.columns) == source.columns:
            value = source.matrix.activity(point)
            slack = self.arrays.sides[: source.rows, 2]
            return bool(((value <= source.row_upper + slack) & (value >= source.row_lower - slack)).all())
        if source.columns > _MOST_EVALUATED:
            return False
        columns = self.side.columns
        return broken_by_propagation(with_fixed(source, columns, point[columns])) is None

    def without(self, row: int) -> SideRows:
        """Return the guard without a row that demands something, or without all such rows if it is none of them."""
        freed = np.zeros_like(self.demands)
        if row != NONE and self.demands[row] and not self.relaxed[row]:
            freed[row] = True
        else:
            freed |= self.demands
        freed |= self.relaxed & self.demands
        return with_start(self.side, self.cluster, self.workers, self.queue, self.start, freed, self)

    def with_jobs(self, jobs: Running) -> SideRows:
        """Return the guard with more jobs that run from the start."""
        start = Running(*(np.concatenate(both) for both in zip(self.start, jobs, strict=True)))
        return with_start(self.side, self.cluster, self.workers, self.queue, start, self.relaxed & self.demands, self)

    def for_queue(self, queue: Ints) -> SideRows:
        """Return the guard for other jobs."""
        return with_start(self.side, self.cluster, self.workers, queue, self.start, self.relaxed & self.demands, self)

    @cached_property
    def linked(self) -> LinkedRows:
        """The rows that read other variables, without any job, for reservations; not those that demand jobs."""
        known = self.arrays
        if not known.deep.any():
            return no_linked_rows()
        from scipy.sparse.csgraph import connected_components

        lengths = np.diff(np.append(known.first, len(known.column)))
        job = np.repeat(self.cluster.work.job, lengths)
        built = guard_of(
            self.side.problem, known.first, known.place, known.column, job, self.workers, self.side.columns
        )
        guard = arrays_of(built)
        row = np.repeat(np.arange(len(guard.sides)), np.diff(guard.row_starts))
        demands = rows_that_demand(built, row, self.side.columns)
        demands[built.ints[LIMITS] :] = True
        guard.sides[demands, 0], guard.sides[demands, 1] = -np.inf, np.inf
        relax_until_settled(built, row, guard.start_bounds.copy(), demands, np.zeros_like(demands))
        asked = ~demands[row] & np.isinf(guard.first_room[row])
        shape = (len(guard.sides), len(guard.bounds))
        links = csr_array((np.ones(int(asked.sum())), (row[asked], guard.row_columns[asked])), shape=shape)
        _, part = connected_components(block_array([[None, links], [links.T, None]]), directed=False)
        in_any = np.zeros(len(guard.bounds), dtype=np.bool_)
        in_any[guard.row_columns[asked]] = True
        return LinkedRows(built, np.where(in_any, part[len(guard.sides) :], NONE).astype(np.int64))

    def refusal(self, job: int) -> int:
        """Return the row that kept a gang waiting in the pass that ended last, NONE if rows did not.

        Of the rows with too little left for it beside other jobs, that with most of its columns: the row of a rack
        rather than that of a node, and one that other jobs fill rather than one of its own.
        """
        guard = self.arrays
        if guard.refused[job] == NONE:
            return int(NONE)
        row = np.repeat(np.arange(len(guard.sides)), np.diff(guard.row_starts))
        owner = self.job_of_column[guard.row_columns]
        own, shared = owner == job, np.zeros(len(guard.sides), dtype=np.bool_)
        shared[row[(owner != NONE) & (owner != job)]] = True
        above = own & (guard.row_values > 0)
        least = np.full(len(guard.sides), np.inf)
        np.minimum.at(least, row[above], guard.row_values[above])
        left = guard.sides[:, 1] + guard.sides[:, 2] - guard.sums[:, 0]
        full = shared & (guard.infinite[:, 0] == 0) & (left < least * self.workers[job])
        full[self.guard.ints[LIMITS] :] = False
        columns = np.bincount(row[above], minlength=len(guard.sides)) * full
        best = int(np.argmax(columns)) if len(columns) else 0
        return best if len(columns) and columns[best] > 0 else int(guard.refused[job])

    def refusal_text(self, row: int, job: int) -> str:
        """Return which row refused a job, and how full it is, for a reader; empty for one that states no row."""
        name = self.name(row)
        if name is None:
            return ""
        guard = self.arrays
        entries = slice(int(guard.row_starts[row]), int(guard.row_starts[row + 1]))
        own = self.job_of_column[guard.row_columns[entries]] == job
        adds = guard.row_values[entries][own]
        least, most = float(guard.sums[row, 0]), float(guard.sides[row, 1])
        if not len(adds) or adds.min() <= 0 or not np.isfinite(most) or guard.infinite[row, 0]:
            return f"`{name}` would be broken"
        unit = self.side.source.row_family(int(self.side.rows[row])).unit
        texts = [with_unit(number_text(round(v, 9) + 0.0), unit) for v in (least, most, float(adds.min()))]
        who = "the job" if self.workers[job] == 1 else f"each of its {int(self.workers[job])} workers"
        return f"`{name}` is {texts[0]} of at most {texts[1]}, and {who} adds {texts[2]}"

    def name(self, row: int) -> str | None:
        """The name of a row in the model, None for one that states no row of it."""
        source = int(self.side.rows[row]) if 0 <= row < len(self.side.rows) else NONE
        return None if source < 0 else entry_name(self.side.source.row_family(source), source)


def side_rows_of(
    model: CheckedModel, cluster: Cluster, store: ValueStore, limits: MemoryLimits, workers: Ints, queue: Ints,
    start: Running,
) -> SideRows:  # fmt: skip
    """Return the guard of side rows for the jobs of a queue; those that `start` runs are entered.

    `model` has the side rows alone. Raises DiagnosticError as `ground` does.
    """
    return with_start(
        side_problem_on_nodes(model, cluster.placement, store, limits), cluster, workers, queue, start, None
    )


def guard_of(
    problem: Problem, first: Ints, place: Ints, column: Ints, job: Ints, workers: Ints, family: Ints | None = None
) -> RowGuard:
    """Return the guard of a linear problem; `job` of each entry of `column`. Its state is that without any job.

    `workers` of each job: 1, or the most that the values of its columns add up to. `family`: all columns of the
    placement's variable, those of places alone by default.
    """
    matrix = problem.matrix
    values, columns = matrix.values.astype(np.float64), matrix.columns.astype(np.int64)
    starts = matrix.starts.astype(np.int64)
    row_lower, row_upper = problem.row_lower.astype(np.float64), problem.row_upper.astype(np.float64)
    bounds, integer = bounds_of(problem), problem.integer
    lower, upper = bounds.T
    is_place = np.zeros(problem.columns, dtype=np.bool_)
    is_place[column[column != NONE]] = True
    if family is not None:
        is_place[family[family != NONE]] = True
    row = np.repeat(np.arange(problem.rows), np.diff(starts))
    pure = is_limit(row, columns, values, row_lower, row_upper, is_place & (lower >= 0))
    starts, columns, values, row_lower, row_upper, limited = _with_one_place(
        starts, columns, values, row_lower, row_upper, pure, is_place, column, job, workers
    )
    row = np.repeat(np.arange(len(row_lower)), np.diff(starts))
    pure = np.concatenate((pure, np.ones(len(row_lower) - len(pure), dtype=np.bool_)))
    beside = np.zeros(problem.columns, dtype=np.bool_)  # columns in rows that are no pure limits
    beside[columns[~pure[row]]] = True
    loud = ~pure
    loud[row[beside[columns]]] = True
    deep = np.zeros(problem.columns, dtype=np.bool_)
    deep[columns[loud[row]]] = True

    with np.errstate(invalid="ignore"):
        spans = np.abs(values) * (upper - lower)[columns]
    spans[np.isnan(spans)] = 0.0
    reach = np.zeros(len(row_lower))
    np.maximum.at(reach, row, spans)
    size = np.maximum(
        np.where(np.isfinite(row_lower), np.abs(row_lower), 0), np.where(np.isfinite(row_upper), np.abs(row_upper), 0)
    )
    by_column = csr_array((values, columns, starts), shape=(len(row_lower), problem.columns)).tocsc()
    entries = len(values)
    # Where nothing follows from a column, the trail has no more than the columns of one job.
    most = _MOST_TRAIL if deep.any() else _SHORT_TRAIL
    trail, row_trail = min(2 * problem.columns + 1024, most), min(4 * entries + 1024, 2 * most)
    rows = len(row_lower)
    sums, infinite = _sums(starts, columns, values, bounds)
    arrays = GuardArrays(
        first=first,
        place=place,
        column=column,
        row_starts=starts,
        row_columns=columns,
        column_starts=by_column.indptr.astype(np.int64),
        column_rows=by_column.indices.astype(np.int64),
        loud=loud.astype(np.int64),
        deep=deep.astype(np.int64),
        integer=integer.astype(np.int64),
        infinite=infinite,
        start_infinite=infinite,
        refused=np.full(len(workers), NONE),
        limited=limited,
        kept=np.zeros((len(workers), 2), np.int64),
        trail_column=np.zeros(trail, np.int64),
        trail_row=np.zeros(row_trail, np.int64),
        trail_infinite=np.zeros((row_trail, 2), np.int64),
        queue=np.zeros(rows, np.int64),
        queued=np.zeros(rows, np.int64),
        row_values=values,
        column_values=by_column.data.astype(np.float64),
        sides=np.stack((row_lower, row_upper, ROW_SLACK * np.maximum(1.0, size), reach), axis=1),
        bounds=bounds,
        start_bounds=bounds,
        sums=sums,
        start_sums=sums,
        trail_bounds=np.zeros((trail, 2)),
        trail_sums=np.zeros((row_trail, 2)),
        first_room=np.where(pure & (np.arange(rows) < problem.rows), np.minimum(row_upper, -row_lower), np.inf),
    )
    return guard_with(arrays, problem.rows)


def bounds_of(problem: Problem) -> Floats:
    """Return the lower and the upper bound of each column, those of integers rounded to integers."""
    bounds = np.stack((problem.lower, problem.upper), axis=1).astype(np.float64)
    integer = problem.integer
    bounds[integer, 0] = np.ceil(bounds[integer, 0] - INTEGRALITY)
    bounds[integer, 1] = np.floor(bounds[integer, 1] + INTEGRALITY)
    return bounds


def _with_one_place(
    starts: Ints, columns: Ints, values: Floats, row_lower: Floats, row_upper: Floats, pure: Bools, is_place: Bools,
    column: Ints, job: Ints, workers: Ints,
) -> tuple[Ints, Ints, Floats, Floats, Floats, Ints]:  # fmt: skip
    """Add a row for each job that a row demands, which lets it run in one place at most, or with so many workers.

    Returns these jobs too.
    """
    row = np.repeat(np.arange(len(row_lower)), np.diff(starts))
    helps = (np.isfinite(row_lower)[row] & (values > 0)) | (np.isfinite(row_upper)[row] & (values < 0))
    demanded = np.zeros(len(is_place), dtype=np.bool_)
    demanded[columns[helps & ~pure[row] & is_place[columns]]] = True
    known = column != NONE
    of_job = np.zeros(len(workers), dtype=np.bool_)
    of_job[job[known][demanded[column[known]]]] = True
    added = known & of_job[job]
    if not added.any():
        return starts, columns, values, row_lower, row_upper, np.zeros(0, dtype=np.int64)
    by_job = np.argsort(job[added], kind="stable")
    counts = np.bincount(job[added], minlength=len(workers))
    limited = np.flatnonzero(counts)
    counts = counts[limited]
    return (
        np.concatenate((starts, starts[-1] + np.cumsum(counts))),
        np.concatenate((columns, column[added][by_job])),
        np.concatenate((values, np.ones(len(by_job)))),
        np.concatenate((row_lower, np.full(len(counts), -np.inf))),
        np.concatenate((row_upper, workers[limited].astype(np.float64))),
        limited,
    )


def _sums(starts: Ints, columns: Ints, values: Floats, bounds: Floats) -> tuple[Floats, Ints]:
    """Return the least and the largest value of each row: the finite terms and the number of infinite ones."""
    shape = (len(starts) - 1, len(bounds))
    endless, finite = np.isinf(bounds), np.where(np.isinf(bounds), 0.0, bounds)
    sums, infinite = np.zeros((shape[0], 2)), np.zeros((shape[0], 2), dtype=np.int64)
    for is_positive in (True, False):  # the least value is that at lower bounds where coefficients are positive
        chosen, order = (values > 0, slice(None)) if is_positive else (values <= 0, slice(None, None, -1))
        if not chosen.any():
            continue
        matrix = csr_array((np.where(chosen, values, 0.0), columns, starts), shape=shape)
        sums += matrix @ finite[:, order]
        if endless.any():
            matrix.data = chosen.astype(np.float64)
            infinite += np.rint(matrix @ endless[:, order].astype(np.float64)).astype(np.int64)
    return sums, infinite


def with_start(
    side: SideProblem,
    cluster: Cluster,
    workers: Ints,
    queue: Ints,
    start: Running,
    freed: Bools | None,
    like: SideRows | None = None,
) -> SideRows:
    """Return the guard with the jobs that run entered; rows that these break are relaxed to what they use.

    The rows of `freed` are not asked at all. `like`: rows of the same problem and cluster, whose arrays are copied.
    """
    if like is None:
        first, place, column = columns_of_places(side, cluster)
    else:
        first, place, column = like.arrays.first, like.arrays.place, like.arrays.column
    lengths = np.diff(np.append(first, len(column)))
    job = np.repeat(cluster.work.job, lengths)
    if like is None:
        built = guard_of(side.problem, first, place, column, job, workers, side.columns)
        guard = arrays_of(built)
        sides = guard.sides.copy()
    else:
        built, sides = RowGuard(like.guard.ints.copy(), like.guard.floats.copy()), like.sides
        guard = arrays_of(built)
        guard.sides[:], guard.refused[:] = sides, NONE
        built.ints[REFUSING], built.ints[CLOSES] = NONE, 0

    closed = np.ones(len(workers), dtype=np.bool_)
    closed[queue] = False
    closed[start.job] = True
    known = (column != NONE) & closed[job]
    bounds = bounds_of(side.problem)
    reached = np.zeros(len(bounds), dtype=np.bool_)
    reached[column[column != NONE]] = True
    nowhere = side.columns[side.columns != NONE]
    nowhere = nowhere[~reached[nowhere]]
    bounds[nowhere, 1] = np.maximum(bounds[nowhere, 0], 0.0)
    bounds[column[known], 1] = np.maximum(bounds[column[known], 0], 0.0)
    own = column[first[start.way] + place[start.node]]
    bounds[own[own != NONE]] = start.value[own != NONE, None]
    row = np.repeat(np.arange(len(guard.sides)), np.diff(guard.row_starts))
    demands = rows_that_demand(built, row, side.columns)
    relaxed = np.zeros(len(guard.sides), dtype=np.bool_) if freed is None else freed.copy()
    guard.sides[relaxed, 0], guard.sides[relaxed, 1] = -np.inf, np.inf
    relax_until_settled(built, row, bounds, demands, relaxed)
    restart(built)
    job_of_column = np.full(len(bounds), NONE)
    job_of_column[column[column != NONE]] = job[column != NONE]
    return SideRows(built, workers, relaxed, demands, job_of_column, side, cluster, queue, start, sides)


def relax_until_settled(built: RowGuard, row: Ints, bounds: Floats, demands: Bools, relaxed: Bools) -> None:
    """Let a pass start with bounds of columns and all that follows from them; rows that these break are relaxed.

    `row` is that of each entry. `relaxed` receives the rows that are not asked as they are.
    """
    guard, limits = arrays_of(built), int(built.ints[LIMITS])
    for _ in range(_MOST_RELAXED):
        sums, infinite = _sums(guard.row_starts, guard.row_columns, guard.row_values, bounds)
        slack = guard.sides[:, 2]
        over = (infinite[:, 0] == 0) & (sums[:, 0] > guard.sides[:, 1] + slack)
        under = (infinite[:, 1] == 0) & (sums[:, 1] < guard.sides[:, 0] - slack)
        guard.sides[over, 1], guard.sides[under, 0] = sums[over, 0], sums[under, 1]
        relaxed |= over | under
        guard.start_bounds[:], guard.start_sums[:], guard.start_infinite[:] = bounds, sums, infinite
        restart(built)
        if settle(built):
            guard.start_bounds[:], guard.start_sums[:] = guard.bounds, guard.sums
            guard.start_infinite[:] = guard.infinite
            commit(built)
            break
        at = int(built.ints[REFUSING])
        if at >= limits:  # a job is wanted in several places
            relaxed |= demands
            guard.sides[demands, 0], guard.sides[demands, 1] = -np.inf, np.inf
            continue
        wanted = _contradicting_demand(built, row, demands & ~relaxed)
        at = at if wanted == NONE else wanted
        relaxed[at] = True
        if wanted == NONE and is_broken(built, at):
            end = 0 if guard.infinite[at, 0] == 0 and guard.sums[at, 0] > guard.sides[at, 1] else 1
            guard.sides[at, 1 - end] = guard.sums[at, end]
        else:
            guard.sides[at, 0], guard.sides[at, 1] = -np.inf, np.inf


def _contradicting_demand(built: RowGuard, row: Ints, demands: Bools) -> int:
    """Return a row that demands something which all other rows and the jobs that run exclude.

    It is the first one that contradicts those before it; NONE if what it contradicts is no demand. Rows that all
    columns at 0 satisfy (both or none) come first, then the others (at least two), each in the order of the model. Rows
    that link jobs to other variables demand nothing by themselves.
    """
    guard = arrays_of(built)
    has_place, has_other, is_place = (
        np.zeros_like(demands),
        np.zeros_like(demands),
        np.zeros(len(guard.bounds), np.bool_),
    )
    is_place[guard.column[guard.column != NONE]] = True
    has_place[row[is_place[guard.row_columns]]] = True
    has_other[row[~is_place[guard.row_columns]]] = True
    sides, order = guard.sides.copy(), np.flatnonzero(demands & ~(has_place & has_other))
    fits_zero = (sides[order, 0] <= sides[order, 2]) & (sides[order, 1] >= -sides[order, 2])
    order = order[np.argsort(~fits_zero, kind="stable")]

    def settles(count: int) -> bool:
        guard.sides[:] = sides
        guard.sides[order[count:], 0], guard.sides[order[count:], 1] = -np.inf, np.inf
        restart(built)
        return bool(settle(built))

    low, high = 0, len(order)
    found = NONE
    if high and settles(0):
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if settles(middle) else (low, middle)
        found = int(order[high - 1])
    guard.sides[:] = sides
    restart(built)
    settle(built)
    return int(found)


def rows_that_demand(built: RowGuard, row: Ints, family: Ints) -> Bools:
    """Return which rows a job that does not run may break, also through other variables.

    `falls` are the columns that a row may push down once jobs do not run, `rises` those that it may push up.
    """
    guard = arrays_of(built)
    columns, values = guard.row_columns, guard.row_values
    falls, rises = (np.zeros(len(guard.bounds), dtype=np.bool_) for _ in range(2))
    falls[family[family != NONE]] = True
    is_place = falls.copy()
    found = np.zeros(len(guard.sides), dtype=np.bool_)
    at_least, at_most = np.isfinite(guard.sides[row, 0]), np.isfinite(guard.sides[row, 1])
    while True:
        before = int(falls.sum()) + int(rises.sum())
        low = np.zeros_like(found)  # rows whose value may fall below their lower side
        low[row[at_least & ((falls[columns] & (values > 0)) | (rises[columns] & (values < 0)))]] = True
        high = np.zeros_like(found)
        high[row[at_most & ((falls[columns] & (values < 0)) | (rises[columns] & (values > 0)))]] = True
        found |= low | high
        other = ~is_place[columns]
        falls[columns[other & ((low[row] & (values < 0)) | (high[row] & (values > 0)))]] = True
        rises[columns[other & ((low[row] & (values > 0)) | (high[row] & (values < 0)))]] = True
        if int(falls.sum()) + int(rises.sum()) == before:
            found[int(built.ints[LIMITS]) :] = False
            return found
