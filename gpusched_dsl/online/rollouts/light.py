"""Rollouts on arrays: the event loop without its data, for policies that queue and place jobs.

`LightLoop` is the loop of the run. Only its plans have other code, formulas instead of data: they are those of the run,
to rounding, where `obstacles.py` has no reason against it and the keys of the policy have formulas (`formulas.py`).
"""

from __future__ import annotations

import numpy as np

from gpusched_dsl.compiling.data.instance import Instance
from gpusched_dsl.compiling.data.slicing import InstanceView
from gpusched_dsl.compiling.lowering.fixing import PlanValues, VariableValues
from gpusched_dsl.compiling.placement import PlacementEvaluator
from gpusched_dsl.ir.arrays import Floats, Ints
from gpusched_dsl.language.checked_policy import ARRIVED, ATTAINED, CheckedPolicy
from gpusched_dsl.language.units import number_factor
from gpusched_dsl.online.loops.events import EventLoop
from gpusched_dsl.online.planners.protocol import FutureCost, SimulatedFuture
from gpusched_dsl.online.planners.variations import Variation
from gpusched_dsl.online.replay.eligibility import replay_facts
from gpusched_dsl.online.rollouts.clones import (
    DrawnArrivals,
    draw_arrivals,
    instance_with_copies,
    real_arrivals,
    repeated_arrivals,
)
from gpusched_dsl.online.rollouts.effort import OF_JOB, OF_PLAN, Effort
from gpusched_dsl.online.rollouts.forked import future_cost, without_real_future
from gpusched_dsl.online.rollouts.formulas import JobStates, NotOnArrays, Readings
from gpusched_dsl.online.rollouts.light_policy import LightPolicy, chosen_ways
from gpusched_dsl.online.rollouts.terminal import TerminalValue
from gpusched_dsl.online.simulation.realisation import Realisation, redraw
from gpusched_dsl.online.simulation.world import RUNNING, TOLERANCE, WAITING, World
from gpusched_dsl.policies.instructions import cluster_for
from gpusched_dsl.policies.job_facts import with_job_facts
from gpusched_dsl.policies.workload import NONE, tables_of

NO_ARRIVALS = DrawnArrivals(np.zeros(0, dtype=np.int64), np.zeros(0))


def fraction_left(world: World) -> Floats:
    """Return the fraction of the work of each job that is left, where work is counted in jobs."""
    left: Floats = np.minimum(np.maximum(1.0 - world.done, TOLERANCE), 1.0)
    return left


class LightFuture:
    """One future: the present jobs and the copies that arrive, with all that policies share.

    Arrays are over these jobs, times in the unit of the run's clock, work in fractions of a job. Raises NotOnArrays.
    """

    def __init__(
        self, loop: EventLoop, part: InstanceView, instance: Instance, future: SimulatedFuture, effort: Effort
    ) -> None:
        self.loop, self.future, self.now, self.effort = loop, future, loop.world.now, effort
        self.policy_time = loop.setup.policy_time
        self.until = self.now + future.horizon * self.policy_time
        self.facts = replay_facts(loop.online)
        drawn = NO_ARRIVALS
        if future.real or future.generated is not None:
            drawn = real_arrivals(loop, self.until)
        elif future.arrivals:
            drawn = draw_arrivals(loop, self.until, future.seed or 0)
        elif future.replayed:
            drawn = repeated_arrivals(loop, future.replayed)
            part = loop.base.part({**part.kept, loop.jobs_root: np.zeros(0, dtype=np.int64)})
        self.instance = instance
        if len(drawn.time):
            self.instance = instance_with_copies(loop, part, drawn, self.facts.fractions, self.facts.slopes)
        self.present, self.copied = part.kept[loop.jobs_root], drawn.template
        self.count = len(self.present) + len(self.copied)
        self.copy = without_real_future(loop, future)
        self.world = self.copy.world
        ends, stretch = (
            (self.world.ends[self.copied], self.world.stretch[self.copied])
            if future.real or future.generated is not None
            else self._of_copies(self.copied)
        )
        self.world.keep_jobs(self.present)
        self.world.grow(Realisation(drawn.time, np.ones(len(self.copied)), ends, stretch))
        self.read_at = np.concatenate((np.full(len(self.present), self.now), drawn.time))
        self.left = fraction_left(self.world)
        self.policies: dict[str, LightRollout] = {}

    def _of_copies(self, copied: Ints) -> tuple[Floats, Floats]:
        """The real work and the stretch of copies; copies of one job have the same."""
        loop, count = self.loop, len(self.loop.world.status)
        one = np.ones(count)
        if self.future.seed is None or not len(copied):
            return one[copied], one[copied]
        other = int(np.random.SeedSequence([self.future.seed, 0xC0]).generate_state(1)[0])
        ends, stretch = redraw(loop.online, loop.base, one, one, np.zeros(count), np.zeros(count, bool), other)
        return ends[copied], stretch[copied]

    def rollout(self, policy: CheckedPolicy) -> LightRollout:
        """Return the rollouts by a policy. Raises NotOnArrays."""
        if policy.name not in self.policies:
            self.policies[policy.name] = LightRollout(self, policy)
        return self.policies[policy.name]


