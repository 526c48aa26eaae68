"""Laws against numeric integration of their survival functions, against samples, and against Bayes."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from laws import SIMPLE, random_law, simple_law
from numpy.testing import assert_allclose
from scipy.integrate import quad

from gpusched_dsl.ir.distributions import (
    Distribution,
    Exponential,
    LinearSurvival,
    LogNormal,
    Normal,
    Weibull,
    deterministic,
    discrete,
    mixture,
    survival_points,
    uniform,
)

SEEDS = [*range(16), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(16, 80))]


def law_of(seed: int) -> Distribution:
    rng = np.random.default_rng(seed)
    return simple_law(rng, SIMPLE[seed]) if seed < len(SIMPLE) else random_law(rng)


def span_of(law: Distribution) -> tuple[float, float]:
    """Where all but a billionth of the mass lies."""
    return float(law.inv_lo(np.array(1 - 1e-9))), float(law.inv_hi(np.array(1e-9)))


def points_of(law: Distribution, seed: int, count: int = 25) -> np.ndarray:
    low, high = span_of(law)
    width = max(high - low, 1.0)
    inside = np.random.default_rng(seed).uniform(low - 0.1 * width, high + 0.1 * width, count)
    return np.concatenate((inside, law.jumps, law.kinks))


@pytest.mark.parametrize("seed", SEEDS)
def test_partial_expectation_is_the_integral_of_the_survival_function(seed: int) -> None:
    law = law_of(seed)
    low, high = span_of(law)
    cuts = np.unique(np.concatenate((law.kinks, law.inv_lo(np.linspace(0.001, 0.999, 7)), [low, high])))
    cuts = cuts[(cuts >= low) & (cuts <= high)]
    at = law.partial_expectation(cuts)
    for a, b, rise in zip(cuts, cuts[1:], np.diff(at), strict=False):
        inside = (a + 1e-12 * (b - a), b - 1e-12 * (b - a))
        area, _ = quad(lambda x: float(law.survival(np.array(x))), *inside, epsabs=1e-11, epsrel=1e-10)
        assert rise == pytest.approx(area, rel=1e-7, abs=1e-8 * max(1.0, abs(high)))
    assert_allclose(law.partial_expectation(np.array(law.inv_hi(np.array(0.0)))), law.mean, rtol=1e-9)
    below = np.array([low - 1e6]) if np.isfinite(law.support[0]) else np.array([law.mean - 1e9])
    assert_allclose(law.partial_expectation(below), below, rtol=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
def test_partial_expectation_and_stop_loss_make_up_the_mean(seed: int) -> None:
    law = law_of(seed)
    x = points_of(law, seed)
    scale = max(1.0, abs(law.mean))
    assert_allclose(law.partial_expectation(x) + law.stop_loss(x), law.mean, atol=1e-9 * scale)
    assert float(law.stop_loss(np.array(np.inf))) == 0.0
    assert float(law.partial_expectation(np.array(np.inf))) == pytest.approx(law.mean)
    assert np.all(law.stop_loss(x) >= 0)


@pytest.mark.parametrize("seed", SEEDS)
def test_survival_falls_from_one_to_zero_and_jumps_only_where_it_says(seed: int) -> None:
    law = law_of(seed)
    x = np.sort(points_of(law, seed, 200))
    survival, left = law.survival(x), law.survival_left(x)
    assert np.all(np.diff(survival) <= 1e-12)
    assert np.all(left >= survival - 1e-12)
    assert np.all((survival >= -1e-12) & (survival <= 1 + 1e-12))
    jumping = left > survival + 1e-9
    assert set(x[jumping]) <= set(law.jumps)
    low, high = law.support
    assert float(law.survival_left(np.array(low))) == pytest.approx(1.0) if np.isfinite(low) else True
    assert float(law.survival(np.array(high))) == pytest.approx(0.0, abs=1e-12) if np.isfinite(high) else True
    if law.atoms is not None:
        values, weights = law.atoms
        assert_allclose(weights.sum(), 1.0)
        assert_allclose(weights, law.survival_left(values) - law.survival(values), atol=1e-12)
        assert_allclose(weights @ values, law.mean)


@pytest.mark.parametrize("seed", SEEDS)
def test_inverses_are_the_ends_of_level_sets(seed: int) -> None:
    law = law_of(seed)
    rng = np.random.default_rng(seed)
    kinks = law.kinks
    levels = np.concatenate((rng.uniform(0.0, 1.0, 30), law.survival(kinks), law.survival_left(kinks)))
    levels = levels[(levels > 1e-6) & (levels < 1 - 1e-6)]
    low, high = law.inv_lo(levels), law.inv_hi(levels)
    step = 1e-7 * np.maximum(1.0, np.abs(low))
    tiny = 1e-9
    assert np.all(law.survival(low + step) <= levels + tiny)
    inside = low > law.support[0] + 2 * step
    assert np.all((law.survival(low - step) >= levels - tiny)[inside])
    assert np.all(law.survival_left(high - step) >= levels - tiny)
    inside = high < law.support[1] - 2 * step
    assert np.all((law.survival_left(high + step) <= levels + tiny)[inside])
    assert np.all(low <= high + 1e-6 * np.maximum(1.0, np.abs(high)))
    assert float(law.inv_hi(np.array(0.0))) == pytest.approx(law.support[1])
    assert float(law.inv_lo(np.array(1.0))) == pytest.approx(law.support[0])


def test_inverses_of_a_mixture_do_not_depend_on_what_else_is_asked() -> None:
    law = mixture([Weibull(50.0, 2.0), Exponential(20.0)], np.array([0.4, 0.6]))
    levels = np.array([0.0, 0.3, 1.0])
    for inverse in (law.inv_lo, law.inv_hi):
        assert_allclose(inverse(levels), [float(inverse(np.array(y))) for y in levels])


def test_inverses_of_a_discrete_law_span_its_flat_parts() -> None:
    law = discrete(np.array([10.0, 20.0, 40.0, 70.0, 100.0]), np.array([0.3, 0.2, 0.2, 0.1, 0.2]))
    y = np.array([0.0, 0.1, 0.2, 0.25, 0.5, 0.6, 0.7, 1.0])
    assert_allclose(law.inv_lo(y + 1e-12), [100, 100, 70, 70, 20, 20, 10, 10])
    assert_allclose(law.inv_hi(y - 1e-12), [100, 100, 100, 70, 40, 20, 20, 10])


@pytest.mark.parametrize("seed", SEEDS)
def test_samples_have_the_law(seed: int) -> None:
    law = law_of(seed)
    draws = law.sample(np.random.default_rng(1000 + seed), 20_000)
    for x in law.inv_lo(np.array([0.9, 0.5, 0.2])):
        chance = float(law.survival(np.array(x)))
        assert float((draws > x).mean()) == pytest.approx(chance, abs=0.02)
    x = float(law.inv_lo(np.array(0.3)))
    spread = float(np.minimum(draws, x).std())
    assert float(np.minimum(draws, x).mean()) == pytest.approx(
        float(law.partial_expectation(np.array(x))), abs=5 * spread / 141 + 1e-9
    )


@pytest.mark.parametrize("seed", SEEDS)
def test_conditioning_is_bayes(seed: int) -> None:
    law = law_of(seed)
    rng = np.random.default_rng(2000 + seed)
    low, high = np.sort(law.inv_lo(rng.uniform(0.02, 0.98, 2)))
    if law.chance(low, high) <= 1e-9:
        low = -np.inf
    given = law.truncate(float(low), float(high))
    x = np.concatenate((points_of(law, seed), [low, high], given.kinks))
    x = x[np.isfinite(x)]
    chance = law.survival(np.array(low)) - law.survival(np.array(high))
    inside = (law.survival(np.clip(x, low, high)) - law.survival(np.array(high))) / chance
    assert_allclose(given.survival(x), inside, atol=1e-9)
    assert_allclose(law.survival_given(x, np.array(low), np.array(high)), inside, atol=1e-9)
    left = (law.survival_left(x) - law.survival(np.array(high))) / chance
    assert_allclose(given.survival_left(x), np.where(x <= low, 1.0, np.where(x > high, 0.0, left)), atol=1e-9)
    scale = max(1.0, abs(law.mean), abs(high))
    vectorised = law.partial_expectation_given(x, np.array(low), np.array(high))
    assert_allclose(given.partial_expectation(x), vectorised, atol=1e-8 * scale)
    draws = law.sample(rng, 40_000)
    draws = draws[(draws > low) & (draws <= high)]
    if len(draws) > 500:
        assert float(draws.mean()) == pytest.approx(given.mean, abs=6 * float(draws.std()) / len(draws) ** 0.5 + 1e-9)
        assert draws.min() >= given.support[0] - 1e-9 * scale
        assert draws.max() <= given.support[1] + 1e-9 * scale


@pytest.mark.parametrize("seed", SEEDS)
def test_censoring_moves_the_rest_to_the_end(seed: int) -> None:
    law = law_of(seed)
    high = float(law.inv_lo(np.array(0.4)))
    moved = law.censor(high)
    x = points_of(law, seed)
    assert_allclose(moved.partial_expectation(x), law.partial_expectation(np.minimum(x, high)), atol=1e-9)
    assert moved.mean == pytest.approx(float(law.partial_expectation(np.array(high))))
    assert moved.support[1] == high or law.support[1] <= high
    left = float(moved.survival_left(np.array(high)))
    assert left == pytest.approx(float(law.survival_left(np.array(high))))


def test_the_tail_keeps_its_precision() -> None:
    far = {"exponential": Exponential(40.0), "weibull": Weibull(45.0, 1.5), "lognormal": LogNormal(33.0, 0.5)}
    for law in [*far.values(), Normal(50.0, 10.0)]:
        start = float(law.inv_hi(np.array(1e-30)))
        given = law.condition_above(start)
        area, _ = quad(lambda x, g=given: float(g.survival(np.array(x))), start, start + 10.0, epsrel=1e-11)
        assert float(given.partial_expectation(np.array(start + 10.0))) - start == pytest.approx(area, rel=1e-6)
    assert Exponential(40.0).condition_above(1e6).mean == 1e6 + 40.0


def test_closed_forms() -> None:
    """The formulas of the literature, written out."""
    x = np.linspace(0.0, 100.0, 11)
    mu, q = 0.03, np.exp(-3.0)
    law = Exponential(1 / mu)
    assert_allclose(law.censor(100.0).partial_expectation(x), (1 - np.exp(-mu * x)) / mu)
    assert_allclose(
        law.truncate(0.0, 100.0).partial_expectation(x), ((1 - np.exp(-mu * x)) / mu - q * x) / (1 - q), atol=1e-12
    )
    a = np.linspace(20.0, 100.0, 9)
    assert_allclose(uniform(20.0, 100.0).partial_expectation(a), a - (a - 20) ** 2 / 160)
    points = survival_points(np.array([0.0, 30.0, 100.0]), np.array([1.0, 0.4, 0.1]))
    assert points.mean == pytest.approx(30 * 0.7 + 70 * 0.25)
    assert_allclose(points.jumps, [100.0])


def test_mixtures_of_piecewise_linear_laws_are_one() -> None:
    law = mixture([uniform(0.0, 10.0), discrete(np.array([2.0, 7.0]))], np.array([1.0, 3.0]))
    assert isinstance(law, LinearSurvival)
    assert law.mean == pytest.approx(0.25 * 5 + 0.75 * 4.5)
    assert mixture([deterministic(3.0), deterministic(3.0)], np.array([0.5, 0.5])).atoms is not None


@pytest.mark.parametrize(
    "make",
    [
        lambda: Exponential(0.0),
        lambda: Exponential(np.nan),
        lambda: Exponential(-2.0),
        lambda: uniform(3.0, 3.0),
        lambda: uniform(5.0, 1.0),
        lambda: uniform(0.0, np.inf),
        lambda: Weibull(1.0, 0.0),
        lambda: Weibull(1.0, 0.01),
        lambda: LogNormal(-1.0, 1.0),
        lambda: LogNormal(1.0, 100.0),
        lambda: Normal(0.0, 0.0),
        lambda: discrete(np.zeros(0)),
        lambda: discrete(np.array([np.nan])),
        lambda: discrete(np.array([1.0, 2.0]), np.array([1.0, -1.0])),
        lambda: discrete(np.array([1.0, 2.0]), np.array([0.0, 0.0])),
        lambda: survival_points(np.array([0.0, 1.0]), np.array([0.5, 0.6])),
        lambda: survival_points(np.array([1.0, 0.0]), np.array([0.5, 0.4])),
        lambda: survival_points(np.array([0.0, 1.0]), np.array([1.5, 0.4])),
        lambda: mixture([], np.zeros(0)),
        lambda: mixture([uniform(0.0, 1.0)], np.array([-1.0])),
        lambda: uniform(0.0, 1.0).condition_above(1.0),
        lambda: uniform(0.0, 1.0).truncate(0.5, 0.5),
        lambda: Normal(0.0, 1.0).truncate(50.0, 51.0),
        lambda: discrete(np.array([1.0])).condition_above(1.0),
    ],
)
def test_wrong_parameters_are_refused(make) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        make()


def test_scipy_is_loaded_only_when_it_is_needed() -> None:
    code = "import sys, gpusched_dsl.ir.distributions as d; d.Exponential(3.0).mean; assert 'scipy' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
