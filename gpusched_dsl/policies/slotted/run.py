"""A policy for slots on a built instance: values of the families of variables of its plan."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from msgspec import structs

from gpusched_dsl.compiling.evaluation.frames import Frame
from gpusched_dsl.compiling.evaluation.limits import MemoryLimits
from gpusched_dsl.compiling.evaluation.store import Columns, ValueStore
from gpusched_dsl.compiling.lowering.fixing import VariableValues, given_elements
from gpusched_dsl.ir.arrays import Ints
from gpusched_dsl.language.checked_policy import CheckedFix, CheckedLoads, CheckedPolicy
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.policies.kernels.slotted_cluster import SlottedSchedule
from gpusched_dsl.policies.kernels.slotted_rows import SlottedRows
from gpusched_dsl.policies.node_kinds import position_of
from gpusched_dsl.policies.plan import Plan
from gpusched_dsl.policies.rows.guard import Running
from gpusched_dsl.policies.rows.slots import SlottedPasses, slotted_plan_that_obeys
from gpusched_dsl.policies.search import SearchResult
from gpusched_dsl.policies.slotted.instance_reader import SlottedInstance, read_instance
from gpusched_dsl.policies.slotted.meaning import slot_is_start
from gpusched_dsl.policies.slotted.plan_values import PlanEvaluator
from gpusched_dsl.policies.slotted.planning import Placing, make_plan


def run_slotted(
    policy: CheckedPolicy,
    store: ValueStore,
    limits: MemoryLimits,
    stop: Callable[[], bool] | None = None,
) -> Plan:
    """The plan of a policy with `occupies`, which obeys the rows of the model. Nothing is drawn and nothing kept.

    Raises DiagnosticError as evaluation does, and where the placement does not say what is needed (GSM3016).
    """
    assert policy.slots is not None
    starts = slot_is_start(policy)
    instance = read_instance(policy, store, limits)

    placing = Placing.of(policy.place)

    def placed_with(rows: SlottedRows | None, order: Ints, placed: Running | None) -> SearchResult[SlottedSchedule]:
        cluster = instance.cluster._replace(order=order)
        return make_plan(cluster, instance.guard, instance.serving, placing, stop, rows, placed)

    def values_of(result: SearchResult[SlottedSchedule]) -> Plan:
        assert policy.slots is not None
        found = _Values(policy, store, limits)
        found.add(*_of_jobs(policy, instance, result.schedule, starts=starts))
        if policy.slots.serve is not None:
            found.add(*_of_services(policy.slots.serve, instance, result.schedule))
        for fix in policy.slots.fixes:
            found.fix(fix)
        return Plan(
            found.values,
            statistics=_statistics(instance, result, found),
            stopped=result.stopped,
            outside=found.outside,
        )

    passes = SlottedPasses(policy, instance, store, limits, placing, placed_with, values_of, starts=starts)
    return slotted_plan_that_obeys(passes)


def _of_jobs(
    policy: CheckedPolicy, instance: SlottedInstance, plan: SlottedSchedule, *, starts: bool
) -> tuple[str, VariableValues]:
    """Return the family of the placement: 1 if a job is on a node in a slot, or with `starts` only in its
    first slot.
    """
    placement = policy.model.placement
    assert placement is not None
    node, slot = np.nonzero(plan.job >= 0)
    if starts:
        by_job = np.lexsort((slot, plan.job[node, slot]))
        _, first = np.unique(plan.job[node, slot][by_job], return_index=True)
        node, slot = node[by_job][first], slot[by_job][first]
    columns = {
        position_of(placement, "job"): instance.jobs[plan.job[node, slot]],
        position_of(placement, "node"): instance.nodes[node],
        position_of(placement, "slot"): instance.slots[slot],
    }
    others = [index for at, index in enumerate(placement.indices) if at not in columns]
    if others:
        message = f"policies for slots cannot decide `{others[0].name}`"
        help = "state a placement of only a job, a node and a slot"
        raise DiagnosticError([Diagnostic("GSM3016", message, others[0].span, "additional index", help=help)])
    return placement.variable, VariableValues(tuple(columns[at] for at in range(len(columns))), np.ones(len(node)))


def _of_services(loads: CheckedLoads, instance: SlottedInstance, plan: SlottedSchedule) -> tuple[str, VariableValues]:
    """Return the family of `serve`: the served amount of each load by each node."""
    assert loads.variable is not None
    share = plan.share
    if instance.most is not None:
        share = np.minimum(share, instance.most[:, instance.cluster.class_of, None])
    service, node, slot = np.nonzero(share)
    columns = {
        loads.service: instance.services[service],
        loads.node: instance.nodes[node],
        loads.slot: instance.slots[slot],
    }
    return loads.variable, VariableValues(
        tuple(columns[v] for v in loads.indexing.variables), share[service, node, slot]
    )


def _statistics(instance: SlottedInstance, result: SearchResult[SlottedSchedule], found: _Values) -> dict[str, float]:
    """Count what went wrong: values without a variable are of jobs that train when they must have ended."""
    plan, cluster = result.schedule, instance.cluster
    return {
        "jobs_not_started": float((plan.node < 0).sum()),
        "jobs_beyond_the_last_slot": float(((plan.node >= 0) & (plan.last >= plan.job.shape[1])).sum()),
        "values_without_variable": float(sum(len(missing.values) for missing in found.outside.values())),
        "slots_of_excess_load": float((plan.excess > 0).any(axis=0).sum()),
        "slots_not_proven_cheapest": float(result.unproven),
        "node_classes": float(cluster.length.shape[1]),
    }


class _Values:
    """Values of families, gathered one after the other; each expression reads those before it."""

    def __init__(self, policy: CheckedPolicy, store: ValueStore, limits: MemoryLimits) -> None:
        self.model = policy.model
        self.store = structs.replace(store, variables={}, point=np.zeros(0))
        self.ev = PlanEvaluator(policy.model, self.store, limits)
        self.values: dict[str, VariableValues] = {}
        self.outside: dict[str, VariableValues] = {}

    def add(self, name: str, given: VariableValues) -> None:
        """Add the entries of the family, keep the missing ones apart, and let expressions read all of it."""
        variable = self.model.variables[name]
        frame = Frame(len(given.values), dict(zip(variable.indexing.variables, given.codes, strict=True)))
        inside = self.ev.in_index_list(variable.indexing, frame)
        if not inside.all():
            self.outside[name] = VariableValues(tuple(c[~inside] for c in given.codes), given.values[~inside])
        self.values[name] = VariableValues(tuple(c[inside] for c in given.codes), given.values[inside])
        domain, point = given_elements(self.store, variable, given)
        indexed = self.ev.index_domain(variable.indexing, variable.span, conditions=False)
        assert self.store.point is not None
        self.store.variables[name] = Columns(domain, len(self.store.point), indexed)
        self.store.point = np.concatenate([self.store.point, point])

    def fix(self, fix: CheckedFix) -> None:
        """The values of an expression over the index list of the line."""
        domain = self.ev.index_domain(fix.indexing, fix.span)
        frame = self.ev.domain_frame(fix.indexing, domain)
        values = np.broadcast_to(self.ev.numbers(fix.value, frame), (frame.size,))
        used = np.flatnonzero(values)
        self.add(
            fix.variable, VariableValues(tuple(c[used] for c in domain.columns()), values[used].astype(np.float64))
        )
