"""The side rows of one decision as linear rows, and the column of each way on each node."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from msgspec import structs

from gpusched_dsl.compiling.evaluation.limits import MemoryLimits
from gpusched_dsl.compiling.evaluation.store import ValueStore
from gpusched_dsl.compiling.lowering.fixing import PlanValues
from gpusched_dsl.compiling.passes.steps import Target
from gpusched_dsl.ir.arrays import Codes, Ints
from gpusched_dsl.ir.definitions import Conditions
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.ir.variants import with_sides
from gpusched_dsl.language.checked import CheckedModel, CheckedPlacement
from gpusched_dsl.language.checked_policy import NOW
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.policies.broken_rows import BrokenRows, broken_by_propagation, broken_rows, fixed_problem
from gpusched_dsl.policies.cluster import Cluster
from gpusched_dsl.policies.covers import covers, only_demands, part_with, variables_read
from gpusched_dsl.policies.rows.alike_nodes import problem_of_alike_nodes
from gpusched_dsl.policies.workload import NONE

ROWS = Target("rows")  # binaries and linear rows alone
_KEPT = 16  # models whose side rows are remembered


@dataclass(frozen=True, eq=False)
class SideProblem:
    """`problem` is linear; columns of the placement's variable are where `columns` says, NONE for one that is gone.

    `rows` are those of the model; rows behind them were added, and rows of terms without a linear form are left out.
    `representative`: the node whose columns each node has, by code, None for its own (`alike_nodes.py`).
    """

    problem: Problem
    source: Problem
    columns: Ints  # by the place in the family of the placement's variable
    rows: Ints  # the row of `source` that each row stands for, NONE for one that was added
    representative: Codes | None = None


@dataclass(frozen=True, eq=False)
class SideModel:
    """The part of a model that roles do not explain. `checked` is it without links, whose binaries, those of `opening`,
    are at least 1 with each job, and `pins` constraints that state where jobs run (`policies/covers.py`). `suspects`
    are constraints that plans of this run broke lately.
    """

    rows: CheckedModel
    checked: CheckedModel
    opening: Mapping[str, tuple[int, ...]]
    pins: frozenset[str] = frozenset()
    suspects: set[str] = field(default_factory=set)


_known: OrderedDict[tuple[int, ...], tuple[CheckedModel, SideModel]] = OrderedDict()


def side_model(model: CheckedModel) -> SideModel:
    """Return the part of a model that roles do not explain; that of each model of a run is found once."""
    # The model of each plan has a clock of its own, which no row depends on otherwise than by its value.
    lets = (value for name, value in model.lets.items() if name != NOW)
    key = tuple(map(id, (model.placement, *model.constraints.values(), *model.variables.values(), *lets)))
    if key in _known:
        _known.move_to_end(key)
        kept = _known[key][1]
        rows, checked = (
            structs.replace(model, variables=one.variables, constraints=one.constraints, objectives=(), decompose=None)
            for one in (kept.rows, kept.checked)
        )
        return SideModel(rows, checked, kept.opening, kept.pins, kept.suspects)
    assert model.placement is not None
    found = covers(model, model.placement)
    checked = part_with(model, [name for name in found.side if name not in found.links])
    side = SideModel(part_with(model, found.side), checked, found.opening, found.pins)
    _known[key] = (model, side)
    while len(_known) > _KEPT:
        _known.popitem(last=False)
    return side


def rows_over_places(model: CheckedModel) -> list[str]:
    """Return the constraints that limit the placement's variable alone and do not follow from roles."""
    placement = model.placement
    if placement is None:
        return []
    names = side_model(model).rows.constraints
    return [n for n in names if variables_read(model, n) == {placement.variable} and not only_demands(model, n)]


def reads_other_variables(side: CheckedModel, placement: CheckedPlacement) -> bool:
    """Whether side rows read variables beside that of the placement."""
    return any(name != placement.variable for name in side.variables)


def side_problem(
    side: CheckedModel,
    placement: CheckedPlacement,
    store: ValueStore,
    limits: MemoryLimits,
    fixed: PlanValues | None = None,
) -> SideProblem:
    """Return the side rows of an instance, with values that no plan changes. Raises DiagnosticError as `ground` does.

    Terms without a linear form may have any value: the rows are then weaker than those of the model.
    """
    from gpusched_dsl.compiling.lowering.ground import ground
    from gpusched_dsl.compiling.passes.pipeline import reformulate

    source = ground(side, structs.replace(store, variables=dict(store.variables), point=None), limits, fixed)
    problem, numbers, rows = source, None, np.arange(source.rows)
    if not source.is_linear:
        try:
            found = reformulate(source, ROWS)
            problem, numbers = found.problem, found.columns
            rows = np.full(problem.rows, NONE)
            stands = np.arange(source.rows) if found.rows is None else np.asarray(found.rows)
            rows[stands[stands >= 0]] = np.flatnonzero(stands >= 0)
        except DiagnosticError:
            problem = _linear_part(source)
    family = source.variable(placement.variable)
    columns = np.arange(family.first, family.stop)
    return SideProblem(problem, source, columns if numbers is None else numbers[columns].astype(np.int64), rows)


