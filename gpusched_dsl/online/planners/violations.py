"""The rows and bounds of a model that a plan violates."""

from __future__ import annotations

from dataclasses import replace
from typing import Final, NamedTuple

import numpy as np
from msgspec import structs

from gpusched_dsl.compiling.analysis.bounds import propagate
from gpusched_dsl.compiling.data.instance import Instance
from gpusched_dsl.compiling.lowering.ground import ground
from gpusched_dsl.ir.activity import CERTAIN, Activity
from gpusched_dsl.ir.arrays import Bools
from gpusched_dsl.ir.names import entry_name
from gpusched_dsl.ir.problem import Family, Problem
from gpusched_dsl.language.checked import CheckedModel
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.language.text.numbers import number_text, with_unit
from gpusched_dsl.online.planners.protocol import VIOLATES, Plan

VIOLATED: Final = "GSM7008"
NO_SUCH_ELEMENT = "GSM4014"
MOST_ELEMENTS = 100_000  # of one family of variables: the check of larger models would cost more than their plans


class BrokenRows(NamedTuple):
    """The number of rows and bounds that a plan violates, and the worst of them: `excess` is in its unit, `relative`
    divided by the magnitude that the row is judged by. Both are 0 where the excess is unknown.
    """

    number: int
    text: str
    excess: float = 0.0
    relative: float = 0.0


def violation_note(method: str, broken: BrokenRows) -> str:
    """Return the note of a plan, in its journal, that a plan of this method violates the model."""
    return f"{VIOLATES}`{method}`: {broken.text}"


def rows_broken_for_certain(instance: Instance, plan: Plan) -> BrokenRows | None:
    """Return the rows and bounds that a plan violates; None if it may satisfy all, or if that cannot be computed.

    Variables without a value in the plan may have any value that bounds and rows permit, as far as propagation finds
    out. Rows under a condition count where the condition is known to be true.
    """
    try:
        problem = fixed_problem(instance, plan)
    except DiagnosticError:
        return None
    return problem if isinstance(problem, BrokenRows) else broken_by_propagation(problem)


def fixed_problem(instance: Instance, plan: Plan, model: CheckedModel | None = None) -> Problem | BrokenRows:
    """Return the problem with the variables of a plan fixed, or which index of the plan the model excludes.

    `model` may be a part of the model of the instance. Raises DiagnosticError as `ground` does.
    """
    store = structs.replace(instance.store, variables=dict(instance.store.variables), point=None)
    try:
        return ground(instance.scenario.model if model is None else model, store, None, plan.values)
    except DiagnosticError as error:
        found = [d.message for d in error.diagnostics if d.code == NO_SUCH_ELEMENT]
        if not found:
            raise
        return BrokenRows(len(found), found[0])


def broken_by_propagation(problem: Problem) -> BrokenRows | None:
    """Return the rows and bounds that no values of the open columns satisfy; None if propagation finds none."""
    beyond = problem.lower - problem.upper
    crossing = np.flatnonzero(beyond > CERTAIN * np.maximum(1.0, np.abs(problem.upper)))
    if len(crossing):
        worst = int(crossing[np.argmax(beyond[crossing])])
        family = problem.column_family(worst)
        text = f"a bound of `{entry_name(family, worst)}`"
        size = max(1.0, abs(float(problem.upper[worst])))
        return BrokenRows(len(crossing), text, float(beyond[worst]), float(beyond[worst]) / size)
    found = _rows(problem, problem)
    if found is not None or not (problem.lower < problem.upper).any():
        return found
    bounds = propagate(problem)
    if bounds.feasible:
        return None
    found = _rows(problem, replace(problem, lower=bounds.lower, upper=bounds.upper))
    return found or BrokenRows(1, f"no values of {open_names(problem)} complete it")


def is_open(problem: Problem) -> Bools:
    """Return which columns of declared variables the plan leaves open."""
    found = problem.lower < problem.upper
    for family in problem.auxiliary:
        found[family.slice] = False
    return found


def open_names(problem: Problem) -> str:
    """Return the names of the declared variables that the plan leaves open."""
    found = is_open(problem)
    return ", ".join(f"`{f.name}`" for f in problem.variables if found[f.slice].any()) or "the variables"


def _rows(problem: Problem, bounded: Problem) -> BrokenRows | None:
    """Return the violated rows within the bounds of `bounded`, without rows under a condition that is not known."""
    conditions = problem.conditions
    value = conditions.values.astype(np.float64)
    known = (bounded.lower[conditions.columns] == value) & (bounded.upper[conditions.columns] == value)
    left_out = conditions.rows[~known]
    lower, upper = problem.row_lower.copy(), problem.row_upper.copy()
    lower[left_out], upper[left_out] = -np.inf, np.inf
    if not problem.rows:
        return None
    activity = Activity.of(problem.matrix, bounded.lower, bounded.upper)
    above, below = activity.excesses(replace(problem, row_lower=lower, row_upper=upper))
    excess = np.maximum(above, below)
    count = int((excess > CERTAIN).sum())
    if not count:
        return None
    row = int(np.argmax(excess))
    if above[row] >= below[row]:
        value_of_row, word, side = activity.smallest_values[row], "at most", upper
    else:
        value_of_row, word, side = activity.largest_values[row], "at least", lower
    family = problem.row_family(row)
    amount, limit = _text(value_of_row, family), _text(side[row], family)
    text = f"`{entry_name(family, row)}` is {amount}, {word} {limit}"
    return BrokenRows(count, text, abs(float(value_of_row - side[row])), float(excess[row]))


def _text(value: float, family: Family) -> str:
    return with_unit(number_text(float(value) + 0.0), family.unit)  # 0.0: no "-0"


def is_large(instance: Instance) -> bool:
    """Whether the check of a plan may take longer than the plan."""
    sizes = (
        np.prod([float(len(u.labels)) for v in variable.indexing.variables if (u := instance.store.component(v.type))])
        for variable in instance.scenario.model.variables.values()
    )
    return bool(max(sizes, default=0.0) > MOST_ELEMENTS)
