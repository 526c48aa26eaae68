"""The futures of a run at one plan: rollouts on arrays where these prove equal, else by copies of the run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from gpusched_dsl.compiling.data.instance import Instance
from gpusched_dsl.compiling.data.slicing import InstanceView
from gpusched_dsl.compiling.lowering.fixing import PlanValues
from gpusched_dsl.compiling.placement import PlacementEvaluator
from gpusched_dsl.language.checked_policy import CheckedPortfolio
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.language.source import Span
from gpusched_dsl.online.loops.base import SimulationLoop
from gpusched_dsl.online.loops.events import EventLoop
from gpusched_dsl.online.planners.policy import PolicyPlanner
from gpusched_dsl.online.planners.protocol import FoundSchedule, FutureCost, Planner, SimulatedFuture
from gpusched_dsl.online.planners.stateless import StatelessPlanner
from gpusched_dsl.online.rollouts.effort import Effort
from gpusched_dsl.online.rollouts.expected_arrivals import expects_arrivals
from gpusched_dsl.online.rollouts.forked import forked_cost
from gpusched_dsl.online.rollouts.formulas import NotOnArrays
from gpusched_dsl.online.rollouts.frozen import FrozenQueue, FrozenRollout, best_schedules, can_be_frozen
from gpusched_dsl.online.rollouts.generated import GeneratedJobs
from gpusched_dsl.online.rollouts.light import LightFuture, LightRollout, LightVariedRollout
from gpusched_dsl.online.rollouts.obstacles import reasons_against, reasons_of_block
from gpusched_dsl.online.rollouts.terminal import TerminalValue
from gpusched_dsl.online.simulation.world import FUTURE
from gpusched_dsl.policies.placement_reader import cluster_of


@dataclass(eq=False)
class Outlooks:
    """Returns the outlook of each plan of a run.

    `reasons` are those against rollouts on arrays, by the name of the policy that continues; "" for all policies.
    `on_arrays`: whether to use them.
    """

    on_arrays: bool = True
    reasons: dict[str, list[str]] = field(default_factory=dict)
    generated: GeneratedJobs = field(default_factory=GeneratedJobs)

    def __call__(self, loop: SimulationLoop, part: InstanceView, instance: Instance) -> RunOutlook:
        assert isinstance(loop, EventLoop), "windows are refused before"
        return RunOutlook(self, loop, part, instance)


@dataclass(eq=False)
class RunOutlook:
    """The futures of a run at the time of one plan, for the `instance` of a `part` of its data."""

    outlooks: Outlooks
    loop: EventLoop
    part: InstanceView
    instance: Instance
    effort: Effort = field(default_factory=Effort)
    _futures: dict[SimulatedFuture, LightFuture] = field(default_factory=dict)
    _loops: dict[int, EventLoop] = field(default_factory=dict)  # with generated arrivals, by their seeds

    def expects_arrivals(self) -> bool:
        """Return whether further jobs are expected to arrive."""
        return expects_arrivals(self.loop.world)

    def limit_effort(self, seconds: float) -> None:
        """End simulations after so much work, in seconds of the reference machine of `effort.py`."""
        self.effort.most = seconds

    def arrived(self) -> int:
        """Return how many jobs have arrived so far."""
        return int(np.count_nonzero(self.loop.world.status != FUTURE))

    def ended(self) -> int:
        """Return how many of them have ended."""
        return self.arrived() - len(self.loop.world.present())

    def cost(self, values: PlanValues, planner: Planner, future: SimulatedFuture) -> FutureCost:
        """Simulate a plan with all later plans by `planner`; see `Outlook`."""
        light = self._light(planner, future)
        if light is not None:
            return light.cost(values)
        if future.arrivals:
            reason = next(iter(self.outlooks.reasons[planner.name]), "a policy has asked for a later plan")
            raise no_arrivals(planner.name, reason)
        return forked_cost(self._loop_of(future), values, planner, future, self._terminal)

    def varied(
        self, running: PlanValues | None, planner: Planner, future: SimulatedFuture
    ) -> LightVariedRollout | None:
        """Return the simulation of variations of a policy; None for policies without rollouts on arrays."""
        light = self._light(planner, future)
        return None if light is None else LightVariedRollout(light, running)

    def best_schedules(
        self, planners: Sequence[Planner], future: SimulatedFuture, before: object, steps: int, rng: np.random.Generator
    ) -> Iterator[FoundSchedule]:
        """Search for a schedule by the rules of one of the planners; see `Outlook`."""
        lights = {planner.name: self._light(planner, future) for planner in planners}
        frozen = [
            FrozenRollout(light)
            for light in lights.values()
            if light is not None and can_be_frozen(self.loop, light.policy)
        ]
        return best_schedules(frozen, before if isinstance(before, FrozenQueue) else None, steps, rng)

    def _light(self, planner: Planner, future: SimulatedFuture) -> LightRollout | None:
        """Return the rollout on arrays for plans by a planner; None if it may differ from the run."""
        known = self.outlooks.reasons
        if planner.name not in known:
            known[planner.name] = reasons_against(self.loop, planner) if self.outlooks.on_arrays else ["not wanted"]
        if known[planner.name] or np.isfinite(self.loop.world.request).any():  # a policy has asked for a later plan
            return None
        inner = planner.planner if isinstance(planner, StatelessPlanner) else planner
        assert isinstance(inner, PolicyPlanner)
        try:
            if future not in self._futures:
                loop = self._loop_of(future)
                part = self.part if loop is self.loop else loop.base.part(loop.plan_elements())
                self._futures[future] = LightFuture(loop, part, self.instance, future, self.effort)
            return self._futures[future].rollout(inner.policy)
        except NotOnArrays as reason:
            known[planner.name] = [str(reason)]
            return None

    def _loop_of(self, future: SimulatedFuture) -> EventLoop:
        """Return the run with the jobs that arrive in a future."""
        if future.generated is None:
            return self.loop
        if future.generated not in self._loops:
            self._loops[future.generated] = self.outlooks.generated.loop_with(self.loop, future.generated)
        return self._loops[future.generated]

    @cached_property
    def _terminal(self) -> TerminalValue:
        loop, limits = self.loop, self.loop.base.limits
        model = self.instance.scenario.model
        work = cluster_of(model, self.instance.store, limits, tables=False).work
        left = loop.world.remaining()[loop.world.present()]
        lasts = PlacementEvaluator(model, self.instance.store, limits).time
        return TerminalValue.of(work, left, lasts, loop.setup.clock)


def check_arrivals(loop: EventLoop, portfolio: CheckedPortfolio, continuing: Sequence[Planner]) -> None:
    """Raise DiagnosticError (GSM7016) if arrivals of the past cannot be drawn for plans by one of these planners."""
    futures = portfolio.futures
    if futures is None or futures.arrivals != "past":
        return
    for planner in continuing:
        if reasons := reasons_against(loop, planner):
            raise no_arrivals(planner.name, reasons[0], futures.span, of_block=bool(reasons_of_block(loop)))


def no_arrivals(name: str, reason: str, span: Span | None = None, *, of_block: bool = False) -> DiagnosticError:
    """Return the error of futures `with arrivals` that cannot be simulated."""
    message = f"no arrivals can be drawn for futures with plans by `{name}`: {reason}"
    other = "" if of_block else ", or continue with another policy: `continue with Greedy;`"
    help = f"write `futures` without `with arrivals`, or `with generated arrivals`{other}"
    return DiagnosticError([Diagnostic("GSM7016", message, span, "of copies of past jobs", help=help)])
