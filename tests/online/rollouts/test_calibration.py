"""Corrections of quantiles: shares that hold on new cases, also after a change; and the detection of one."""

from __future__ import annotations

import numpy as np
import pytest

from gpusched_dsl.ir.arrays import Floats
from gpusched_dsl.online.rollouts.calibration import (
    LEAST_CASES,
    PastForecast,
    calibrate,
    censored_quantile,
    corrected_waits,
    corrections,
    drift_text,
)

SHARES = (0.1, 0.5, 0.9)
HOUR = 3600.0


def forecasts(seed: int, times: int, drift: float, jobs: int = 5) -> tuple[list[PastForecast], float]:
    """Forecasts whose law is too narrow; from the middle on, waits are longer by the factor `drift`. And the end."""
    random = np.random.default_rng(seed)
    found, quantiles = [], np.exp(np.array([-0.3, 0.0, 0.3])) * HOUR
    for at in range(times):
        waits = HOUR * random.lognormal(0.0, 1.0, jobs) * (drift if at > times // 2 else 1.0)
        found.append(PastForecast(at * HOUR, waits, np.tile(quantiles, (jobs, 1))))
    return found, times * HOUR


@pytest.mark.parametrize("drift", [1.0, 8.0, 0.1])
def test_corrected_quantiles_hold_on_later_cases(drift: float) -> None:
    found, now = forecasts(3, 400, drift)
    raw = np.mean(np.concatenate([one.waits[:, None] <= one.quantiles for one in found]), axis=0)
    assert max(abs(raw - SHARES)) > 0.2
    calibration = calibrate(found, now)
    assert calibration.coverage is not None
    assert calibration.cases > 1800
    assert calibration.coverage == pytest.approx(SHARES, abs=0.05)
    assert 0.88 <= calibration.coverage[2] <= 0.92
    later, _ = forecasts(4, 400, drift)  # after the change
    held = np.concatenate([o.waits[:, None] <= corrected_waits(o.quantiles, calibration.factors) for o in later[250:]])
    assert held.mean(axis=0) == pytest.approx(SHARES, abs=0.15)


@pytest.mark.parametrize("until", [5.0, 40.5, 77.25, 100.0])
def test_a_correction_uses_only_what_was_known(until: float) -> None:
    """Other outcomes of jobs that still wait, and later forecasts, do not change it."""
    found, _ = forecasts(5, 100, 3.0)
    time = until * HOUR
    known = [one for one in found if one.time < time]
    other = [
        PastForecast(one.time, np.where(one.time + one.waits > time, one.waits * 7.0, one.waits), one.quantiles)
        for one in known
    ]
    assert calibrate(known, time).factors == calibrate(other, time).factors
    first, second = corrections(found, time), corrections(known, time)
    assert (first is None) == (second is None) == (until == 5.0)
    if first is not None and second is not None:
        assert first.tolist() == second.tolist()


def test_few_cases_correct_nothing() -> None:
    found, _ = forecasts(1, (LEAST_CASES - 1) // 5, 1.0)
    calibration = calibrate(found, 1e9)
    assert (calibration.factors, calibration.coverage, calibration.corrects) == ((1.0, 1.0, 1.0), None, False)


def plain_quantile(values: Floats, share: float) -> float:
    """The smallest value with at least this share of the values at or below it."""
    ordered = sorted(values.tolist())
    return next(float(v) for at, v in enumerate(ordered) if (at + 1) / len(ordered) >= share - 1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_quantiles_of_censored_values(seed: int) -> None:
    """Without censoring they are plain ones; with it they are near those of the true values, which are not known."""
    random = np.random.default_rng(seed)
    values, ends = random.exponential(1.0, 3000), random.exponential(2.0, 3000)
    weights, seen = np.ones(3000), values <= ends
    for share in SHARES:
        every = censored_quantile(values[:40], np.ones(40, dtype=np.bool_), np.ones(40), share)
        assert every == plain_quantile(values[:40], share)
        found = censored_quantile(np.minimum(values, ends), seen, weights, share)
        assert found == pytest.approx(-np.log(1 - share), rel=0.2)
        assert found > np.quantile(values[seen], share), "jobs that still wait are not left out"
    none_seen = censored_quantile(values, np.zeros(3000, dtype=np.bool_), weights, 0.5)
    assert none_seen > values.max()


def test_a_change_of_lengths_is_told_with_its_p_value() -> None:
    random = np.random.default_rng(2)
    same = random.lognormal(8.0, 1.0, 300)
    assert drift_text(same) is None
    longer = drift_text(np.where(np.arange(300) >= 200, 4.0 * same, same))
    assert longer is not None
    assert longer.startswith("recent jobs are longer than earlier ones: median ")
    assert "p = " in longer
    shorter = drift_text(np.where(np.arange(300) >= 200, same / 4.0, same))
    assert shorter is not None
    assert "shorter" in shorter
    assert drift_text(np.where(np.arange(45) >= 30, 4.0 * same[:45], same[:45])) is None, "too few jobs for a test"


def test_false_alarms_are_rare() -> None:
    random = np.random.default_rng(9)
    alarms = [drift_text(random.lognormal(8.0, 1.0, 150)) is not None for _ in range(400)]
    assert np.mean(alarms) <= 0.025
