"""What no pass could reformulate and the target does not take: a diagnostic that names term, backend and remedy."""

from __future__ import annotations

from gpusched_dsl.compiling.passes.steps import INDICATOR, Analysis, Target
from gpusched_dsl.ir.definitions import Definition, Unary
from gpusched_dsl.language.diagnostics import Diagnostic, DiagnosticError


def refuse_leftovers(analysis: Analysis, target: Target) -> None:
    """Raises DiagnosticError (GSM3201) when the problem still holds what the target does not take."""
    found = [_refusal(d, target) for d in analysis.problem.definitions if d.size and not _taken(d, target)]
    if len(analysis.problem.conditions.rows) and not target.takes(INDICATOR):
        row = int(analysis.problem.conditions.rows[0])
        family = analysis.problem.row_family(row)
        found.append(Diagnostic("GSM3201", f"`{target.name}` takes no rows under a condition", family.span))
    if found:
        raise DiagnosticError(found)


def _taken(definition: Definition, target: Target) -> bool:
    return target.takes(definition.function if isinstance(definition, Unary) else definition.op)


def _refusal(definition: Definition, target: Target) -> Diagnostic:
    return Diagnostic("GSM3201", f"`{target.name}` does not take `{definition.name}`", definition.span)
