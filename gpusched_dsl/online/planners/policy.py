"""Policies as planners of the online loop."""

from __future__ import annotations

import time
from collections.abc import Sequence, Set
from dataclasses import dataclass, replace

import numpy as np

from gpusched_dsl.compiling.build import Permissions
from gpusched_dsl.ir.deadline import active
from gpusched_dsl.language.checked_policy import CheckedPolicy, at
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.online.loops.base import SimulationLoop
from gpusched_dsl.online.planners.protocol import Plan, Planner, PlanningRequest
from gpusched_dsl.policies.relabelling import relabel_values

MOST_SEED = 2**31  # solvers take no larger seed


@dataclass(eq=False)
class PolicyPlanner:
    """Plans by a policy; what runs is handed over to those that `keep` it."""

    policy: CheckedPolicy
    permissions: Permissions

    @property
    def name(self) -> str:
        return self.policy.name

    def fresh(self) -> PolicyPlanner:
        return self

    def close(self) -> None:
        pass

    def plan(self, question: PlanningRequest) -> Plan | None:
        """Raises DiagnosticError as `decide` does."""
        from gpusched_dsl.policies.decide import decide  # kernels need a compiler, and fast replays none of them

        began = time.perf_counter()
        until = None if question.seconds is None else began + question.seconds
        deadline = active()

        def stop() -> bool:
            over = until is not None and time.perf_counter() > until
            return over or (deadline is not None and deadline.interrupted)

        decision = decide(
            at(self.policy, question.now),
            question.instance.store,
            self.permissions.limits(),
            seed_of(question),
            question.running if self.policy.keep else None,
            None if until is None and deadline is None else stop,
        )
        values = decision.values
        if question.running is not None and not self.policy.keep and self.policy.split is None:
            model, store = question.instance.scenario.model, question.instance.store
            values = relabel_values(model, store, values, question.running)
        return Plan(
            values,
            self.name,
            seconds=time.perf_counter() - began,
            again=decision.again,
            remembered=decision.remembered,
        )


def seed_of(question: PlanningRequest) -> int:
    """A seed for each plan, so that a plan does not repeat the draws of the one before."""
    return int(np.random.SeedSequence([question.seed, question.number]).generate_state(1)[0]) % MOST_SEED


@dataclass(frozen=True)
class StatelessPlanner:
    """A planner that begins anew with every plan, told only what a journal keeps of the plan that holds.

    A solver that goes on from its last problem may end at another plan of the same price than one that begins: after a
    restart there is no last problem, and the run is to go the way it would have gone.
    """

    planner: Planner
    kept: Set[str]

    @property
    def name(self) -> str:
        return self.planner.name

    @property
    def crashes(self) -> Sequence[Diagnostic]:
        """The crashes of a solver behind the plans so far."""
        found: Sequence[Diagnostic] = getattr(self.planner, "crashes", ())
        return found

    def fresh(self) -> Planner:
        return self

    def plan(self, question: PlanningRequest) -> Plan | None:
        running = question.running
        if running is not None:
            running = {name: given for name, given in running.items() if name in self.kept}
        planner = self.planner.fresh()
        try:
            return planner.plan(replace(question, running=running))
        finally:
            planner.close()

    def close(self) -> None:
        self.planner.close()


def anew(driver: SimulationLoop) -> None:
    """Let a driver that is recorded make each plan anew."""
    driver.planner = StatelessPlanner(driver.planner, driver.kept)
    if driver.fallback is not None:
        driver.fallback = StatelessPlanner(driver.fallback, driver.kept)
