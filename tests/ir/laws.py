"""Random distributions of every class, for tests that apply to all of them."""

from __future__ import annotations

import numpy as np

from gpusched_dsl.ir.distributions import (
    Distribution,
    Exponential,
    LogNormal,
    Normal,
    Weibull,
    deterministic,
    discrete,
    mixture,
    survival_points,
    uniform,
)

SIMPLE = ("discrete", "deterministic", "uniform", "points", "exponential", "weibull", "lognormal", "normal")


def random_law(rng: np.random.Generator, depth: int = 2, names: tuple[str, ...] = SIMPLE) -> Distribution:
    """A law that was restricted or mixed up to `depth` times; most of its mass lies in [-10, 200]."""
    how = rng.choice(["plain", "truncated", "above", "censored", "mixture"]) if depth else "plain"
    if how == "plain":
        return simple_law(rng, str(rng.choice(names)))
    if how == "mixture":
        parts = [random_law(rng, depth - 1, names) for _ in range(rng.integers(2, 4))]
        return mixture(parts, rng.uniform(0.1, 1.0, len(parts)))
    law = random_law(rng, depth - 1, names)
    low, high = np.sort(law.inv_lo(rng.uniform(0.02, 0.98, 2)))
    if how == "censored":
        return law.censor(float(high))
    if law.chance(low, high) <= 0:
        return law
    return law.condition_above(float(low)) if how == "above" else law.truncate(float(low), float(high))


def simple_law(rng: np.random.Generator, name: str) -> Distribution:
    size = float(rng.uniform(1.0, 50.0))
    match name:
        case "discrete":
            return discrete(rng.integers(0, 30, 6) * size / 10, rng.uniform(0.0, 1.0, 6))
        case "deterministic":
            return deterministic(size)
        case "uniform":
            return uniform(size / 3, size)
        case "points":
            levels = np.sort(rng.uniform(0.0, 1.0, 5))[::-1].copy()
            levels[rng.integers(0, 5)] = levels[0]
            return survival_points(np.sort(rng.integers(0, 8, 5)) * size / 5, np.sort(levels)[::-1])
        case "exponential":
            return Exponential(size, float(rng.choice([0.0, 5.0])))
        case "weibull":
            return Weibull(size, float(rng.uniform(0.5, 4.0)))
        case "lognormal":
            return LogNormal(size, float(rng.uniform(0.2, 1.5)))
    return Normal(size, float(rng.uniform(1.0, 20.0)))
