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

from gpusched_dsl.campaigns.claims.claim_runs import factors_of, select_runs
from gpusched_dsl.campaigns.claims.claims import PAIRED, Claim
from gpusched_dsl.campaigns.claims.powers import ROLE, growth_exponents, total_over_runs
from gpusched_dsl.ir.tolerances import ROUNDING
from gpusched_dsl.language.text.counting import count_text
from gpusched_dsl.reporting.bootstrap import Interval, mean_interval, ratio_interval
from gpusched_dsl.reporting.paired_differences import PairedDifference, paired_differences

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
    """Compare at equal seeds, each cell relative to the mean of its reference: the best of `against`, or `method`."""
    if claim.exact:
        runs = runs.with_columns(seed=pl.lit(None, pl.Int64))
    ours, factors = claim.roles[0], [name for name in factors_of(runs) if name != claim.factor]
    parts = runs.partition_by(factors, maintain_order=True) if factors else [runs]
    complete = [part for part in map(_common_seeds, parts) if set(part[ROLE]) == set(claim.roles)]
    if not complete:
        return Finding(UNDECIDED, detail="no cell has runs of all methods", runs=runs.head(0))
    if claim.kind == "order":
        return _order(claim, complete)
    scaled, ratios = [], []
    for number, part in enumerate(complete):
        means = {name: _mean(part.filter(pl.col(ROLE) == name)[claim.measure]) for name in claim.roles}
        best = min(claim.against, key=means.__getitem__)
        reference = means[ours] if claim.kind == "ratio" else means[best]
        if not reference:
            return Finding(UNDECIDED, detail="the mean of the reference is 0", runs=runs)
        rows = part.filter(pl.col(ROLE).is_in([ours, best]))
        role = pl.when(pl.col(ROLE) == ours).then(pl.lit("ours")).otherwise(pl.lit("theirs"))
        rows = rows.select(role.alias("method"), _instance(number), pl.col(claim.measure) / reference)
        scaled.append(rows)
        by_seed = rows.sort("seed").partition_by("method", as_dict=True)
        ratios.append([by_seed[(name,)][claim.measure] for name in ("ours", "theirs")])
    pair = _difference(pl.concat(scaled), claim.measure, "ours", "theirs")
    runs = pl.concat(complete)
    if pair.mean is None:
        return Finding(UNDECIDED, detail="no common seeds", runs=runs)
    own, other = (pl.concat(parts).to_numpy().astype(float) for parts in zip(*ratios, strict=True))
    if claim.kind == "ratio":
        judged = _judge(claim, 1.0 - pair.mean, ratio_interval(other, own), runs)
    else:
        judged = _judge(claim, -100.0 * pair.mean, _saving(ratio_interval(own, other)), runs)
    return judged if claim.kind == "equal" else _with_direction(claim, judged, pair)


def _judge(claim: Claim, ours: float, interval: Interval | None, runs: pl.DataFrame) -> Finding:
    """Judge a number by its interval: inside of the accepted range, outside of it, or neither."""
    assert claim.accepted is not None
    low, high = (end + sign * ROUNDING * max(1.0, abs(end)) for end, sign in zip(claim.accepted, (-1, 1), strict=True))
    if interval is None and claim.exact:
        interval = Interval(ours, ours)
    if interval is None:
        return Finding(UNDECIDED, ours, None, "too few seeds", runs)
    if low <= interval.low and interval.high <= high:
        return Finding(REPRODUCED, ours, interval, "", runs)
    if interval.low <= high and low <= interval.high:
        return Finding(UNDECIDED, ours, interval, "the interval is only partly in the range", runs)
    return Finding(REFUTED, ours, interval, "larger" if ours > high else "smaller", runs)


def _with_direction(claim: Claim, judged: Finding, pair: PairedDifference) -> Finding:
    """Return the judgement of a saving or a ratio with what the runs say about the published direction."""
    if judged.verdict == REPRODUCED or pair.verdict == "few":
        return judged
    assert claim.accepted is not None
    low, high = claim.accepted
    neutral = 1.0 if claim.kind == "ratio" else 0.0
    if low < neutral < high:
        return judged
    wanted = "better" if low >= neutral else "worse"
    if judged.verdict == UNDECIDED:
        detail = "only its direction is beyond chance" if pair.verdict == wanted else judged.detail
        return replace(judged, detail=detail)
    if pair.verdict == wanted:
        assert judged.ours is not None
        is_larger = abs(judged.ours - neutral) > max(abs(low - neutral), abs(high - neutral))
        return replace(judged, verdict=DIRECTION, detail="larger" if is_larger else "smaller")
    words = {"unclear": f"{judged.detail}, of unclear sign", "equal": "equal"}
    return replace(judged, detail=words.get(pair.verdict, "opposite direction"))


def _order(claim: Claim, complete: list[pl.DataFrame]) -> Finding:
    """Whether `method` is below each of `against`, in all comparisons beyond chance."""
    rows = pl.concat(part.select(_instance(number), claim.measure, method=ROLE) for number, part in enumerate(complete))
    pairs = {name: _difference(rows, claim.measure, claim.roles[0], name) for name in claim.against}
    runs = pl.concat(complete)
    wrong = [name for name, pair in pairs.items() if pair.verdict in ("worse", "equal")]
    if wrong:
        return Finding(REFUTED, detail=f"not below {', '.join(wrong)}", runs=runs)
    unclear = [name for name, pair in pairs.items() if pair.verdict != "better"]
    if unclear:
        few = "too few seeds, " if any(pairs[name].verdict == "few" for name in unclear) else ""
        return Finding(UNDECIDED, detail=f"{few}not clearly below {', '.join(unclear)}", runs=runs)
    return Finding(REPRODUCED, detail="each difference is beyond chance", runs=runs)


def _absolute(claim: Claim, runs: pl.DataFrame) -> Finding:
    """Compare one number with the accepted range; the largest value and the median of the runs have no interval."""
    values = runs[claim.measure].to_numpy().astype(float)
    if claim.kind in ("most", "median"):
        assert claim.accepted is not None
        ours = float(values.max() if claim.kind == "most" else np.median(values))
        return Finding(REPRODUCED if ours <= claim.accepted[1] else REFUTED, ours, None, "", runs)
    return _judge(claim, float(values.mean()), mean_interval(values), runs)


def _growth(claim: Claim, runs: pl.DataFrame) -> Finding:
    """Compare the exponent with the published one."""
    cells = [name for name in factors_of(runs) if name not in (claim.factor, *claim.together)]
    exponents, used = growth_exponents(claim, runs, cells)
    if not len(exponents):
        return Finding(UNDECIDED, detail=f"no seed has runs at two values of {claim.factor}", runs=used)
    return _judge(claim, float(exponents.mean()), mean_interval(exponents), used)


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


def _instance(cell: int) -> pl.Expr:
    """A number for each cell and seed: differences are paired by it. One cell without seeds stays without."""
    seed = pl.col("seed").cast(pl.Int64)
    return (seed if cell == 0 else seed.fill_null(0) + 1_000_000 * cell).alias("seed")


def _difference(rows: pl.DataFrame, measure: str, method: str, baseline: str) -> PairedDifference:
    two = rows.filter(pl.col("method").is_in([method, baseline]))
    compared = paired_differences(two, value=measure, baseline=baseline)
    assert compared is not None
    return compared[method]


def _saving(ratio: Interval | None) -> Interval | None:
    """Return the interval of a saving in % from that of ours over theirs."""
    return None if ratio is None else Interval(100.0 * (1.0 - ratio.high), 100.0 * (1.0 - ratio.low))
