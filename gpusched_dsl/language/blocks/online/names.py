"""The names that an online block may use without a declaration: the time, and the progress of each job."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import structs

from gpusched_dsl.language import tree
from gpusched_dsl.language.checked import (
    CheckedModel,
    CheckedParam,
    Element,
    IndexVar,
    Iterator,
    NamedSet,
    Numeric,
    TypedIndexing,
    ValueType,
)
from gpusched_dsl.language.checked_online import ELAPSED, previous_name
from gpusched_dsl.language.checking import EMPTY, Binding, Scope
from gpusched_dsl.language.checking.symbols import SubscriptSlot, slots_of
from gpusched_dsl.language.source import Span
from gpusched_dsl.language.units import DIMENSIONLESS, Unit

# Of each job, besides `done`: a plain number.
OF_JOBS = ("remaining", "running", "requested")


def with_clock(
    model: CheckedModel,
    span: Span,
    jobs: NamedSet | None,
    unit: Unit,
    time: Unit,
    work: Unit,
    slots: NamedSet | None,
    brought: Iterable[str],
    carried: Iterable[str] = (),
) -> CheckedModel:
    """The model with the loop's own names as parameters, in place of its own of the same names.

    `unit` is that of the clock, `time` that of spans of time, `work` that of `done`; `brought` are parameters of jobs
    that events bring along, in the unit of the clock. `carried` are the parameters with a `carry`: `previous(p)` is
    declared as `p` is.
    """
    params = {**model.params, "now": _param("now", span, Numeric(slots is not None, unit), TypedIndexing())}
    params[ELAPSED] = _param(ELAPSED, span, Numeric(False, time), TypedIndexing())
    for name in carried:
        declared = model.params.get(name)
        if declared is not None:
            again = previous_name(name)
            params[again] = structs.replace(declared, name=again, value=None, default=None, bounds=(), within=None)
    if slots is not None:
        params["committed"] = _param("committed", span, slots.types[0], TypedIndexing())
    if jobs is not None:
        each = TypedIndexing((Iterator((IndexVar("_", jobs.types[0], span),), jobs, span),))
        for name in OF_JOBS:
            params[name] = _param(name, span, Numeric(False, DIMENSIONLESS), each)
        params["done"] = _param("done", span, Numeric(False, work), each)
        for name in brought:
            params[name] = _param(name, span, Numeric(False, unit), each)
    return structs.replace(model, params=params)


def _param(name: str, span: Span, type_: ValueType, indexing: TypedIndexing) -> CheckedParam:
    kind = "element" if isinstance(type_, Element) else "real"
    return CheckedParam(name, span, type_, kind, indexing)


def placement_scope(model: CheckedModel) -> Scope:
    """The indices of the placement by their names: a job, its node, the way it runs."""
    placement = model.placement
    scope = EMPTY
    if placement is None:
        return scope
    for index, slot in zip(placement.indices, slots_of(model.variables[placement.variable]), strict=True):
        if index.name != "_":
            scope = bind(scope, index, slot)
    return scope


def bind(scope: Scope, index: IndexVar, slot: SubscriptSlot) -> Scope:
    return scope.bind(index.name, Binding(index, slot.domain, slot.component))


def reference_of(expr: tree.Expr) -> str | None:
    """The name that an expression is a reference to."""
    if isinstance(expr, tree.Subscript):
        return expr.name.text
    return expr.text if isinstance(expr, tree.Name) else None
