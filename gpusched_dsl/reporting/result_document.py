"""The result of a solve as data: the document that `docs/schema/result.schema.json` describes, and tables."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import polars as pl

from gpusched_dsl.ir.arrays import Floats
from gpusched_dsl.ir.index_labels import label_rows, nonzero_positions
from gpusched_dsl.ir.problem import Family
from gpusched_dsl.reporting.document import diagnostics_document, finite
from gpusched_dsl.reporting.index_names import distinct
from gpusched_dsl.reporting.members import members_document
from gpusched_dsl.reporting.result import Result
from gpusched_dsl.reporting.tables import plain_numbers
from gpusched_dsl.reporting.values import NUMBERS, column_table, row_table, unit_of
from gpusched_dsl.solving.sensitivity import Sensitivity

FORMAT = "gsdsl-result/1"


def result_document(result: Result) -> dict[str, Any]:
    """Return the result for JSON; NaN and infinite numbers become None."""
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
    fields |= _extras(result)
    # Points are verified, so they are finite. All other values are small.
    return {key: value if key == "variables" else finite(value) for key, value in fields.items()}


def _extras(result: Result) -> dict[str, Any]:
    """What the model or the call asked for."""
    extras: dict[str, Any] = {"relaxed": True} if result.relaxed else {}
    if result.reports:
        extras["reports"] = _report_document(result)
    if result.waiting_jobs is not None:
        extras["waiting"] = result.waiting_jobs.records()
    if result.alternatives is not None:
        extras["alternatives"] = result.alternatives.to_dict()
    if result.job_options is not None:
        extras["job_options"] = result.job_options.to_dict()
    if result.sensitivity is not None:
        extras["duals"] = _dual_document(result, result.sensitivity)
    return extras


def result_tables(result: Result) -> dict[str, pl.DataFrame]:
    """Return the nonzeros of each variable, the placement, and what the model or the call asked for.

    Jobs that wait are in `waiting`; alternative solutions in `alternatives` and, with the values that differ, in
    `alternative_values`; the options of a job in `job_options`. A variable with the name `placement` keeps it, and the
    placement becomes `placement_2`. Raises DiagnosticError (GSM6010) without a point.
    """
    tables = {family.name: result[family.name] for family in result.problem.variables}
    for name, frame in _other_tables(result):
        tables[distinct([name], tuple(tables))[0]] = frame
    return tables


def _other_tables(result: Result) -> Iterator[tuple[str, pl.DataFrame]]:
    if result.placement is not None:
        yield "placement", result.placement
    if result.waiting is not None and len(result.waiting):
        yield "waiting", result.waiting
    yield from result.reports.items()
    if result.alternatives is not None:
        yield "alternatives", result.alternatives.table
        yield "alternative_values", result.alternatives.differences
    if result.job_options is not None:
        yield "job_options", result.job_options.table
    if result.sensitivity is not None:
        for name in dict.fromkeys(family.name for family in result.problem.constraints):
            yield f"duals_{name}", row_table(result, name)
        for family in result.problem.variables:
            yield f"reduced_costs_{family.name}", column_table(result, family.name)


def _nonzero_entries(family: Family, point: Floats | None, integer: bool) -> list[dict[str, Any]]:
    if point is None:
        return []
    values = np.nan_to_num(point[family.slice])  # NaN: a plan that violates the model does not state it
    positions = nonzero_positions(values)
    numbers = plain_numbers(values[positions], integer)
    labels = label_rows(family.domain, positions)
    return [{"index": index, "value": value} for index, value in zip(labels, numbers, strict=True)]


def _is_integer(result: Result, family: Family) -> bool:
    return bool(result.solved.problem.integer[family.slice].all())


def _report_document(result: Result) -> dict[str, object]:
    """Return the reports: unit and values by index."""
    found: dict[str, object] = {}
    for name, frame in result.reports.items():
        values = frame["value"].to_list()
        rows = frame.drop("value").rows() if len(frame.columns) > 1 else [()] * frame.height
        entries = [{"index": list(index), "value": value} for index, value in zip(rows, values, strict=True)]
        found[name] = {"unit": unit_of(result, name), "values": entries}
    return found


def _dual_document(result: Result, sensitivity: Sensitivity) -> dict[str, object]:
    """Return duals, slacks and reduced costs."""
    constraints = dict.fromkeys(family.name for family in result.problem.constraints)
    variables = [family.name for family in result.problem.variables]
    return {
        "integers_fixed": bool(np.any(sensitivity.fixed)),
        "constraints": {name: _records(row_table(result, name)) for name in constraints},
        "variables": {name: _records(column_table(result, name)) for name in variables},
    }


def _records(frame: pl.DataFrame) -> list[dict[str, object]]:
    numbers = [name for name in frame.columns if name in NUMBERS]
    index = [name for name in frame.columns if name not in NUMBERS]
    rows = frame.select(index).rows() if index else [()] * frame.height
    return [{"index": list(at), **one} for at, one in zip(rows, frame.select(numbers).to_dicts(), strict=True)]
