"""The names that the lines of a policy may use without a declaration: a job, its node, the time of the decision."""

from __future__ import annotations

from gpusched_dsl.language.blocks.policies.names import Decisions, slot_of
from gpusched_dsl.language.checked import (
    CheckedLet,
    CheckedModel,
    CheckedParam,
    Constant,
    Element,
    IndexVar,
    Iterator,
    NamedSet,
    Numeric,
    TypedIndexing,
)
from gpusched_dsl.language.checked_policy import ARRIVED, ATTAINED, NOW, REMAINING, SHORTEST
from gpusched_dsl.language.checking import EMPTY, Binding, Scope
from gpusched_dsl.language.checking.component_names import IGNORED
from gpusched_dsl.language.checking.conversion import unit_in
from gpusched_dsl.language.checking.symbols import SubscriptSlot, slots_of
from gpusched_dsl.language.source import Span
from gpusched_dsl.language.units import UNITS, Unit


def one_job(model: CheckedModel, decisions: Decisions | None) -> Scope:
    """Bind a job by its name in the placement, for lines of a policy with a missing or invalid `order`."""
    if decisions is None:
        return EMPTY
    return _bind(EMPTY, decisions.job, _slot(model, decisions, decisions.job))


def with_node(model: CheckedModel, decisions: Decisions | None, queue: Scope) -> Scope:
    """The job and its node, by the names of the placement."""
    if decisions is None or decisions.node is None or decisions.node.name in queue.bindings:
        return queue
    return _bind(queue, decisions.node, _slot(model, decisions, decisions.node))


def with_slot(model: CheckedModel, decisions: Decisions | None, scope: Scope) -> Scope:
    """Return the scope with the slot, by the name of the placement, if it has one."""
    slot = None if decisions is None else slot_of(decisions)
    if decisions is None or slot is None or slot.name in scope.bindings:
        return scope
    return _bind(scope, slot, _slot(model, decisions, slot))


def bound_placement(model: CheckedModel, decisions: Decisions, queue: Scope) -> Scope:
    """The job and all other indices of the placement, by their names."""
    scope = queue
    for index in decisions.placement.indices:
        if index.name not in (IGNORED, decisions.job.name):
            scope = _bind(scope, index, _slot(model, decisions, index))
    return scope


def clock_unit(model: CheckedModel) -> Unit:
    """Return the unit of `now`: that of the durations or due times of jobs in the placement."""
    times = () if model.placement is None else model.placement.all("lasts", "due")
    return unit_in(times[0].value) if times else UNITS["h"]


def clock(model: CheckedModel, decisions: Decisions | None, span: Span) -> dict[str, CheckedLet | CheckedParam]:
    """Return `now` and `remaining[j]` as `let`s, outside of the online loop; see `checked_policy.py`.

    `now` is in the unit in which the placement says how long a job lasts or when it is due.
    """
    now = Constant(span=span, type=Numeric(False, clock_unit(model)), value=0.0)
    lets: dict[str, CheckedLet | CheckedParam] = {}
    lets[NOW] = CheckedLet(NOW, span, now.type, TypedIndexing(), now, "the time of the decision")
    jobs = None if decisions is None else _all_jobs(model, decisions, span)
    if jobs is not None:
        left = Constant(span=span, type=Numeric(), value=1.0)
        lets[REMAINING] = CheckedLet(REMAINING, span, left.type, jobs, left, "the remaining part of the work")
    return lets


def job_facts(model: CheckedModel, decisions: Decisions | None, span: Span) -> dict[str, CheckedLet | CheckedParam]:
    """Return `arrived[j]`, `attained[j]` and `shortest[j]` as parameters; see `policies/job_facts.py`.

    `shortest` needs the durations of jobs in the placement, and is not there for decisions with slots or queues.
    """
    if decisions is None:
        return {}
    jobs = _all_jobs(model, decisions, span)
    if jobs is None or not isinstance(decisions.job.type, Element):
        return {}
    uses, lasts = decisions.placement.value("uses"), decisions.placement.value("lasts")
    time = clock_unit(model)
    amount = time if uses is None else unit_in(uses) * time
    found = [(ARRIVED, time, "time of arrival"), (ATTAINED, amount, "GPU time that the job has had")]
    if lasts is not None and slot_of(decisions) is None and decisions.place is None:
        found.append((SHORTEST, unit_in(lasts), "time to the end in the fastest way"))
    return {name: CheckedParam(name, span, Numeric(False, unit), "real", jobs, doc=doc) for name, unit, doc in found}


def _all_jobs(model: CheckedModel, decisions: Decisions, span: Span) -> TypedIndexing | None:
    """Return an index over the jobs of the decisions: of their set, or of the root set where tuples index decisions."""
    slot = _slot(model, decisions, decisions.job)
    domain = slot.domain
    if len(domain.types) != 1:
        if not isinstance(slot.type, Element):
            return None
        domain = NamedSet(span=span, types=(slot.type,), name=slot.type.root)
    return TypedIndexing((Iterator((IndexVar("_", slot.type, span),), domain, span),))


def _slot(model: CheckedModel, decisions: Decisions, index: IndexVar) -> SubscriptSlot:
    """Return the domain of an index of the placement."""
    placement = decisions.placement
    return slots_of(model.variables[placement.variable])[placement.indices.index(index)]


def _bind(scope: Scope, index: IndexVar, slot: SubscriptSlot) -> Scope:
    return scope.bind(index.name, Binding(index, slot.domain, slot.component))
