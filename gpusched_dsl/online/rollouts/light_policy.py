"""A policy for rollouts on arrays: its lines as formulas, and one pass of its rules over the present jobs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gpusched_dsl.compiling.evaluation.evaluator import Evaluator
from gpusched_dsl.compiling.evaluation.frames import Frame
from gpusched_dsl.compiling.evaluation.limits import MemoryLimits
from gpusched_dsl.compiling.evaluation.store import ValueStore
from gpusched_dsl.ir.arrays import Bools, Codes, Floats, Ints
from gpusched_dsl.language.checked import TypedExpr
from gpusched_dsl.language.checked_policy import ATTAINED, SHORTEST, CheckedPolicy, CheckedRanking, has_job_fact
from gpusched_dsl.online.planners.variations import Variation
from gpusched_dsl.online.replay.constancy import Constancy
from gpusched_dsl.online.replay.eligibility import ReplayFacts, own_clock
from gpusched_dsl.online.rollouts.formulas import Formula, JobStates, Readings, RolloutFormulas
from gpusched_dsl.policies.cluster import Cluster, numbers
from gpusched_dsl.policies.instructions import PolicyLineReader
from gpusched_dsl.policies.kernels.construct import look_up, make_scratch
from gpusched_dsl.policies.kernels.drawing import draw_passes, has_finish, make_pool
from gpusched_dsl.policies.kernels.free_capacity import pin
from gpusched_dsl.policies.kernels.pricing import PRICES
from gpusched_dsl.policies.kernels.ranking import list_ways, order_rows, rank_ways
from gpusched_dsl.policies.workload import NEVER, NONE, Instructions, Schedule, empty_schedule


@dataclass(frozen=True, eq=False)
class _Ranking:
    """A line `choose` or `otherwise`: the way and the job of each row, and its keys and conditions."""

    way: Ints
    job: Ints
    keys: tuple[Formula, ...]
    conditions: tuple[Formula, ...]


class LightPolicy:
    """Plans for the present jobs of a rollout, as `decide` does for an instance of them.

    `store` has all jobs of the future, with the policy's facts of jobs, `cluster` is read from it. Raises NotOnArrays
    if a key has no formula.
    """

    def __init__(
        self, policy: CheckedPolicy, facts: ReplayFacts, cluster: Cluster, store: ValueStore, limits: MemoryLimits,
        when: Readings, jobs_root: str,
    ) -> None:  # fmt: skip
        self.policy, self.cluster, self.work = policy, cluster, cluster.work
        self.keeps = any(rule.name == "running" for rule in policy.keep)
        moving = facts.carried | facts.fractions | {n for n in (ATTAINED, SHORTEST) if has_job_fact(policy, n)}
        still = Constancy(policy.model, jobs_root, moving, own_clock(policy))
        ev = Evaluator(policy.model, store, limits)
        self.formulas = RolloutFormulas(ev, still, facts.fractions, facts.slopes, when)
        lines = PolicyLineReader(policy, cluster, store, limits)
        domain = ev.index_domain(policy.order.indexing, policy.order.span)
        queued = numbers(cluster.jobs, domain.columns()[0])
        self.queued = queued[queued != NONE]
        frame = Frame(len(self.queued), {lines.job: cluster.jobs[self.queued]})
        self.order = [(self.formulas.of(k.value, frame), -1.0 if k.descending else 1.0) for k in policy.order.keys]
        self.choose = self._ranking(lines, policy.choose, frame)
        self.otherwise = self._ranking(lines, policy.otherwise, frame)
        self.unranked = np.full(len(self.work.job), NEVER)
        self.instructions = lines.run()
        self.look, self.scratch = look_up(self.work), make_scratch(self.work, 1)
        self.empty = empty_schedule(self.work)
        self.plan = empty_schedule(self.work)
        self.pool = make_pool(self.plan, 1)
        self.rng = np.random.default_rng(0)

    def _ranking(self, lines: PolicyLineReader, ranking: CheckedRanking | None, jobs: Frame) -> _Ranking | None:
        if ranking is None:
            return None
        conditions: list[TypedExpr] = []
        if ranking.indexing.iterators:
            fixed, conditions = self.formulas.conditions(ranking.indexing)
            frame = self.formulas.ev.expand(jobs, fixed, ranking.span).frame
            row, way = lines.ways_of(ranking, frame)
            frame = frame.take(row)
        else:
            frame, _, way = lines.all_ways(self.queued)
        keys = tuple(_signed_key(self.formulas.of(k.value, frame), k.descending) for k in ranking.keys)
        return _Ranking(way, self.work.job[way], keys, tuple(self.formulas.of(c, frame) for c in conditions))

    def place(
        self, state: JobStates, time: Floats, runs: Bools, node: Ints, way: Ints, variation: Variation | None = None
    ) -> Schedule:
        """Return the next plan: one pass over the present jobs. `time` are the times left of all ways.

        Jobs that run (`runs`, on `node` in their `way`) stay if the policy keeps them. A `variation` is of the first
        jobs. The result is overwritten by the next plan.
        """
        return self.pass_by(self.lines_at(state, variation), time, runs, node, way)

    def lines_at(self, state: JobStates, variation: Variation | None = None) -> Instructions:
        """Return the lines of the policy for the present jobs: the queue, and the ways of each job in order."""
        first_way = self.work.first_way
        rankings = (self.choose, self.otherwise)
        ranks = [self.unranked if one is None else self._ranks(one, state, variation) for one in rankings]
        if self.choose is None:
            ranks.reverse()
        ranked, preferred = list_ways(first_way, ranks[0], ranks[1])
        keys = np.zeros((len(self.queued), len(self.order)))
        for column, (key, sign) in enumerate(self.order):
            keys[:, column] = key(state) * sign
        here = np.flatnonzero(state.present[self.queued])
        order = self.queued[here[order_rows(keys[here])]]
        if variation is not None:
            order = variation.reorder(order)
        return self.instructions._replace(
            order=order,
            choose_rank=ranks[0],
            otherwise_rank=ranks[1],
            ranked=ranked,
            preferred=preferred,
        )

    def pass_by(self, instructions: Instructions, time: Floats, runs: Bools, node: Ints, way: Ints) -> Schedule:
        """Return the plan by lines; it is overwritten by the next one."""
        work = self.work._replace(time=time)
        start = self.empty
        if self.keeps and runs.any():
            start = empty_schedule(work)
            jobs = np.flatnonzero(runs)
            pin(work, start, jobs, node[jobs], way[jobs])
            start.chosen[:] = NONE
        self.pool.held[0] = 0
        draw_passes(
            work,
            self.look,
            instructions,
            self.scratch,
            start,
            self.plan,
            self.pool,
            0,
            1,
            PRICES["total"],
            self.rng,
            None,
            has_finish(instructions),
        )
        return self.plan

    def _ranks(self, ranking: _Ranking, state: JobStates, variation: Variation | None) -> Ints:
        ways = len(self.work.job)
        listed = np.zeros(ways, dtype=np.int64)
        table = np.zeros((ways, len(ranking.keys)))
        for column, key in enumerate(ranking.keys):
            table[ranking.way, column] = key(state)
        if variation is not None and ranking.keys:
            table[: len(variation.factor), 0] *= variation.factor
        mask: Bools = state.present[ranking.job]
        for condition in ranking.conditions:
            mask = mask & condition(state)
        listed[ranking.way] = mask
        return rank_ways(self.work.first_way, table, listed)


def _signed_key(formula: Formula, descending: bool) -> Formula:
    return (lambda state: -formula(state)) if descending else formula


def chosen_ways(cluster: Cluster, codes: tuple[Codes, ...]) -> tuple[Ints, Ints]:
    """Return the node and the way of each job of a plan's chosen elements, NONE for jobs that wait."""
    node, way = np.full(len(cluster.jobs), NONE), np.full(len(cluster.jobs), NONE)
    job, on, how = cluster.running_jobs(codes)
    node[job], way[job] = on, how
    return node, way
