"""State that a policy keeps for its next plan, and the times of new plans: `remember` and `again` of a plan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from gpusched_dsl.compiling.evaluation.frames import Frame
from gpusched_dsl.compiling.evaluation.limits import MemoryLimits
from gpusched_dsl.compiling.evaluation.store import ValueStore
from gpusched_dsl.compiling.lowering.fixing import VariableValues
from gpusched_dsl.ir.arrays import Floats, Ints, spread
from gpusched_dsl.language.checked import IndexVar
from gpusched_dsl.language.checked_policy import CheckedPolicy
from gpusched_dsl.policies.cluster import Cluster
from gpusched_dsl.policies.decision_evaluator import DecisionEvaluator
from gpusched_dsl.policies.workload import NEVER, NONE, Instructions, Schedule


def values_to_remember(
    policy: CheckedPolicy,
    cluster: Cluster,
    plan: Schedule,
    instructions: Instructions,
    store: ValueStore,
    limits: MemoryLimits,
) -> dict[str, VariableValues]:
    """The values to remember, by parameter and codes of jobs: of each way that `choose` lists and the job got.

    Jobs that run in a way of `otherwise`, stay where they were, or wait, are left out: they keep what is remembered.
    """
    if not policy.memories:
        return {}
    chosen = plan.chosen
    jobs = np.flatnonzero((plan.node != NONE) & (chosen != NONE))
    jobs = jobs[instructions.choose_rank[chosen[jobs]] != NEVER]
    read = _Reader(policy, cluster, store, limits, plan.node, chosen, jobs)
    return {m.target: read.of(read.ev.numbers(m.value, read.frame(m.node_types))) for m in policy.memories}


def replanning_times(
    policy: CheckedPolicy, cluster: Cluster, plan: Schedule, store: ValueStore, limits: MemoryLimits
) -> VariableValues | None:
    """Return when each of these jobs (codes) needs a new plan, in the unit of `now`; None: the policy never requests
    one.

    A job whose time is not after now, or never comes, is left out.
    """
    again = policy.again
    if again is None:
        return None
    jobs = np.flatnonzero(plan.node != NONE)
    read = _Reader(policy, cluster, store, limits, plan.node, plan.way, jobs)
    frame = read.frame(again.node_types)
    after = read.ev.number_column(again.after, frame)
    wanted = np.isfinite(after) & (after > 0)
    if again.condition is not None:
        wanted &= read.ev.mask(again.condition, frame)
    found = read.of(after)
    return VariableValues(tuple(codes[wanted] for codes in found.codes), found.values[wanted])


class _Reader:
    """Frames of jobs on their nodes, running in some ways."""

    def __init__(
        self,
        policy: CheckedPolicy,
        cluster: Cluster,
        store: ValueStore,
        limits: MemoryLimits,
        node: Ints,
        way: Ints,
        jobs: Ints,
    ) -> None:
        self.ev = DecisionEvaluator(policy.model, store, limits)
        self.cluster, self.jobs = cluster, jobs
        alone_node, alone_way = np.full_like(node, NONE), np.full_like(way, NONE)
        alone_node[jobs], alone_way[jobs] = node[jobs], way[jobs]
        indices = cluster.placement.indices
        elements = cluster.selected_elements(alone_node, alone_way)
        columns: Mapping[IndexVar, Ints] = dict(zip(indices, elements, strict=True))
        job = columns[indices[cluster.job_at]]
        self.placed = Frame(len(jobs), {**columns, policy.order.indexing.variables[0]: job})

    def frame(self, node_types: Sequence[IndexVar]) -> Frame:
        """The frame with the types of nodes by these names, too."""
        if not node_types:
            return self.placed
        value = self.cluster.placement.value("node_type")
        assert value is not None, "the checker binds names of types only if the placement states a type"
        kind = spread(self.ev.codes(value, self.placed), self.placed.size)
        return self.placed.bind(dict.fromkeys(node_types, kind))

    def of(self, values: Floats) -> VariableValues:
        """Values of the jobs, by their codes."""
        numbers = np.array(np.broadcast_to(values, (len(self.jobs),)), dtype=np.float64)
        return VariableValues((self.cluster.jobs[self.jobs],), numbers)
