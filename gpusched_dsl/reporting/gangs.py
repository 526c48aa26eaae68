"""The warning of a result with a part of a gang: a plan that nobody can execute."""

from __future__ import annotations

import numpy as np
from msgspec import structs

from gpusched_dsl.compiling.evaluation.limits import MemoryLimits
from gpusched_dsl.compiling.placement import PlacementEvaluator
from gpusched_dsl.ir.tolerances import CHOSEN
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic, Severity
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.reporting.result import Result


def gang_warnings(result: Result) -> tuple[Diagnostic, ...]:
    """Return a warning (GSM7011) if the plan has a part of a gang, or a gang in several ways."""
    model, store, point = result.provenance.model, result.provenance.store, result.solved.point
    declared = None if model is None else model.placement
    if model is None or store is None or point is None or declared is None or not declared.has_gangs:
        return ()
    if result.placed is None:
        return ()
    family = store.variables[declared.variable]
    values = point[family.first : family.first + family.domain.size]
    columns = family.domain.columns()
    chosen = np.flatnonzero(values > CHOSEN)
    from gpusched_dsl.compiling.gangs import gang_order

    chosen = chosen[gang_order(declared, [column[chosen] for column in columns])]
    evaluator = PlacementEvaluator(model, store, result.provenance.limits or MemoryLimits())
    from gpusched_dsl.compiling.gangs import gang_rows

    try:
        gang_rows(evaluator, [column[chosen] for column in columns], values[chosen])
    except DiagnosticError as error:
        return tuple(structs.replace(diagnostic, severity=Severity.WARNING) for diagnostic in error.diagnostics)
    return ()
