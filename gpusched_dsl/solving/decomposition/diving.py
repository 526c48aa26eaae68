"""Good plans from a master: integer values for the shared columns piece by piece, then one point for every block."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gpusched_dsl.ir.arrays import Bools, Codes, Floats
from gpusched_dsl.solving.decomposition.column_generation import NO_SLACK, ColumnGeneration
from gpusched_dsl.solving.decomposition.master import MasterAnswer
from gpusched_dsl.solving.decomposition.pieces import SharedPieces
from gpusched_dsl.solving.decomposition.points import points_of

SURE = 0.999  # a weight from which a point is taken as chosen
SHARE = 0.25  # of the undecided blocks that are decided in one step
FEWEST = 5
REFINING, WORTH = 6, 2e-4
MOST_ONE_BY_ONE = 40  # blocks that are decided one by one where a dive left slack
GROUP = 4  # blocks that are chosen again together where a dive for all is no better


@dataclass(frozen=True, eq=False)
class BlockPlan:
    """A plan: the shared columns, the point of each block (numbers of the pool), and its cost (infinite: no plan).

    `slack`: by how much each use exceeds what the shared columns admit.
    """

    value: float
    shared: Floats
    chosen: Codes
    slack: Floats


class BlockPlanner:
    """Computes and improves plans with the master of a generation."""

    def __init__(self, generation: ColumnGeneration) -> None:
        self._generation = generation
        self._master, self._parts = generation.master, generation.parts
        self._integer = np.flatnonzero(self._parts.integer)
        self._pieces = SharedPieces(self._parts) if len(self._integer) else None

    def first(self, answer: MasterAnswer) -> BlockPlan | None:
        """A plan from the optimum of the master, of infinite value if it lacks capacity; None where the time is over.

        Shared columns are made integer before the blocks are chosen, which then adapt to one another.
        """
        nothing = np.zeros(0, dtype=np.int64)
        if self._pieces is None:
            return self.dive(nothing)
        values = self._pieces.choose(answer.shared, self._current_use(answer), self._generation.watch)
        if values is None:
            return None
        self._master.fix_shared(self._integer, values[self._integer])
        return self.dive(nothing)

    def blocks_first(self) -> BlockPlan | None:
        """The same with the blocks chosen before the shared columns; None where the time is over or none is found."""
        if self._pieces is None:
            return None
        self._master.free_shared()
        plan = self.dive(np.zeros(0, dtype=np.int64))
        if plan is None or np.isfinite(plan.value):
            return plan
        values = self._pieces.choose(plan.shared, self._use_of(plan.chosen), self._generation.watch)
        return None if values is None else self._plan_with_shared(values, plan.chosen)

    def lacking(self, plan: BlockPlan) -> Codes:
        """Return the uses that an infeasible plan lacks."""
        return np.flatnonzero(plan.slack > NO_SLACK / 10)

    def users(self, plan: BlockPlan, uses: Codes) -> Bools:
        """Return which blocks of a plan use any of some uses."""
        amounts = self._generation.pool.points.values[plan.chosen] @ self._parts.use[uses].T
        return np.asarray(abs(amounts).sum(axis=1)).reshape(-1) > 0

    def own_values(self, chosen: Codes) -> Floats:
        """Return the values of all own columns in a plan."""
        return np.asarray(self._generation.pool.points.values[chosen].sum(axis=0)).reshape(-1)

    def adopt(self, shared: Floats, own: Floats) -> BlockPlan | None:
        """The plan that a point of the problem is: its shared columns and the point of each block."""
        points = points_of(self._parts, own)
        self._generation.add(points)
        return self._plan_with_shared(shared, self._generation.pool.numbers_of(points))

    def improve_pieces(self, plan: BlockPlan) -> BlockPlan | None:
        """Improve each piece with the rest of the plan fixed."""
        if self._pieces is None:
            return None
        values = self._pieces.improve(plan.shared, self._use_of(plan.chosen), self._generation.watch)
        return self._plan_with_shared(values, plan.chosen)

    def improve_blocks(self, plan: BlockPlan, free: Codes) -> BlockPlan | None:
        """Choose some blocks again, with the other blocks and the integer shared columns fixed."""
        self._master.fix_shared(self._integer, plan.shared[self._integer])
        fixed_points = np.setdiff1d(np.arange(self._parts.blocks.count), free)
        return self.dive(plan.chosen[fixed_points])

    def improve_groups(self, plan: BlockPlan, random: np.random.Generator) -> BlockPlan:
        """Choose every block again, a few at a time, with the other blocks and the integer shared columns fixed.

        Where capacity is short this finds better plans than a dive for all blocks, whose first choices take what the
        last ones need.
        """
        order = random.permutation(self._parts.blocks.count)
        for group in np.array_split(order, max(1, -(-len(order) // GROUP))):
            if self._generation.watch.over:
                break
            other = self.improve_blocks(plan, np.sort(group))
            if other is not None and other.value < plan.value:
                plan = other
        return plan

    def _plan_with_shared(self, values: Floats, chosen: Codes) -> BlockPlan | None:
        self._master.fix_shared(self._integer, np.rint(values[self._integer]))
        self._master.free_points()
        self._master.fix_points(chosen)
        answer = self._master.solve()
        return None if answer is None else self._plan(answer, chosen)

    def dive(self, fixed_points: Codes) -> BlockPlan | None:
        """Decide block by block, the most certain first; update the master and the points after each step.

        `fixed_points`: points decided before. Where slack is left, the blocks that use what is lacking are decided
        again, one by one. If that leaves slack too, the plan has an infinite value.
        """
        answer, chosen = self._begin(fixed_points)
        while answer is not None and (chosen < 0).any():
            if self._generation.watch.over:
                return None
            best, weight = self._heaviest(answer.weights)
            open_blocks = np.flatnonzero(chosen < 0)
            ordered = np.sort(weight[open_blocks])[::-1]
            number = min(len(open_blocks), max(FEWEST, int(SHARE * len(open_blocks))))
            picked = open_blocks[weight[open_blocks] >= min(SURE, ordered[number - 1])]
            chosen[picked] = best[picked]
            self._master.fix_points(chosen[picked])
            answer = self._generation.refine(1, 0.0, np.flatnonzero(chosen < 0))
        plan = None if answer is None else self._repair(answer, chosen)
        if plan is None or np.isfinite(plan.value) or plan.slack.sum() <= NO_SLACK:
            return plan
        users = self.users(plan, self.lacking(plan))
        users[self._generation.pool.block[fixed_points]] = False
        return self._dive_one_by_one(plan.chosen[~users]) if users.sum() <= MOST_ONE_BY_ONE else plan

    def _dive_one_by_one(self, fixed_points: Codes) -> BlockPlan | None:
        """Decide each block alone; a point that leaves slack where there was none is not taken, once per block."""
        generation, master = self._generation, self._master
        answer, chosen = self._begin(fixed_points)
        spared = np.zeros(len(chosen), dtype=np.bool_)
        while answer is not None and (chosen < 0).any():
            if generation.watch.over:
                return None
            best, weight = self._heaviest(answer.weights)
            block = int(np.argmax(np.where(chosen < 0, weight, -1.0)))
            master.fix_points(best[[block]])
            slack = answer.slack.sum()
            chosen[block] = best[block]
            answer = generation.refine(1, 0.0, np.flatnonzero(chosen < 0))
            if answer is None or answer.slack.sum() <= slack + NO_SLACK or spared[block]:
                continue
            spared[block] = True
            master.forbid_points(best[[block]])
            other = generation.refine(1, 0.0, np.flatnonzero(chosen < 0))
            if other is None:  # the only point of the block
                master.fix_points(best[[block]])
                answer = master.solve()
            else:
                answer, chosen[block] = other, -1
        return None if answer is None else self._repair(answer, chosen)

    def _begin(self, fixed_points: Codes) -> tuple[MasterAnswer | None, Codes]:
        """Fix the points decided before; return the answer of the master and the points chosen, -1 where none is."""
        generation, master, blocks = self._generation, self._master, self._parts.blocks.count
        chosen = np.full(blocks, -1, dtype=np.int64)
        chosen[generation.pool.block[fixed_points]] = fixed_points
        master.free_points()
        if len(fixed_points):
            master.fix_points(fixed_points)
        answer = generation.refine(REFINING, WORTH, np.flatnonzero(chosen < 0))
        return answer, chosen

    def _repair(self, answer: MasterAnswer, chosen: Codes) -> BlockPlan | None:
        """Return the plan; if it lacks capacity for the blocks, choose the pieces around it again."""
        plan = self._plan(answer, chosen)
        if np.isfinite(plan.value) or self._pieces is None:
            return plan
        lacking = self._pieces.pieces_using(np.flatnonzero(answer.slack > NO_SLACK / 10))
        values = self._pieces.improve(
            answer.shared, self._use_of(chosen), self._generation.watch, lacking, broken=True
        )  # fmt: skip
        return self._plan_with_shared(values, chosen)

    def _plan(self, answer: MasterAnswer, chosen: Codes) -> BlockPlan:
        integral = answer.shared[self._integer]
        fits = answer.slack.sum() <= NO_SLACK and bool((np.abs(integral - np.rint(integral)) <= 1e-6).all())
        return BlockPlan(answer.value if fits else np.inf, answer.shared, chosen, answer.slack)

    def _heaviest(self, weights: Floats) -> tuple[Codes, Floats]:
        """The point of each block with the largest weight, and that weight."""
        block = self._generation.pool.block
        order = np.lexsort((-weights, block))
        first = order[np.concatenate(([True], np.diff(block[order]) != 0))]
        return first, weights[first]

    def _current_use(self, answer: MasterAnswer) -> Floats:
        own = np.asarray(self._generation.pool.points.values.T @ answer.weights)
        return np.asarray(self._parts.use @ own)

    def _use_of(self, chosen: Codes) -> Floats:
        return np.asarray(self._parts.use @ self.own_values(chosen))
