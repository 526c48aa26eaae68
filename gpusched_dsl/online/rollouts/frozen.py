"""Search among frozen queues: complete schedules of the present jobs, simulated by compiled code.

A variation (`light.py`) changes a policy whose keys change with the time, so each of its later plans needs formulas.
Where the present jobs are all that is known, these later plans only have to make a good schedule. A frozen queue makes
one without formulas, in a fraction of the time, so far more schedules can be compared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpusched_dsl.compiling.lowering.fixing import PlanValues, VariableValues
from gpusched_dsl.ir.arrays import Floats, Ints
from gpusched_dsl.ir.deadline import checkpoint
from gpusched_dsl.online.loops.events import EventLoop
from gpusched_dsl.online.planners.protocol import FoundSchedule
from gpusched_dsl.online.rollouts.effort import OF_FROZEN_JOB
from gpusched_dsl.online.rollouts.formulas import JobStates
from gpusched_dsl.online.rollouts.light import LightRollout, fraction_left
from gpusched_dsl.online.rollouts.light_policy import LightPolicy
from gpusched_dsl.policies.kernels.frozen_runs import BEST, BestQueue, FrozenJobs, anneal, follow
from gpusched_dsl.policies.workload import NONE, Instructions

PART, SECONDS_OF_PART = 200, 0.1  # the most steps of a search between two checks of the time, and their work


@dataclass(frozen=True, eq=False)
class FrozenQueue:
    """Jobs in the order of a queue, by their codes in the run, and the ways of each job in the order of a list.

    `ways` of the k-th job are `first[k]` to `first[k + 1]`, counted from the first way of the job.
    """

    policy: str
    jobs: Ints
    first: Ints
    ways: Ints


class FrozenRollout:
    """Runs of one future by frozen queues, with the rules of one policy."""

    def __init__(self, rollout: LightRollout) -> None:
        self.rollout, future, policy = rollout, rollout.future, rollout.policy
        self.name = policy.policy.name
        world = future.world
        self.codes = np.concatenate((future.present, future.copied))
        work = rollout.cluster.work
        present = np.ones(future.count, dtype=np.bool_)
        self.lines: Instructions = policy.lines_at(JobStates(world.now, future.left, world.attained, present))
        lasts = rollout.full_time * rollout.hours * world.stretch[work.job]
        price = work.price / rollout.hours if rollout.whole_nodes else np.zeros(0)
        self.jobs = FrozenJobs(
            world.done.copy(), world.ends, world.arrival, rollout.due, rollout.weight, lasts, rollout.full_time,
            work.rate / rollout.hours, price,
        )  # fmt: skip
        self.seconds = OF_FROZEN_JOB * (len(self.codes) + 1) ** 2  # of one run, as it is counted
        self.counts_time = not (price.any() or (work.rate.any() and not len(price)) or rollout.weight.any())

    def unchanged(self) -> Instructions:
        """Return the lines of the policy itself, with the present jobs alone in the queue."""
        return self.lines._replace(order=self.lines.order.copy(), ranked=self.lines.ranked.copy())

    def with_queue(self, queue: FrozenQueue) -> Instructions:
        """Return the lines with the queue of an earlier plan; further jobs come where the policy puts them."""
        lines, present = self.unchanged(), self.codes
        place = np.full(len(present), -1.0)
        sorted_ = np.argsort(queue.jobs)
        known = np.isin(present, queue.jobs)
        at = sorted_[np.searchsorted(queue.jobs, present[known], sorter=sorted_)]
        place[known] = at
        rank = np.empty(len(present))
        rank[lines.order] = np.arange(len(lines.order))
        if known.any():
            like = np.minimum((rank[~known] * known.sum() / max(len(present), 1)).astype(np.int64), known.sum() - 1)
            place[~known] = np.sort(place[known])[like] - 0.5
        else:
            place = rank
        lines.order[:] = np.argsort(place, kind="stable")
        first_way = self.rollout.cluster.work.first_way
        for job, mine in zip(np.flatnonzero(known).tolist(), at.tolist(), strict=True):
            ways = queue.ways[queue.first[mine] : queue.first[mine + 1]]
            if len(ways) == first_way[job + 1] - first_way[job]:
                lines.ranked[first_way[job] : first_way[job + 1]] = np.where(ways < 0, NONE, ways + first_way[job])
        return lines

    def queue_of(self, lines: Instructions) -> FrozenQueue:
        """Return what lines mean for later plans."""
        work, order = self.rollout.cluster.work, lines.order
        counts = np.diff(work.first_way)[order]
        first = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(counts)))
        begins = work.first_way[:-1][order]
        rows = np.arange(first[-1]) + np.repeat(begins - first[:-1], counts)
        ways = np.where(lines.ranked[rows] == NONE, -1, lines.ranked[rows] - np.repeat(begins, counts))
        return FrozenQueue(self.name, self.codes[order], first, ways)

    def cost(self, lines: Instructions) -> float:
        """Return the cost of a run by lines."""
        self.rollout.future.effort.add(self.seconds)
        found: float = self._call(follow, lines, self.rollout.policy.rng, np.inf)
        return found

    def search(self, lines: Instructions, steps: int, rng: np.random.Generator) -> Iterator[tuple[float, Instructions]]:
        """Search from lines, which change; yield the best cost and its lines after each part of the steps."""
        best = BestQueue(lines.order.copy(), lines.ranked.copy(), np.empty(3))
        part = max(1, min(PART, int(SECONDS_OF_PART / self.seconds)))
        for first in range(0, steps, part):
            checkpoint()
            last = min(first + part, steps)
            self.rollout.future.effort.add((last - first) * self.seconds)
            self._call(anneal, lines, rng, best, first, last, steps)
            yield float(best.costs[BEST]), lines._replace(order=best.queue.copy(), ranked=best.ranked.copy())

    def _call(self, kernel: Callable[..., Any], lines: Instructions, rng: np.random.Generator, *more: object) -> Any:
        rollout, policy, work = self.rollout, self.rollout.policy, self.rollout.cluster.work
        work = work._replace(time=work.time.copy())
        return kernel(
            work, policy.look, lines, policy.scratch, policy.empty, policy.plan, self.jobs, lines.order,
            float(rollout.future.now), rng, *more, self.counts_time,
        )  # fmt: skip

    def plan(self, lines: Instructions) -> PlanValues:
        """Return the plan of now, in codes of the instance of the request."""
        rollout, count = self.rollout, self.rollout.future.count
        nowhere = np.full(count, NONE)
        left = fraction_left(rollout.future.world)
        time: Floats = rollout.full_time * left[rollout.cluster.work.job]
        is_here = self.jobs.came[lines.order] <= rollout.future.now + rollout.future.world.tolerance()
        lines = lines._replace(order=lines.order[is_here])
        plan = rollout.policy.pass_by(lines, time, np.zeros(count, dtype=np.bool_), nowhere, nowhere)
        codes = rollout.cluster.selected_elements(plan.node, plan.way)
        return {rollout.cluster.placement.variable: VariableValues(codes, np.ones(len(codes[0])))}


def can_be_frozen(loop: EventLoop, policy: LightPolicy) -> bool:
    """Return whether runs by frozen queues are those of a loop.

    Each arrival and completion is planned for, and a plan at another time changes nothing: no running job has to stay,
    and no finishing rule compares times of different jobs, which become shorter.
    """
    online = loop.online
    at_all = online.replans_on("arrival") and online.replans_on("completion")
    return at_all and not policy.keeps and not any(rule.text.endswith(" by time") for rule in policy.policy.finish)


def best_schedules(
    rollouts: Sequence[FrozenRollout], before: FrozenQueue | None, steps: int, rng: np.random.Generator
) -> Iterator[FoundSchedule]:
    """Search from the queue of the plan before, or the best policy; yield schedules that cost less and less.

    None without a schedule in which all jobs end.
    """
    starts = []
    for rollout in rollouts:
        lines = [rollout.unchanged()]
        if before is not None and before.policy == rollout.name:
            lines.insert(0, rollout.with_queue(before))
        starts += [(rollout.cost(each), rollout, each) for each in lines]
    starts = [start for start in starts if start[0] < np.inf]
    if not starts:
        return
    cost, rollout, best = min(starts, key=lambda start: start[0])
    yield FoundSchedule(rollout.plan(best), cost, rollout.name, rollout.queue_of(best))
    for less, lines_of_less in rollout.search(best, steps, rng):
        if less < cost:
            cost = less
            yield FoundSchedule(rollout.plan(lines_of_less), cost, rollout.name, rollout.queue_of(lines_of_less))
