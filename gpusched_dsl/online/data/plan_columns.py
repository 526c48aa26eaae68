"""Columns of variables with the values of a plan, for the expressions that a run evaluates: charges and `carry`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from gpusched_dsl.compiling.evaluation.evaluator import Evaluator
from gpusched_dsl.compiling.evaluation.store import Columns, ValueStore
from gpusched_dsl.compiling.lowering.fixing import VariableValues
from gpusched_dsl.ir.arrays import Floats
from gpusched_dsl.ir.domains import ScalarDomain, TupleDomain
from gpusched_dsl.language.checked import CheckedVariable


def set_plan(
    store: ValueStore, ev: Evaluator, variables: Iterable[CheckedVariable], values: Mapping[str, VariableValues]
) -> None:
    """Give variables of a store the values of a plan, in its codes: 0 where the plan has none.

    `ev` evaluates the index sets of the variables.
    """
    points: list[Floats] = []
    first = 0
    for variable in variables:
        given = values.get(variable.name)
        components = tuple(store.component(v.type) for v in variable.indexing.variables)
        if not components:  # one element, of which a plan leaves out a 0
            point = np.zeros(1) if given is None or not len(given.values) else given.values
            domain: ScalarDomain | TupleDomain = ScalarDomain()
        elif given is None:
            point = np.zeros(0)
            domain = TupleDomain(components, tuple(np.zeros(0, dtype=np.int64) for _ in components))
        else:
            point, domain = given.values, TupleDomain(components, given.codes)
        indexed = ev.index_domain(variable.indexing, variable.span, conditions=False)
        store.variables[variable.name] = Columns(domain, first, indexed)
        points.append(point)
        first += len(point)
    store.point = np.concatenate(points) if points else np.zeros(0)
