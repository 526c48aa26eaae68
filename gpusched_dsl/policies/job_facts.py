"""What policies know of a job without a declaration in the model: `arrived`, `attained`, `shortest`.

The checker declares them as parameters of the policy's model (`language/blocks/policies/scope.py`), unless the model or
the policy has declarations of these names. Here they get their values.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from msgspec import structs

from gpusched_dsl.compiling.evaluation.limits import MemoryLimits
from gpusched_dsl.compiling.evaluation.on_demand import OnDemand
from gpusched_dsl.compiling.evaluation.store import Param, ValueStore
from gpusched_dsl.ir.arrays import Floats
from gpusched_dsl.ir.domains import IntervalDomain
from gpusched_dsl.language.checked import Element
from gpusched_dsl.language.checked_policy import JOB_FACTS, SHORTEST, CheckedPolicy, has_job_fact
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
