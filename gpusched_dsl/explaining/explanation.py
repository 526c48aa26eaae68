"""The results of `explain` about a problem, as text and as JSON."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gpusched_dsl.explaining.explanation_data import ExplanationData
from gpusched_dsl.reporting.report import Report


@dataclass(frozen=True, eq=False)
class Explanation(ExplanationData, Report):
    """Sizes, class, reformulations, and why a problem is infeasible or unbounded.

    `status` is `feasible`, `infeasible`, `unbounded`, `unknown` (undecided in time) or `not asked`. `problem` is the
    problem as stated, `reformulated` that of the backend, `linear_form` the examined linear form, None if there is none
    or no search; `aggregation` has the interchangeable elements; `linear_form.problem` has the rows and columns of
    `conflict`, `relaxations` and `ray`. `refused` are the terms that the backend does not support.
    """

    def __str__(self) -> str:
        """Return the complete text of `gsdsl explain`."""
        from gpusched_dsl.explaining.text import explanation_text

        return explanation_text(self)

    def to_dict(self) -> dict[str, Any]:
        """Return the document of `docs/schema/explanation.schema.json`."""
        from gpusched_dsl.explaining.document import document

        return document(self)
