"""Computes ours for a claim from the results of its campaign, and the verdict.

A number of ours with an interval reproduces a claim if the whole interval lies in the accepted range; the runs cannot
tell if the interval only meets the range, or if there are too few runs for an interval; else the claim is not
reproduced, or its direction only. An order is reproduced if every interval is below 0, and the runs cannot tell it if
one has both signs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final, Literal

import numpy as np
import polars as pl

from gpusched_dsl.campaigns.claims.claim_runs import OF, ROLE, cells_of, select_runs
from gpusched_dsl.campaigns.claims.claims import PAIRED, Claim
from gpusched_dsl.ir.arrays import Floats
from gpusched_dsl.ir.tolerances import ROUNDING
from gpusched_dsl.language.text.numbers import count_text, number_text
from gpusched_dsl.reporting.bootstrap import CellNumbers, Interval, cells_interval, cells_mean, quotients

Verdict = Literal["reproduced", "same direction", "the runs cannot tell", "not reproduced", "not run"]
REPRODUCED: Final = "reproduced"
DIRECTION: Final = "same direction"
UNDECIDED: Final = "the runs cannot tell"
REFUTED: Final = "not reproduced"
NOT_RUN: Final = "not run"
VERDICTS: Final[tuple[Verdict, ...]] = (REPRODUCED, DIRECTION, UNDECIDED, REFUTED, NOT_RUN)
ROLES = "# roles"  # no name of a factor or measure


@dataclass(frozen=True)
class Finding:
    """Ours beside a claim: a number with its interval, the verdict, and the runs it rests on; None without enough.

    `excluded` has the numbers of stored runs that do not count, by status.
    """

    verdict: Verdict
    ours: float | None = None
    interval: Interval | None = None
    detail: str = ""
    runs: pl.DataFrame | None = None
    excluded: Mapping[str, int] = field(default_factory=dict)

    @property
    def is_refuted(self) -> bool:
        """Whether the runs contradict the claim."""
        return self.verdict in (DIRECTION, REFUTED)


def find(claim: Claim, results: pl.DataFrame | None) -> Finding:
    """Compare a claim with the results of its campaign, a row per run as `gsdsl campaign export` writes them."""
    if not claim.campaign:
        return Finding(NOT_RUN)
    if results is None:
        return Finding(NOT_RUN, detail="its runs are not stored")
    runs, excluded = select_runs(claim, results)
    if not len(runs):
        if excluded:
            return Finding(UNDECIDED, detail="no run counts", runs=runs, excluded=excluded)
        return Finding(NOT_RUN, detail="its runs are not stored")
    if claim.kind in PAIRED:
        finding = _compare_pairs(claim, runs)
    elif claim.kind == "growth":
        finding = _growth(claim, runs)
    elif claim.kind == "total":
        finding = _total(claim, runs)
    else:
        finding = _absolute(claim, runs)
    return replace(finding, excluded=excluded)


def _compare_pairs(claim: Claim, runs: pl.DataFrame) -> Finding:
    """Compare at equal seeds, in each cell with the best of `against`; the mean over the cells counts."""
    factors = cells_of(claim, runs)
    parts = runs.partition_by(factors, maintain_order=True) if factors else [runs]
    complete = [part for part in map(_common_seeds, parts) if set(part[ROLE]) == set(claim.roles)]
    if not complete:
        return Finding(UNDECIDED, detail="no cell has runs of all methods", runs=runs.head(0))
    runs, ours = pl.concat(complete), claim.roles[0]
    if claim.kind == "order":
        return _order(claim, complete)
    chosen = []
    for part in complete:
        means = {name: _mean(part.filter(pl.col(ROLE) == name)[claim.measure]) for name in claim.roles}
        best = min(claim.against, key=means.__getitem__)
        if not (means[ours] if claim.kind == "ratio" else means[best]):
            return Finding(UNDECIDED, detail="the mean of the reference is 0", runs=runs)
        chosen.append(_columns(part, claim.measure, (ours, best)))
    per_cell = _ratios if claim.kind == "ratio" else _savings
    values = _by_seed(chosen)
    number, interval = cells_mean(values, per_cell), _interval(claim, values, per_cell)
    judged = _judge(claim, number, interval, runs)
    return judged if claim.kind == "equal" else _with_direction(claim, judged)


def _ratios(means: Floats) -> Floats:
    return quotients(means[..., 1], means[..., 0])


def _savings(means: Floats) -> Floats:
    return 100.0 * (1.0 - quotients(means[..., 0], means[..., 1]))


def _differences(means: Floats) -> Floats:
    return np.asarray(means[..., 0] - means[..., 1])


def _itself(means: Floats) -> Floats:
    return np.asarray(means[..., 0])


def _interval(claim: Claim, values: Floats, per_cell: CellNumbers) -> Interval | None:
    """Return the interval of the mean over cells; of exact numbers the number itself."""
    if claim.exact:
        number = cells_mean(values, per_cell)
        return Interval(number, number)
    return cells_interval(values, per_cell)


def _judge(claim: Claim, ours: float, interval: Interval | None, runs: pl.DataFrame) -> Finding:
    """Judge a number by its interval: inside of the accepted range, outside of it, or neither."""
    assert claim.accepted is not None
    low, high = (end + sign * ROUNDING * max(1.0, abs(end)) for end, sign in zip(claim.accepted, (-1, 1), strict=True))
    if interval is None:
        return Finding(UNDECIDED, ours, None, "too few seeds", runs)
    if low <= interval.low and interval.high <= high:
        return Finding(REPRODUCED, ours, interval, "", runs)
    if interval.low <= high and low <= interval.high:
        return Finding(UNDECIDED, ours, interval, "the interval is only partly in the range", runs)
    if claim.kind == "equal":
        where = "below" if ours > high else "above"
        return Finding(REFUTED, ours, interval, f"more than {number_text(claim.within)} % {where}", runs)
    return Finding(REFUTED, ours, interval, "larger" if ours > high else "smaller", runs)


def _with_direction(claim: Claim, judged: Finding) -> Finding:
    """Return the judgement of a saving or a ratio with what the runs say about the published direction."""
    if judged.verdict == REPRODUCED or judged.interval is None:
        return judged
    assert claim.accepted is not None
    assert judged.ours is not None
    low, high = claim.accepted
    neutral = 1.0 if claim.kind == "ratio" else 0.0
    if low < neutral < high:
        return judged
    sign = _sign(judged.interval, neutral, ROUNDING)
    is_published = sign == (1 if low >= neutral else -1)
    if judged.verdict == UNDECIDED:
        return replace(judged, detail="only its direction is beyond chance" if is_published else judged.detail)
    is_larger = abs(judged.ours - neutral) > max(abs(low - neutral), abs(high - neutral))
    size = "larger" if is_larger else "smaller"
    if is_published:
        return replace(judged, verdict=DIRECTION, detail=size)
    if sign is None:
        return replace(judged, detail=f"{size}, of unclear sign")
    return replace(judged, detail="opposite direction" if sign else "equal")


def _sign(interval: Interval, neutral: float, slack: float) -> int | None:
    """Return the sign of all numbers of an interval against the neutral one; None if it has several."""
    low, high = interval.low - neutral, interval.high - neutral
    if -slack <= low and high <= slack:
        return 0
    return 1 if low > 0.0 else -1 if high < 0.0 else None


def _order(claim: Claim, complete: list[pl.DataFrame]) -> Finding:
    """Whether `method` is below each of `against`, in all comparisons beyond chance."""
    runs = pl.concat(complete)
    wrong, unclear, few = [], [], ""
    for name in claim.against:
        values = _by_seed([_columns(part, claim.measure, (claim.roles[0], name)) for part in complete])
        interval = _interval(claim, values, _differences)
        sign = None if interval is None else _sign(interval, 0.0, ROUNDING * float(np.nanmax(np.abs(values))))
        if sign in (0, 1):
            wrong.append(name)
        elif sign is None:
            unclear.append(name)
            few = "too few seeds, " if interval is None else few
    if wrong:
        return Finding(REFUTED, detail=f"not below {', '.join(wrong)}", runs=runs)
    if unclear:
        return Finding(UNDECIDED, detail=f"{few}not clearly below {', '.join(unclear)}", runs=runs)
    return Finding(REPRODUCED, detail="each difference is beyond chance", runs=runs)


def _absolute(claim: Claim, runs: pl.DataFrame) -> Finding:
    """Compare one number with the accepted range; the largest value and the median of the runs have no interval."""
    if claim.kind in ("most", "median"):
        assert claim.accepted is not None
        values = runs[claim.measure].to_numpy().astype(float)
        ours = float(values.max() if claim.kind == "most" else np.median(values))
        return Finding(REPRODUCED if ours <= claim.accepted[1] else REFUTED, ours, None, "", runs)
    return _judge_mean(claim, runs.rename({claim.measure: OF}), cells_of(claim, runs), runs)


def _growth(claim: Claim, runs: pl.DataFrame) -> Finding:
    """Compare the exponent with the published one."""
    cells = cells_of(claim, runs)
    exponents, used = growth_exponents(claim, runs, cells)
    if not len(exponents):
        return Finding(UNDECIDED, detail=f"no seed has runs at two values of {claim.factor}", runs=used)
    return _judge_mean(claim, exponents, cells, used)


def _judge_mean(claim: Claim, numbers: pl.DataFrame, factors: list[str], runs: pl.DataFrame) -> Finding:
    """Judge the mean over cells of the means of a column `OF`."""
    parts = numbers.partition_by(factors, maintain_order=True) if factors else [numbers]
    values = _by_seed([part.select("seed", pl.col(OF).alias("0")) for part in parts])
    return _judge(claim, cells_mean(values, _itself), _interval(claim, values, _itself), runs)


def _total(claim: Claim, runs: pl.DataFrame) -> Finding:
    """Compare a total over all runs, stored or extrapolated, with the largest that the claim allows."""
    assert claim.published is not None
    total, arms = total_over_runs(claim, runs)
    if total is None:
        return Finding(UNDECIDED, detail=f"{count_text(arms, 'arm')} with runs of fewer than two sizes", runs=runs)
    detail = "" if len(runs) == claim.runs else f"extrapolated from {len(runs)} of {claim.runs} runs"
    return Finding(REPRODUCED if total <= claim.published[1] else REFUTED, total, None, detail, runs)


def _mean(values: pl.Series) -> float:
    return float(values.to_numpy().astype(float).mean())


def _common_seeds(part: pl.DataFrame) -> pl.DataFrame:
    """Keep the seeds at which every method of the cell has a value, so that all means are over equal instances."""
    counts = part.group_by("seed").agg(pl.col(ROLE).n_unique().alias(ROLES))
    whole = counts.filter(pl.col(ROLES) == part[ROLE].n_unique())["seed"]
    return part.filter(pl.col("seed").is_in(whole.to_list(), nulls_equal=True))


def _columns(part: pl.DataFrame, measure: str, roles: tuple[str, ...]) -> pl.DataFrame:
    """Return the seeds of a cell with the values of each role, in columns `0`, `1`."""
    found = part.select("seed").unique(maintain_order=True)
    for number, role in enumerate(roles):
        one = part.filter(pl.col(ROLE) == role).select("seed", pl.col(measure).cast(pl.Float64).alias(str(number)))
        found = found.join(one, on="seed", how="inner", nulls_equal=True, maintain_order="left")
    return found


def _by_seed(cells: list[pl.DataFrame]) -> Floats:
    """Return the values of each seed, cell and column; NaN where a cell lacks a seed."""
    seeds = pl.concat([cell.select("seed") for cell in cells]).unique().sort("seed")
    rows = [seeds.join(cell, on="seed", how="left", nulls_equal=True, maintain_order="left") for cell in cells]
    return np.stack([row.drop("seed").cast(pl.Float64).to_numpy() for row in rows], axis=1)


# --- power laws over a factor ----------------------------------------------------------------------------------------


def growth_exponents(claim: Claim, runs: pl.DataFrame, others: list[str]) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the exponent (`OF`) of every instance with positive values at two values of the factor, and the runs used.

    An instance is a seed with one combination of the `others`. It is the slope of log(measure) over log(factor) by
    least squares; with `against`, the measure is that of the method divided by that of the other one.
    """
    keys = [*others, "seed", claim.factor]
    wide = runs.select(*keys, ROLE, claim.measure).pivot(ROLE, index=keys, values=claim.measure)
    if set(claim.roles) - set(wide.columns):
        return runs.head(0), runs.head(0)
    value = pl.col(claim.roles[0]) if not claim.against else pl.col(claim.roles[0]) / pl.col(claim.against[0])
    wide = wide.with_columns(value.alias(OF)).filter(pl.col(OF).is_finite() & (pl.col(OF) > 0))
    exponents, used = [], []
    for part in wide.partition_by([*others, "seed"], maintain_order=True):
        if len(part) < 2:
            continue
        exponent = slope(part[claim.factor].to_numpy().astype(float), part[OF].to_numpy())
        exponents.append(part.select(*others, "seed", pl.lit(exponent).alias(OF)).head(1))
        used.append(part.select(keys))
    if not used:
        return runs.head(0), runs.head(0)
    used_runs = runs.join(pl.concat(used), on=keys, how="semi", nulls_equal=True, maintain_order="left")
    return pl.concat(exponents), used_runs


