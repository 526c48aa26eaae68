"""The class of a problem, and the terms that prevent an exact linear form."""

from __future__ import annotations

from gpusched_dsl.compiling.analysis.curvature import ClassifiedTerm, classify
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic, Severity
from gpusched_dsl.language.text.numbers import count_text

CLASSES = {
    "LP": "linear",
    "MILP": "linear, with integer variables",
    "QP": "convex and quadratic",
    "MIQP": "convex and quadratic, with integer variables",
    "convex": "",
    "MICP": "convex, with integer variables",
    "NLP": "nonconvex",
    "MINLP": "nonconvex, with integer variables",
}


def model_class(problem: Problem) -> tuple[str, tuple[Diagnostic, ...]]:
    """Return the class, with exact reformulations applied, and a note on each term that none of them makes linear."""
    verdict = classify(problem)
    return verdict.kind, tuple(_note(t) for t in verdict.terms if t.shape != "linear")


def _note(term: ClassifiedTerm) -> Diagnostic:
    is_convex = term.shape == "convex"
    message = f"`{term.name}` is nonlinear, but convex" if is_convex else f"`{term.name}` is not convex: {term.why}"
    label = count_text(term.entries, "term") if term.entries > 1 else ""
    return Diagnostic("GSM3304", message, term.span, label, severity=Severity.NOTE)
