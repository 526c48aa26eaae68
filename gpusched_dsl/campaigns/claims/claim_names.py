"""Whether the names and values of a claim are those of its campaign: else it would look like one without runs."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

import polars as pl

from gpusched_dsl.campaigns.claims.claim_runs import factors_of, restrict_rows
from gpusched_dsl.campaigns.claims.claims import LIMITS, Claim
from gpusched_dsl.language.diagnostics.diagnostic import did_you_mean
from gpusched_dsl.language.units import UNITS

ABSOLUTE = (*LIMITS, "value", "order")  # kinds whose numbers are in the unit of the measure


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
