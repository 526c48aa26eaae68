"""Corrects quantiles of waiting times by how often earlier ones held in the same run, and detects that jobs changed.

A correction has two parts. The first is a quantile of the ratios of real to forecast waits (split conformal prediction:
V. Vovk, A. Gammerman, G. Shafer, Algorithmic Learning in a Random World, 2005, chapter 4). Jobs that still wait are
censored, not left out, so a queue that grows does not look short (E. L. Kaplan, P. Meier, Journal of the American
Statistical Association 53, 1958). The second follows the errors: a quantile that was exceeded too often grows until it
is not, whatever the cause (I. Gibbs, E. Candes, Adaptive conformal inference under distribution shift, NeurIPS 2021).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from gpusched_dsl.ir.arrays import Bools, Floats

SHARES: Final = (0.1, 0.5, 0.9)
LEAST_CASES: Final = 30  # jobs that have started, from which a correction is computed
SMALL: Final = 60.0  # s, added to waits before they are compared as ratios
STEP: Final = 0.3  # of the logarithm of a factor, after a time at which all cases were missed
BEYOND: Final = 0.7  # added to the largest log ratio where too many jobs still wait for a quantile
LONGEST: Final = 1e9  # s, in place of an infinite forecast
SIGNIFICANT: Final = 0.01  # p value below which two samples differ
LEAST_SAMPLE: Final = 20  # of each of two samples


@dataclass(frozen=True, eq=False)
class PastForecast:
    """What was forecast at a `time` of the past for K waiting jobs, beside what happened. All times are in seconds.

    `waits` (K,) count from `time`, infinite for jobs that still wait; `quantiles` (K, 3) are those of `SHARES`.
    """

    time: float
    waits: Floats
    quantiles: Floats


@dataclass(frozen=True)
class Calibration:
    """Factors for the quantiles of now, and the share of past waits below each quantile, corrected as it was then.

    Without enough cases factors are 1 and `coverage` is None. `cases` counts the waits behind `coverage`: of jobs that
    have started, or have waited beyond all their quantiles.
    """

    factors: tuple[float, ...]
    coverage: tuple[float, ...] | None
    cases: int

    @property
    def corrects(self) -> bool:
        """Whether there were enough cases for factors."""
        return any(factor != 1.0 for factor in self.factors)


def calibrate(forecasts: Sequence[PastForecast], now: float) -> Calibration:
    """Return the correction for `now`, checked at each earlier time with what was known then.

    A miss is known when a wait has exceeded its quantile, a hit when the job has started.
    """
    shares = np.array(SHARES)
    offset, below, cases = np.zeros(len(SHARES)), np.zeros(len(SHARES)), 0
    open_errors: list[tuple[Floats, Floats]] = []  # (K, 3): when an error is known, and its step
    for at, forecast in enumerate(forecasts):
        if not len(forecast.waits):
            continue
        offset = offset + _take_known(open_errors, forecast.time)
        factors = corrections(forecasts[:at], forecast.time, offset)
        if factors is None:
            continue
        corrected = corrected_waits(forecast.quantiles, factors)
        held = forecast.waits[:, None] <= corrected
        is_decided = forecast.time + np.minimum(forecast.waits, corrected[:, -1]) <= now
        below, cases = below + held[is_decided].sum(axis=0), cases + int(is_decided.sum())
        known = forecast.time + np.minimum(forecast.waits[:, None], corrected)
        open_errors.append((known, STEP * (shares - held) / len(held)))
    offset = offset + _take_known(open_errors, now)
    found = corrections(forecasts, now, offset)
    if found is None:
        return Calibration((1.0,) * len(SHARES), None, 0)
    return Calibration(tuple(found.tolist()), tuple((below / cases).tolist()) if cases else None, cases)


def _take_known(open_errors: list[tuple[Floats, Floats]], now: float) -> Floats:
    """Return the sum (3,) of the steps that are known by now, and remove them."""
    total = np.zeros(len(SHARES))
    for at, (known, steps) in enumerate(open_errors):
        is_known = known <= now
        total += (steps * is_known).sum(axis=0)
        open_errors[at] = (np.where(is_known, np.inf, known), steps)
    open_errors[:] = [one for one in open_errors if np.isfinite(one[0]).any()]
    return total


def corrections(forecasts: Sequence[PastForecast], now: float, offset: Floats | float = 0.0) -> Floats | None:
    """The factor of each quantile (3,) by which its share of the past waits is below it; None with too few cases.

    `offset` is added to the logarithms. Each time has the same weight, because jobs that wait together are alike. The
    jobs that started first are not like those that still wait, so logarithms are multiplied by the share that started.
    """
    ratios, started, weights = [np.zeros((0, len(SHARES)))], [np.zeros(0, np.bool_)], [np.zeros(0)]
    for one in forecasts:
        if one.time >= now or not len(one.waits):
            continue
        has_started = one.time + one.waits <= now
        waits = np.where(has_started, one.waits, now - one.time)
        ratios.append(np.log((waits[:, None] + SMALL) / (np.minimum(one.quantiles, LONGEST) + SMALL)))
        started.append(has_started)
        weights.append(np.full(len(waits), 1.0 / len(waits)))
    ratio, event, weight = np.concatenate(ratios), np.concatenate(started), np.concatenate(weights)
    if event.sum() < LEAST_CASES:
        return None
    logarithms = [censored_quantile(ratio[:, at], event, weight, share) for at, share in enumerate(SHARES)]
    known = float(weight[event].sum() / weight.sum())
    found: Floats = np.exp(known * np.array(logarithms) + offset)
    return found


def censored_quantile(values: Floats, seen: Bools, weights: Floats, share: float) -> float:
    """Return a quantile by the estimator of Kaplan and Meier. Of values that are not `seen` the true one is larger.

    Where the share is not reached, it is the largest value plus `BEYOND`.
    """
    order = np.lexsort((~seen, values))  # at equal values those that were seen come first
    value, event, weight = values[order], seen[order], weights[order]
    at_risk = np.cumsum(weight[::-1])[::-1]
    survival = np.cumprod(np.where(event, 1.0 - weight / at_risk, 1.0))
    reached = np.flatnonzero(1.0 - survival >= share - 1e-12)
    return float(value[reached[0]]) if len(reached) else float(value[-1] + BEYOND)


def corrected_waits(quantiles: Floats, factors: Floats | Sequence[float]) -> Floats:
    """Quantiles (K, 3) times their factors, not negative and not decreasing; an infinite one stays infinite."""
    scaled = (quantiles + SMALL) * np.asarray(factors) - SMALL
    found: Floats = np.maximum.accumulate(np.maximum(scaled, 0.0), axis=1)
    return found


def drift_text(lengths: Floats) -> str | None:
    """Say that the last third of the lengths (s, in order of time) differs from the rest; None if it does not.

    The test is that of Kolmogorov and Smirnov for two samples. Jobs of one user come together, so p is rather small.
    """
    from scipy.stats import ks_2samp

    cut = 2 * len(lengths) // 3
    before, recent = lengths[:cut], lengths[cut:]
    if min(len(before), len(recent)) < LEAST_SAMPLE:
        return None
    p = float(ks_2samp(before, recent).pvalue)
    if p >= SIGNIFICANT:
        return None
    old, new = float(np.median(before)), float(np.median(recent))
    how = "longer" if new > old else "shorter" if new < old else "of another distribution"
    chance = "less than 1 in 10,000" if p < 1e-4 else f"about 1 in {round(1 / p):,}"
    return (
        f"recent jobs are {how} than earlier ones: median {_duration(new)}, before {_duration(old)} "
        f"(by chance {chance}: p = {p:.1g})"
    )


def _duration(seconds: float) -> str:
    if seconds < 120.0:
        return f"{seconds:.0f} s"
    return f"{seconds / 60.0:.0f} min" if seconds < 7200.0 else f"{seconds / 3600.0:.1f} h"
