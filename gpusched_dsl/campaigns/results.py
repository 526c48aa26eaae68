"""The results of a campaign as one tidy table: a row per run, with its factors, method, status and measures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import polars as pl

from gpusched_dsl.campaigns.plan import CampaignPlan, PlannedRun
from gpusched_dsl.campaigns.tasks import DONE, UNFINISHED, RunRecord
from gpusched_dsl.data.sources.writing import cannot_write, check_writable, replace_file
from gpusched_dsl.language.blocks.campaigns.constants import Quantity, Value, plain_text, plain_value
from gpusched_dsl.language.blocks.campaigns.factors import SEED
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.language.units import DIMENSIONLESS, Unit, convertible

MISSING = "missing"
FORMATS = (".parquet", ".csv", ".json")
RESULTS = "results.parquet"


def results_table(plan: CampaignPlan, records: Mapping[str, RunRecord], *, all_measures: bool = False) -> pl.DataFrame:
    """Return a row per run, in the order of the grid; a run without a record has the state `missing`.

    Columns: the factors, `scenario`, `online`, `method`, `seed`, `state`, `status`, `objective`, `bound`, `gap`, the
    measures (those of `measure`, or all), `seconds`, `code` and `diagnostic` of the first error, `key`. Values of
    factors are in the unit of the first one (`factor_units`).
    """
    found = [records.get(run.key) for run in plan.runs]
    columns: dict[str, list[Any]] = _factor_columns(plan)
    columns["scenario"] = [run.run.scenario for run in plan.runs]
    if any(run.run.online is not None for run in plan.runs):
        columns["online"] = [run.run.online for run in plan.runs]
    columns["method"] = [run.run.label for run in plan.runs]
    columns[SEED] = [run.run.seed for run in plan.runs]
    columns["state"] = [MISSING if record is None else record.state for record in found]
    columns["status"] = [None if record is None else record.status or None for record in found]
    for name in ("objective", "bound", "gap"):
        columns[name] = [None if record is None else _real(getattr(record, name)) for record in found]
    for name in measure_names(plan, records, all_measures=all_measures):
        if name not in columns:
            columns[name] = [None if record is None else _real(record.metrics.get(name)) for record in found]
    columns["seconds"] = [None if record is None else record.seconds for record in found]
    firsts = [_first_error(record) for record in found]
    columns["code"] = [code for code, _ in firsts]
    columns["diagnostic"] = [message for _, message in firsts]
    columns["key"] = [run.key for run in plan.runs]
    texts = ("scenario", "online", "method", "state", "status", "code", "diagnostic", "key")
    schema = {name: pl.String for name in columns if name in texts}
    measured = _measured_names(plan, records).difference(texts)
    numbers = {name: pl.Float64 for name in columns if name in measured}
    return pl.DataFrame(columns, schema_overrides={**schema, **numbers})


def is_finished() -> pl.Expr:
    """Return the rows whose measures can be compared: of runs that are done and did not end before their jobs."""
    return (pl.col("state") == DONE) & ~pl.col("status").cast(pl.String).is_in(UNFINISHED).fill_null(False)


def _measured_names(plan: CampaignPlan, records: Mapping[str, RunRecord]) -> set[str]:
    names = {name for run in plan.runs if run.key in records for name in records[run.key].metrics}
    return names.union(plan.campaign.measures, ("objective", "bound", "gap", "seconds"))


def measure_names(plan: CampaignPlan, records: Mapping[str, RunRecord], *, all_measures: bool = False) -> list[str]:
    """Return the measures of a campaign: those of its `measure` statements, or all that its records have."""
    if plan.campaign.measures and not all_measures:
        return list(plan.campaign.measures)
    names: dict[str, None] = {}
    for run in plan.runs:
        if run.key in records:
            names.update(dict.fromkeys(records[run.key].metrics))
    return list(names)


def units_of(records: Mapping[str, RunRecord]) -> dict[str, str]:
    """Return the units of measures by name."""
    found: dict[str, str] = {}
    for record in records.values():
        found |= record.units
        if record.unit:
            found |= {"objective": record.unit, "bound": record.unit}
    return found | {"seconds": "s"}


def factor_units(plan: CampaignPlan) -> dict[str, str]:
    """Return the units of the factors that have one."""
    units = {name: _common_unit([run.run.factors[name] for run in plan.runs]) for name in _factors(plan)}
    return {name: unit.text for name, unit in units.items() if unit is not None and unit != DIMENSIONLESS}


def write_results(table: pl.DataFrame, path: Path) -> None:
    """Write a table as Parquet, CSV or JSON, by the extension of the path; raises DiagnosticError (GSM6008)."""
    if path.suffix not in FORMATS:
        message = f"`{path}` does not end in {', '.join(FORMATS)}"
        raise DiagnosticError([Diagnostic("GSM6008", message, help="choose one of these formats")])
    check_writable(path)
    try:
        with replace_file(path) as beside:
            if path.suffix == ".parquet":
                table.write_parquet(beside)
            elif path.suffix == ".csv":
                from gpusched_dsl.reporting.csv_files import csv_text

                beside.write_text(csv_text(table), encoding="utf-8", newline="")
            else:
                table.write_json(beside)
    except OSError as failure:
        raise DiagnosticError([cannot_write(path, failure)]) from failure


def _factors(plan: CampaignPlan) -> list[str]:
    return [name for factor in plan.campaign.factors for name in factor.names]


def _factor_columns(plan: CampaignPlan) -> dict[str, list[Any]]:
    columns: dict[str, list[Any]] = {}
    for name in _factors(plan):
        if name != SEED:
            columns[name] = _column(plan.runs, name)
    return columns


def _column(runs: Sequence[PlannedRun], name: str) -> list[Any]:
    values = [run.run.factors[name] for run in runs]
    unit = _common_unit(values)
    if unit is None:
        kinds = {type(plain_value(value)) for value in values}
        return [plain_value(value) if len(kinds) == 1 else plain_text(plain_value(value)) for value in values]
    numbers = [value.number_in(unit) for value in values if isinstance(value, Quantity)]
    whole = all(number.denominator == 1 for number in numbers)
    return [_number(number, whole) for number in numbers]


def _common_unit(values: Sequence[Value]) -> Unit | None:
    """Return the unit of the first of several quantities; None if there is another value or another dimension."""
    first = values[0] if values else None
    if not isinstance(first, Quantity):
        return None
    fits = all(isinstance(value, Quantity) and convertible(value.unit, first.unit) for value in values)
    return first.unit if fits else None


def _number(number: Fraction, whole: bool) -> int | float:
    return int(number) if whole else float(number)


def _real(value: float | int | None) -> float | None:
    return None if value is None else float(value)


def _first_error(record: RunRecord | None) -> tuple[str | None, str | None]:
    if record is None or not record.failed:
        return None, None
    errors = [d for d in record.diagnostics if d.severity == "error"] or list(record.diagnostics)
    return (errors[0].code, errors[0].message) if errors else (None, None)
