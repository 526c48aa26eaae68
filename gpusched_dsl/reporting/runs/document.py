"""The result of a run as data: the document that `docs/schema/run-1.json` describes, and tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from gpusched_dsl.reporting.document import diagnostics_document, finite

if TYPE_CHECKING:
    from gpusched_dsl.reporting.runs.result import RunResult

FORMAT = "gsdsl-run/1"


def run_document(result: RunResult) -> dict[str, Any]:
    """Return the result as nested dictionaries and lists for JSON; NaN and infinite numbers become None."""
    outcome, info = result.outcome, result.run_info
    model = outcome.online.base
    bound, calendar = result.bound, result.clock.dates
    found: dict[str, Any] = {
        "format": FORMAT,
        "model": model.name,
        "online": outcome.online.name,
        "scenario": info.scenario,
        "method": info.method,
        "fallback": info.fallback,
        "ended": result.ended,
        "units": {"time": result.unit, "money": result.money},
        "calendar": None if calendar is None else {"start": calendar.iso(0.0), "zone": calendar.zone},
        "total": result.total,
        "costs": result.costs,
        "quantities": [
            {"name": name, "value": value, "unit": outcome.quantities[name]}
            for name, value in result.quantities.items()
        ],
        "bound": {"value": bound.value, "gap": result.gap, "how": bound.how},
        "completion_bound": _completion_bound(result),
        "gap_parts": _gap_parts(result),
        "metrics": result.metrics,
        "metric_units": {name: result.unit_of(name) for name in result.metrics},
        "groups": {
            attribute: {"rows": result.by(attribute).to_dicts(), **result.fairness_by(attribute)}
            for attribute in result.attributes
        },
        "node_types": result.node_types.to_dicts(),
        "jobs": result.jobs.to_dicts(),
        "schedule": result.schedule.to_dicts(),
        "steps": result.steps.to_dicts(),
        "options": dict(model.options),
        "settings": dict(info.settings),
        "run_options": dict(info.options),
        "versions": result.versions,
        "inputs_sha256": dict(info.inputs_sha256),
        "seconds": round(info.seconds, 6),
        "resumed_steps": info.resumed_steps,
        "event_by_event": list(outcome.event_by_event),
        "warnings": diagnostics_document(result.warnings),
    }
    return {key: finite(value) for key, value in found.items()}


def run_tables(result: RunResult) -> dict[str, pl.DataFrame]:
    """Return the jobs, stretches, plans, types of nodes, metrics, and a table by each attribute of jobs: `by_owner`."""
    values = [None if v is None else float(v) for v in result.metrics.values()]
    units = [result.unit_of(name) for name in result.metrics]
    metrics = {"metric": list(result.metrics), "value": values, "unit": units}
    return {
        "jobs": result.jobs,
        "schedule": result.schedule,
        "steps": result.steps.with_columns(pl.col("why").list.join("+")),
        "node_types": result.node_types,
        "metrics": pl.DataFrame(metrics, schema_overrides={"value": pl.Float64}),
        **{f"by_{attribute}": result.by(attribute) for attribute in result.attributes},
    }


def _completion_bound(result: RunResult) -> dict[str, Any] | None:
    bound = result.completion_bound
    return None if bound is None else {"value": bound.value, "how": bound.how}


def _gap_parts(result: RunResult) -> dict[str, Any] | None:
    parts = result.gap_parts
    if parts is None:
        return None
    old = {"heuristic_loss": parts.undivided}  # the earlier name of a stable format
    return {
        **parts.parts,
        **old,
        "total_ahead": parts.ahead,
        "total_informed": parts.informed,
        "methods": list(parts.methods),
    }
