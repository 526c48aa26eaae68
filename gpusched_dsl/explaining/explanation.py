"""The results of `explain` about a problem."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from gpusched_dsl.compiling.interchangeable.aggregate import Aggregation
from gpusched_dsl.compiling.passes.steps import Note, ReformulatedProblem
from gpusched_dsl.compiling.provenance import Provenance
from gpusched_dsl.explaining.conflict import Conflict
from gpusched_dsl.explaining.conflict_diagnostics import conflict_diagnostic, ray_diagnostic
from gpusched_dsl.explaining.ray import Ray
from gpusched_dsl.explaining.relaxation import Relaxation
from gpusched_dsl.explaining.row_text import texts_of_conditional_rows
from gpusched_dsl.explaining.sizes import ConstraintSize, VariableSize
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.reporting.report import Report
from gpusched_dsl.solving.decomposition.selection import DecompositionChoice, choice_for


@dataclass(frozen=True, eq=False, repr=False)
class Explanation(Report):
    """Sizes, class, reformulations, and why a problem is infeasible or unbounded.

    `status` is `feasible`, `infeasible`, `unbounded`, `unknown` (undecided in time) or `not asked`. `problem` is the
    problem as stated, `reformulated` that of the backend, `linear_form` the examined linear form, None if there is none
    or no search; `aggregation` has the interchangeable elements; `linear_form.problem` has the rows and columns of
    `conflict`, `relaxations` and `ray`. `refused` are the terms that the backend does not support.
    """

    writers = Report.writers | {
        "json": "gpusched_dsl.explaining.document:explanation_document",
        "text": "gpusched_dsl.explaining.text:explanation_lines",
    }

    problem: Problem
    reformulated: ReformulatedProblem | None
    backend: str
    kind: str
    reasons: Sequence[Diagnostic]
    variables: Sequence[VariableSize]
    constraints: Sequence[ConstraintSize]
    refused: Sequence[Diagnostic]
    status: str = "not asked"
    linear_form: ReformulatedProblem | None = None
    conflict: Conflict | None = None
    relaxations: Sequence[Relaxation] = ()
    ray: Ray | None = None
    seconds: float = 0.0
    origins: Provenance = field(default_factory=Provenance)
    aggregation: Aggregation = field(default_factory=Aggregation)

    @property
    def notes(self) -> tuple[Note, ...]:
        """The reformulations."""
        return () if self.reformulated is None else self.reformulated.notes

    @cached_property
    def decomposition(self) -> DecompositionChoice | None:
        """Return the blocks of the backend's problem and whether they are used; None if the model names none."""
        if self.reformulated is None or self.problem.decompose is None:
            return None
        return choice_for(self.reformulated.problem)

    @property
    def linear_problem(self) -> Problem | None:
        """Return the examined linear problem."""
        return None if self.linear_form is None else self.linear_form.problem

    @cached_property
    def row_texts(self) -> Mapping[int, str]:
        """Texts of rows of `linear_problem` that the author stated in another form, such as under a condition."""
        return texts_of_conditional_rows(self.linear_form)

    @property
    def findings(self) -> list[Diagnostic]:
        """The conflict or the ray as a diagnostic that underlines the author's lines."""
        if self.conflict is not None:
            return [conflict_diagnostic(self.conflict, self.relaxations, self.origins, self.row_texts, self.problem)]
        if self.ray is not None and self.linear_problem is not None:
            return [ray_diagnostic(self.linear_problem, self.ray)]
        return []

    @property
    def warnings(self) -> list[Diagnostic]:
        """Numbers of very different size."""
        from gpusched_dsl.explaining.sizes import range_warnings

        return range_warnings(self.problem, self.constraints)
