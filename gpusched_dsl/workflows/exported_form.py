"""Chooses the form of a scenario for a file: with every element named, or with interchangeable elements aggregated.

`solve` aggregates interchangeable elements and names them again afterwards. Readers of a file cannot do the second, so
a file names them unless the aggregated form is requested. The head of the file states its form and what that costs.
"""

from __future__ import annotations

from msgspec import Struct

from gpusched_dsl.compiling.build import Built
from gpusched_dsl.compiling.interchangeable.assembling import AggregatedProblem
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.reporting.summary import size_text
from gpusched_dsl.solving.pattern_generation import is_pooled


class ExportedForm(Struct, frozen=True, eq=False):
    """The problem to write, and lines about its form for the head of the file and for the terminal."""

    problem: Problem
    comments: tuple[str, ...] = ()


def exported_form(built: Built, aggregated: bool) -> ExportedForm:
    """Return the form of a scenario that was built with the search for interchangeable elements.

    Raises DiagnosticError (GSM6008) if the aggregated form is requested and does not exist, or not in full.
    """
    found = built.aggregated
    if not aggregated:
        return ExportedForm(built.problem, () if found is None else _named(found))
    if found is None:
        raise DiagnosticError([_refusal("no elements are interchangeable, or aggregation is not exact")])
    if is_pooled(found):
        raise DiagnosticError([_refusal("its columns are generated while it is solved")])
    return ExportedForm(found.problem, _aggregated(found))


def _aggregated(aggregated: AggregatedProblem) -> tuple[str, ...]:
    root = aggregated.quotient.root
    return (
        f"interchangeable elements of {root} are aggregated: columns count elements, or sum over them",
        f"with every element named: {size_text(aggregated.quotient.full_size)}",
        "the optimum is that of the model; only `gsdsl solve` names the elements again",
    )


def _named(aggregated: AggregatedProblem) -> tuple[str, ...]:
    root = aggregated.quotient.root
    if is_pooled(aggregated):
        return (
            f"interchangeable elements of {root} are named one by one here; `gsdsl solve` aggregates them",
            "another solver may take much longer",
        )
    return (
        f"interchangeable elements of {root} are named one by one here; `gsdsl solve` aggregates them:",
        f"{size_text(aggregated.problem)}",
        "another solver may take much longer: `gsdsl export --aggregated` writes that problem",
    )


def _refusal(cause: str) -> Diagnostic:
    help = "export without `--aggregated`, which names every element"
    return Diagnostic("GSM6008", f"the problem has no aggregated form: {cause}", help=help)
