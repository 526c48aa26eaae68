"""What a placement states of jobs alone: their users, shares and quotas."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gpusched_dsl.compiling.evaluation.frames import Frame
from gpusched_dsl.compiling.evaluation.limits import MemoryLimits
from gpusched_dsl.compiling.evaluation.store import ValueStore
from gpusched_dsl.compiling.placement import PlacementEvaluator
from gpusched_dsl.ir.arrays import Bools, Codes, Floats
from gpusched_dsl.language.checked import CheckedModel, Element, Role
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.policies.cluster import Cluster


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
