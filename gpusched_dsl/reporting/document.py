"""A result as JSON: the document that `docs/schema/result.schema.json` describes."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from gpusched_dsl.ir.arrays import Floats
from gpusched_dsl.ir.index_labels import label_rows, nonzero_positions
from gpusched_dsl.ir.problem import Family
from gpusched_dsl.reporting.members import members_document
from gpusched_dsl.reporting.tables import plain_numbers

if TYPE_CHECKING:
    from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
    from gpusched_dsl.reporting.result_data import ResultData

FORMAT = "gsdsl-result/1"


def document(result: ResultData) -> dict[str, Any]:
    """Return the result as nested dictionaries and lists for JSON; NaN and infinite numbers become None."""
    solved, provenance = result.solved, result.provenance
    model = provenance.model
    fields: dict[str, Any] = {
        "status": result.status.value,
        "objective": result.objective,
        "bound": result.bound,
        "gap": result.gap,
        "terms": result.terms,
        "variables": {
            f.name: _nonzero_entries(f, result.values, _is_integer(result, f)) for f in solved.problem.variables
        },
        "placement": [] if result.placed is None else result.placed.records(),
        "build_seconds": round(result.build_seconds, 6),
        "solve_seconds": round(result.solve_seconds, 6),
        "backend": result.backend,
        "versions": result.versions,
        "inputs_sha256": result.inputs_sha256,
        "format": FORMAT,
        "reason": result.reason,
        "has_point": result.has_point,
        "model": solved.problem.name,
        "scenario": provenance.scenario,
        "options": dict(model.options) if model is not None else {},
        "settings": dict(provenance.settings),
        "solver_options": {
            "gap": solved.options.gap,
            "time_limit": solved.options.time_limit,
            "threads": solved.options.threads,
            "seed": solved.options.seed,
            "extra": dict(solved.options.extra),
        },
        "objectives": [
            {
                "name": o.name,
                "sense": o.sense,
                "unit": o.unit,
                "value": o.value,
                "bound": o.bound,
                "gap": o.gap,
                "terms": {t.name or o.name or "objective": t.value for t in o.terms},
                "status": None if o.status is None else o.status.value,
                "seconds": round(o.seconds, 6),
            }
            for o in solved.objectives
        ],
        "placement_units": {} if result.placed is None else result.placed.units,
        "size": {
            "columns": (size := solved.size or solved.problem.size).columns,
            "integer_columns": size.integer,
            "rows": size.rows,
            "nonzeros": size.nonzeros,
        },
        "statistics": solved.statistics,
        "warnings": diagnostics_document(result.diagnostics),
    }
    if (calendar := result.calendar) is not None:
        fields["calendar"] = {"start": calendar.iso(0.0), "zone": calendar.zone}
    if solved.members:
        fields["members"] = members_document(solved.members)
    # Points are verified, so they are finite. All other values are small.
    return {key: value if key == "variables" else finite(value) for key, value in fields.items()}


def json_text(document: dict[str, Any]) -> str:
    """Return readable JSON: a line for each value of a variable, row of the placement and term."""
    return _layout(document, 0) + "\n"


def _nonzero_entries(family: Family, point: Floats | None, integer: bool) -> list[dict[str, Any]]:
    if point is None:
        return []
    values = np.nan_to_num(point[family.slice])  # NaN: a plan that violates the model does not state it
    positions = nonzero_positions(values)
    numbers = plain_numbers(values[positions], integer)
    labels = label_rows(family.domain, positions)
    return [{"index": index, "value": value} for index, value in zip(labels, numbers, strict=True)]


def _is_integer(result: ResultData, family: Family) -> bool:
    return bool(result.solved.problem.integer[family.slice].all())


def diagnostics_document(diagnostics: Iterable[Diagnostic]) -> list[dict[str, str]]:
    return [{"code": d.code, "message": d.message} for d in diagnostics]


def finite(value: Any) -> Any:
    """Replace NaN and infinite numbers by None, and keys by texts."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {str(k): finite(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [finite(v) for v in value]
    return value


def _layout(value: Any, depth: int) -> str:
    """Lay out JSON: containers of containers are spread over lines, others are on one line."""
    inner = "  " * (depth + 1)
    if isinstance(value, list) and value and isinstance(value[0], dict) and set(value[0]) == {"index", "value"}:
        # All values at once; inside a text the quotes of this separator are escaped.
        entries = json.dumps(value, ensure_ascii=False)[1:-1].replace('}, {"index": [', "},\n" + inner + '{"index": [')
        return "[\n" + inner + entries + "\n" + "  " * depth + "]"
    if isinstance(value, dict) and value and (depth == 0 or any(isinstance(v, dict | list) for v in value.values())):
        parts = [f"{json.dumps(k, ensure_ascii=False)}: {_layout(v, depth + 1)}" for k, v in value.items()]
        return "{\n" + ",\n".join(inner + p for p in parts) + "\n" + "  " * depth + "}"
    if isinstance(value, list) and any(isinstance(v, dict | list) for v in value):
        parts = [_layout(v, depth + 1) for v in value]
        return "[\n" + ",\n".join(inner + p for p in parts) + "\n" + "  " * depth + "]"
    return json.dumps(value, ensure_ascii=False)