class LightRollout:
    """Rollouts of one future by one policy."""

    def __init__(self, future: LightFuture, policy: CheckedPolicy) -> None:
        if policy.prices:
            raise NotOnArrays("prices of constraints change with the jobs")
        self.future = future
        loop, model = future.loop, policy.model
        limits = loop.base.limits
        world, time = future.world, future.policy_time
        facts = {ARRIVED: world.arrival / time, ATTAINED: world.attained / time}
        store = with_job_facts(policy, future.instance.store, limits, facts)
        self.cluster = cluster_for(policy, store, limits)
        work = self.cluster.work
        if not np.array_equal(self.cluster.jobs, np.arange(future.count)):
            raise NotOnArrays("some present jobs are not in the decisions of the model")
        if len(tables_of(work)) > 1:
            raise NotOnArrays("a job has several ways to run with equally many GPUs on a node")
        if work.parts > 1 and work.node_rate.size:
            raise NotOnArrays("the cost of a node depends on all of its jobs")
        when = Readings(future.now, future.read_at, future.left, future.policy_time)
        self.policy = LightPolicy(policy, future.facts, self.cluster, store, limits, when, loop.jobs_root)
        lasts = PlacementEvaluator(model, store, limits).time
        self.hours = number_factor(lasts, loop.setup.clock)
        self.terminal = TerminalValue.of(work, future.left, lasts, loop.setup.clock)
        self.full_time = work.time / future.left[work.job]  # of all the work, in the unit of `lasts`
        self.uses = work.size / work.parts
        unknown = world.have_no_due_time(np.arange(future.count))
        self.due = np.where(unknown, future.read_at + work.due * self.hours, world.due)
        self.weight = np.where(unknown, work.weight / self.hours, world.weight)
        self._check_copies(work.due * self.hours)
        self.whole_nodes = loop.online.charged == "nodes"

    def _check_copies(self, due: Floats) -> None:
        """Raise NotOnArrays if copies are not due as long after their arrival as the jobs that they are copies of."""
        future, world = self.future, self.future.loop.world
        copied, due = future.copied, due[len(future.present) :]
        known = np.isfinite(world.due[copied])
        expected = world.due[copied] - world.arrival[copied]
        if not np.allclose(due[known], expected[known], rtol=1e-6, atol=1e-6):
            raise NotOnArrays("the time until a job is due does not depend on its arrival through a `carry`")

    def cost(self, values: PlanValues) -> FutureCost:
        """Simulate a plan, in codes of the instance of the present jobs, and all later ones."""
        with np.errstate(all="ignore"):
            return LightLoop(self, *self.places(values)).cost()

    def places(self, values: PlanValues) -> tuple[Ints, Ints]:
        """Return the node and the way of each job in a plan, NONE for jobs that wait."""
        chosen = values[self.cluster.placement.variable]
        return chosen_ways(self.cluster, tuple(column[chosen.values > 0.5] for column in chosen.codes))


class LightVariedRollout:
    """Rollouts of one future by variations of one policy, for the present jobs; `values` is the plan that runs."""

    def __init__(self, rollout: LightRollout, values: PlanValues | None) -> None:
        self.rollout = rollout
        work, count = rollout.cluster.work, rollout.future.count
        self.node, self.way = np.full(count, NONE), np.full(count, NONE)
        if values is not None:
            self.node, self.way = rollout.places(values)
        present = rollout.future.present
        first = work.first_way[: len(present) + 1]
        self.unchanged = Variation.none(present, first, work.kind[: first[-1]])

    def cost(self, variation: Variation) -> FutureCost:
        with np.errstate(all="ignore"):
            return self._first_plan(variation).cost()

    def plan(self, variation: Variation) -> PlanValues:
        with np.errstate(all="ignore"):
            first = self._first_plan(variation).world
        cluster = self.rollout.cluster
        codes = cluster.selected_elements(first.place, first.way_of)
        return {cluster.placement.variable: VariableValues(codes, np.ones(len(codes[0])))}

    def _first_plan(self, variation: Variation) -> LightLoop:
        loop = LightLoop(self.rollout, self.node, self.way, variation)
        loop.decide(("lookahead",))
        return loop


