"""Draws of policies, carried out slowly: the cheapest plan of passes with drawn queues, ways and nodes.

Numbers are drawn in the order of the text: neighbours of the queue from the front to the back, then of each job in its
turn its way, if there are several, and its node, if there are several.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from instance_reader import Code, Instance, Way
from interpreter import Interpreter, Place

from gpusched_dsl.compiling.evaluation.evaluator import Evaluator
from gpusched_dsl.compiling.evaluation.frames import Frame
from gpusched_dsl.compiling.evaluation.limits import MemoryLimits
from gpusched_dsl.compiling.evaluation.store import ValueStore
from gpusched_dsl.language.checked import TypedExpr
from gpusched_dsl.language.checked_policy import CheckedPolicy

SMALL = 1e-9  # odds are inverse to at least this cost


class Drawing(Interpreter):
    """One pass that draws from `rng`."""

    def __init__(
        self, policy: CheckedPolicy, of: Instance, store: ValueStore, running: Sequence[Code], rng: np.random.Generator
    ) -> None:
        super().__init__(policy, of, running)
        self.policy, self.rng = policy, rng
        self.ev = Evaluator(policy.model, store, MemoryLimits())
        place = policy.draws.get("place")
        self.longest = 1 if place is None or place.count is None else int(self.ev.number(place.count))
        self.queue = self.drawn_queue()

    def of_job(self, expr: TypedExpr, job: int) -> float:
        return float(
            self.ev.number_column(expr, Frame(1, {self.policy.order.indexing.variables[0]: np.array([job])}))[0]
        )

    def drawn_queue(self) -> list[int]:
        queue, draw = list(self.of.queue), self.policy.draws.get("order")
        if draw is not None and draw.probability is not None:
            for at in range(len(queue) - 1):
                chance = min(max(self.of_job(draw.probability, queue[at]), 0.0), 1.0)
                if chance > 0 and self.rng.random() < chance:
                    queue[at], queue[at + 1] = queue[at + 1], queue[at]
        return queue

    def pick(self, odds: Sequence[float]) -> int:
        """One of several, by their odds."""
        drawn = self.rng.random() * sum(odds)
        for at, one in enumerate(odds):
            drawn -= one
            if drawn < 0:
                return at
        return 0

    def ways_of(self, job: int) -> list[Way]:
        listed, draw = self.of.listed(job), self.policy.draws.get("choose")
        if draw is None or draw.count is None or not listed:
            return listed
        some = [way for way in listed if way.choose is not None][: max(1, int(self.of_job(draw.count, job) + SMALL))]
        if len(some) < 2:
            return listed
        cost = [max(way.rate * way.time, SMALL) for way in some]
        odds = {"inverse cost": [1 / c for c in cost], "cost": cost}.get(draw.odds, [1.0] * len(some))
        first = some[self.pick(odds)]
        return [first, *(way for way in listed if way is not first)]

    def find(self, at: int, job: int, way: Way | None) -> Place | None:
        rule, draw = self.place[at], self.policy.draws.get("place")
        if draw is None or self.longest == 1 or "exclusive" in rule or "suboptimal" in rule or way is None:
            return super().find(at, job, way)
        options = self.options("best_fit" if rule == "first_fit" else rule, job, way)
        parts = [place for place in options if place.gpu is not None]
        options = (parts or options)[: self.longest]
        if "fit" in rule and self.place[at + 1 : at + 2] == ["new_node"] and options and not parts:
            options = [*options, *self.empty_nodes(way, alone=False)][: self.longest]
        if len(options) < 2:
            return options[0] if options else None
        idle = [float(place.left) for place in options]
        odds = {"inverse idle": [1 / (1 + i) for i in idle], "idle": [1 + i for i in idle]}
        return options[self.pick(odds.get(draw.odds, [1.0] * len(idle)))]

    def cost(self) -> float:
        """Lateness and rent of what runs, and the price of what does not."""
        ways = [way for node in self.nodes for way in node.jobs.values()]
        waiting = self.of.postponed.keys() - {way.job for way in ways}
        return sum(way.late + way.rate * way.time for way in ways) + sum(self.of.postponed[job] for job in waiting)


def plans_of_passes(
    policy: CheckedPolicy, of: Instance, store: ValueStore, running: Sequence[Code], seed: int, passes: int
) -> list[tuple[float, frozenset[Code]]]:
    """The plans of all passes with their costs; the first one draws nothing."""
    rng = np.random.default_rng(np.random.SeedSequence(seed))
    found = []
    for turn in range(passes + 1):
        if turn:
            one: Interpreter = Drawing(policy, of, store, running, rng)
        else:
            one = Interpreter(policy, of, running)
        plan = frozenset(one.run())
        found.append((Drawing.cost(one), plan))  # type: ignore[arg-type]
    return found
