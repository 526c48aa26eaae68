"""Plans that obey the side rows of a model, where what follows from the jobs of a plan is only known behind it.

The first plan asks no row. If it breaks one, jobs are placed again, and rows refuse places. What a policy decides
beside its jobs (served loads, values of `fix` lines) is known when all jobs are placed, and may still break a row: then
its side is moved, and jobs are placed once more. Rows that demand jobs are met by another queue (`meeting.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import Protocol, Self

import numpy as np

from gpusched_dsl.compiling.lowering.fixing import PlanValues
from gpusched_dsl.ir.arrays import Floats, Ints
from gpusched_dsl.language.checked import CheckedPlacement
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.policies.kernels.row_guard import RowGuard, arrays_of
from gpusched_dsl.policies.plan import Plan
from gpusched_dsl.policies.rows.demands import QueueRepair
from gpusched_dsl.policies.rows.excess import RowExcess
from gpusched_dsl.policies.rows.guard import PlaceRows, Running, guard_of, relax_until_settled, rows_that_demand
from gpusched_dsl.policies.rows.meeting import Met, meet_demands
from gpusched_dsl.policies.rows.problem import SideProblem
from gpusched_dsl.policies.workload import NONE

MOST_PLACES = 20_000_000  # of jobs in nodes and slots, or queues: more take too much memory, and rows are not asked
_MOST_ROUNDS = 10  # plans with sides that are moved further
_MOST_STEPS = 60  # plans with other queues, to meet the rows that demand something


class Passes(Protocol):
    """The passes of a policy, by a guard, with a queue and jobs that a solver placed. They restart the guard."""

    def plan(self, guard: RowGuard, queue: Ints, placed: Running | None) -> Plan:
        """Return a plan with all values that the policy decides."""

    def run(self, guard: RowGuard, queue: Ints, placed: Running | None) -> Running:
        """Return the places of a plan alone."""

    def fewest(self, queue: Ints) -> Running | None:
        """Return the fewest jobs that meet all rows of the model, by a solver; None if none are found."""


def first_that_obeys(
    first: Plan,
    missing: str,
    excess_of_values: Callable[[PlanValues], RowExcess | None],
    sides_of_model: Callable[[], MovedSides],
    passes: Passes,
    order: Ints,
) -> Plan:
    """Return a plan that obeys all rows, with the number of rows that it was asked for; `first` asks none.

    If none is found, it is the one with most jobs of those that break no limit; `first` if there is none, or if `first`
    is one, or where the rows of the model cannot be computed. `missing` is the statistic of jobs that a plan leaves
    out. A plan with values that have no variable obeys no rows. `order` is the queue of the policy.
    """
    if first.stopped:
        return first
    try:
        excess = excess_of_values(first.values)
        if excess is None and not first.outside:
            return first
        sides = sides_of_model()
    except DiagnosticError:  # too large, or what the evaluation of the plan reports too
        return first
    plans = [(first, excess)]
    fewest = cache(lambda: passes.fewest(order))
    rounds, steps = _MOST_ROUNDS if sides.broken_limits(excess) else 1, _MOST_STEPS
    while rounds > 0:
        rows = sides.rows()
        met = Met(rows, order)
        if rows.demands.any():
            met = meet_demands(rows, order, lambda met: passes.run(met.rows.guard, met.queue, met.placed), fewest)
        guard, repair = met.rows.guard, QueueRepair(met.queue)
        while True:
            made = passes.plan(guard, repair.queue(), met.placed)
            made = replace(made, statistics={**made.statistics, "side_rows": float(sides.side.source.rows)})
            excess = excess_of_values(made.values)
            if excess is None and not made.outside:
                return made
            plans.append((made, excess))
            if steps <= 0 or made.stopped or excess is None or not sides.mend(repair, met.rows, made, excess):
                break
            steps -= 1
        rounds -= 1
        if made.stopped or excess is None or not sides.tighten(guard, excess):
            break
    jobs = len(sides.most)
    obeying = [one for one, excess in plans[1:] if not sides.broken_limits(excess) and one.statistics[missing] < jobs]
    if not sides.broken_limits(plans[0][1]) or not obeying:
        return first
    return min(obeying, key=lambda one: one.statistics[missing])


@dataclass(frozen=True, eq=False)
class _MovedRows(PlaceRows):
    """The rows with their sides as they are moved now."""

    sides: MovedSides

    def for_queue(self, queue: Ints) -> Self:
        """Return the rows: columns of jobs that are not in the queue stay open."""
        return self

    def with_jobs(self, jobs: Running) -> Self:
        """Return the rows: a pass enters these jobs first."""
        return self

    def without(self, row: int) -> _MovedRows:
        """Return the rows without one that demands something, or without all such rows if it is none of them."""
        if row != NONE and self.demands[row]:
            self.sides.give_up(np.array([row]))
            found = self.sides.rows()
            if found.demands.sum() < self.demands.sum():
                return found
        self.sides.give_up(np.flatnonzero(self.demands))
        found = self.sides.rows()
        return replace(found, demands=np.zeros_like(found.demands))


class MovedSides:
    """The side rows of a decision and their sides, which are moved where plans break them.

    The column of way w in place i is `column[first[w] + place[i]]`, and each way has as many, side by side; a job has
    `most[j]` columns at most. A way is a job, or `job` has that of each way. Limits are sides that other jobs may obey,
    and not only more jobs; `beyond` are rows that no jobs obey. Rows of the variable `served` are limits where they
    also read the placement, or a variable of `decided`.
    """

    def __init__(
        self,
        side: SideProblem,
        placement: CheckedPlacement,
        first: Ints,
        place: Ints,
        column: Ints,
        most: Ints,
        decided: frozenset[str] = frozenset(),
        served: str | None = None,
        job: Ints | None = None,
    ) -> None:
        self.side, self.most = side, most
        self.first, self.place, self.column = first, place, column
        self.job = np.repeat(np.arange(len(first)) if job is None else job, len(place))
        self.lower, self.upper = side.problem.row_lower.copy(), side.problem.row_upper.copy()
        self.can_ask_demands = True

        source = side.source
        row, columns, values = source.matrix.row_of, source.matrix.columns, source.matrix.values
        own, loads, by_jobs = (np.zeros(source.columns, dtype=np.bool_) for _ in range(3))
        own[source.variable(placement.variable).slice] = True
        for family in source.variables:
            loads[family.slice] |= family.name == served
            by_jobs[family.slice] |= family.name in decided
        by_jobs &= source.lower < source.upper
        has_loads, has_jobs, may_change = (np.zeros(source.rows, dtype=np.bool_) for _ in range(3))
        has_loads[row[loads[columns]]] = True
        has_jobs[row[(own | by_jobs)[columns]]] = True
        may_change[row[(source.lower < source.upper)[columns]]] = True
        self.beyond = np.zeros(source.rows, dtype=np.bool_)
        self.has_loads, self.variable = has_loads, placement.variable
        self.is_limit = np.repeat((has_jobs | (may_change & ~has_loads))[:, None], 2, axis=1)  # lower and upper sides
        self.is_limit[row[own[columns] & (values > 0)], 0] = False
        self.is_limit[row[own[columns] & (values < 0)], 1] = False

    def rows(self) -> _MovedRows:
        """Return the rows as kernels ask them, without jobs.

        Rows that no plan obeys are relaxed; if there are such, no row asks for jobs.
        """
        found = self._rows()
        if found.relaxed.any() and self.can_ask_demands:
            self.can_ask_demands = False
            self.give_up(np.arange(len(self.lower)))
            found = self._rows()
        beyond = self.side.rows[found.relaxed[: len(self.side.rows)]]
        self.beyond[beyond[beyond != NONE]] = True
        return found

    def give_up(self, rows: Ints) -> None:
        """Let some rows ask for no jobs; what they have of a limit stays. Others than rows of the model stay too."""
        at = rows[rows < len(self.lower)]
        at = at[self.side.rows[at] != NONE]
        limit = self.is_limit[self.side.rows[at]]
        self.lower[at[~limit[:, 0]]], self.upper[at[~limit[:, 1]]] = -np.inf, np.inf

    def _rows(self) -> _MovedRows:
        problem = replace(self.side.problem, row_lower=self.lower, row_upper=self.upper)
        built = guard_of(problem, self.first, self.place, self.column, self.job, self.most, self.side.columns)
        guard = arrays_of(built)
        row = np.repeat(np.arange(len(guard.sides)), np.diff(guard.row_starts))
        bounds = guard.start_bounds.copy()
        job_of_column = np.full(len(bounds), NONE)
        job_of_column[self.column[self.column != NONE]] = self.job[self.column != NONE]
        family = self.side.columns[self.side.columns != NONE]
        nowhere = family[job_of_column[family] == NONE]
        bounds[nowhere, 1] = np.maximum(bounds[nowhere, 0], 0.0)
        relaxed = np.zeros(len(guard.sides), dtype=np.bool_)
        demands = rows_that_demand(built, row, self.side.columns)
        relax_until_settled(built, row, bounds, demands, relaxed)
        return _MovedRows(built, self.most, relaxed, demands, job_of_column, self)

    def mend(self, repair: QueueRepair, rows: _MovedRows, made: Plan, excess: RowExcess) -> bool:
        """Change a queue so that a row may be met that demands what a plan misses; return whether it is changed.

        Limits that a plan breaks come first, and rows of loads are met by no queue.
        """
        count = len(self.side.rows)
        known = (self.side.rows != NONE) & (self.side.rows < len(excess.above))
        source = self.side.rows[known]
        broken = np.zeros(count, dtype=np.bool_)
        broken[known] = excess.broken[source] & ~self.beyond[source]
        unmet = broken & rows.demands[:count]
        unmet[known] &= ~self.has_loads[source]
        if (broken & ~unmet).any() or not unmet.any():
            return False
        given = made.values[self.variable]
        at = self.side.source.variable(self.variable).domain.locate(given.codes)
        column, value = self.side.columns[at[at >= 0]], given.values[at >= 0]
        kept = (column != NONE) & (value != 0)
        rows = replace(rows, guard=RowGuard(rows.guard.ints.copy(), rows.guard.floats.copy()))
        return repair.mend(rows, self.running_of(column[kept], value[kept]), int(np.argmax(unmet)))

    def running_of(self, column: Ints, value: Floats) -> Running:
        """Return the jobs with some columns."""
        known = np.flatnonzero(self.column != NONE)
        known = known[np.argsort(self.column[known], kind="stable")]
        found = known[np.searchsorted(self.column[known], column)]
        way, node = np.divmod(found, len(self.place))
        return Running(self.job[found], node, way, value)

    def broken_limits(self, excess: RowExcess | None) -> int:
        """Return how many limits a plan breaks; rows that jobs cannot obey count in no plan."""
        if excess is None:
            return 0
        limit = (self.is_limit & ~self.beyond[:, None])[: len(excess.above)]
        return int((((excess.below > 0) & limit[:, 0]) | ((excess.above > 0) & limit[:, 1])).sum())

    def tighten(self, guard: RowGuard, excess: RowExcess) -> bool:
        """Refuse what a plan has in the limits that it breaks, and ask nothing that it misses; return whether that
        changes a side.

        `guard` has entered the jobs of the plan. The rest of a row is what else the plan has in it.
        """
        at = np.flatnonzero((self.side.rows != NONE) & (self.side.rows < len(excess.above)))
        at = at[~self.beyond[self.side.rows[at]]]
        row = self.side.rows[at]
        above, below = excess.above[row], excess.below[row]
        arrays = arrays_of(guard)
        least = np.where(arrays.infinite[at, 0] == 0, arrays.sums[at, 0], np.inf)
        most = np.where(arrays.infinite[at, 1] == 0, arrays.sums[at, 1], -np.inf)
        lower, upper = self.lower.copy(), self.upper.copy()
        less, more = np.minimum(upper[at], least) - above, np.maximum(lower[at], most) + below
        upper[at] = np.where(above > 0, np.where(self.is_limit[row, 1], less, np.inf), upper[at])
        lower[at] = np.where(below > 0, np.where(self.is_limit[row, 0], more, -np.inf), lower[at])
        changed = bool((lower != self.lower).any() or (upper != self.upper).any())
        self.lower, self.upper = lower, upper
        return changed
