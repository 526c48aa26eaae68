"""A plan from prices: most jobs take their best case, those near a tie and what is in common are decided by a solver.

The prices of a sample are improved by cutting planes (`bundle.py`) before. If the gap of the plan is too large, more
ways are left to the solver.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from msgspec import structs

from gpusched_dsl.ir.arrays import Codes, Floats
from gpusched_dsl.ir.deadline import checkpoint
from gpusched_dsl.ir.domains import IntervalDomain
from gpusched_dsl.ir.matrix import Matrix
from gpusched_dsl.ir.problem import Family, Objective, Problem, Term
from gpusched_dsl.ir.solver_result import relative_gap
from gpusched_dsl.solving.primal.restriction import has_point, solve_part
from gpusched_dsl.solving.shares.bundle import improve
from gpusched_dsl.solving.shares.pricing import Pricing, Restricted, Sweep, reduced_costs, restricted, sample
from gpusched_dsl.solving.shares.tables import Common, WayTable
from gsdsl_backends.protocol import Backend, Monitor, SolveOptions

FREE = 3_000  # ways besides the best ones
MORE = 3  # times as many where these are too few
MOST_FREE = 1_000_000
MOST_COUNTED = 2_000_000  # ways, whose differences are sorted
SHARE_OF_GAP, MOST_PRECISE = 0.05, 1e-4  # for the prices
SOLVERS = 0.8  # of the gap, for the solver


@dataclass(frozen=True, eq=False)
class ChosenPlan:
    """`ways` of the jobs of each share (-1: none), and values of the columns of no job; as a minimum, `objective`."""

    ways: tuple[Codes, ...]
    values: Floats
    objective: float


@dataclass(frozen=True, eq=False)
class Planned:
    """The best plan (None if none was found) and the best bound."""

    plan: ChosenPlan | None
    bound: float
    prices: Floats


def plan(
    pricing: Pricing,
    backend: Backend,
    options: SolveOptions,
    monitor: Monitor | None,
    report: Callable[[float | None, float], None],
    prices: Floats | None = None,
) -> Planned:
    """Find a plan to the gap of the options, from given prices or those of a sample."""
    return _Planning(pricing, backend, options, monitor, report).run(prices)


class _Planning:
    def __init__(
        self,
        pricing: Pricing,
        backend: Backend,
        options: SolveOptions,
        monitor: Monitor | None,
        report: Callable[[float | None, float], None],
    ) -> None:
        self.pricing, self.backend, self.options, self.monitor = pricing, backend, options, monitor
        self.report = report
        self.best: Sweep | None = None
        self.plan: ChosenPlan | None = None

    def run(self, prices: Floats | None) -> Planned:
        if prices is None:
            found = sample(self.pricing).relax()
            prices = np.zeros(self.pricing.common.rows) if found is None else found.prices
        self._report(self.pricing.sweep(prices))
        assert self.best is not None
        improve(self.pricing, self.best, min(MOST_PRECISE, SHARE_OF_GAP * self.options.gap), self._report)
        choice, count = self.best.choice, FREE
        while True:
            checkpoint()
            self._solve(self._free(choice, count), choice)
            if self._is_proved or count >= self.most:
                return Planned(self.plan, self.best.bound, self.best.prices)
            choice = choice if self.plan is None else self.plan.ways
            count *= MORE

    @property
    def most(self) -> int:
        return min(MOST_FREE, sum(share.count for share in self.pricing.tables.shares))

    @property
    def _is_proved(self) -> bool:
        if self.plan is None or self.best is None:
            return False
        return relative_gap(self.plan.objective, self.best.bound) <= self.options.gap

    def _report(self, sweep: Sweep) -> None:
        if self.best is None or sweep.bound > self.best.bound:
            self.best = sweep
            self.report(None if self.plan is None else self.plan.objective, sweep.bound)

    def _free(self, choice: Sequence[Codes], count: int) -> Restricted:
        """The program of about `count` ways that cost least more than the best case of their job, with the best and
        those of `choice`. A job is free if it has another case as near.
        """
        assert self.best is not None
        shares, common = self.pricing.tables.shares, self.pricing.common
        every = 1 + sum(share.count for share in shares) // MOST_COUNTED
        seen = [_excess(share, common, self.best.prices)[::every] for share in shares]
        known = np.concatenate([excess[excess > 0] for excess in seen])
        number = min(count // every, len(known) - 1)
        limit = float(np.partition(known, number)[number]) if number >= 0 else np.inf
        jobs, kept = [], []
        for share, taken, margin in zip(shares, choice, self.best.margin, strict=True):
            near = _excess(share, common, self.best.prices) <= limit
            near[taken[taken >= 0]] = True
            owner = np.repeat(np.arange(len(share.jobs)), np.diff(share.first))
            ways = np.bincount(owner[near], minlength=len(share.jobs))
            jobs.append(np.flatnonzero((ways > (taken >= 0)) | (margin <= limit)))
            kept.append(near)
        return restricted(self.pricing, jobs, choice, kept)

    def _solve(self, program: Restricted, choice: Sequence[Codes]) -> None:
        options = structs.replace(self.options, gap=SOLVERS * self.options.gap)
        answer = solve_part(self.backend, _problem(program), options, None, _NoMonitor(self.monitor))
        if not has_point(answer):
            return
        assert answer.values is not None
        assert self.best is not None
        values = np.where(program.integer, np.rint(answer.values), answer.values)
        if program.is_network:
            vertex = program.relax(values[program.ways :])
            if vertex is None:
                return
            values = np.concatenate((np.rint(vertex.point[: program.ways]), values[program.ways :]))
        objective = float(program.cost @ values) + program.offset
        if self.plan is None or objective < self.plan.objective:
            self.plan = ChosenPlan(_rounded(program, values, choice), values[program.ways :], objective)
            self.report(objective, self.best.bound)


def _rounded(program: Restricted, point: Floats, choice: Sequence[Codes]) -> tuple[Codes, ...]:
    """The choice, with the ways of free jobs that are more than half taken, else none."""
    found = [ways.copy() for ways in choice]
    taken = point[: program.ways] > 0.5
    for number in np.unique(program.share).tolist():
        own = program.share == number
        found[number][program.job[own]] = -1
        found[number][program.job[own & taken]] = program.way[own & taken]
    return tuple(found)


def _excess(share: WayTable, common: Common, prices: Floats) -> Floats:
    """How much more each way costs than the best case of its job."""
    if not share.count:
        return np.zeros(0)
    reduced = reduced_costs(share, common, prices)
    counts = np.diff(share.first)
    filled = np.flatnonzero(counts)
    least = np.minimum.reduceat(reduced, share.first[:-1][filled])
    least = np.where(share.exact[filled], least, np.minimum(least, 0.0))
    return np.asarray(reduced - np.repeat(least, counts[filled]))


def _problem(program: Restricted) -> Problem:
    matrix = program.matrix.tocsr()
    matrix.sort_indices()
    columns = len(program.cost)
    used = np.flatnonzero(program.cost)
    term = Term(None, used.astype(np.int32), program.cost[used], program.offset)
    return Problem(
        name="share",
        variables=(Family("x", 0, IntervalDomain(0, columns - 1)),),
        lower=program.column_lower,
        upper=program.column_upper,
        integer=program.integer,
        constraints=(Family("row", 0, IntervalDomain(0, len(program.lower) - 1)),),
        matrix=Matrix(matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32), matrix.data.astype(np.float64)),
        row_lower=program.lower,
        row_upper=program.upper,
        objectives=(Objective("minimize", (term,)),),
    )


class _NoMonitor:
    """Passes on that the user stops, but no progress of a part."""

    def __init__(self, monitor: Monitor | None) -> None:
        self.monitor = monitor

    @property
    def stop_requested(self) -> bool:
        return self.monitor is not None and self.monitor.stop_requested

    def progress(self, progress: object) -> None:
        pass
