"""The live loop by events: plans follow from arrivals, completions, failures, a period, and requests of policies."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gpusched_dsl.online.data.past import CurrentPlan
from gpusched_dsl.online.live.decisions import decision_of
from gpusched_dsl.online.live.messages import Decided, Value
from gpusched_dsl.online.loops.branching import independent_copy
from gpusched_dsl.online.loops.event_check import Candidate
from gpusched_dsl.online.loops.events import EventLoop
from gpusched_dsl.online.loops.external_run import ExternalLoop
from gpusched_dsl.online.loops.planning_result import PlanningResult
from gpusched_dsl.online.loops.setup import period_of


@dataclass(eq=False)
class ExternalEventLoop(ExternalLoop, EventLoop):
    """A live loop by events."""

    def pass_time(self, time: float) -> None:
        self.advance(time)
        self.forget_period()
        if len(self.world.arrive()):  # jobs of the scenario
            self._pending_reasons.append("arrival")

    def note_event(self, candidate: Candidate) -> None:
        super().note_event(candidate)
        if isinstance(candidate.event, Value):
            self.period = period_of(self.online, self.base)

    def next_due(self) -> float:
        """Return the time of the next period, clock time or request of a policy."""
        due = float(self.world.request.min(initial=np.inf))
        if len(self.world.present()):
            due = min(due, self.setup.clock_times.next_after(self.clock_seen))
            if np.isfinite(self.period):
                due = min(due, max(self.last_plan_time, 0.0) + self.period)
        return due

    def decide(self, why: tuple[str, ...] = ()) -> PlanningResult | None:
        """Plan if the applied events require it, if the period is over, or if the policy requested this time."""
        reasons = list(dict.fromkeys(w for w in self._pending_reasons if self.online.replans_on(w)))
        if self._begins_anew():
            self.last_plan_time = -np.inf
        self._pending_reasons = []
        reasons += self.timed_reasons(reasons)
        if reasons:
            self.forget()
        result = EventLoop.decide(self, (*why, *reasons)) if reasons else None
        if result is not None:
            assert self.current_plan is not None
            variables = self.setup.kept_variables
            violation = result.plan.violation
            self._unreported.append(decision_of(self.steps[-1], self.current_plan, variables, self.codes, violation))
        return result

    def _begins_anew(self) -> bool:
        """Whether all present jobs arrived at this time, so that the cluster was empty, and something is new.

        At one time completions come first, whatever the order of the events.
        """
        world = self.world
        present, near = world.present(), world.now - world.tolerance()
        is_new = bool(self._pending_reasons) or self.last_plan_time < near
        return is_new and len(present) > 0 and bool((world.arrival[present] >= near).all())

    def decision(self) -> Decided | None:
        """Return the last decision without jobs that do not run any more, which no later decision may name.

        Without present jobs it has no entries: the run plans again when a job arrives. None before the first plan.
        """
        if not self.steps or self.current_plan is None:
            return None
        plan = self.without_departed(self.current_plan)
        if not len(self.world.present()):
            plan = CurrentPlan()
        return decision_of(self.steps[-1], plan, self.setup.kept_variables, self.codes)

    def simulated_from(self, time: float, seed: int) -> EventLoop:
        """Return a simulation that continues this run at a time, with all unknown quantities drawn."""
        other = independent_copy(self, EventLoop, seed)
        other.advance(max(time, self.now))
        self.draw_unknown(other, seed)
        return other
