"""Good plans from a master: integer values for the shared columns piece by piece, then one point for every block."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gpusched_dsl.ir.arrays import Codes, Floats
from gpusched_dsl.solving.decomposition.column_generation import NO_SLACK, Generation
from gpusched_dsl.solving.decomposition.master import MasterAnswer
from gpusched_dsl.solving.decomposition.pieces import SharedPieces

SURE = 0.999  # a weight from which a point is taken as chosen
SHARE = 0.25  # of the undecided blocks that are decided in one step
FEWEST = 5
REFINING, WORTH = 6, 2e-4


@dataclass(frozen=True, eq=False)
class BlockPlan:
    """A plan: the shared columns, the point of each block (numbers of the pool), and its cost (infinite: no plan)."""

    value: float
    shared: Floats
    chosen: Codes


class Planning:
    """Computes and improves plans with the master of a generation."""

    def __init__(self, generation: Generation) -> None:
        self._generation = generation
        self._master, self._parts = generation.master, generation.parts
        self._whole = np.flatnonzero(self._parts.whole)
        self._pieces = SharedPieces(self._parts) if len(self._whole) else None

    def first(self, answer: MasterAnswer) -> BlockPlan | None:
        """A plan from the optimum of the master; None where the time is over or none is found.

        Shared columns are made whole before the blocks are decided, which then make room for one another; where that
        leaves too little room, the other way round.
        """
        nothing = np.zeros(0, dtype=np.int64)
        if self._pieces is None:
            return self.dive(nothing)
        plan = None
        values = self._pieces.choose(answer.shared, self._used(answer), self._generation.watch)
        if values is not None:
            self._master.fix_shared(self._whole, values[self._whole])
            plan = self.dive(nothing)
        if (plan is not None and np.isfinite(plan.value)) or self._generation.watch.over:
            return plan
        self._master.free_shared()
        plan = self.dive(nothing)
        if plan is None or np.isfinite(plan.value):
            return plan
        values = self._pieces.choose(plan.shared, self._use_of(plan.chosen), self._generation.watch)
        return None if values is None else self._with_shared(values, plan.chosen)

    def with_better_pieces(self, plan: BlockPlan) -> BlockPlan | None:
        """Improve each piece with the rest of the plan fixed."""
        if self._pieces is None:
            return None
        values = self._pieces.improve(plan.shared, self._use_of(plan.chosen), self._generation.watch)
        return self._with_shared(values, plan.chosen)

    def with_better_blocks(self, plan: BlockPlan, free: Codes) -> BlockPlan | None:
        """Choose some blocks again, with the other blocks and the integer shared columns fixed."""
        self._master.fix_shared(self._whole, plan.shared[self._whole])
        held = np.setdiff1d(np.arange(self._parts.blocks.count), free)
        return self.dive(plan.chosen[held])

    def _with_shared(self, values: Floats, chosen: Codes) -> BlockPlan | None:
        self._master.fix_shared(self._whole, np.rint(values[self._whole]))
        self._master.free_points()
        self._master.fix_points(chosen)
        answer = self._master.solve()
        return None if answer is None else self._plan(answer, chosen)

    def dive(self, held: Codes) -> BlockPlan | None:
        """Decide block by block, the most certain first; update the master and the points after each step.

        `held`: points decided before. The plan has an infinite value where slack is left.
        """
        generation, master, blocks = self._generation, self._master, self._parts.blocks.count
        chosen = np.full(blocks, -1, dtype=np.int64)
        chosen[generation.pool.block[held]] = held
        master.free_points()
        if len(held):
            master.fix_points(held)
        answer = generation.refine(REFINING, WORTH, np.flatnonzero(chosen < 0))
        while answer is not None and (chosen < 0).any():
            if generation.watch.over:
                return None
            best, weight = self._heaviest(answer.weights)
            open_blocks = np.flatnonzero(chosen < 0)
            ordered = np.sort(weight[open_blocks])[::-1]
            number = min(len(open_blocks), max(FEWEST, int(SHARE * len(open_blocks))))
            picked = open_blocks[weight[open_blocks] >= min(SURE, ordered[number - 1])]
            chosen[picked] = best[picked]
            master.fix_points(chosen[picked])
            answer = generation.refine(1, 0.0, np.flatnonzero(chosen < 0))
        return None if answer is None else self._repaired(answer, chosen)

    def _repaired(self, answer: MasterAnswer, chosen: Codes) -> BlockPlan | None:
        """Return the plan; if it lacks capacity for the blocks, choose the pieces around it again."""
        plan = self._plan(answer, chosen)
        if np.isfinite(plan.value) or self._pieces is None:
            return plan
        lacking = self._pieces.using(np.flatnonzero(answer.slack > NO_SLACK / 10))
        values = self._pieces.improve(
            answer.shared, self._use_of(chosen), self._generation.watch, lacking, broken=True
        )  # fmt: skip
        return self._with_shared(values, chosen)

    def _plan(self, answer: MasterAnswer, chosen: Codes) -> BlockPlan:
        whole = answer.shared[self._whole]
        fits = answer.slack.sum() <= NO_SLACK and bool((np.abs(whole - np.rint(whole)) <= 1e-6).all())
        return BlockPlan(answer.value if fits else np.inf, answer.shared, chosen)

    def _heaviest(self, weights: Floats) -> tuple[Codes, Floats]:
        """The point of each block with the largest weight, and that weight."""
        block = self._generation.pool.block
        order = np.lexsort((-weights, block))
        first = order[np.concatenate(([True], np.diff(block[order]) != 0))]
        return first, weights[first]

    def _used(self, answer: MasterAnswer) -> Floats:
        own = np.asarray(self._generation.pool.points.values.T @ answer.weights)
        return np.asarray(self._parts.use @ own)

    def _use_of(self, chosen: Codes) -> Floats:
        own = np.asarray(self._generation.pool.points.values[chosen].sum(axis=0)).reshape(-1)
        return np.asarray(self._parts.use @ own)
