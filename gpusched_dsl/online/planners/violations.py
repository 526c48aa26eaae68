"""The rows and bounds of a model that a plan violates."""

from __future__ import annotations

from typing import Final

import numpy as np

from gpusched_dsl.compiling.data.instance import Instance
from gpusched_dsl.compiling.evaluation.store import ValueStore
from gpusched_dsl.compiling.lowering.fixing import PlanValues
from gpusched_dsl.language.checked import CheckedModel, TypedIndexing
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.policies.broken_rows import BrokenRows, broken_rows
from gpusched_dsl.policies.plan import VIOLATES, Plan

VIOLATED: Final = "GSM7008"
MOST_ELEMENTS = 100_000  # of one family of variables: the check of larger models would cost more than their plans


def violation_note(method: str, broken: BrokenRows) -> str:
    """Return the note of a plan, in its journal, that a plan of this method violates the model."""
    return f"{VIOLATES}`{method}`: {broken.text}"


def rows_broken_for_certain(instance: Instance, plan: Plan) -> BrokenRows | None:
    """Return the rows and bounds that a plan violates; None if it may satisfy all, or if that cannot be computed.

    Variables without a value in the plan may have any value that bounds and rows permit, as far as propagation finds
    out. Rows under a condition count where the condition is known to be true.
    """
    try:
        return broken_rows(instance.scenario.model, instance.store, plan.values)
    except DiagnosticError:
        return None


def is_large(model: CheckedModel, store: ValueStore, given: PlanValues | None = None) -> bool:
    """Whether the check of a plan may take longer than the plan: whether a family of its problem has many elements.

    Of a binary that is given, only the elements that are 1 are in the problem.
    """
    families: list[TypedIndexing] = [one.indexing for one in model.constraints.values()]
    for name, variable in model.variables.items():
        if variable.kind != "binary" or given is None or name not in given:
            families.append(variable.indexing)
    sizes = (
        np.prod([float(len(u.labels)) for v in indexing.variables if (u := store.component(v.type)) is not None])
        for indexing in families
    )
    return bool(max(sizes, default=0.0) > MOST_ELEMENTS)
