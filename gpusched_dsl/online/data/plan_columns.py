"""Columns of variables with the values of a plan, for the expressions that a run evaluates: charges and `carry`."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from gpusched_dsl.compiling.evaluation.evaluator import Evaluator
from gpusched_dsl.compiling.evaluation.store import Columns, ValueStore
from gpusched_dsl.compiling.lowering.fixing import PlanValues, given_elements
from gpusched_dsl.ir.arrays import Floats
from gpusched_dsl.language.checked import CheckedVariable


def set_plan(store: ValueStore, ev: Evaluator, variables: Iterable[CheckedVariable], values: PlanValues) -> None:
    """Give variables of a store the values of a plan, in its codes: 0 where the plan has none.

    `ev` evaluates the index sets of the variables.
    """
    points: list[Floats] = []
    first = 0
    for variable in variables:
        domain, point = given_elements(store, variable, values.get(variable.name))
        indexed = ev.index_domain(variable.indexing, variable.span, conditions=False)
        store.variables[variable.name] = Columns(domain, first, indexed)
        points.append(point)
        first += len(point)
    store.point = np.concatenate(points) if points else np.zeros(0)
