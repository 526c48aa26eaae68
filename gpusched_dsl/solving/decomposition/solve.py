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

from gpusched_dsl.backends.highs.quiet import QuietHighs
from gpusched_dsl.backends.interrupt import Control, run_stoppable
from gpusched_dsl.backends.protocol import Backend, Monitor, SolveOptions
from gpusched_dsl.engines.active import EngineUse, active_engine
from gpusched_dsl.ir.arrays import Floats
from gpusched_dsl.ir.blocks import Blocks
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.ir.solver_result import SolverResult, Status, relative_gap
from gpusched_dsl.ir.verify import verify
from gpusched_dsl.solving.decomposition.blocks import BlockStructure, split_problem
from gpusched_dsl.solving.decomposition.column_generation import NO_SLACK, ColumnGeneration
from gpusched_dsl.solving.decomposition.cuts import with_rounding_cuts
from gpusched_dsl.solving.decomposition.diving import BlockPlan, BlockPlanner
from gpusched_dsl.solving.decomposition.engine_pricing import EnginePricer
from gpusched_dsl.solving.decomposition.mending import mend
from gpusched_dsl.solving.decomposition.monitor import BoundMonitor, DecompositionClock, StopMonitor
from gpusched_dsl.solving.decomposition.points import points_of
from gpusched_dsl.solving.decomposition.pricing import BlockPricer, Pricer
from gpusched_dsl.solving.lexicographic import undo_cost_scaling, with_visible_costs
from gpusched_dsl.solving.primal.any_point import find_any_point
from gpusched_dsl.solving.primal.budget import MOST_SECONDS, HeuristicBudget

