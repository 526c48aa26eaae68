"""The JSON document of a campaign: its grid, and each run with its factors, its result and its measures."""

from __future__ import annotations

from typing import Any, Final

from gpusched_dsl.campaigns.results import CampaignResults, StoredTrial
from gpusched_dsl.campaigns.tasks import RunRecord
from gpusched_dsl.reporting.document import finite

FORMAT: Final = "gsdsl-campaign/1"
_NO_RECORD: Final = RunRecord(key="", state="")


def campaign_document(results: CampaignResults) -> dict[str, Any]:
    """Return the results as in `docs/schema/campaign.schema.json`, with all measures of each run."""
    factors = results.factors
    columns = [results.factor_values(name) for name in factors]
    rows = [
        _row_document(row, {name: column[at] for name, column in zip(factors, columns, strict=True)})
        for at, row in enumerate(results.rows)
    ]
    versions: dict[str, set[str]] = {}
    for record in results.records.values():
        for name, version in record.versions.items():
            versions.setdefault(name, set()).add(version)
    found: dict[str, Any] = finite(
        {
            "format": FORMAT,
            "campaign": results.plan.name,
            "description": results.plan.campaign.doc,
            "factors": factors,
            "measures": results.measures,
            "units": results.units,
            "interrupted": results.interrupted,
            "rows": rows,
            "versions": {name: sorted(used) for name, used in versions.items()},
            "pins": results.plan.pins,
        }
    )
    return found


def _row_document(row: StoredTrial, factors: dict[str, Any]) -> dict[str, Any]:
    run, record = row.planned.run, row.result or _NO_RECORD
    return {
        "scenario": run.scenario,
        "online": run.online,
        "method": row.method,
        "seed": row.seed,
        "factors": factors,
        "state": row.state,
        "status": row.status,
        "objective": record.objective,
        "bound": record.bound,
        "gap": record.gap,
        "measures": record.metrics,
        "seconds": None if row.result is None else record.seconds,
        "findings": [{"code": each.code, "message": each.message} for each in record.diagnostics],
        "key": row.planned.key,
    }
