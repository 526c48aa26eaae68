"""The interchangeable elements, their aggregation and its proof, or the reason why they differ."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gpusched_dsl.compiling.interchangeable.aggregate import Aggregation, AggregationAttempt
from gpusched_dsl.compiling.interchangeable.assembling import AggregatedProblem
from gpusched_dsl.language.source import Span
from gpusched_dsl.language.text.numbers import count_text
from gpusched_dsl.reporting.summary import size_text


def aggregation_lines(aggregation: Aggregation) -> list[str]:
    """Lines for people."""
    lines = [line for attempt in aggregation.attempts for line in _lines(attempt, aggregation.aggregated)]
    if aggregation.abandoned:
        lines.append("the search for interchangeable elements was abandoned: its share of the time limit was used")
    return lines


def _lines(attempt: AggregationAttempt, found: AggregatedProblem | None) -> Iterator[str]:
    name = attempt.declared.name
    if attempt.obstacle is not None:
        if attempt.declared.identical or _reaches(attempt):
            yield f"elements of {name} are not aggregated{_place(attempt.obstacle.span)}: {attempt.obstacle}"
        return
    assert found is not None
    assert attempt.classes is not None
    classes = attempt.classes
    what = "all interchangeable"
    if classes.count > 1:
        what = f"{count_text(classes.count, 'class', 'classes')} of interchangeable elements"
        if classes.reasons:
            what += f", distinguished by {', '.join(n for n, _ in classes.reasons)}"
    yield f"{count_text(attempt.elements, 'element')} of {name}, {what}: aggregated"
    yield f"  {size_text(found.quotient.full_size)} became {size_text(found.problem)}"
    for proof in dict.fromkeys(part.proof for part in found.parts):
        yield f"  exact because {proof}"


def _reaches(attempt: AggregationAttempt) -> bool:
    """Whether there would have been something to gain."""
    return attempt.classes is not None and 2 * attempt.classes.count <= attempt.elements


def _place(span: Span | None) -> str:
    return "" if span is None else f" ({span.source.name}, line {span.line})"


def aggregation_document(aggregation: Aggregation) -> list[dict[str, Any]]:
    """Return the same for programs: one entry for each examined set."""
    return [_entry(attempt, aggregation.aggregated) for attempt in aggregation.attempts]


def _entry(attempt: AggregationAttempt, found: AggregatedProblem | None) -> dict[str, Any]:
    obstacle, classes = attempt.obstacle, attempt.classes
    entry: dict[str, Any] = {
        "set": attempt.declared.name,
        "declared": attempt.declared.identical,
        "elements": attempt.elements,
        "classes": None if classes is None else classes.count,
        "told_apart_by": [] if classes is None else [name for name, _ in classes.reasons],
        "counted": obstacle is None,
        "reason": "" if obstacle is None else str(obstacle),
        "file": None if obstacle is None or obstacle.span is None else obstacle.span.source.name,
        "line": None if obstacle is None or obstacle.span is None else obstacle.span.line,
        "columns_before": None, "columns": None, "rows_before": None, "rows": None, "proofs": [],
    }  # fmt: skip
    if obstacle is None and found is not None:
        full = found.quotient.full_size
        entry |= {
            "columns_before": full.columns,
            "columns": found.problem.columns,
            "rows_before": full.rows,
            "rows": found.problem.rows,
            "proofs": list(dict.fromkeys(part.proof for part in found.parts)),
        }
    return entry
