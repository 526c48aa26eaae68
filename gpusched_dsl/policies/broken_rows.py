"""The rows and bounds of a model that given values of its variables violate, by evaluation and propagation."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from msgspec import structs

from gpusched_dsl.compiling.analysis.bounds import propagate
from gpusched_dsl.compiling.evaluation.limits import MemoryLimits
from gpusched_dsl.compiling.evaluation.store import ValueStore
from gpusched_dsl.compiling.lowering.fixing import PlanValues
from gpusched_dsl.ir.activity import CERTAIN, Activity
from gpusched_dsl.ir.arrays import Bools, Ints
from gpusched_dsl.ir.names import entry_name
from gpusched_dsl.ir.problem import Family, Problem
from gpusched_dsl.ir.variants import with_sides
from gpusched_dsl.language.checked import CheckedModel
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.language.text.numbers import number_text, with_unit

NO_SUCH_ELEMENT = "GSM4014"


class BrokenRows(NamedTuple):
    """The number of rows and bounds that a plan violates, and the worst of them: `excess` is in its unit, `relative`
    divided by the magnitude that the row is judged by. Both are 0 where the excess is unknown. `constraints` are the
    names of those that are violated, as far as they are known.
    """

    number: int
    text: str
    excess: float = 0.0
    relative: float = 0.0
    constraints: frozenset[str] = frozenset()


def fixed_problem(
    model: CheckedModel,
    store: ValueStore,
    values: PlanValues,
    limits: MemoryLimits | None = None,
) -> Problem | BrokenRows:
    """Return the problem of a model, or of a part of it, with some variables fixed, or which index of the values the
    model excludes. Raises DiagnosticError as `ground` does.
    """
    from gpusched_dsl.compiling.lowering.ground import ground

    own = structs.replace(store, variables=dict(store.variables), point=None)
    try:
        return ground(model, own, limits, values)
    except DiagnosticError as error:
        found = [d.message for d in error.diagnostics if d.code == NO_SUCH_ELEMENT]
        if not found:
            raise
        return BrokenRows(len(found), found[0])


def broken_rows(
    model: CheckedModel,
    store: ValueStore,
    values: PlanValues,
    limits: MemoryLimits | None = None,
) -> BrokenRows | None:
    """Return the rows and bounds of a model, or of a part of it, that values violate; None if they may satisfy all.

    Variables without a value may have any value that bounds and rows permit, as far as propagation finds out. Rows
    under a condition count where the condition is known to be true. Raises DiagnosticError as `ground` does.
    """
    problem = fixed_problem(model, store, values, limits)
    return problem if isinstance(problem, BrokenRows) else broken_by_propagation(problem)


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
    problem = with_sides(problem, conditions.rows[~known], -np.inf, np.inf)
    if not problem.rows:
        return None
    activity = Activity.of(problem.matrix, bounded.lower, bounded.upper)
    above, below = activity.excesses(problem)
    excess = np.maximum(above, below)
    count = int((excess > CERTAIN).sum())
    if not count:
        return None
    row = int(np.argmax(excess))
    if above[row] >= below[row]:
        value_of_row, word, side = activity.smallest_values[row], "at most", problem.row_upper
    else:
        value_of_row, word, side = activity.largest_values[row], "at least", problem.row_lower
    family = problem.row_family(row)
    amount, limit = _text(value_of_row, family), _text(side[row], family)
    text = f"`{entry_name(family, row)}` is {amount}, {word} {limit}"
    names = frozenset(problem.row_family(int(broken)).name for broken in _first_of_families(problem, excess > CERTAIN))
    return BrokenRows(count, text, abs(float(value_of_row - side[row])), float(excess[row]), names)


def _first_of_families(problem: Problem, broken: Bools) -> Ints:
    """Return the first violated row of each constraint that has one."""
    starts = np.array([family.first for family in problem.constraints], dtype=np.int64)
    rows = np.flatnonzero(broken)
    _, first = np.unique(np.searchsorted(starts, rows, side="right"), return_index=True)
    return rows[first]


def _text(value: float, family: Family) -> str:
    return with_unit(number_text(float(value) + 0.0), family.unit)  # 0.0: no "-0"
