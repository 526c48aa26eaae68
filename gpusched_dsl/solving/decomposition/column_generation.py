"""Column generation: blocks add points that are cheaper than the master's, until the bound is near.

Duals of the master jump about from round to round. Blocks are therefore priced at a point between the duals with the
best bound so far and those of the master (Wentges, Weighted Dantzig-Wolfe decomposition, 1997): new points are found
there, or the bound improves, or the blocks are priced at the master's own duals.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gpusched_dsl.ir.arrays import Codes, Floats
from gpusched_dsl.ir.solver_result import Status
from gpusched_dsl.solving.decomposition.blocks import BlockStructure
from gpusched_dsl.solving.decomposition.bounds import clean_duals, lagrangian_bound, shared_bound
from gpusched_dsl.solving.decomposition.master import Master, MasterAnswer
from gpusched_dsl.solving.decomposition.monitor import DecompositionClock
from gpusched_dsl.solving.decomposition.points import PointPool, Points
from gpusched_dsl.solving.decomposition.pricing import BlockPricer

SMOOTHING = 0.7  # the share of the best duals; 0.85 is better where capacity is short, worse with much slack
ELASTIC = 20.0  # what slack costs at first, in mean costs of a column
DEARER, MOST_TIMES_DEARER = 10.0, 6
NO_SLACK = 1e-6
MOST_ROUNDS = 500


@dataclass(eq=False)
class ColumnGeneration:
    """A master, a pool of points and the best bound so far (of the minimised value; minus infinity at first)."""

    parts: BlockStructure
    pricer: BlockPricer
    pool: PointPool
    master: Master
    watch: DecompositionClock
    bound: float = -np.inf
    least: Floats | None = None  # of the blocks, where the bound is best
    duals: Floats | None = None  # where the bound is best
    status: Status = Status.OPTIMAL  # other than OPTIMAL: what stands in the way of going on
    rounds: int = 0
    rounds_without_points: int = 0  # the last rounds in which prices between both duals gave no point
    is_finished: bool = False  # no point of any block would bring bound and master closer than was asked for

    @staticmethod
    def begin(parts: BlockStructure, pricer: BlockPricer, watch: DecompositionClock) -> ColumnGeneration:
        """With the points that are cheapest when use has no price, of every alternative."""
        sizes = np.abs(np.concatenate((parts.own_cost, parts.shared_cost)))
        mean = float(sizes[sizes > 0].mean()) if (sizes > 0).any() else 1.0
        generation = ColumnGeneration(parts, pricer, PointPool(parts), Master(parts, ELASTIC * mean, watch), watch)
        priced = pricer.price(parts.own_cost, watch, every_lane=True)
        generation.status = priced.status
        generation.add(priced.points)
        return generation

    def add(self, points: Points) -> int:
        """Add points to pool and master; return the number of new ones."""
        new = self.pool.add(points)
        self.master.add(new)
        return new.count

    def run(self, within: float, until: float = np.inf) -> MasterAnswer | None:
        """Generate until the bound is this near (relatively) to the master, or nothing more is found.

        The answer of the master with all points, None where it has none. If slack remains, its cost is raised; slack
        that remains in the end means that the problem may have no point. `until`: the second after which no round
        begins.
        """
        raise_count = 0
        while not self.watch.over:
            answer = self.master.solve()
            if answer is None:
                return None
            if self.rounds >= MOST_ROUNDS or self.watch.control.seconds >= until:
                return answer
            self.rounds += 1
            near = self.bound > -np.inf and answer.value - self.bound <= within * max(abs(answer.value), 1e-9)
            new_points = 0 if near else self._round(answer)
            if self.status is not Status.OPTIMAL:
                return answer
            if new_points:
                continue
            if answer.slack.sum() <= NO_SLACK or raise_count == MOST_TIMES_DEARER:
                self.is_finished = True
                return answer
            raise_count += 1
            self.master.price_slack(self.master.elastic * DEARER)
        return None

    def _round(self, answer: MasterAnswer) -> int:
        """Price between the best duals and the master's, then, where that gives nothing, at the master's.

        Rounds without new points come nearer to the master's in equal steps (Pessoa et al., Automation and combination
        of linear-programming based stabilization techniques in column generation, 2018).
        """
        at = clean_duals(self.parts, answer.duals)
        if self.duals is not None:
            share = max(0.0, 1.0 - (1.0 - SMOOTHING) * (1 + self.rounds_without_points))
            between = clean_duals(self.parts, share * self.duals + (1 - share) * at)
            before = self.bound
            new = self._price(between)
            self.rounds_without_points = 0 if new else self.rounds_without_points + 1
            if new or self.bound > before + 1e-9 * abs(before) or self.status is not Status.OPTIMAL:
                return 1
        return self._price(at)

    def _price(self, duals: Floats) -> int:
        """Points of all blocks at these duals, and the bound there; how many points were new."""
        costs = self.parts.block_costs(self.parts.prices(duals))
        priced = self.pricer.price(costs, self.watch)
        if priced.status is not Status.OPTIMAL:
            self.status = priced.status
            return 0
        bound = lagrangian_bound(shared_bound(self.parts, duals), priced.least)
        if bound > self.bound or self.duals is None:
            self.bound, self.duals, self.least = bound, duals, priced.least
            self.watch.report(None, bound)
        return self.add(priced.points)

    def refine(self, rounds: int, worth: float, free: Codes | None = None) -> MasterAnswer | None:
        """Run a few rounds for a master with fixed parts: the bound is not valid for it and does not change.

        Ends when a round improves the master by less than `worth` (relatively). `free`: blocks to be priced.
        """
        answer = self.master.solve()
        for _ in range(rounds):
            if answer is None or self.watch.over:
                break
            costs = self.parts.block_costs(self.parts.prices(clean_duals(self.parts, answer.duals)))
            priced = self.pricer.price(costs, self.watch, some=free)
            if priced.status is not Status.OPTIMAL or not self.add(priced.points):
                break
            before = answer.value
            answer = self.master.solve()
            if answer is None or before - answer.value <= worth * abs(before):
                break
        return answer
