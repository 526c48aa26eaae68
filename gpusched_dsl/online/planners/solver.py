"""Solvers as planners of the online loop."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from msgspec import structs

from gpusched_dsl.compiling.build import Built, Permissions
from gpusched_dsl.compiling.data.instance import Instance
from gpusched_dsl.compiling.interchangeable.aggregate import Aggregation, aggregate
from gpusched_dsl.compiling.lowering.fixing import PlanValues, nonzero_values
from gpusched_dsl.ir.deadline import INTERRUPT, StoppedEarly, active_deadline, limit
from gpusched_dsl.ir.solver_result import Status
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.online.planners.policy import seed_of
from gpusched_dsl.online.planners.protocol import PlanningRequest
from gpusched_dsl.policies.plan import Plan
from gpusched_dsl.policies.relabelling import relabel_values
from gpusched_dsl.solving.built import solve_built
from gpusched_dsl.solving.solution import Solution
from gsdsl_backends.protocol import Monitor, SolveOptions, StopMonitor

ATTEMPTS = 2
NOT_IN_TIME = "not in time"
GIVEN_UP = 3  # requests in a row that ended in crashes; each costs two starts of a process


@dataclass
class Crashes:
    """The crashes of a solver in one run, and the number of consecutive requests without a plan because of them."""

    diagnostics: list[Diagnostic] = field(default_factory=list)
    consecutive: int = 0


@dataclass(eq=False)
class SolverPlanner:
    """Plans by a solver: each problem is loaded as a change of the previous one, and starts from the current plan."""

    backend: str
    permissions: Permissions
    options: SolveOptions = field(default_factory=SolveOptions)
    aggregated: bool = True
    monitor: Monitor | None = None
    without_plan: str = ""  # why the last request got no plan, "" if it got one or an error says why
    _crashes: Crashes = field(default_factory=Crashes)  # shared with `fresh` planners
    _solution: Solution | None = None

    @property
    def name(self) -> str:
        return self.backend

    @property
    def crashes(self) -> Sequence[Diagnostic]:
        """The crashes of the solver so far."""
        return self._crashes.diagnostics

    def plan(self, request: PlanningRequest) -> Plan | None:
        """Return a plan; None if the solver has no plan in time, proves that there is none, or crashes twice.

        After a crash it is asked once more, in a new process that knows nothing of earlier plans; after `GIVEN_UP`
        consecutive requests without a plan it is not asked again. Raises DiagnosticError as `solve_built` does.
        """
        from gsdsl_backends.isolation.backend import is_crash

        self.without_plan = ""
        if self._crashes.consecutive >= GIVEN_UP:
            return None
        began = time.perf_counter()
        crashed = False
        for _ in range(ATTEMPTS):
            spent = time.perf_counter() - began
            rest = None if request.seconds is None else request.seconds - spent
            if rest is not None and rest <= 0:
                self.without_plan = "" if crashed else NOT_IN_TIME
                break
            try:
                plan = self._plan(request, rest, began)
            except DiagnosticError as error:
                if not is_crash(error):
                    raise
                crashed, self._solution = True, None
                self._crashes.diagnostics.extend(error.diagnostics)
            else:
                self._crashes.consecutive = 0
                return plan
        self._crashes.consecutive += crashed  # a request without time is no crash
        return None

    def _plan(self, request: PlanningRequest, seconds: float | None, began: float) -> Plan | None:
        from gsdsl_backends.isolation.backend import guard

        options = structs.replace(self.options, seed=seed_of(request), time_limit=seconds)
        before = self._solution
        backend = guard(self.backend, everything=True) if before is None else before.backend
        try:
            with limit(seconds) as deadline:  # the limit covers what is built for this plan
                built = build_from(request.instance, self.permissions, aggregated=self.aggregated)
                monitor = self.monitor or StopMonitor(lambda: deadline.is_interrupted)
                solved, _ = solve_built(built, backend, options, request.running, monitor, before)
        except StoppedEarly as stopped:
            if stopped.reason == INTERRUPT:
                raise _interruption() from None
            self.without_plan = NOT_IN_TIME
            return None
        self._solution = solved
        if solved.reason == INTERRUPT:
            raise _interruption()  # what was found by then is not the plan that the run would have had
        if solved.point is None:
            self.without_plan = (
                NOT_IN_TIME if solved.status is Status.LIMIT else f"the problem is {solved.status.value}"
            )
            return None
        found = {family.name: nonzero_values(family, solved.point) for family in solved.problem.variables}
        values: PlanValues = found
        if request.running is not None:
            values = relabel_values(request.instance.scenario.model, request.instance.store, found, request.running)
        return Plan(
            values,
            self.name,
            status=solved.status.value,
            seconds=time.perf_counter() - began,
            objective=None if len(solved.objectives) != 1 else solved.objectives[0].value,
            bound=solved.bound if solved.status in (Status.OPTIMAL, Status.FEASIBLE) else None,
        )

    def fresh(self) -> SolverPlanner:
        return replace(self, _solution=None)

    def close(self) -> None:
        if self._solution is not None:
            self._solution.close()


def _interruption() -> BaseException:
    """Raise the exception of an interrupted plan: Stopped if a deadline is active, else KeyboardInterrupt."""
    return KeyboardInterrupt() if active_deadline() is None else StoppedEarly(INTERRUPT)


def build_from(instance: Instance, permissions: Permissions, *, aggregated: bool = True) -> Built:
    """An instance of the loop as something to solve."""
    found = Aggregation(None, ())
    if aggregated:
        found = aggregate(instance.scenario.model, instance.store, permissions.limits())
    return Built(
        scenario=instance.scenario,
        instance=instance,
        aggregation=found,
        grounded=[],
        seconds=0.0,
        warnings=(),
        permissions=permissions,
        sha256={},
    )
