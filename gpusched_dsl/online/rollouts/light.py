"""Rollouts on arrays: a run by events without its data, for policies that queue and place jobs.

Equal to the run, to rounding, where `obstacles.py` has no reason against it and the keys of the policy have formulas
(`formulas.py`). Events at one time are taken together: completions, then arrivals, then one plan.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from gpusched_dsl.compiling.data.instance import Instance
from gpusched_dsl.compiling.data.slicing import InstanceView
from gpusched_dsl.compiling.lowering.fixing import VariableValues
from gpusched_dsl.compiling.placement import PlacementEvaluator
from gpusched_dsl.ir.arrays import Bools, Floats, Ints
from gpusched_dsl.ir.deadline import checkpoint
from gpusched_dsl.language.checked_policy import ARRIVED, ATTAINED, CheckedPolicy
from gpusched_dsl.language.units import number_factor
from gpusched_dsl.online.loops.clock_times import ClockTimes
from gpusched_dsl.online.loops.events import MOST_IDLE_PERIODS, EventLoop
from gpusched_dsl.online.planners.protocol import FutureCost, SimulatedFuture
from gpusched_dsl.online.planners.variations import Variation
from gpusched_dsl.online.replay.eligibility import replay_facts
from gpusched_dsl.online.rollouts.clones import DrawnArrivals, draw_arrivals, instance_with_copies, real_arrivals
from gpusched_dsl.online.rollouts.forked import without_real_future
from gpusched_dsl.online.rollouts.formulas import JobStates, NotOnArrays, Readings
from gpusched_dsl.online.rollouts.light_policy import LightPolicy, chosen_ways
from gpusched_dsl.online.rollouts.terminal import TerminalValue
from gpusched_dsl.online.simulation.realisation import redraw
from gpusched_dsl.online.simulation.world import TOLERANCE
from gpusched_dsl.policies.instructions import cluster_for
from gpusched_dsl.policies.job_facts import with_job_facts
from gpusched_dsl.policies.workload import NONE, tables_of

NO_ARRIVALS = DrawnArrivals(np.zeros(0, dtype=np.int64), np.zeros(0))


class LightFuture:
    """One future: the present jobs and the copies that arrive, with all that policies share.

    Arrays are over these jobs, times in the unit of the run's clock, work in fractions of a job. Raises NotOnArrays.
    """

    def __init__(self, loop: EventLoop, part: InstanceView, instance: Instance, future: SimulatedFuture) -> None:
        self.loop, self.future, self.now = loop, future, loop.world.now
        self.policy_time = loop.setup.policy_time
        self.until = self.now + future.horizon * self.policy_time
        self.facts = replay_facts(loop.online)
        drawn = NO_ARRIVALS
        if future.real or future.generated is not None:
            drawn = real_arrivals(loop, self.until)
        elif future.arrivals:
            drawn = draw_arrivals(loop, self.until, future.seed or 0)
        self.instance = instance
        if len(drawn.time):
            self.instance = instance_with_copies(loop, part, drawn, self.facts.fractions, self.facts.slopes)
        present = part.kept[loop.jobs_root]
        world, copied = without_real_future(loop, future).world, drawn.template
        self.present, self.copied, self.count = present, copied, len(present) + len(copied)

        def of_jobs(now: Floats, of_copies: Floats) -> Floats:
            return np.concatenate((now[present], of_copies))

        new = np.zeros(len(copied))
        self.arrival = of_jobs(loop.world.arrival, drawn.time)
        self.read_at = of_jobs(np.full(len(world.status), self.now), drawn.time)
        self.done = of_jobs(world.done, new)
        self.left = np.clip(1.0 - self.done, TOLERANCE, 1.0)
        ends, stretch = (
            (world.ends[copied], world.stretch[copied])
            if future.real or future.generated is not None
            else self._of_copies(copied)
        )
        self.ends, self.stretch = of_jobs(world.ends, ends), of_jobs(world.stretch, stretch)
        self.attained = of_jobs(world.attained, new)
        self.known_due = of_jobs(world.due, new + np.inf)
        self.known_weight = of_jobs(world.weight, new)
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
        facts = {ARRIVED: future.arrival / future.policy_time, ATTAINED: future.attained / future.policy_time}
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
        set_now = ~(np.isinf(future.known_due) & (future.known_weight == 0))
        self.due = np.where(set_now, future.known_due, future.read_at + work.due * self.hours)
        self.weight = np.where(set_now, future.known_weight, work.weight / self.hours)
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

    def cost(self, values: Mapping[str, VariableValues]) -> FutureCost:
        """Simulate a plan, in codes of the instance of the present jobs, and all later ones."""
        with np.errstate(all="ignore"):
            return _Simulation(self, *self.places(values)).run()

    def places(self, values: Mapping[str, VariableValues]) -> tuple[Ints, Ints]:
        """Return the node and the way of each job in a plan, NONE for jobs that wait."""
        chosen = values[self.cluster.placement.variable]
        return chosen_ways(self.cluster, tuple(column[chosen.values > 0.5] for column in chosen.codes))


class LightVariedRollout:
    """Rollouts of one future by variations of one policy, for the present jobs; `values` is the plan that runs."""

    def __init__(self, rollout: LightRollout, values: Mapping[str, VariableValues] | None) -> None:
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
            return self._first_plan(variation).run()

    def plan(self, variation: Variation) -> Mapping[str, VariableValues]:
        with np.errstate(all="ignore"):
            first = self._first_plan(variation)
        cluster = self.rollout.cluster
        codes = cluster.selected_elements(first.node, first.way)
        return {cluster.placement.variable: VariableValues(codes, np.ones(len(codes[0])))}

    def _first_plan(self, variation: Variation) -> _Simulation:
        simulation = _Simulation(self.rollout, self.node, self.way, variation)
        simulation.decide()
        return simulation


class _Simulation:
    """The state of one rollout."""

    def __init__(self, rollout: LightRollout, node: Ints, way: Ints, variation: Variation | None = None) -> None:
        self.variation = variation
        future = rollout.future
        self.rollout, self.future = rollout, future
        count, self.of_present = future.count, len(future.present)
        self.arrival = future.arrival
        self.done, self.attained = future.done.copy(), future.attained.copy()
        present = np.zeros(count, dtype=np.bool_)
        present[: self.of_present] = True
        self.state = JobStates(future.now, future.left.copy(), self.attained, present)
        self.end = np.full(count, np.nan)
        self.money = 0.0
        self.last_plan = future.now
        self.clock_seen = future.now + self.tolerance()
        self.apply(node, way)

    def apply(self, node: Ints, way: Ints) -> None:
        """Put a plan into effect."""
        self.node, self.way = node, way
        self.running = np.flatnonzero(node != NONE)
        self.set_rates()

    def set_rates(self) -> None:
        """Set the pace of the running jobs, and what they cost together by time."""
        rollout, running = self.rollout, self.running
        way = self.way[running]
        stretch = self.future.stretch[running]
        self.pace = 1.0 / (rollout.full_time[way] * rollout.hours) / stretch
        work = rollout.cluster.work
        if rollout.whole_nodes:
            _, first = np.unique(self.node[running], return_index=True)
            self.rate = float(work.price[work.kind[way[first]]].sum()) / rollout.hours
        else:
            self.rate = float(work.rate[way].sum()) / rollout.hours

    def run(self) -> FutureCost:
        loop, state = self.future.loop, self.state
        period, online = loop.period, loop.online
        on_end, on_arrival = online.replans_on("completion"), online.replans_on("arrival")
        over = False
        while True:
            checkpoint()
            until = self.next_time(period)
            if until > self.future.until:
                break
            if not np.isfinite(until) or self.is_stalled(period):
                over = True
                break
            self.advance(until)
            ended = self.complete()
            if not self.state.present.any():  # clock times that pass without jobs need no plan
                self.clock_seen = max(self.clock_seen, until - self.tolerance())
            came = self.arrive()
            plans = (ended and on_end) or (came and on_arrival)
            if np.isfinite(period):
                if np.isinf(self.last_plan):
                    plans = plans or bool(state.present.any())
                else:
                    plans = plans or until >= self.last_plan + period - self.tolerance()
            if self.clock_times.next_after(self.clock_seen) <= until + self.tolerance():
                self.clock_seen = until + self.tolerance()
                plans = True
            if plans:
                self.decide()
        return self.result(over)

    # --- time --------------------------------------------------------------------------------------------------------

    @property
    def clock_times(self) -> ClockTimes:
        return self.future.loop.setup.clock_times

    def tolerance(self) -> float:
        return TOLERANCE * max(1.0, abs(self.state.now))

    def next_time(self, period: float) -> float:
        until = float(self.arrival[self.waits_to_arrive()].min(initial=np.inf))
        if len(self.running):
            left = np.maximum(self.future.ends[self.running] - self.done[self.running], 0.0)
            until = min(until, self.state.now + float((left / self.pace).min()))
        if np.isfinite(period) and self.state.present.any():
            until = min(until, self.last_plan + period)
        if self.state.present.any():
            until = min(until, self.clock_times.next_after(self.clock_seen))
        return max(until, self.state.now)

    def waits_to_arrive(self) -> Bools:
        waits: Bools = ~self.state.present & np.isnan(self.end)
        return waits

    def is_stalled(self, period: float) -> bool:
        """Whether only plans of the period or the clock come, and many of them have left all jobs waiting."""
        period = min(period, self.clock_times.spacing)
        if not np.isfinite(period) or len(self.running) or self.waits_to_arrive().any():
            return False
        ends = self.end[~np.isnan(self.end)]
        last = max(float(ends.max(initial=self.future.now)), self.future.now)
        return bool(self.state.now - last >= MOST_IDLE_PERIODS * period)

    def advance(self, until: float) -> None:
        passed, running = until - self.state.now, self.running
        if passed > 0:
            self.done[running] += self.pace * passed
            self.attained[running] += passed * self.rollout.uses[self.way[running]]
            self.money += passed * self.rate
            self.state.now = until
            self.state.left[running] = np.clip(1.0 - self.done[running], TOLERANCE, 1.0)

    def complete(self) -> bool:
        running, ends = self.running, self.future.ends[self.running]
        left = ends - self.done[running]
        over = (left <= TOLERANCE * np.maximum(1.0, ends)) | (left <= self.pace * self.tolerance())
        if not over.any():
            return False
        jobs, now = running[over], self.state.now
        self.end[jobs] = now
        self.state.present[jobs] = False
        due, weight = self.rollout.due[jobs], self.rollout.weight[jobs]
        self.money += float((weight * np.where(np.isfinite(due), np.maximum(now - due, 0.0), 0.0)).sum())
        self.node[jobs] = NONE
        self.running = running[~over]
        self.set_rates()
        if not self.state.present.any():
            self.last_plan = -np.inf  # no period without jobs
        return True

    def arrive(self) -> bool:
        new = self.waits_to_arrive() & (self.arrival <= self.state.now + self.tolerance())
        self.state.present |= new
        return bool(new.any())

    def decide(self) -> None:
        if not self.state.present.any():
            self.last_plan = -np.inf
            return
        rollout, state = self.rollout, self.state
        time = rollout.full_time * state.left[rollout.cluster.work.job]
        plan = rollout.policy.place(state, time, self.node != NONE, self.node, self.way, self.variation)
        self.last_plan = state.now
        self.apply(plan.node.copy(), plan.way.copy())

    def result(self, over: bool) -> FutureCost:
        state, rollout, future = self.state, self.rollout, self.future
        if not over:
            self.advance(future.until)
        open_ = np.flatnonzero(state.present)
        rest = rollout.terminal.costs(open_, state.left[open_], state.now, rollout.due[open_], rollout.weight[open_])
        of_present = self.end[: self.of_present]
        waiting = float((np.where(np.isnan(of_present), state.now, of_present) - future.now).sum())
        return FutureCost(float(len(open_)) if over else 0.0, self.money + float(rest.sum()), waiting)
