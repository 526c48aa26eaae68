"""An explanation as JSON: the document that `docs/schema/explanation.schema.json` describes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from gpusched_dsl.compiling.provenance import Provenance
from gpusched_dsl.explaining.conflict import Conflict
from gpusched_dsl.explaining.conflict_text import bound_groups, row_data, steps_of
from gpusched_dsl.explaining.explanation import Explanation
from gpusched_dsl.explaining.ray import Ray
from gpusched_dsl.explaining.relaxation import Relaxation
from gpusched_dsl.explaining.row_text import RowText
from gpusched_dsl.explaining.symmetry import aggregation_document
from gpusched_dsl.ir.blocks import SHARED
from gpusched_dsl.ir.names import entry_name
from gpusched_dsl.ir.problem import Family, Problem
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.source import Span
from gpusched_dsl.reporting.document import finite
from gpusched_dsl.solving.decomposition.selection import DecompositionChoice

FORMAT = "gsdsl-explanation/1"


def explanation_document(data: Explanation) -> dict[str, Any]:
    """Return the explanation as nested dictionaries and lists for JSON; infinite numbers become None."""
    solved = data.linear_problem
    diagnostics = (*data.reasons, *data.refused, *data.warnings, *data.findings)
    found: dict[str, Any] = {
        "format": FORMAT,
        "model": data.problem.name,
        "scenario": data.origins.scenario,
        "backend": data.backend,
        "class": data.kind,
        "size": {
            "columns": data.problem.columns,
            "integer_columns": int(data.problem.integer.sum()),
            "rows": data.problem.rows,
            "nonzeros": data.problem.matrix.nonzeros,
        },
        "variables": [
            {
                "name": s.family.name, "columns": s.columns, "integer": s.integer, "nonzeros": s.nonzeros,
                "lower": s.lower, "upper": s.upper, "unit": s.family.unit, "auxiliary": s.auxiliary,
            }
            for s in data.variables
        ],
        "constraints": [
            {
                "name": s.family.name, "part": s.family.part + 1, "rows": s.rows, "nonzeros": s.nonzeros,
                "smallest": s.smallest, "largest": s.largest, "unit": s.family.unit,
            }
            for s in data.constraints
        ],
        "reformulations": [
            {
                "term": n.term, "by": n.pass_name, "did": n.effect, "entries": n.entries, "rows": n.rows,
                "columns": n.columns, "big_m": None if n.big_m is None else list(n.big_m), "error": n.error,
                **_place(n.span),
            }
            for n in data.notes
        ],
        "interchangeable": aggregation_document(data.aggregation),
        "decomposition": None if data.decomposition is None else _decomposition(data.decomposition),
        "findings": [_diagnostic(d) for d in diagnostics],
        "status": data.status,
        "conflict": None if data.conflict is None else _conflict(data.conflict, data.origins, data.row_texts),
        "relaxations": [] if solved is None else [_relaxation(solved, r) for r in data.relaxations],
        "ray": None if data.ray is None or solved is None else _ray(solved, data.ray),
        "seconds": round(data.seconds, 6),
    }  # fmt: skip
    return {key: finite(value) for key, value in found.items()}


def _decomposition(choice: DecompositionChoice) -> dict[str, Any]:
    blocks = choice.blocks
    column, row = (None, None) if blocks is None else (blocks.column, blocks.row)
    return {
        "set": choice.root,
        "used": choice.by_blocks,
        "reason": choice.reason or None,
        "blocks": 0 if blocks is None else blocks.count,
        "columns": 0 if column is None else int((column != SHARED).sum()),
        "shared_columns": 0 if column is None else int((column == SHARED).sum()),
        "rows": 0 if row is None else int((row != SHARED).sum()),
        "linking_rows": 0 if row is None else int((row == SHARED).sum()),
    }


def _conflict(conflict: Conflict, origins: Provenance, stated: Mapping[int, str]) -> dict[str, Any]:
    problem = conflict.problem
    return {
        "minimal": conflict.minimal,
        "rows_minimal": conflict.rows_minimal,
        "complete": conflict.complete,
        "sub_problems": conflict.solves,
        "rows": [
            {
                **_entry(family := problem.row_family(row), row),
                "text": stated[row] if row in stated else str(RowText.of(problem, row)),
                "data": row_data(origins, family, row),
                "others_leave": _reach(conflict, row),
                "lower": float(problem.row_lower[row]),
                "upper": float(problem.row_upper[row]),
                **_place(family.span),
            }
            for row in conflict.rows.tolist()
        ],
        "bounds": [
            {
                "kind": g.kind, **_entry(g.family, column), "value": _bound(problem, g.kind, column),
                **_place(g.family.span),
            }
            for g in bound_groups(conflict)
            for column in g.columns.tolist()
        ],
        "steps": steps_of(conflict),
    }  # fmt: skip


def _reach(conflict: Conflict, row: int) -> dict[str, Any] | None:
    reach = conflict.reach.get(row)
    return None if reach is None else {"at_least": reach.at_least, "value": reach.value}


def _bound(problem: Problem, kind: str, column: int) -> float | None:
    return None if kind == "integer" else float((problem.lower if kind == "lower" else problem.upper)[column])


def _relaxation(problem: Problem, relaxation: Relaxation) -> dict[str, Any]:
    return {
        "goal": relaxation.goal,
        "proved": relaxation.proved,
        "verified": relaxation.verified,
        "changes": [
            {
                **_entry(family := problem.row_family(row), row),
                "lower": float(problem.row_lower[row]),
                "upper": float(problem.row_upper[row]),
                "new_lower": float(problem.row_lower[row] - below),
                "new_upper": float(problem.row_upper[row] + above),
                "unit": family.unit,
                **_place(family.span),
            }
            for row, below, above in _changes(relaxation)
        ],
    }


def _changes(relaxation: Relaxation) -> Iterable[tuple[int, float, float]]:
    return zip(relaxation.rows.tolist(), relaxation.below.tolist(), relaxation.above.tolist(), strict=True)


def _ray(problem: Problem, ray: Ray) -> dict[str, Any]:
    return {
        "objective": ray.objective.name,
        "gain": ray.gain,
        "unit": ray.objective.unit,
        "minimal": ray.minimal,
        "steps": [
            {**_entry(family := problem.column_family(column), column), "step": step, "unit": family.unit}
            for column, step in zip(ray.columns.tolist(), ray.steps.tolist(), strict=True)
        ],
    }


def _entry(family: Family, number: int) -> dict[str, Any]:
    entry = {"name": family.name, "index": list(family.index_of(number)), "entry": entry_name(family, number)}
    return {**entry, "part": family.part + 1} if family.part else entry


def _diagnostic(diagnostic: Diagnostic) -> dict[str, Any]:
    place = diagnostic.primary if isinstance(diagnostic.primary, Span) else None
    return {
        "code": diagnostic.code,
        "severity": str(diagnostic.severity),
        "message": diagnostic.message,
        "notes": list(diagnostic.notes),
        "help": diagnostic.help,
        **_place(place),
    }


def _place(span: Span | None) -> dict[str, Any]:
    return {"file": None if span is None else span.source.name, "line": None if span is None else span.line}
