"""The runs of a campaign that a claim is about: those that count; names and units of claims that no run has."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

import polars as pl

from gpusched_dsl.campaigns.claims.claims import LIMITS, Claim
from gpusched_dsl.campaigns.tasks import DONE, FAILED, UNFINISHED, UNSOLVED
from gpusched_dsl.ir.solver_result import Status
from gpusched_dsl.language.blocks.campaigns.constants import plain_text
from gpusched_dsl.language.diagnostics.diagnostic import did_you_mean
from gpusched_dsl.language.units import UNITS

ROLE, OF = "# role", "# of"  # columns; no names of factors or measures
ABSOLUTE = (*LIMITS, "value", "order")  # kinds whose numbers are in the unit of the measure
NOT_COUNTED = (*UNFINISHED, *UNSOLVED)  # neither costs nor times: a broken plan is not what the claim is about


def select_runs(claim: Claim, results: pl.DataFrame) -> tuple[pl.DataFrame, dict[str, int]]:
    """Return the runs of the claim's methods and factors, with the compared method or value as `ROLE`.

    Only runs count that are done, with a valid plan, and ended with all jobs; the others are counted by status.
    """
    rows = results.filter(pl.col("state").is_in([DONE, FAILED]))
    if claim.methods:
        rows = rows.filter(pl.col("method").is_in(claim.methods))
    rows = restrict_rows(rows, claim.where)
    role = pl.col(claim.factor).cast(pl.String) if claim.value else pl.col("method")
    rows = rows.with_columns(role.alias(ROLE))
    if claim.value:
        rows = rows.filter(pl.col(ROLE).is_in(claim.roles))
    status = pl.col("status").cast(pl.String) if "status" in rows.columns else pl.lit(None, pl.String)
    if claim.measure not in rows.columns and DONE not in results["state"]:  # failed runs have no measures
        rows = rows.with_columns(pl.lit(None, pl.Float64).alias(claim.measure))
    excluded = (
        pl.when(pl.col("state") == FAILED)
        .then(pl.lit(FAILED))
        .when(status.is_in((*NOT_COUNTED, Status.LIMIT.value) if claim.solved else NOT_COUNTED))
        .then(status)
        .when(pl.col(claim.measure).is_null())
        .then(pl.lit(f"without `{claim.measure}`"))
    )
    counts = rows.group_by(excluded.alias("why"), maintain_order=True).len().drop_nulls("why")
    return rows.filter(excluded.is_null()), dict(counts.sort("why").rows())


def restrict_rows(rows: pl.DataFrame, where: Mapping[str, Any]) -> pl.DataFrame:
    """Return the rows whose columns have the given value, or one of a list; 4 equals 4.0.

    Raises KeyError for unknown columns, ValueError for a text in place of a number.
    """
    for name, value in where.items():
        values = value if isinstance(value, list) else [value]
        if rows.schema[name].is_numeric():
            rows = rows.filter(pl.col(name).cast(pl.Float64).is_in([float(one) for one in values]))
        else:
            rows = rows.filter(pl.col(name).cast(pl.String).is_in([plain_text(one) for one in values]))
    return rows


def cells_of(claim: Claim, runs: pl.DataFrame) -> list[str]:
    """Return the columns whose combinations make up the cells of a claim.

    They are the factors, except its own and those that vary with it; and the scenario and the online block, if equal
    methods, seeds and factors have runs of several. A scenario that a factor or a method fixes is no further cell.
    """
    factors = factors_of(runs)
    several = [name for name in ("scenario", "online") if name in runs.columns and runs[name].n_unique() > 1]
    groups = runs.group_by(*factors, "method", "seed").agg(pl.col(name).n_unique() for name in several)
    own = (claim.factor, *claim.together)
    several = [name for name in several if name not in own and groups[name].max() != 1]
    return [name for name in factors if name not in own] + several


def factors_of(results: pl.DataFrame) -> list[str]:
    """Return the factors except the seed: the columns before `scenario`."""
    return results.columns[: results.columns.index("scenario")]


def check_names(claim: Claim, grid: pl.DataFrame) -> None:
    """Raise ValueError if a method, factor or value of a claim is not in the grid of its campaign.

    `grid` has a row per run of the complete campaign, with the columns of `results_table`.
    """
    columns = [*factors_of(grid), *(name for name in ("scenario", "online", "method", "seed") if name in grid.columns)]
    named = [*claim.where, *claim.together, *claim.arms, *([claim.factor] if claim.factor else [])]
    for name in named:
        _require(name, columns, "column", "")
    for method in claim.methods:
        _require(method, grid["method"].unique().to_list(), "method", "")
    if claim.value:
        values = grid[claim.factor].cast(pl.String).unique().to_list()
        for role in claim.roles:
            _require(role, values, "value", f" of `{claim.factor}`")
    for name, wanted in claim.where.items():
        for value in wanted if isinstance(wanted, list) else [wanted]:
            if restrict_rows(grid, {name: value}).is_empty():
                raise ValueError(f"`where` selects no run: `{name}` is never `{value}` in the campaign")
    if restrict_rows(grid, claim.where).is_empty():
        raise ValueError("`where` selects no run: none has all of its values together")


def check_unit(claim: Claim, units: Mapping[str, str]) -> None:
    """Raise ValueError if a number of a claim is in another unit than its measure; `units` has those of measures."""
    measured = units.get(claim.measure, "")
    if claim.kind in ABSOLUTE and measured and claim.unit in UNITS and claim.unit != measured:
        raise ValueError(f"`unit` is `{claim.unit}`, but `{claim.measure}` is in `{measured}`")


def check_campaign_name(claim: Claim, campaigns: Collection[str]) -> None:
    """Raise ValueError if the campaign of a claim is not among those that its file knows."""
    if claim.campaign:
        _require(claim.campaign, campaigns, "campaign", "")


def _require(name: str, known: Iterable[str], what: str, of: str) -> None:
    known = list(known)
    if name not in known:
        help = did_you_mean(name, known)
        raise ValueError(f"unknown {what} `{name}`{of}" + (f", {help}" if help else ""))
