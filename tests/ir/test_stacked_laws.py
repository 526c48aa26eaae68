"""Laws that are stacked against the same laws one by one: the same numbers, bit for bit."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from laws import random_law
from numpy.testing import assert_array_equal

from gpusched_dsl.ir.arrays import Codes, Floats
from gpusched_dsl.ir.distributions import Distribution, Exponential, LinearSurvival
from gpusched_dsl.ir.distributions.stacked import DistinctLaws

TABLES = ("discrete", "deterministic", "uniform", "points")
SEEDS = [*range(12), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(12, 200))]

OF_VALUES: dict[str, Callable[[Distribution, Floats], Floats]] = {
    "survival": lambda law, x: law.survival(x),
    "survival_left": lambda law, x: law.survival_left(x),
    "partial_expectation": lambda law, x: law.partial_expectation(x),
    "stop_loss": lambda law, x: law.stop_loss(x),
}
OF_LEVELS: dict[str, Callable[[Distribution, Floats], Floats]] = {
    "inv_lo": lambda law, y: law.inv_lo(y),
    "inv_hi": lambda law, y: law.inv_hi(y),
}


def one_by_one(laws: DistinctLaws, which: Codes, function: Callable[..., Floats], *arrays: Floats) -> list[float]:
    rows = range(len(which))
    return [float(np.squeeze(function(laws[which[i]], *(a[i : i + 1] for a in arrays)))) for i in rows]


def drawn(rng: np.random.Generator) -> tuple[DistinctLaws, Codes, Floats]:
    """Laws, the law of each row, and a value of each row: at knots, between them and outside."""
    laws = [law for law in (random_law(rng, 1, TABLES) for _ in range(8)) if type(law) is LinearSurvival]
    which = rng.integers(0, len(laws), 200)
    values = np.array([rng.choice(laws[law].knots) for law in which]) + rng.choice([0.0, 0.0, 0.3, -5.0, 400.0], 200)
    values[:4] = [-np.inf, np.inf, 0.0, -0.0]
    return DistinctLaws(laws), which, values


@pytest.mark.parametrize("seed", SEEDS)
def test_functions_of_one_argument(seed: int) -> None:
    rng = np.random.default_rng(seed)
    laws, which, values = drawn(rng)
    levels = np.array([laws[law].survival(x) for law, x in zip(which, values, strict=True)])
    for function in OF_VALUES.values():
        with np.errstate(invalid="ignore"):
            assert_array_equal(laws.each(which, function, values), one_by_one(laws, which, function, values))
    for function in OF_LEVELS.values():
        for given in (levels, rng.random(200)):
            assert_array_equal(laws.each(which, function, given), one_by_one(laws, which, function, given))


@pytest.mark.parametrize("seed", SEEDS)
def test_conditional_expectations(seed: int) -> None:
    rng = np.random.default_rng(seed)
    laws, which, values = drawn(rng)
    ends = np.sort([[rng.choice(laws[law].knots) - rng.choice([0.0, 1.0]) for law in which] for _ in range(2)], axis=0)
    low, high = np.where(rng.random(200) < 0.3, -np.inf, ends[0]), np.where(rng.random(200) < 0.3, np.inf, ends[1])
    some = np.array([law_.chance(a, b) > 0 for law_, a, b in zip((laws[i] for i in which), low, high, strict=True)])
    which, arrays = which[some], (values[some], low[some], high[some])

    def given(law: Distribution, x: Floats, low: Floats, high: Floats) -> Floats:
        return law.partial_expectation_given(x, low, high)

    with np.errstate(invalid="ignore"):
        assert_array_equal(laws.each(which, given, *arrays), one_by_one(laws, which, given, *arrays))


def test_laws_of_other_classes_are_called_one_by_one() -> None:
    laws = DistinctLaws([Exponential(2.0), LinearSurvival(np.array([1.0]), np.array([1.0]), np.array([0.0]))])
    which, values = np.array([0, 1, 0, 1]), np.array([1.0, 0.5, 4.0, 2.0])
    function = OF_VALUES["survival"]
    assert_array_equal(laws.each(which, function, values), one_by_one(laws, which, function, values))


def test_few_of_many_laws_are_called_one_by_one() -> None:
    rng = np.random.default_rng(1)
    laws = DistinctLaws([LinearSurvival(np.array([0.0, 1.0 + n]), np.ones(2), np.array([0.5, 0.0])) for n in range(40)])
    which, values = rng.integers(7, 9, 50), rng.uniform(-1.0, 12.0, 50)
    function = OF_VALUES["survival"]
    assert_array_equal(laws.each(which, function, values), one_by_one(laws, which, function, values))
    assert "_stack" not in vars(laws)
    which = rng.integers(0, 40, 50)
    assert_array_equal(laws.each(which, function, values), one_by_one(laws, which, function, values))
    assert "_stack" in vars(laws)