# Column generation stops when its bound is this share of the gap asked for below the master, within these limits.
SHARE_OF_GAP, TIGHTEST, LOOSEST = 0.1, 1e-7, 5e-4
FEWEST_ROUNDS = 10  # of pricing that the time must be enough for
MOST_TURNS = 8
WORTH_A_TURN = 0.02  # share of the remaining gap that a turn must close to be worth another
# Shares of the remaining time: for generation before any feasible point is searched for, for that search, and for
# generation after it.
PATIENCE, ANY_POINT, GENERATION = 0.25, 0.3, 0.4


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
    """One solve, in terms of the minimised value; `best` and `bound` are kept through all stages."""

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
        self.best: Floats | None = None
        self.value, self.bound = np.inf, -np.inf
        self.statistics: dict[str, float] = {}
        if start is not None:
            self._offer(start)

    def run(self) -> SolverResult:
        parts = with_rounding_cuts(self.parts) if self.techniques.cuts else self.parts
        pricer: BlockPricer = (own := Pricer(parts, self.backend, self.techniques.recognise))
        if self.engine is not None and own.backend_blocks:
            pricer = EnginePricer(parts, self.backend, self.engine.for_work(), own)
        self.statistics["by_dynamic_program"] = float(pricer.recognised.sum())
        status = self._generate(parts, pricer)
        if status is not None:
            return SolverResult(status, statistics=self.statistics)
        if self.is_closed:
            return self._answer(Status.OPTIMAL)
        if self.watch.over or not self.techniques.finish:
            return self._answer(Status.LIMIT, self.watch.reason)
        return self._finish()

    @property
    def is_closed(self) -> bool:
        return self.best is not None and self._gap() <= self.options.gap

    def _gap(self) -> float:
        return relative_gap(self.value, min(self.bound, self.value)) if np.isfinite(self.value) else np.inf

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
            if self.best is not None:
                generation.add(points_of(parts, self.best[parts.own]))
            self._improve(generation, BlockPlanner(generation))
            self.statistics |= {"rounds": float(generation.rounds), "points": float(generation.pool.count)}
        finally:
            generation.master.close()
        return None

    def _improve(self, generation: ColumnGeneration, planner: BlockPlanner) -> None:
        """Generate points, then plan with them; meanwhile find any plan, if the generation takes long."""
        within = min(max(SHARE_OF_GAP * self.options.gap, TIGHTEST), LOOSEST)
        answer = generation.run(within, self._second(PATIENCE))
        if not generation.is_finished and answer is not None and generation.status is Status.OPTIMAL:
            self.bound = max(self.bound, generation.bound)
            self._find_any()
            answer = generation.run(within, self._second(GENERATION))
        self.bound = max(self.bound, generation.bound)
        if answer is None or generation.status is not Status.OPTIMAL or answer.slack.sum() > NO_SLACK:
            return
        if self.is_closed or self.watch.over:
            return
        plan = planner.first(answer)
        if plan is not None and not np.isfinite(plan.value):
            plan = self._mend(planner, plan)
        for other in (planner.blocks_first, lambda: self._adopt_best(planner)):
            if self.watch.over or (plan is not None and np.isfinite(plan.value)):
                break
            plan = other()
        self._plan(planner, plan)

    def _second(self, share: float) -> float:
        """Return the second at which this share of the remaining time is over, infinite without a limit."""
        left = self.watch.remaining_seconds
        return np.inf if left is None else self.watch.control.seconds + share * left

    def _find_any(self) -> None:
        """Find a feasible point, whatever it costs, if none is known."""
        if self.best is not None:
            return
        point = find_any_point(self.problem, self.backend, self.options, self._budget())
        if point is not None:
            self._offer(point)

    def _budget(self) -> HeuristicBudget:
        """Return the budget of one search by the backend."""
        left = self.watch.remaining_seconds
        return HeuristicBudget(MOST_SECONDS if left is None else ANY_POINT * left, StopMonitor(self.watch))

    def _adopt_best(self, planner: BlockPlanner) -> BlockPlan | None:
        """The plan that the best known point is, or any feasible one."""
        self._find_any()
        if self.best is None or self.watch.over:
            return None
        return planner.adopt(self.best[self.parts.shared], self.best[self.parts.own])

    def _mend(self, planner: BlockPlanner, plan: BlockPlan) -> BlockPlan | None:
        """Plan the blocks anew that use what an infeasible plan lacks."""
        parts, lacking = self.parts, planner.lacking(plan)
        kept, own = ~planner.users(plan, lacking), planner.own_values(plan.chosen)
        point = mend(parts, plan.shared, own, kept, lacking, self.backend, self.options, self._budget())
        return None if point is None else planner.adopt(point[parts.shared], point[parts.own])

    def _plan(self, planner: BlockPlanner, plan: BlockPlan | None) -> None:
        """Improve a plan in turns: its pieces, then its blocks."""
        random = np.random.default_rng(self.options.seed)
        best = plan
        self._offer_plan(planner, plan)
        for _ in range(MOST_TURNS):
            if best is None or not np.isfinite(best.value) or self.is_closed or self.watch.over:
                return
            before = best.value
            for better in (planner.improve_pieces, lambda plan: self._improve_blocks(planner, plan, random)):
                other = better(best)
                if other is not None and other.value < best.value:
                    best = other
                    self._offer_plan(planner, best)
                if self.is_closed or self.watch.over:
                    return
            if before - best.value <= WORTH_A_TURN * (before - self.bound):
                return

    def _improve_blocks(self, planner: BlockPlanner, plan: BlockPlan, random: np.random.Generator) -> BlockPlan | None:
        """Choose all blocks again together, or a few at a time if that gives no better plan."""
        other = planner.improve_blocks(plan, np.arange(self.parts.blocks.count))
        if (other is not None and other.value < plan.value) or self.watch.over:
            return other
        return planner.improve_groups(plan, random)

    def _offer_plan(self, planner: BlockPlanner, plan: BlockPlan | None) -> None:
        if plan is None or not np.isfinite(plan.value):
            return
        own = planner.own_values(plan.chosen)
        shared = np.where(self.parts.integer, np.rint(plan.shared), plan.shared)
        self._offer(self.parts.complete_point(shared, own))

    def _offer(self, point: Floats) -> None:
        """Keep a point of the complete problem if it is valid and the best so far."""
        point = np.clip(point, self.problem.lower, self.problem.upper)
        point = np.where(self.problem.integer, np.rint(point), point)
        value = self.parts.sign * (self.problem.objectives[0].value(point) if self.problem.objectives else 0.0)
        if value < self.value and verify(self.problem, point).feasible:
            self.best, self.value = point, value
            self.watch.report(value, None if np.isneginf(self.bound) else self.bound)

    def _finish(self) -> SolverResult:
        """Solve the complete problem by the backend."""
        known = None if self.best is None else self.value
        within = BoundMonitor(self.watch, known, None if np.isneginf(self.bound) else self.bound)
        session = self.backend.open(self.problem)
        try:
            options = structs.replace(self.options, time_limit=self.watch.remaining_seconds)
            start = self.best if self.backend.capabilities.warm_start else None
            answer = session.solve(options, start, within)
        finally:
            session.close()
        if answer.bound is not None:
            self.bound = max(self.bound, self.parts.sign * answer.bound)
        if answer.values is not None:
            self._offer(answer.values)
            if self.best is None:
                return structs.replace(answer, statistics=self.statistics)
        if answer.status in (Status.OPTIMAL, Status.LIMIT) and self.best is not None:
            proved = answer.status is Status.OPTIMAL or self.is_closed
            return self._answer(Status.OPTIMAL if proved else Status.LIMIT, "" if proved else answer.reason)
        return structs.replace(answer, statistics=self.statistics)

    def _answer(self, status: Status, reason: str = "") -> SolverResult:
        sign = self.parts.sign
        bound = min(self.bound, self.value)
        return SolverResult(
            status,
            values=self.best,
            objective=None if self.best is None else sign * self.value,
            bound=sign * bound if np.isfinite(bound) else None,
            reason=reason,
            statistics=self.statistics,
        )