class LightWorld(World):
    """The jobs of one rollout: of their places it has the node and the way of each, of their costs only the sum."""

    def __init__(self, rollout: LightRollout, node: Ints, way: Ints) -> None:
        vars(self).update(vars(rollout.future.world))
        for name in ("status", "done", "attained", "since", "end", "uses", "request"):
            setattr(self, name, getattr(self, name).copy())
        self.rollout, self.due, self.weight, self.money = rollout, rollout.due, rollout.weight, 0.0
        self.status[self.status == RUNNING] = WAITING
        self.running, self.place = np.zeros(0, dtype=np.int64), np.full(len(node), NONE)
        self.place_jobs(node, way)

    def place_jobs(self, node: Ints, way: Ints) -> None:
        """Put a plan into effect: the node of each job, NONE for jobs that wait, and its way."""
        running = (node != NONE).nonzero()[0]
        self.status[self.running] = WAITING
        self.status[running] = RUNNING
        self.since[node != self.place] = self.now
        self.uses[running] = self.rollout.uses[way[running]]
        self.place, self.way_of = node, way
        self._run(running)

    def _run(self, running: Ints) -> None:
        self.running = running
        self._paces: Floats | None = None  # computed when it is asked for: a plan may follow first
        self._money_rate: float | None = None

    def pace(self, jobs: Ints) -> Floats:
        """True work by time, of the running jobs."""
        assert jobs is self.running
        if self._paces is None:
            rollout = self.rollout
            self._paces = 1.0 / (rollout.full_time[self.way_of[jobs]] * rollout.hours) / self.stretch[jobs]
        return self._paces

    def money_rate(self) -> float:
        """Return the money by time of all running jobs."""
        rollout, way = self.rollout, self.way_of[self.running]
        work = rollout.cluster.work
        if rollout.whole_nodes:
            _, first = np.unique(self.place[self.running], return_index=True)
            return float(work.price[work.kind[way[first]]].sum()) / rollout.hours
        return float(work.rate[way].sum()) / rollout.hours

    def charge_time(self, passed: float) -> None:
        if self._money_rate is None:
            self._money_rate = self.money_rate()
        self.money += passed * self._money_rate

    def charge_tardiness(self, jobs: Ints, amounts: Floats) -> None:
        self.money += float(amounts.sum())

    def close_stretches(self, jobs: Ints) -> None:
        pass

    def remove_from_places(self, jobs: Ints) -> None:
        self.place[jobs] = NONE
        self._run(self.running[self.status[self.running] == RUNNING])


class LightLoop(EventLoop):
    """The event loop of one rollout: its plans come from formulas instead of data, without listeners."""

    world: LightWorld

    def __init__(self, rollout: LightRollout, node: Ints, way: Ints, variation: Variation | None = None) -> None:
        vars(self).update(vars(rollout.future.copy))
        self.rollout, self.variation = rollout, variation
        self.world = LightWorld(rollout, node, way)
        self.past, self.last_result = None, None
        self.events, self.last_plan_time = 0, self.world.now
        self.clock_seen = self.world.now + self.world.tolerance()

    def decide(self, why: tuple[str, ...]) -> None:
        world = self.world
        present = (world.status == WAITING) | (world.status == RUNNING)
        if not present.any():
            self.forget_period()
            return
        self.rollout.future.effort.add(OF_PLAN + OF_JOB * len(present))
        rollout, left = self.rollout, fraction_left(world)
        state = JobStates(world.now, left, world.attained, present)
        time = rollout.full_time * left[rollout.cluster.work.job]
        plan = rollout.policy.place(state, time, world.place != NONE, world.place, world.way_of, self.variation)
        self.last_plan_time = world.now
        world.place_jobs(plan.node.copy(), plan.way.copy())

    def handle_departures(self) -> None:
        pass  # the world has the rates of the other jobs

    def warn_stuck(self) -> None:
        pass

    def cost(self) -> FutureCost:
        """Simulate the rest of the future."""
        world, rollout, future = self.world, self.rollout, self.rollout.future
        over = self.run_to(future.until)
        jobs = world.present()
        rest = rollout.terminal.costs(jobs, fraction_left(world)[jobs], world.now, world.due[jobs], world.weight[jobs])
        return future_cost(world, np.arange(len(future.present)), future.now, over, world.money, rest)
