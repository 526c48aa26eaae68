"""Power laws over a factor: how a measure grows, and totals over runs of which only some were executed."""

from __future__ import annotations

import numpy as np
import polars as pl

from gpusched_dsl.campaigns.claims.claims import Claim
from gpusched_dsl.ir.arrays import Floats

ROLE, OF = "# role", "# of"  # columns; no names of factors or measures


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
