"""The row or bound of a model that a plan violates."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from msgspec import structs

from gpusched_dsl.compiling.data.instance import Instance
from gpusched_dsl.compiling.lowering.ground import ground
from gpusched_dsl.ir.activity import CERTAIN, Activity
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.online.planners.protocol import Plan

NO_SUCH_ELEMENT = "GSM4014"
MOST_ELEMENTS = 100_000  # of one family of variables: the check of larger models would cost more than their plans


def violation_in(instance: Instance, plan: Plan) -> str | None:
    """Return the row or bound with the largest violation by a plan; None if it may satisfy all."""
    store = structs.replace(instance.store, variables=dict(instance.store.variables), point=None)
    try:
        problem = ground(instance.scenario.model, store, None, plan.values)
    except DiagnosticError as error:
        found = [d.message for d in error.diagnostics if d.code == NO_SUCH_ELEMENT]
        return found[0] if found else None
    beyond = problem.lower - problem.upper
    if (beyond > CERTAIN * np.maximum(1.0, np.abs(problem.upper))).any():
        column = int(np.argmax(beyond))
        return f"a bound of {_name(problem.column_family(column).name, problem.column_family(column).index_of(column))}"
    return _row(problem)


def _row(problem: Problem) -> str | None:
    guarded = problem.conditions.rows
    lower, upper = problem.row_lower.copy(), problem.row_upper.copy()
    lower[guarded], upper[guarded] = -np.inf, np.inf
    activity = Activity.of(problem.matrix, problem.lower, problem.upper)
    found = activity.most_violated_row(replace(problem, row_lower=lower, row_upper=upper))
    if found is None:
        return None
    row, above = found
    family = problem.row_family(row)
    sides = (activity.smallest_values, "at most", upper) if above else (activity.largest_values, "at least", lower)
    unit = f" {family.unit}" if family.unit else ""
    return f"{_name(family.name, family.index_of(row))} is {sides[0][row]:g}{unit}, {sides[1]} {sides[2][row]:g}{unit}"


def _name(name: str, index: tuple[object, ...]) -> str:
    return f"`{name}[{', '.join(map(str, index))}]`" if index else f"`{name}`"


def is_large(instance: Instance) -> bool:
    """Whether the check of a plan may take longer than the plan."""
    sizes = (
        np.prod([float(len(u.labels)) for v in variable.indexing.variables if (u := instance.store.component(v.type))])
        for variable in instance.scenario.model.variables.values()
    )
    return bool(max(sizes, default=0.0) > MOST_ELEMENTS)
