"""The rows and bounds of a model that a plan violates."""

from __future__ import annotations

from typing import Final

import numpy as np

from gpusched_dsl.compiling.data.instance import Instance
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.online.planners.protocol import VIOLATES, Plan
from gpusched_dsl.policies.broken_rows import BrokenRows, broken_rows

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


def is_large(instance: Instance) -> bool:
    """Whether the check of a plan may take longer than the plan."""
    sizes = (
        np.prod([float(len(u.labels)) for v in variable.indexing.variables if (u := instance.store.component(v.type))])
        for variable in instance.scenario.model.variables.values()
    )
    return bool(max(sizes, default=0.0) > MOST_ELEMENTS)
