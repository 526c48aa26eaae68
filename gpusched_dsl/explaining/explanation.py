"""The results of `explain` about a problem, as text and as JSON."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gpusched_dsl.explaining.explanation_data import ExplanationData
from gpusched_dsl.reporting.report import Report


@dataclass(frozen=True, eq=False)
class Explanation(ExplanationData, Report):
    """Sizes, class, reformulations, and why there is no solution or no end.

    `status` is `feasible`, `infeasible`, `unbounded`, `unknown` (not found out in time) or `not asked`. `problem`
    is the problem as stated, `reformulated` what the backend gets, `searched` its linear form that was looked at, None
    where there is none or nothing was asked; `aggregation` tells of interchangeable elements; rows and columns of
    `conflict`, `relaxations` and `ray` are those of `searched.problem`. `refused` are the terms that the backend
    does not take.
    """

    def __str__(self) -> str:
        """All of it as text, as `gsdsl explain` prints it."""
        from gpusched_dsl.explaining.text import explanation_text

        return explanation_text(self)

    def to_dict(self) -> dict[str, Any]:
        """All of it as `docs/schema/explanation.schema.json` describes it."""
        from gpusched_dsl.explaining.document import document

        return document(self)