def side_problem_on_nodes(
    side: CheckedModel, placement: CheckedPlacement, store: ValueStore, limits: MemoryLimits
) -> SideProblem:
    """Return the side rows where jobs run on nodes, with columns for one node of each class where that is enough.

    Raises DiagnosticError as `ground` does.
    """
    found = problem_of_alike_nodes(side, placement, store, limits)
    if found is None:
        return side_problem(side, placement, store, limits)
    problem, representative = found
    return SideProblem(problem, problem, np.arange(problem.columns), np.arange(problem.rows), representative)


def _linear_part(problem: Problem) -> Problem:
    """Return the problem without its nonlinear terms, whose results may have any value, and conditional rows."""
    linear = with_sides(problem, problem.conditions.rows, -np.inf, np.inf)
    return replace(linear, definitions=(), conditions=Conditions.none())


def broken_side_rows(
    side: SideModel, store: ValueStore, values: PlanValues, limits: MemoryLimits | None = None
) -> BrokenRows | None:
    """Return the side rows that a plan breaks, as far as propagation finds out. The plan obeys the roles.

    Raises DiagnosticError as `ground` does.
    """
    placement = side.rows.placement
    if not side.rows.constraints or placement is None:
        return None
    if any(name in values for name in side.opening):  # the plan says itself which nodes are open
        return broken_rows(side.rows, store, values, limits)
    problem = fixed_problem(side.checked, store, values, limits)
    if isinstance(problem, BrokenRows):
        return problem
    lower, given = problem.lower.copy(), values[placement.variable]
    runs = given.values > 0
    for family in problem.variables:
        if family.name in side.opening:
            at = family.domain.locate([given.codes[place][runs] for place in side.opening[family.name]])
            if (at < 0).any():  # the links say what a job needs where there is no such binary
                return broken_rows(side.rows, store, values, limits)
            lower[family.first + at] = np.maximum(lower[family.first + at], 1.0)
    return broken_by_propagation(replace(problem, lower=lower))


def obeys_side_rows(side: SideModel, store: ValueStore, values: PlanValues, limits: MemoryLimits | None = None) -> bool:
    """Whether `broken_side_rows` finds nothing.

    If the last plan broke a row, its constraint is evaluated first, with those that share its variables beside that of
    the placement: while a queue waits, one plan after the other breaks the same constraint. More rows never make a plan
    obey, so a plan that breaks a part of them breaks the whole. Raises DiagnosticError as `ground` does, for the
    constraints that are evaluated.
    """
    suspects = side.suspects
    if suspects and broken_side_rows(_part(side, suspects), store, values, limits) is not None:
        return False
    suspects.clear()
    found = broken_side_rows(side, store, values, limits)
    if found is None:
        return True
    suspects.update(_connected(side, found.constraints))
    return False


def _part(side: SideModel, names: Collection[str]) -> SideModel:
    """Return the side rows of some constraints."""
    rows = part_with(side.rows, names)
    opening = {name: places for name, places in side.opening.items() if name in rows.variables}
    return SideModel(rows, part_with(side.checked, names), opening)


def _connected(side: SideModel, names: Collection[str]) -> set[str]:
    """Return the first of some constraints, and those that share variables with it beside that of the placement."""
    assert side.rows.placement is not None
    given = side.rows.placement.variable
    reads = {name: variables_read(side.rows, name) - {given} for name in side.rows.constraints}
    found = {name for name in reads if name in names and name in side.checked.constraints}
    found = set(sorted(found, key=lambda name: (len(reads[name]), list(reads).index(name)))[:1])
    while True:
        shared = {variable for name in found for variable in reads[name]}
        more = found | {name for name in reads if reads[name] & shared}
        if more == found:
            return found
        found = more


def columns_of_places(side: SideProblem, cluster: Cluster) -> tuple[Ints, Ints, Ints]:
    """Return `first` (W,), `place` (N,) and `column`: way w on node n is `column[first[w] + place[n]]`.

    Nodes with the same columns have the same place.
    """
    work, nodes = cluster.work, cluster.nodes
    if side.representative is not None:
        nodes = side.representative[nodes]
    # Places of nodes to rent come first in each way, then those of nodes of its kind.
    kinds = len(work.units)
    kind = np.where(work.node_kind == NONE, -1, work.node_kind)
    order = np.lexsort((nodes, kind))
    is_new = np.ones(len(order), dtype=np.bool_)
    is_new[1:] = (np.diff(kind[order]) != 0) | (np.diff(nodes[order]) != 0)
    shown = order[is_new]
    from_kind = np.searchsorted(kind[shown], np.arange(kinds + 1))
    rented = int(from_kind[0])
    place = np.empty(len(nodes), dtype=np.int64)
    place[order] = np.cumsum(is_new) - 1
    exists = work.node_kind != NONE
    place[exists] += rented - from_kind[work.node_kind[exists]]

    counts = rented + np.diff(from_kind)[work.kind]
    first = np.concatenate((np.zeros(1, np.int64), np.cumsum(counts)))
    way = np.repeat(np.arange(len(work.kind)), counts)
    within = np.arange(first[-1]) - first[way]
    at = np.where(within < rented, within, within - rented + from_kind[work.kind[way]])
    codes = [column[way] for column in cluster.ways]
    codes[cluster.node_at] = nodes[shown[at]]
    found = side.source.variable(cluster.placement.variable).domain.locate(codes)
    column = np.where(found >= 0, side.columns[np.maximum(found, 0)] if len(side.columns) else NONE, NONE)
    return first[:-1], place, column.astype(np.int64)
