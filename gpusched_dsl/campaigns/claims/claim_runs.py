"""The runs of a campaign that a claim is about: those that count, and those that do not by their status."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from gpusched_dsl.campaigns.claims.claims import Claim
from gpusched_dsl.campaigns.claims.powers import ROLE
from gpusched_dsl.campaigns.tasks import DONE, FAILED, UNFINISHED, UNSOLVED
from gpusched_dsl.ir.solver_result import Status
from gpusched_dsl.language.blocks.campaigns.constants import plain_text

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