def total_over_runs(claim: Claim, runs: pl.DataFrame) -> tuple[float | None, int]:
    """Return the total of the measure over all runs of the campaign, and how many arms cannot be extrapolated.

    A pair of arm and size with some runs counts with their mean; one without any with a power law through the means of
    its arm, which needs two sizes.
    """
    arms = runs.partition_by(claim.arms, maintain_order=True)
    per_pair = claim.runs / (len(arms) * len(claim.sizes))
    total, short = 0.0, 0
    for arm in arms:
        means = arm.group_by(claim.factor).agg(pl.col(claim.measure).mean().alias(OF))
        known = dict(zip(means[claim.factor].cast(pl.Float64), means[OF], strict=True))
        missing = [size for size in claim.sizes if size not in known]
        if missing and len(known) < 2:
            short += 1
            continue
        total += per_pair * sum(known.values())
        if missing:
            size, of = np.array(list(known)), np.array(list(known.values()))
            power = slope(size, of)
            level = np.log(of).mean() - power * np.log(size).mean()
            total += per_pair * float(np.exp(level + power * np.log(missing)).sum())
    return (None, short) if short else (total, 0)


def slope(sizes: Floats, values: Floats) -> float:
    """Return the slope of log(values) over log(sizes) by least squares."""
    return float(np.polynomial.Polynomial.fit(np.log(sizes), np.log(values), 1).convert().coef[-1])
