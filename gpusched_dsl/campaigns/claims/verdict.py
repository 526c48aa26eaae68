"""Computes ours for a claim from the results of its campaign, and the verdict."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import polars as pl

from gpusched_dsl.campaigns.claims.claims import PAIRED, Claim
from gpusched_dsl.campaigns.claims.powers import ROLE, growth_exponents, total_over_runs
from gpusched_dsl.campaigns.results import is_finished
from gpusched_dsl.language.blocks.campaigns.constants import plain_text
from gpusched_dsl.reporting.bootstrap import Interval, mean_interval
from gpusched_dsl.reporting.paired_differences import PairedDifference, paired_differences

Verdict = Literal["reproduced", "same direction", "not reproduced"]
ROLES = "# roles"  # no name of a factor or measure
TOLERANCE = 0.1  # a single published number is a range of this share of it on both sides


@dataclass(frozen=True)
class Finding:
    """Ours beside a claim: a number with its interval, the verdict, and the runs it rests on; None without enough."""

    verdict: Verdict
    ours: float | None = None
    interval: Interval | None = None
    detail: str = ""
    runs: pl.DataFrame | None = None


def find(claim: Claim, results: pl.DataFrame | None) -> Finding:
    """Compare a claim with the results of its campaign, a row per run as `gsdsl campaign export` writes them."""
    if not claim.campaign:
        return Finding("not reproduced", detail="not run")
    runs = None if results is None else select_runs(claim, results)
    if runs is None or not len(runs):
        return Finding("not reproduced", detail="its runs are not stored")
    if claim.kind in PAIRED:
        return _compare_pairs(claim, runs)
    if claim.kind == "growth":
        return _growth(claim, runs)
    if claim.kind == "total":
        return _total(claim, runs)
    return _absolute(claim, runs)


COMPUTING = frozenset({"seconds", "build_seconds", "solve_seconds", "plan_seconds_mean", "plan_seconds_max"})


def select_runs(claim: Claim, results: pl.DataFrame) -> pl.DataFrame:
    """Return the complete runs of the claim's methods and factors, with the compared method or value as `ROLE`.

    A run that ended with waiting jobs has the times of its computation, but not the cost of all jobs.
    """
    has_status = "status" in results.columns and claim.measure not in COMPUTING
    runs = results.filter(is_finished() if has_status else pl.col("state") == "done")
    if claim.methods:
        runs = runs.filter(pl.col("method").is_in(claim.methods))
    runs = restrict_rows(runs, claim.where).drop_nulls(claim.measure)
    if not claim.value:
        return runs.with_columns(pl.col("method").alias(ROLE))
    return runs.with_columns(pl.col(claim.factor).cast(pl.String).alias(ROLE)).filter(pl.col(ROLE).is_in(claim.roles))


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


def factors_of(results: pl.DataFrame) -> list[str]:
    """Return the factors except the seed: the columns before `scenario`."""
    return results.columns[: results.columns.index("scenario")]


def _compare_pairs(claim: Claim, runs: pl.DataFrame) -> Finding:
    """Compare at equal seeds, each cell relative to the mean of its reference: the best of `against`, or `method`."""
    if claim.exact:
        runs = runs.with_columns(seed=pl.lit(None, pl.Int64))
    ours, factors = claim.roles[0], [name for name in factors_of(runs) if name != claim.factor]
    parts = runs.partition_by(factors, maintain_order=True) if factors else [runs]
    complete = [part for part in map(_common_seeds, parts) if set(part[ROLE]) == set(claim.roles)]
    if not complete:
        return Finding("not reproduced", detail="no cell has runs of all methods")
    if claim.kind == "order":
        return _order(claim, complete)
    scaled = []
    for number, part in enumerate(complete):
        means = {name: _mean(part.filter(pl.col(ROLE) == name)[claim.measure]) for name in claim.roles}
        best = min(claim.against, key=means.__getitem__)
        reference = means[ours] if claim.kind == "ratio" else means[best]
        if not reference:
            return Finding("not reproduced", detail="the mean of the reference is 0", runs=runs)
        rows = part.filter(pl.col(ROLE).is_in([ours, best]))
        role = pl.when(pl.col(ROLE) == ours).then(pl.lit("ours")).otherwise(pl.lit("theirs"))
        scaled.append(rows.select(role.alias("method"), _instance(number), pl.col(claim.measure) / reference))
    pair = _difference(pl.concat(scaled), claim.measure, "ours", "theirs")
    runs = pl.concat(complete)
    if pair.mean is None:
        return Finding("not reproduced", detail="no common seeds", runs=runs)
    if claim.kind == "ratio":
        ratio, interval = 1.0 - pair.mean, _map_interval(pair.interval, 1.0, -1.0)
        return _judge_size(claim, ratio, interval, pair, runs)
    saving, interval = -100.0 * pair.mean, _map_interval(pair.interval, 0.0, -100.0)
    if claim.kind == "equal":
        reached = interval is not None and -claim.within <= interval.low and interval.high <= claim.within
        near = abs(saving) <= claim.within
        detail = "" if reached or not near else "the interval is wider than the claim allows"
        return Finding("reproduced" if reached else "not reproduced", saving, interval, detail, runs)
    return _judge_size(claim, saving, interval, pair, runs)


def _judge_size(
    claim: Claim, ours: float, interval: Interval | None, pair: PairedDifference, runs: pl.DataFrame
) -> Finding:
    """Judge a saving or a ratio: the direction must be beyond chance, then the size decides."""
    low, high = claim.published or (ours, ours)
    neutral = 1.0 if claim.kind == "ratio" else 0.0
    wanted = "better" if (low + high) / 2 > neutral else "worse"
    if pair.verdict != wanted:
        detail = {"few": "too few seeds", "unclear": "the runs cannot tell the methods apart", "equal": "equal"}
        return Finding("not reproduced", ours, interval, detail.get(pair.verdict, "opposite direction"), runs)
    if low == high:
        low, high = low - TOLERANCE * abs(low), high + TOLERANCE * abs(high)
    if low <= ours <= high:
        return Finding("reproduced", ours, interval, "", runs)
    size = "larger" if abs(ours - neutral) > max(abs(low - neutral), abs(high - neutral)) else "smaller"
    return Finding("same direction", ours, interval, size, runs)


def _order(claim: Claim, complete: list[pl.DataFrame]) -> Finding:
    """Whether `method` is below each of `against`: in all comparisons beyond chance, or in the means only."""
    rows = pl.concat(part.select(_instance(number), claim.measure, method=ROLE) for number, part in enumerate(complete))
    pairs = {name: _difference(rows, claim.measure, claim.roles[0], name) for name in claim.against}
    runs = pl.concat(complete)
    missed = [name for name, pair in pairs.items() if pair.verdict != "better"]
    if not missed:
        return Finding("reproduced", detail="each difference is beyond chance", runs=runs)
    wrong = [name for name, pair in pairs.items() if pair.verdict == "worse" or (pair.mean or 0.0) >= 0.0]
    if wrong:
        return Finding("not reproduced", detail=f"not below {', '.join(wrong)}", runs=runs)
    return Finding("same direction", detail=f"the runs cannot tell it from {', '.join(missed)}", runs=runs)


def _absolute(claim: Claim, runs: pl.DataFrame) -> Finding:
    """Compare one number with the published one: at most, or near."""
    values = runs[claim.measure].to_numpy().astype(float)
    assert claim.published is not None
    low, high = claim.published
    if claim.kind == "most":
        largest = float(values.max())
        return Finding("reproduced" if largest <= high else "not reproduced", largest, None, "", runs)
    if claim.kind == "median":
        median = float(np.median(values))
        return Finding("reproduced" if median <= high else "not reproduced", median, None, "", runs)
    ours, interval = float(values.mean()), mean_interval(values)
    if claim.kind == "mean":
        return Finding("reproduced" if ours <= high else "not reproduced", ours, interval, "", runs)
    if low == high:
        low, high = low - TOLERANCE * abs(low), high + TOLERANCE * abs(high)
    return Finding("reproduced" if low <= ours <= high else "not reproduced", ours, interval, "", runs)


def _growth(claim: Claim, runs: pl.DataFrame) -> Finding:
    """Compare the exponent with the published one: in its range, or within `TOLERANCE` of a single number."""
    assert claim.published is not None
    cells = [name for name in factors_of(runs) if name not in (claim.factor, *claim.together)]
    exponents, used = growth_exponents(claim, runs, cells)
    if not len(exponents):
        return Finding("not reproduced", detail=f"no seed has runs at two values of {claim.factor}")
    ours, interval = float(exponents.mean()), mean_interval(exponents)
    low, high = claim.published
    if low == high:
        low, high = low - TOLERANCE, high + TOLERANCE
    detail = "" if low <= ours <= high else "larger" if ours > high else "smaller"
    return Finding("not reproduced" if detail else "reproduced", ours, interval, detail, used)


def _total(claim: Claim, runs: pl.DataFrame) -> Finding:
    """Compare a total over all runs, stored or extrapolated, with the largest that the claim allows."""
    assert claim.published is not None
    total, arms = total_over_runs(claim, runs)
    if total is None:
        return Finding("not reproduced", detail=f"{arms} arms have runs of fewer than two sizes", runs=runs)
    detail = "" if len(runs) == claim.runs else f"extrapolated from {len(runs)} of {claim.runs} runs"
    return Finding("reproduced" if total <= claim.published[1] else "not reproduced", total, None, detail, runs)


def _mean(values: pl.Series) -> float:
    return float(values.to_numpy().astype(float).mean())


def _common_seeds(part: pl.DataFrame) -> pl.DataFrame:
    """Keep the seeds at which every method of the cell has a value, so that all means are over equal instances."""
    counts = part.group_by("seed").agg(pl.col(ROLE).n_unique().alias(ROLES))
    whole = counts.filter(pl.col(ROLES) == part[ROLE].n_unique())["seed"]
    return part.filter(pl.col("seed").is_in(whole.to_list(), nulls_equal=True))


def _instance(cell: int) -> pl.Expr:
    """A number for each cell and seed: differences are paired by it. One cell without seeds stays without."""
    seed = pl.col("seed").cast(pl.Int64)
    return (seed if cell == 0 else seed.fill_null(0) + 1_000_000 * cell).alias("seed")


def _difference(rows: pl.DataFrame, measure: str, method: str, baseline: str) -> PairedDifference:
    two = rows.filter(pl.col("method").is_in([method, baseline]))
    compared = paired_differences(two, value=measure, baseline=baseline)
    assert compared is not None
    return compared[method]


def _map_interval(interval: Interval | None, offset: float, scale: float) -> Interval | None:
    if interval is None:
        return None
    ends = sorted((offset + scale * interval.low, offset + scale * interval.high))
    return Interval(ends[0], ends[1])
