"""The loop of models that decide at events: arrivals, completions, failures, a period, times that policies ask for.

Events at one time are taken together: completions, then failures and recoveries, then arrivals, then one plan.
A. Jahani et al. (2019) and F. Filippini et al. (2024) describe it for their models.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import isfinite, isinf

import numpy as np

from gpusched_dsl.ir.deadline import INTERRUPT, Abandoned, StoppedEarly, checkpoint, limit
from gpusched_dsl.language.text.numbers import count_text
from gpusched_dsl.online.loops.base import SimulationLoop
from gpusched_dsl.online.loops.clock_times import CLOCK_TIME
from gpusched_dsl.online.loops.planning_result import PlanningResult
from gpusched_dsl.online.run_record import RunOutcome
from gpusched_dsl.online.simulation.world import RUNNING, WAITING

NAMED = 3  # jobs in a warning
MOST_IDLE_PERIODS = 10_000  # after which jobs that no plan starts are given up


@dataclass(eq=False)
class EventLoop(SimulationLoop):
    """Runs until all jobs are done, `stop` returns True, or no event can follow.

    `fast_replay` returns the outcome of the complete run, or the reasons why each event needs a plan. Jobs that no
    plan starts are given up after MOST_IDLE_PERIODS, or earlier, after the time `most_idle` without a start or an end.
    """

    fast_replay: Callable[[EventLoop], RunOutcome | Sequence[str]] | None = None
    most_idle: float = field(default=np.inf, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.period = self.setup.period

    def _replay_fast(self) -> RunOutcome | None:
        if self.fast_replay is None or self.steps:
            return None
        try:
            with limit(None, self.stop):
                found = self.fast_replay(self)
        except StoppedEarly as stopped:
            if stopped.reason != INTERRUPT:
                raise
            raise Abandoned from None
        if isinstance(found, RunOutcome):
            return found
        self.event_by_event = tuple(found)
        return None

    def step(self) -> str:
        """Process the events of the next time, and plan if one of them requires it; return why the run is
        over, else "".
        """
        return self._step_at(self.next_time())

    def run_to(self, time: float, near: float = 0.0) -> str:
        """Process all events up to a time, or so `near` after it, plans included, and advance to it; return why the
        run is over earlier, else "". Raises StoppedEarly where the time to compute is over.
        """
        while (until := self.next_time()) <= time + near:
            checkpoint()
            if ended := self._step_at(until):
                return ended
        if time > self.world.now:
            self.advance(time)
        return ""

    def _step_at(self, until: float) -> str:
        if self.stop():
            return "interrupt"
        if self.events >= self.config.most_events:
            self.warn("GSM7004", f"the run was stopped after {count_text(self.events, 'event')}")
            return "events"
        if not isfinite(until) or self._is_stalled():
            return self._end_reason()
        self.advance(until)
        why = self.process_events()
        if why:
            self.decide(tuple(why))
        return ""

    def next_time(self) -> float:
        """Return the time of the next event; infinite if there is none."""
        world = self.world
        times = [world.next_arrival()]
        unfinished = world.has_present()
        if len(world.running):
            times.append(float(world.completions().min()))
        if unfinished:
            times += [self.nodes.next_change(), float(world.request.min(initial=np.inf))]
            if isfinite(self.period):
                times.append(self.last_plan_time + self.period)
            times.append(self.setup.clock_times.next_after(self.clock_seen))
        return max(min(times), world.now)

    def _is_stalled(self) -> bool:
        """Whether only plans of the period or the clock are to come, and many of them have left all jobs waiting."""
        world, period = self.world, self.mean_period
        if not isfinite(period) or len(world.running):
            return False
        if world.now - world.last_change() < min(MOST_IDLE_PERIODS * period, self.most_idle):
            return False
        return bool(np.isinf(world.next_arrival()) and np.isinf(world.request).all())

    def advance(self, until: float) -> None:
        if self.online.charges and until > self.world.now and len(self.world.running):
            self.charge_stated(until - self.world.now)
        if self.carrier.integrates and self.past is not None and self.current_plan is not None:
            self.past = self.past.after(until - self.world.now, self.current_plan)
        self.world.advance(until)

    def process_events(self) -> list[str]:
        """Process the current events in order; return those that require a plan."""
        world = self.world
        events = []
        ended = world.complete()
        if len(ended):
            events.append("completion")
            self.handle_departures()
        self.forget_period()
        events += self.apply_outages()
        came = world.arrive()
        if len(came):
            events.append("arrival")
        self.events += len(ended) + len(came)
        why = [event for event in events if self.online.replans_on(event)]
        timed = self.timed_reasons(why)
        self.events += timed.count("request") if events else len(timed)
        return [*why, *timed]

    def timed_reasons(self, why: list[str]) -> list[str]:
        """Return what besides the events `why` requires a plan now: the period, the clock, requests of policies."""
        world, found = self.world, []
        if self.period_is_over(why):
            found.append("period")
        if self.take_clock_time(world.now):
            found.append(CLOCK_TIME)
        if (world.request <= world.now + world.tolerance()).any():
            found.append("request")
        return found

    def forget_period(self) -> None:
        """Let no period run without jobs: the first jobs that arrive are planned for at once.

        Clock times that pass without jobs need no plan.
        """
        if not self.world.has_present():
            self.last_plan_time = -np.inf
            self.clock_seen = max(self.clock_seen, self.world.now - self.world.tolerance())

    @property
    def mean_period(self) -> float:
        """The mean time between two plans without events; infinite if there are none."""
        return min(self.period, self.setup.clock_times.spacing)

    def period_is_over(self, why: list[str]) -> bool:
        """Whether the period requires a plan: at once for the first jobs, if nothing else requires it."""
        if not isfinite(self.period):
            return False
        if isinf(self.last_plan_time):
            return not why and self.world.has_present()
        return bool(self.world.now >= self.last_plan_time + self.period - self.world.tolerance())

    def handle_departures(self) -> None:
        """Restrict the current plan and its values for charges to continuing jobs."""
        if self.last_result is not None:
            self._drop_departed_jobs()
        super().handle_departures()

    def _drop_departed_jobs(self) -> None:
        """Remove jobs that do not run any more from the current plan.

        The past keeps those that ended: sums of `carry` range over all jobs of the last plan.
        """
        variable = self.placement.variable
        if self.current_plan is None or not self.jobs_root or variable not in self.current_plan.values:
            return
        at = self.placement.position("job")
        if at is not None:
            values = self.current_plan.values[variable]
            self.current_plan = self.current_plan.without(
                variable, self.world.status[values.codes[at]] == RUNNING
            )  # fmt: skip
            if self.past is not None and variable in self.past.plan.values:
                planned = self.past.plan.values[variable]
                self.past = self.past.without(variable, self.world.status[planned.codes[at]] != WAITING)

    def decide(self, why: tuple[str, ...]) -> PlanningResult | None:
        """Plan for the present jobs and put the plan into effect; return None without jobs."""
        if not self.world.has_present():
            self.forget_period()
            return None
        result = self.plan(why)
        columns, values = result.selected_values(self.placement)
        self.record_due_times(result)
        allocations = result.reader.allocations_of_plan(columns, values)
        self.record_step(result, self.apply_allocations(result, columns, allocations))
        return result

    def plan_restored(self, why: tuple[str, ...]) -> None:
        EventLoop.decide(self, why)

    def _end_reason(self) -> str:
        if not self.world.has_present():
            return "finished"
        self.warn_stuck()
        return "stuck"

    def warn_stuck(self) -> None:
        """Warn of jobs that never run: no event will follow, or no plan of the period starts them."""
        waiting = self.world.present()
        jobs = ", ".join(f"`{label}`" for label in self.base.labels(self.jobs_root, waiting[:NAMED]))
        if len(waiting) > NAMED:
            jobs += f" and {count_text(len(waiting) - NAMED, 'more job')}"
        jobs += " waits" if len(waiting) == 1 else " wait"
        if np.isfinite(self.mean_period):
            why, help = "no plan starts them", "see what keeps them waiting: often no node is large enough"
        else:
            why = "no event will follow"
            help = "let the block `replan on` a period if plans intentionally leave jobs waiting"
        self.warn("GSM7005", f"{jobs} and {why}", help=help)
