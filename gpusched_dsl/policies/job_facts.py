"""What policies know of a job without a declaration in the model: `arrived`, `attained`, `shortest`.

The checker declares them as parameters of the policy's model (`language/blocks/policies/scope.py`), unless the model or
the policy has declarations of these names. Here they get their values.

What a placement states of jobs alone, their users, shares and quotas, is evaluated here, too.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from msgspec import structs

from gpusched_dsl.compiling.evaluation.frames import Frame
from gpusched_dsl.compiling.evaluation.limits import MemoryLimits
from gpusched_dsl.compiling.evaluation.on_demand import OnDemand
from gpusched_dsl.compiling.evaluation.store import Param, ValueStore
from gpusched_dsl.compiling.placement import PlacementEvaluator
from gpusched_dsl.ir.arrays import Bools, Codes, Floats
from gpusched_dsl.ir.domains import IntervalDomain
from gpusched_dsl.language.checked import CheckedModel, Element, Role
from gpusched_dsl.language.checked_policy import JOB_FACTS, SHORTEST, CheckedPolicy, has_job_fact
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.policies.cluster import Cluster
from gpusched_dsl.policies.placement_reader import cluster_of

JobFacts = Mapping[str, Floats]


def with_job_facts(
    policy: CheckedPolicy, store: ValueStore, limits: MemoryLimits, known: JobFacts | None = None
) -> ValueStore:
    """The store with these parameters: `known` over all jobs, by code; without it jobs have just arrived.

    Raises DiagnosticError as `cluster_of` does, if the policy reads `shortest`.
    """
    names = [name for name in JOB_FACTS if has_job_fact(policy, name)]
    if not names:
        return store
    domain = policy.model.params[names[0]].indexing.variables[0].type
    assert isinstance(domain, Element)
    jobs = store.universes[domain.root]
    every = IntervalDomain(0, len(jobs.labels) - 1, 1, jobs)
    zero = np.zeros(len(jobs.labels))
    given = dict.fromkeys(names, zero) | {name: values for name, values in (known or {}).items() if name in names}
    params = store.params | {name: Param(every, values) for name, values in given.items() if name != SHORTEST}
    shortest = {SHORTEST: lambda: Param(every, _shortest(policy, store, limits, len(zero)))}
    return structs.replace(store, params=OnDemand(params, shortest if SHORTEST in names else {}))


def _shortest(policy: CheckedPolicy, store: ValueStore, limits: MemoryLimits, jobs: int) -> Floats:
    """The least time to the end of each job over all its ways, by code; infinite for a job without a way."""
    cluster = cluster_of(policy.model, store, limits, tables=False)
    found = np.full(jobs, np.inf)
    np.minimum.at(found, cluster.jobs[cluster.work.job], cluster.work.time)
    return found


class Users(NamedTuple):
    """The user of each job as a number from 0, in the order of the data; share and quota (GPUs) of each user."""

    user: Codes
    share: Floats
    quota: Floats


class JobRoles:
    """Evaluates roles of the placement for the jobs of a cluster."""

    def __init__(self, model: CheckedModel, cluster: Cluster, store: ValueStore, limits: MemoryLimits) -> None:
        self.evaluator = PlacementEvaluator(model, store, limits)
        self.jobs = Frame(len(cluster.jobs), {self.evaluator.placement.indices[cluster.job_at]: cluster.jobs})

    def users(self) -> Users:
        """Raises DiagnosticError (GSM3016) for shares that are not positive."""
        value = self.evaluator.placement.value("user")
        assert value is not None, "the checker asks for it"
        ev = self.evaluator.ev
        found = ev.codes(value, self.jobs) if isinstance(value.type, Element) else ev.values(value, self.jobs)
        labels = np.broadcast_to(found, (self.jobs.size,))
        user = np.unique(labels, return_inverse=True)[1].reshape(-1).astype(np.int64)
        users = int(user.max(initial=-1)) + 1
        share, quota = np.ones(users), np.full(users, np.inf)
        share[user], quota[user] = self.shares(), self.of_jobs("quota", np.inf)
        return Users(user, share, quota)

    def of_jobs(self, role: Role, otherwise: float) -> Floats:
        """The numbers of a role, `otherwise` if it is not stated."""
        value = self.evaluator.placement.value(role)
        if value is None:
            return np.full(self.jobs.size, otherwise)
        return np.array(np.broadcast_to(self.evaluator.ev.number_column(value, self.jobs), (self.jobs.size,)))

    def shares(self) -> Floats:
        """The share of the user of each job. Raises DiagnosticError (GSM3016) for one that is not positive."""
        found = self.of_jobs("share", 1.0)
        wrong: Bools = ~((found > 0) & np.isfinite(found))
        if wrong.any():
            item = self.evaluator.placement.item("share")
            assert item is not None
            message = f"`share` must be positive, it is {float(found[wrong][0]):g}"
            raise DiagnosticError([Diagnostic("GSM3016", message, item.value.span, "not positive")])
        return found
