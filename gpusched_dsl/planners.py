"""Policies as planners of the online loop."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from gpusched_dsl.building import Permissions
from gpusched_dsl.language.checked_policy import CheckedPolicy, at
from gpusched_dsl.online.planner import Plan, Question

MOST_SEED = 2**31  # solvers take no larger seed


@dataclass(eq=False)
class PolicyPlanner:
    """Plans by a policy; what runs is handed over to those that `keep` it."""

    policy: CheckedPolicy
    permissions: Permissions

    @property
    def name(self) -> str:
        return self.policy.name

    def plan(self, question: Question) -> Plan | None:
        """Raises DiagnosticError as `decide` does."""
        from gpusched_dsl.policies.deciding import decide  # kernels need a compiler, and runs in one go none of them

        began = time.perf_counter()
        until = None if question.seconds is None else began + question.seconds
        decision = decide(
            at(self.policy, question.now),
            question.instance.store,
            self.permissions.limits(),
            seed_of(question),
            question.running if self.policy.keep else None,
            None if until is None else lambda: time.perf_counter() > until,
        )
        return Plan(
            decision.values,
            self.name,
            seconds=time.perf_counter() - began,
            again=decision.again,
            remembered=decision.remembered,
        )


def seed_of(question: Question) -> int:
    """A seed for each plan, so that a plan does not repeat the draws of the one before."""
    return int(np.random.SeedSequence([question.seed, question.number]).generate_state(1)[0]) % MOST_SEED
