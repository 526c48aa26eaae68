"""The side rows of a decision with slots: the columns of its jobs, and the values that `fix` lines state."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from msgspec import structs

from gpusched_dsl.compiling.evaluation.limits import MemoryLimits
from gpusched_dsl.compiling.evaluation.store import ValueStore
from gpusched_dsl.compiling.lowering.fixing import PlanValues
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
from gpusched_dsl.policies.kernels.row_guard import RowGuard, arrays_of
from gpusched_dsl.policies.kernels.slotted_rows import SlottedRows
from gpusched_dsl.policies.node_kinds import position_of
from gpusched_dsl.policies.plan import Plan
from gpusched_dsl.policies.rows.blocks import blocks_of
from gpusched_dsl.policies.rows.completion import MOST_PLACES as MOST_PLACES_OF_SOLVER
from gpusched_dsl.policies.rows.completion import fewest_jobs
from gpusched_dsl.policies.rows.excess import excess_of
from gpusched_dsl.policies.rows.guard import Running
from gpusched_dsl.policies.rows.problem import SideProblem, side_model, side_problem
from gpusched_dsl.policies.rows.sides import MOST_PLACES, MovedSides, first_that_obeys
from gpusched_dsl.policies.workload import NONE

if TYPE_CHECKING:
    from gpusched_dsl.policies.kernels.slotted_cluster import SlottedSchedule
    from gpusched_dsl.policies.search import SearchResult
    from gpusched_dsl.policies.slotted.instance_reader import SlottedInstance
    from gpusched_dsl.policies.slotted.planning import Placing


@dataclass(frozen=True, eq=False)
class SlottedPasses:
    """The passes of a policy for slots, as `first_that_obeys` makes them: a way is a job, its place a slot of a node.

    `place` makes one with rows, a queue, and jobs that were placed before; `values` decides all else. With `starts` the
    slot of the placement is the first one of a job.
    """

    policy: CheckedPolicy
    instance: SlottedInstance
    store: ValueStore
    limits: MemoryLimits
    placing: Placing
    place: Callable[[SlottedRows | None, Ints, Running | None], SearchResult[SlottedSchedule]]
    values: Callable[[SearchResult[SlottedSchedule]], Plan]
    starts: bool

    @property
    def placement(self) -> CheckedPlacement:
        """The placement of the model."""
        assert self.policy.model.placement is not None
        return self.policy.model.placement

    def plan(self, guard: RowGuard, queue: Ints, placed: Running | None) -> Plan:
        """Return a plan with all values that the policy decides."""
        return self.values(self.place(self._rows(guard), queue, placed))

    def run(self, guard: RowGuard, queue: Ints, placed: Running | None) -> Running:
        """Return the places of a plan alone."""
        plan = self.place(self._rows(guard), queue, placed).schedule
        node, slot = np.nonzero(plan.job != NONE)
        job, place = plan.job[node, slot], node * plan.job.shape[1] + slot
        if self.starts:
            _, first = np.unique(job, return_index=True)
            job, place = job[first], place[first]
        return Running(job, place, job, np.ones(len(job)))

    def _rows(self, guard: RowGuard) -> SlottedRows:
        arrays = arrays_of(guard)
        known = arrays.column != NONE
        deep = np.zeros(len(arrays.first), dtype=np.bool_)
        job = np.repeat(np.arange(len(arrays.first)), len(arrays.place))
        deep[job[known][arrays.deep[arrays.column[known]] == 1]] = True
        return SlottedRows(guard, self.starts, deep)

    def problem(self, rows: CheckedModel, first: Plan) -> SideProblem:
        """Return rows of the model, with what `fix` lines state. Raises DiagnosticError as `ground` does."""
        assert self.policy.slots is not None
        fixes = self.policy.slots.fixes
        constant = {fix.variable for fix in fixes if not fix.value.decision}
        fixed: PlanValues = {name: given for name, given in first.values.items() if name in constant}
        with_lines = _with_fix_lines(self.policy.model, rows, fixes, self.store, self.limits)
        return side_problem(with_lines, self.placement, self.store, self.limits, fixed)

    def fewest(self, queue: Ints) -> Running | None:
        """Return the fewest jobs that meet all rows of the model, by a solver; None if none are found."""
        cluster, instance = self.instance.cluster, self.instance
        nodes, slots = len(instance.nodes), len(instance.slots)
        if len(instance.jobs) * nodes * slots > MOST_PLACES_OF_SOLVER:
            return None
        whole = structs.replace(self.policy.model, objectives=(), decompose=None)
        try:
            side = self.problem(whole, self.values(self.place(None, queue, None)))
        except DiagnosticError:
            return None
        _, _, column = _columns_of_places(side, self.placement, instance)
        blocks = blocks_of(cluster, column, self.placing, starts=self.starts)
        none = (np.zeros(0, dtype=np.int64), np.zeros(0))
        found = fewest_jobs(side, blocks.places(), queue, none, blocks.rows(side.problem.columns))
        if found is None:
            return None
        known = np.flatnonzero(column != NONE)
        known = known[np.argsort(column[known], kind="stable")]
        job, place = np.divmod(known[np.searchsorted(column[known], found[0])], nodes * slots)
        return Running(job, place, job, found[1])


def slotted_plan_that_obeys(passes: SlottedPasses) -> Plan:
    """Return a plan that obeys all rows of the model, if one is found."""
    policy, instance, placement, slots = passes.policy, passes.instance, passes.placement, passes.policy.slots
    assert slots is not None
    side = side_model(policy.model).rows
    order = instance.cluster.order
    first = passes.values(passes.place(None, order, None))
    places = len(instance.jobs) * len(instance.nodes) * len(instance.slots)
    if placement.variable not in side.variables or places > MOST_PLACES:
        return first

    def sides() -> MovedSides:
        problem, length = passes.problem(side, first), instance.cluster.length.max(axis=1, initial=0)
        most = np.ones(len(instance.jobs), dtype=np.int64) if passes.starts else length
        decided = frozenset(fix.variable for fix in slots.fixes)
        served = None if slots.serve is None else slots.serve.variable
        return MovedSides(problem, placement, *_columns_of_places(problem, placement, instance), most, decided, served)

    excess = partial(excess_of, side, passes.store, passes.limits)
    return first_that_obeys(first, "jobs_not_started", excess, sides, passes, order)


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
    from gpusched_dsl.compiling.lowering.ground import ground

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
