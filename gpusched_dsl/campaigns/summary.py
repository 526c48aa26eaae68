"""A campaign in a table for people: means over seeds and repeats, by factors and method."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from gpusched_dsl.campaigns.plan import CampaignPlan
from gpusched_dsl.campaigns.results import (
    MISSING,
    factor_units,
    is_finished,
    measure_names,
    results_table,
    units_of,
)
from gpusched_dsl.campaigns.tasks import DONE, FAILED, RunRecord
from gpusched_dsl.language.blocks.campaigns.constants import plain_text
from gpusched_dsl.language.blocks.campaigns.factors import REPLICATION, SEED
from gpusched_dsl.language.text.counting import count_text
from gpusched_dsl.language.text.numbers import number_text, seconds_text
from gpusched_dsl.reporting.grid import Grid, GridColumn

USUAL = 4  # measures in the table if the campaign does not choose them
DIGITS = 5
_RUNS, _DONE = "# runs", "# done"  # no names of factors or measures


def summary_grid(plan: CampaignPlan, records: Mapping[str, RunRecord]) -> Grid:
    """Return a row for each combination of factors, scenario and method, with the means of the measures.

    Runs that ended before their jobs are not in the means; `shortfall_lines` names them.
    """
    table = results_table(plan, records)
    names = list(dict.fromkeys([*shown_measures(plan, records, table), "seconds"]))
    keys = [*cell_columns(plan, table), "method"]
    rows = table.group_by(keys, maintain_order=True).agg(
        pl.len().alias(_RUNS),
        is_finished().sum().alias(_DONE),
        *(pl.col(name).filter(is_finished()).mean() for name in names),
    )
    units = {**units_of(records), **factor_units(plan)}
    columns = [
        GridColumn(heading_with_unit(name, units), _texts(rows[name].to_list()), right=_is_number(rows, name))
        for name in keys
    ]
    counts = [
        f"{done}" if done == runs else f"{done} of {runs}" for done, runs in rows.select(_DONE, _RUNS).iter_rows()
    ]
    columns.append(GridColumn("runs", counts, right=True))
    columns += [
        GridColumn(heading_with_unit(name, units), _texts(rows[name].to_list()), right=True, optional=number)
        for number, name in enumerate(names)
    ]
    return Grid(tuple(columns))


def shown_measures(plan: CampaignPlan, records: Mapping[str, RunRecord], table: pl.DataFrame) -> list[str]:
    """Return the measures for people: those of the campaign, or the objective and the first others."""
    factors = {name for factor in plan.campaign.factors for name in factor.names}  # a factor hides a measure
    names = [
        name for name in measure_names(plan, records) if name not in factors and table.schema.get(name) == pl.Float64
    ]
    return names if plan.campaign.measures else ["objective", *names[:USUAL]]


def cell_columns(plan: CampaignPlan, table: pl.DataFrame) -> list[str]:
    """Return the columns that tell the cells of a campaign apart, in which methods are compared."""
    factors = [name for factor in plan.campaign.factors for name in factor.names if name not in (SEED, REPLICATION)]
    varying = [name for name in ("scenario", "online") if name in table.columns and table[name].n_unique() > 1]
    return [*factors, *varying]


def heading_with_unit(name: str, units: Mapping[str, str]) -> str:
    """Return `name [unit]`."""
    return f"{name} [{units[name]}]" if units.get(name) else name


def _is_number(table: pl.DataFrame, name: str) -> bool:
    return table.schema[name].is_numeric()


def _texts(values: Sequence[object]) -> list[str]:
    return [_text(value) for value in values]


def _text(value: object) -> str:
    if value is None:
        return "-"
    return number_text(float(f"{value:.{DIGITS}g}")) if isinstance(value, float) else plain_text(value)


def status_lines(plan: CampaignPlan, records: Mapping[str, RunRecord], left: float | None) -> list[str]:
    """Return how many runs are done, failed and missing, and the reasons of failures."""
    states = [records[run.key].state if run.key in records else MISSING for run in plan.runs]
    counts = {state: states.count(state) for state in (DONE, FAILED, MISSING)}
    line = f"{plan.name}: {count_text(len(states), 'run')}, " + ", ".join(f"{n} {s}" for s, n in counts.items() if n)
    spent = sum(records[run.key].seconds for run in plan.runs if run.key in records)
    lines = [f"{line}; {seconds_text(spent)} of computing"]
    if counts[MISSING] and left is not None:
        lines[0] += f", about {seconds_text(left)} left"
    return lines + failure_lines(plan, records) + shortfall_lines(plan, records)


def failure_lines(plan: CampaignPlan, records: Mapping[str, RunRecord]) -> list[str]:
    """Return a line for each kind of failure: how often, its code and message, and one of its runs."""
    found: dict[tuple[str, str], list[str]] = {}
    for run in plan.runs:
        record = records.get(run.key)
        if record is not None and record.failed:
            errors = [d for d in record.diagnostics if d.severity == "error"] or list(record.diagnostics)
            first = (errors[0].code, errors[0].message) if errors else ("", "failed")
            found.setdefault(first, []).append(run.run.title)
    return [
        f"  {count_text(len(titles), 'run')} failed: {code} {message} ({titles[0]})"
        for (code, message), titles in sorted(found.items(), key=lambda item: -len(item[1]))
    ]


def shortfall_lines(plan: CampaignPlan, records: Mapping[str, RunRecord]) -> list[str]:
    """Return a line for each status of runs that are done without a result to compare, with the first of them."""
    return [f"  {text}" for text in shortfalls(plan, records).values()]


def shortfalls(plan: CampaignPlan, records: Mapping[str, RunRecord]) -> dict[str, str]:
    """Return how many runs have a status without a result to compare, what it means, and the first of them."""
    found: dict[str, list[str]] = {}
    for run in plan.runs:
        status = records[run.key].shortfall if run.key in records else ""
        if status:
            found.setdefault(status, []).append(run.run.title)
    return {
        status: f"{count_text(len(titles), 'run')} with status `{status}`{_MEANINGS.get(status, '')} ({titles[0]})"
        for status, titles in found.items()
    }


_MEANINGS = {
    "stuck": ": jobs wait and no event follows, so the means are without them",
    "events": ": ended by `most_events`, so the means are without them",
    "broken": ": plans violate the model",
    "limit": ": no solution before the limit",
}
