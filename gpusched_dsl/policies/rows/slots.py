"""The side rows of a decision with slots: the columns of its jobs, and the values that `fix` lines state."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from msgspec import structs

from gpusched_dsl.compiling.evaluation.limits import MemoryLimits
from gpusched_dsl.compiling.evaluation.store import ValueStore
from gpusched_dsl.compiling.lowering.fixing import Fixed
from gpusched_dsl.compiling.lowering.ground import ground
from gpusched_dsl.ir.arrays import Ints
from gpusched_dsl.language.checked import (
    CheckedConstraint,
    CheckedModel,
    CheckedPlacement,
    ComparisonChain,
    IndexRef,
    Logical,
    Role,
    TypedExpr,
    VariableRef,
)
from gpusched_dsl.language.checked_policy import CheckedFix, CheckedPolicy
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.policies.covers import part_with
from gpusched_dsl.policies.decision import Decision
from gpusched_dsl.policies.kernels.row_guard import RowGuard, arrays_of
from gpusched_dsl.policies.kernels.slotted_rows import SlottedRows
from gpusched_dsl.policies.node_kinds import position_of
from gpusched_dsl.policies.rows.excess import excess_of
from gpusched_dsl.policies.rows.problem import SideProblem, side_model, side_problem
from gpusched_dsl.policies.rows.sides import MOST_PLACES, MovedSides, first_that_obeys
from gpusched_dsl.policies.workload import NONE

if TYPE_CHECKING:
    from gpusched_dsl.policies.slotted.instance_reader import SlottedInstance


def slotted_plan_that_obeys(
    policy: CheckedPolicy,
    instance: SlottedInstance,
    store: ValueStore,
    limits: MemoryLimits,
    plan_with: Callable[[SlottedRows | None, Ints], Decision],
    *,
    starts: bool,
) -> Decision:
    """Return a plan that obeys all rows of the model, if one is found.

    With `starts` the slot of the placement is the first one of a job.
    """
    placement, slots = policy.model.placement, policy.slots
    assert placement is not None
    assert slots is not None
    side = side_model(policy.model).rows
    order = instance.cluster.order
    first = plan_with(None, order)
    places = len(instance.jobs) * len(instance.nodes) * len(instance.slots)
    if placement.variable not in side.variables or places > MOST_PLACES:
        return first

    def sides() -> MovedSides:
        constant = {fix.variable for fix in slots.fixes if not fix.value.decision}
        fixed: Fixed = {name: given for name, given in first.values.items() if name in constant}
        with_lines = _with_fix_lines(policy.model, side, slots.fixes, store, limits)
        problem = side_problem(with_lines, placement, store, limits, fixed)
        most = np.ones(len(instance.jobs), dtype=np.int64) if starts else instance.cluster.length.max(axis=1, initial=0)
        decided = frozenset(fix.variable for fix in slots.fixes)
        served = None if slots.serve is None else slots.serve.variable
        return MovedSides(problem, placement, *_columns_of_places(problem, placement, instance), most, decided, served)

    def with_guard(guard: RowGuard, order: Ints) -> Decision:
        arrays = arrays_of(guard)
        known = arrays.column != NONE
        deep = np.zeros(len(arrays.first), dtype=np.bool_)
        job = np.repeat(np.arange(len(arrays.first)), len(arrays.place))
        deep[job[known][arrays.deep[arrays.column[known]] == 1]] = True
        return plan_with(SlottedRows(guard, starts, deep), order)

    excess = partial(excess_of, side, store, limits)
    return first_that_obeys(first, "jobs_not_started", excess, sides, with_guard, order)


def _columns_of_places(
    side: SideProblem, placement: CheckedPlacement, instance: SlottedInstance
) -> tuple[Ints, Ints, Ints]:
    """Return `first` (J,), `place` (K * H,) and `column`, as `kernels/slotted_rows.py` reads them."""
    sizes = (len(instance.jobs), len(instance.nodes), len(instance.slots))
    codes = side.source.variable(placement.variable).domain.columns()
    at, inside = np.zeros(len(side.columns), dtype=np.int64), np.ones(len(side.columns), dtype=np.bool_)
    parts: tuple[tuple[Role, Ints], ...] = (("job", instance.jobs), ("node", instance.nodes), ("slot", instance.slots))
    for role, known in parts:
        own = codes[position_of(placement, role)]
        order = np.argsort(known, kind="stable")
        found = np.minimum(np.searchsorted(known[order], own), len(known) - 1)
        inside &= known[order][found] == own
        at = at * len(known) + order[found]
    column = np.full(int(np.prod(sizes)), NONE)
    column[at[inside]] = side.columns[inside]
    size = sizes[1] * sizes[2]
    return np.arange(sizes[0]) * size, np.arange(size), column


def _with_fix_lines(
    model: CheckedModel, side: CheckedModel, fixes: tuple[CheckedFix, ...], store: ValueStore, limits: MemoryLimits
) -> CheckedModel:
    """Return the side rows of a model, and behind them the values that `fix` lines state for their variables, as rows.

    Values that are not linear in the plan state no row.
    """
    found = side
    for fix in fixes:
        if fix.variable not in side.variables or not fix.value.decision:
            continue
        name = f"fix {fix.variable}"  # no author can write this name
        row = CheckedConstraint(name, fix.span, fix.indexing, _is_value(fix))
        with_row = structs.replace(model, constraints={**model.constraints, name: row})
        own = structs.replace(store, variables={}, point=None)
        try:
            is_linear = ground(part_with(with_row, {name}), own, limits).is_linear
        except DiagnosticError:
            continue
        if is_linear:
            model = with_row
            found = part_with(model, {*found.constraints, name})
    return found


def _is_value(fix: CheckedFix) -> TypedExpr:
    indices = fix.indexing.variables
    variable = VariableRef(
        span=fix.span,
        type=fix.value.type,
        decision=True,
        name=fix.variable,
        subscripts=tuple(IndexRef(span=fix.span, type=index.type, variable=index) for index in indices),
    )
    operands = (variable, fix.value)
    return ComparisonChain(span=fix.span, type=Logical(), decision=True, operands=operands, ops=("==",))
