"""The entry to decomposition: a linear mixed-integer problem with blocks that only some rows link.

1. The bound: column generation over the blocks (column_generation.py), with rounding cuts of the shared part (cuts.py).
2. A plan: integer shared columns piece by piece (pieces.py), then a point for every block by diving (diving.py). Both
   are improved in turns until the plan is within the gap of the bound.
3. If that does not close the gap, or column generation fails (a block without optimum, too few points): the complete
   problem by the backend, with the plan as its start. Its bound and this one are both valid: the better counts.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from msgspec import structs

from gpusched_dsl.engines.active import EngineUse, active_engine
from gpusched_dsl.ir.arrays import Floats
from gpusched_dsl.ir.blocks import Blocks
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.ir.solver_result import SolverResult, Status
from gpusched_dsl.solving.decomposition.best_so_far import BestSoFar
from gpusched_dsl.solving.decomposition.blocks import BlockStructure, split_problem
from gpusched_dsl.solving.decomposition.column_generation import ColumnGeneration
from gpusched_dsl.solving.decomposition.cuts import with_rounding_cuts
from gpusched_dsl.solving.decomposition.engine_pricing import EnginePricer
from gpusched_dsl.solving.decomposition.monitor import BoundMonitor, DecompositionClock
from gpusched_dsl.solving.decomposition.plan_search import PlanSearch
from gpusched_dsl.solving.decomposition.points import points_of
from gpusched_dsl.solving.decomposition.pricing import BlockPricer, Pricer
from gpusched_dsl.solving.lexicographic import undo_cost_scaling, with_visible_costs
from gsdsl_backends.highs.quiet import QuietHighs
from gsdsl_backends.interrupt import Control, run_stoppable
from gsdsl_backends.protocol import Backend, Monitor, SolveOptions

FEWEST_ROUNDS = 10  # of pricing that the time must be enough for


@dataclass(frozen=True, slots=True)
class Techniques:
    """Which parts of the method to use; all but in tests."""

    recognise: bool = True  # lanes by dynamic programming
    cuts: bool = True
    finish: bool = True  # the whole problem by the backend where the gap stays open


def solve_by_blocks(
    problem: Problem,
    blocks: Blocks,
    backend: Backend,
    options: SolveOptions,
    start: Floats | None = None,
    monitor: Monitor | None = None,
    techniques: Techniques | None = None,
) -> SolverResult:
    """Solve a linear mixed-integer problem with at most one objective by its blocks.

    `values` of the answer fulfil rows, bounds and integrality as `verify` checks them; `bound` holds whatever the
    method did. OPTIMAL: the two are within `options.gap`. Ctrl-C, the time limit and the monitor stop with the best
    plan found. `statistics` counts `rounds`, `points` and blocks `by_dynamic_program`. Blocks that
    the backend prices are priced on the active engine, if there is one (`engines/active.py`); the answer is the same.
    """
    began = time.perf_counter()
    visible, factor = with_visible_costs(problem)
    control = Control()
    found: list[SolverResult] = []
    techniques = techniques or Techniques()
    run = _Run(visible, factor, blocks, backend, options, start, control, techniques, active_engine())

    def work() -> None:
        try:
            found.append(run.run())
        finally:
            # The scheduler of HiGHS belongs to this thread and fixes the number of threads when it starts.
            QuietHighs.resetGlobalScheduler(False)

    run_stoppable(work, control, monitor)
    return structs.replace(undo_cost_scaling(found[0], factor), solve_seconds=time.perf_counter() - began)


class _Run:
    """One solve, in terms of the minimised value; `best` is kept through all stages."""

    def __init__(
        self,
        problem: Problem,
        factor: float,
        blocks: Blocks,
        backend: Backend,
        options: SolveOptions,
        start: Floats | None,
        control: Control,
        techniques: Techniques,
        engine: EngineUse | None,
    ) -> None:
        self.engine = engine
        self.problem, self.backend, self.options, self.techniques = problem, backend, options, techniques
        self.parts = split_problem(problem, blocks)
        self.watch = DecompositionClock(control, options.time_limit, self.parts.sign, factor)
        self.best = BestSoFar(self.parts, self.watch, options.gap)
        self.statistics: dict[str, float] = {}
        if start is not None:
            self.best.offer(start)

    def run(self) -> SolverResult:
        parts = with_rounding_cuts(self.parts) if self.techniques.cuts else self.parts
        pricer: BlockPricer = (own := Pricer(parts, self.backend, self.techniques.recognise))
        if self.engine is not None and own.backend_blocks:
            pricer = EnginePricer(parts, self.backend, self.engine.for_work(), own)
        self.statistics["by_dynamic_program"] = float(pricer.recognised.sum())
        status = self._generate(parts, pricer)
        if status is not None:
            return SolverResult(status, statistics=self.statistics)
        if self.best.is_closed:
            return self._answer(Status.OPTIMAL)
        if self.watch.over or not self.techniques.finish:
            return self._answer(Status.LIMIT, self.watch.reason)
        return self._finish()

    def _generate(self, parts: BlockStructure, pricer: BlockPricer) -> Status | None:
        """Compute bound and plans by column generation; return a status if that alone settles the problem."""
        began = self.watch.control.seconds
        generation = ColumnGeneration.begin(parts, pricer, self.watch)
        left = self.watch.remaining_seconds
        if pricer.backend_blocks and left is not None and left < FEWEST_ROUNDS * (self.watch.control.seconds - began):
            generation.master.close()
            return None  # blocks for the backend, so slow that the time is better spent on the whole
        try:
            if generation.status is not Status.OPTIMAL:
                return Status.INFEASIBLE if generation.status is Status.INFEASIBLE else None
            if self.best.point is not None:
                generation.add(points_of(parts, self.best.point[parts.own]))
            PlanSearch(self.parts, self.backend, self.options, self.watch, self.best, generation).run()
            self.statistics |= {"rounds": float(generation.rounds), "points": float(generation.pool.count)}
        finally:
            generation.master.close()
        return None

    def _finish(self) -> SolverResult:
        """Solve the complete problem by the backend."""
        best = self.best
        within = BoundMonitor(self.watch, None if best.point is None else best.value, best.known_bound)
        session = self.backend.open(self.problem)
        try:
            options = structs.replace(self.options, time_limit=self.watch.remaining_seconds)
            start = best.point if self.backend.capabilities.warm_start else None
            answer = session.solve(options, start, within)
        finally:
            session.close()
        if answer.bound is not None:
            best.raise_bound(self.parts.sign * answer.bound)
        if answer.values is not None:
            best.offer(answer.values)
            if best.point is None:
                return structs.replace(answer, statistics=self.statistics)
        if answer.status in (Status.OPTIMAL, Status.LIMIT) and best.point is not None:
            proved = answer.status is Status.OPTIMAL or best.is_closed
            return self._answer(Status.OPTIMAL if proved else Status.LIMIT, "" if proved else answer.reason)
        return structs.replace(answer, statistics=self.statistics)

    def _answer(self, status: Status, reason: str = "") -> SolverResult:
        sign, best = self.parts.sign, self.best
        bound = min(best.bound, best.value)
        return SolverResult(
            status,
            values=best.point,
            objective=None if best.point is None else sign * best.value,
            bound=sign * bound if np.isfinite(bound) else None,
            reason=reason,
            statistics=self.statistics,
        )
