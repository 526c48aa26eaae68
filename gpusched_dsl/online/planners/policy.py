"""Policies as planners of the online loop."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from gpusched_dsl.compiling.build import Permissions
from gpusched_dsl.ir.deadline import active_deadline
from gpusched_dsl.language.checked_policy import CheckedPolicy, at
from gpusched_dsl.online.planners.protocol import PlanningRequest
from gpusched_dsl.policies.plan import Plan
from gpusched_dsl.policies.relabelling import relabel_values

MOST_SEED = 2**31  # solvers take no larger seed


@dataclass(eq=False)
class PolicyPlanner:
    """Plans by a policy; passes the running jobs to policies that `keep` them."""

    policy: CheckedPolicy
    permissions: Permissions

    @property
    def name(self) -> str:
        return self.policy.name

    @property
    def decides(self) -> frozenset[str]:
        """Return the variables that the policy states; a run completes the others (`completion.py`)."""
        placement, slots = self.policy.model.placement, self.policy.slots
        found = [] if placement is None else [placement.variable]
        if slots is not None:
            found += [fix.variable for fix in slots.fixes]
            if slots.serve is not None and slots.serve.variable is not None:
                found.append(slots.serve.variable)
        return frozenset(found)

    def fresh(self) -> PolicyPlanner:
        return self

    def close(self) -> None:
        pass

    def plan(self, request: PlanningRequest) -> Plan | None:
        """Raises DiagnosticError as `decide` does."""
        from gpusched_dsl.policies.decide import decide  # kernels need a compiler, and fast replays none of them

        began = time.perf_counter()
        until = None if request.seconds is None else began + request.seconds
        deadline = active_deadline()

        def stop() -> bool:
            over = until is not None and time.perf_counter() > until
            return over or (deadline is not None and deadline.is_interrupted)

        running = request.running if self.policy.slots is None else request.before
        decision = decide(
            at(self.policy, request.now),
            request.instance.store,
            self.permissions.limits(),
            seed_of(request),
            running if self.policy.keep else None,
            None if until is None and deadline is None else stop,
            known=request.known,
            priced=False,
        )
        values, obeys_rows = decision.values, decision.obeys_rows
        if request.running is not None and not self.policy.keep and self.policy.split is None:
            model, store = request.instance.scenario.model, request.instance.store
            values = relabel_values(model, store, values, request.running)
            obeys_rows &= values is decision.values
        return Plan(
            values,
            self.name,
            seconds=time.perf_counter() - began,
            again=decision.again,
            remembered=decision.remembered,
            obeys_roles=True,
            obeys_rows=obeys_rows,
        )


def seed_of(request: PlanningRequest) -> int:
    """A seed for each plan, so that a plan does not repeat the draws of the one before."""
    return int(np.random.SeedSequence([request.seed, request.number]).generate_state(1)[0]) % MOST_SEED
