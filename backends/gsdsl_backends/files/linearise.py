"""The content of an LP or MPS file: linear rows with integer columns, and comments on reformulated terms."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from msgspec import structs

from gpusched_dsl.compiling.passes.pipeline import reformulate
from gpusched_dsl.compiling.passes.steps import Note, ReformulatedProblem, Target
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import DiagnosticError

# The terms that only another solver takes: the remedy is another file, not another backend.
NOT_TAKEN = ("GSM3201", "GSM3203")
WIDTH = 100


def linear(problem: Problem, form: str) -> ReformulatedProblem:
    """The problem as rows that any solver of integer programmes reads; `form` (`lp`, `mps`) is named in errors.

    Raises DiagnosticError (GSM32..) for terms that cannot be made linear.
    """
    try:
        return reformulate(problem, Target(form))
    except DiagnosticError as refusal:
        raise DiagnosticError([_for_files(d, form) for d in refusal.diagnostics]) from refusal


def comments(reformulated: ReformulatedProblem) -> tuple[str, ...]:
    """Return comments on reformulations for the head of the file; none for a linear problem."""
    if not reformulated.notes:
        return ()
    lines = ["nonlinear terms and their reformulations:"]
    for note in reformulated.notes:
        lines += textwrap.wrap(_describe(note), WIDTH, initial_indent="- ", subsequent_indent="  ")
    if reformulated.bound_error:
        lines.append(f"the optimum is worse than that of the model by at most {reformulated.bound_error:.6g}")
    return tuple(lines)


def _describe(note: Note) -> str:
    return f"{note.term}: {note.effect} ({', '.join(_amounts(note))})"


def _amounts(note: Note) -> Iterator[str]:
    yield f"entries {note.entries:,}"
    if note.rows:
        yield f"rows {note.rows:+,}"
    if note.columns:
        yield f"columns {note.columns:+,}"
    if note.big_m is not None:
        low, high = note.big_m
        yield f"big-M {high:.6g}" if low == high else f"big-M {low:.6g} to {high:.6g}"
    if note.error:
        yield f"error at most {note.error:.3g}"


def _for_files(diagnostic: Diagnostic, form: str) -> Diagnostic:
    if diagnostic.code not in NOT_TAKEN:
        return diagnostic
    other = "for SCIP (`python-scip`), or as JSON," if form == "python" else "as JSON,"
    return structs.replace(diagnostic, help=f"export {other} which keeps every term, or make the term linear")
