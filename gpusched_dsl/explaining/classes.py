"""Which class a problem belongs to, and the terms that are to blame where it is not linear."""

from __future__ import annotations

from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.language.diagnostics import Diagnostic, Severity


def model_class(problem: Problem) -> tuple[str, tuple[Diagnostic, ...]]:
    """`LP`, `MILP` or the class of a nonlinear problem, with a note for each kind of term that is not linear."""
    if problem.is_linear:
        return ("MILP" if problem.is_mip else "LP"), ()
    terms = tuple(
        Diagnostic("GSM3304", f"`{d.name}` is not linear", d.span, severity=Severity.NOTE)
        for d in problem.definitions
        if d.size
    )
    return ("MINLP" if problem.is_mip else "NLP"), terms
