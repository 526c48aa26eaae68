"""Plans from a generation, improved in turns until they are within the gap of the bound or the time is over."""

from __future__ import annotations

import numpy as np

from gpusched_dsl.ir.solver_result import Status
from gpusched_dsl.solving.decomposition.best_so_far import BestSoFar
from gpusched_dsl.solving.decomposition.blocks import BlockStructure
from gpusched_dsl.solving.decomposition.column_generation import NO_SLACK, ColumnGeneration
from gpusched_dsl.solving.decomposition.diving import BlockPlan, BlockPlanner
from gpusched_dsl.solving.decomposition.mending import mend
from gpusched_dsl.solving.decomposition.monitor import DecompositionClock
from gpusched_dsl.solving.primal.any_point import find_any_point
from gpusched_dsl.solving.primal.budget import MOST_SECONDS, HeuristicBudget
from gsdsl_backends.protocol import Backend, SolveOptions, StopMonitor

# Column generation stops when its bound is this share of the gap asked for below the master, within these limits.
SHARE_OF_GAP, TIGHTEST, LOOSEST = 0.1, 1e-7, 5e-4
MOST_TURNS = 8
WORTH_A_TURN = 0.02  # share of the remaining gap that a turn must close to be worth another
# Shares of the remaining time: for generation before any feasible point is searched for, for that search, and for
# generation after it.
PATIENCE, ANY_POINT, GENERATION = 0.25, 0.3, 0.4


class PlanSearch:
    """The search of one solve; what it finds goes to `best`."""

    def __init__(
        self,
        parts: BlockStructure,
        backend: Backend,
        options: SolveOptions,
        watch: DecompositionClock,
        best: BestSoFar,
        generation: ColumnGeneration,
    ) -> None:
        """`parts` as the problem states them; those of the generation may have more rows, which are implied."""
        self.parts, self.backend, self.options, self.watch, self.best = parts, backend, options, watch, best
        self.generation, self.planner = generation, BlockPlanner(generation)

    @property
    def is_over(self) -> bool:
        return self.best.is_closed or self.watch.over

    def run(self) -> None:
        """Generate points, then plan with them; meanwhile find any plan, if the generation takes long."""
        generation = self.generation
        within = min(max(SHARE_OF_GAP * self.options.gap, TIGHTEST), LOOSEST)
        answer = generation.run(within, self._second(PATIENCE))
        if not generation.is_finished and answer is not None and generation.status is Status.OPTIMAL:
            self.best.raise_bound(generation.bound)
            self._find_any()
            answer = generation.run(within, self._second(GENERATION))
        self.best.raise_bound(generation.bound)
        if answer is None or generation.status is not Status.OPTIMAL or answer.slack.sum() > NO_SLACK or self.is_over:
            return
        plan = self.planner.first(answer)
        if plan is not None and not np.isfinite(plan.value):
            plan = self._mend(plan)
        for other in (self.planner.blocks_first, self._adopt_best):
            if self.watch.over or (plan is not None and np.isfinite(plan.value)):
                break
            plan = other()
        self._improve_in_turns(plan)

    # --- a first plan ------------------------------------------------------------------------------------------------

    def _second(self, share: float) -> float:
        """Return the second at which this share of the remaining time is over, infinite without a limit."""
        left = self.watch.remaining_seconds
        return np.inf if left is None else self.watch.control.seconds + share * left

    def _budget(self, share: float) -> HeuristicBudget:
        """Return the budget of a search by the backend."""
        left = self.watch.remaining_seconds
        return HeuristicBudget(
            MOST_SECONDS if left is None else share * left, StopMonitor(lambda: self.watch.stop_requested)
        )

    def _find_any(self) -> None:
        """Find a feasible point, whatever it costs, if none is known."""
        if self.best.point is None:
            point = find_any_point(self.parts.problem, self.backend, self.options, self._budget(ANY_POINT))
            if point is not None:
                self.best.offer(point)

    def _adopt_best(self) -> BlockPlan | None:
        """The plan that the best known point is, or any feasible one."""
        self._find_any()
        point = self.best.point
        if point is None or self.watch.over:
            return None
        return self.planner.adopt(point[self.parts.shared], point[self.parts.own])

    def _mend(self, plan: BlockPlan) -> BlockPlan | None:
        """Plan the blocks anew that use what an infeasible plan lacks."""
        parts, planner, lacking = self.parts, self.planner, self.planner.lacking(plan)
        kept, own = ~planner.users(plan, lacking), planner.own_values(plan.chosen)
        point = mend(parts, plan.shared, own, kept, lacking, self.backend, self.options, self._budget(ANY_POINT))
        return None if point is None else planner.adopt(point[parts.shared], point[parts.own])

    # --- better plans ------------------------------------------------------------------------------------------------

    def _improve_in_turns(self, plan: BlockPlan | None) -> None:
        """Improve a plan: its pieces, then its blocks."""
        random = np.random.default_rng(self.options.seed)
        best = plan
        self._offer(plan)
        for _ in range(MOST_TURNS):
            if best is None or not np.isfinite(best.value) or self.is_over:
                return
            before = best.value
            for better in (self.planner.improve_pieces, lambda plan: self._improve_blocks(plan, random)):
                other = better(best)
                if other is not None and other.value < best.value:
                    best = other
                    self._offer(best)
                if self.is_over:
                    return
            if before - best.value <= WORTH_A_TURN * (before - self.best.bound):
                return

    def _improve_blocks(self, plan: BlockPlan, random: np.random.Generator) -> BlockPlan | None:
        """Choose all blocks again together, or a few at a time if that gives no better plan."""
        other = self.planner.improve_blocks(plan, np.arange(self.parts.blocks.count))
        if (other is not None and other.value < plan.value) or self.watch.over:
            return other
        return self.planner.improve_groups(plan, random)

    def _offer(self, plan: BlockPlan | None) -> None:
        if plan is None or not np.isfinite(plan.value):
            return
        own = self.planner.own_values(plan.chosen)
        shared = np.where(self.parts.integer, np.rint(plan.shared), plan.shared)
        self.best.offer(self.parts.complete_point(shared, own))
