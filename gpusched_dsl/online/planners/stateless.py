"""Planners without state from the plans before, for runs that are recorded."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass, replace

from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.online.planners.protocol import Planner, PlanningRequest
from gpusched_dsl.policies.plan import Plan


@dataclass(frozen=True)
class StatelessPlanner:
    """A planner that starts again with every plan, with only the state that a journal keeps of the current plan.

    A solver that goes on from its last problem may end at another plan of the same price than one that begins: after a
    restart there is no last problem, and the run is to go the way it would have gone.
    """

    planner: Planner
    kept_variables: Set[str]

    @property
    def name(self) -> str:
        return self.planner.name

    @property
    def crashes(self) -> Sequence[Diagnostic]:
        """Return the solver crashes of the plans so far."""
        found: Sequence[Diagnostic] = getattr(self.planner, "crashes", ())
        return found

    def fresh(self) -> Planner:
        return self

    def plan(self, request: PlanningRequest) -> Plan | None:
        running = request.running
        if running is not None:
            running = {name: given for name, given in running.items() if name in self.kept_variables}
        planner = self.planner.fresh()
        try:
            return planner.plan(replace(request, running=running))
        finally:
            planner.close()

    def close(self) -> None:
        self.planner.close()
