"""Laws of random quantities in a problem file: one tagged form per class."""

from __future__ import annotations

import msgspec
import numpy as np

from gpusched_dsl.ir.distributions import (
    Censored,
    Distribution,
    Exponential,
    LinearSurvival,
    LogNormal,
    Mixture,
    Normal,
    Truncated,
    Weibull,
)
from gpusched_dsl.ir.distributions.restricted import check_chance
from gpusched_dsl.ir.json.arrays import Broken, Side, Unwritable, finite, plain, same_length
from gpusched_dsl.ir.matrix import Floats
from gpusched_dsl.ir.tolerances import ROUNDING


class Law(msgspec.Struct, tag_field="kind", forbid_unknown_fields=True):
    """The law of a random number W."""


class ExponentialLaw(Law, tag="exponential"):
    """P(W > x) = exp(-(x - offset) / scale) for x >= offset."""

    scale: float
    offset: float


class WeibullLaw(Law, tag="weibull"):
    """P(W > x) = exp(-(x / scale)^shape) for x >= 0."""

    scale: float
    shape: float


class NormalLaw(Law, tag="normal"):
    """The normal law."""

    centre: float
    deviation: float


class LogNormalLaw(Law, tag="lognormal"):
    """The law of exp(N) with N normal around log(median) with deviation `sigma`."""

    median: float
    sigma: float


class LinearSurvivalLaw(Law, tag="linear_survival"):
    """P(W >= knots[i]) = left[i] and P(W > knots[i]) = right[i]; linear between, 1 before and 0 behind the knots."""

    knots: list[float]
    left: list[float]
    right: list[float]


class TruncatedLaw(Law, tag="truncated"):
    """The law of W given low < W <= high."""

    law: LawFile
    low: Side
    high: Side


class CensoredLaw(Law, tag="censored"):
    """The law of min(W, high)."""

    law: LawFile
    high: float


class MixtureLaw(Law, tag="mixture"):
    """`laws[i]` with probability `weights[i]`."""

    laws: list[LawFile]
    weights: list[float]


LawFile = (
    ExponentialLaw | WeibullLaw | NormalLaw | LogNormalLaw | LinearSurvivalLaw | TruncatedLaw | CensoredLaw | MixtureLaw
)


def law_file(law: Distribution) -> LawFile:
    """The form of a law; raises Unwritable for a class that has none."""
    match law:
        case Exponential():
            return ExponentialLaw(law.scale, law.offset)
        case Weibull():
            return WeibullLaw(law.scale, law.shape)
        case Normal():
            return NormalLaw(law.centre, law.deviation)
        case LogNormal():
            return LogNormalLaw(law.median, law.sigma)
        case LinearSurvival():
            return LinearSurvivalLaw(plain(law.knots), plain(law.left), plain(law.right))
        case Truncated():
            return TruncatedLaw(law_file(law.law), law.low, law.high)  # msgspec writes infinite ends as null
        case Censored():
            return CensoredLaw(law_file(law.law), law.high)
        case Mixture():
            return MixtureLaw([law_file(one) for one in law.laws], plain(law.weights))
    raise Unwritable(f"a law of the class `{type(law).__name__}`")


def law_of(stored: LawFile, place: str) -> Distribution:
    """The law; raises Broken when it is none."""
    try:
        law = _law(stored, place)
        if not np.isfinite(law.mean):
            raise ValueError("the mean is not finite")
    except (ValueError, OverflowError) as failure:
        raise Broken(f"{place} is no law: {failure}") from failure
    return law


def _law(stored: LawFile, place: str) -> Distribution:
    match stored:
        case ExponentialLaw():
            return Exponential(stored.scale, stored.offset)
        case WeibullLaw():
            return Weibull(stored.scale, stored.shape)
        case NormalLaw():
            return Normal(stored.centre, stored.deviation)
        case LogNormalLaw():
            return LogNormal(stored.median, stored.sigma)
        case LinearSurvivalLaw():
            return _linear_survival(stored, place)
        case TruncatedLaw():
            law = law_of(stored.law, f"{place}.law")
            low = -np.inf if stored.low is None else stored.low
            high = np.inf if stored.high is None else stored.high
            check_chance(law, low, high)
            return Truncated(law, low, high)
        case CensoredLaw():
            finite([stored.high], f"{place}.high")
            return Censored(law_of(stored.law, f"{place}.law"), stored.high)
        case MixtureLaw():
            return _mixture(stored, place)


def _linear_survival(stored: LinearSurvivalLaw, place: str) -> LinearSurvival:
    same_length(stored.left, len(stored.knots), f"{place}.left", "knots")
    same_length(stored.right, len(stored.knots), f"{place}.right", "knots")
    knots = finite(stored.knots, f"{place}.knots")
    left, right = finite(stored.left, f"{place}.left"), finite(stored.right, f"{place}.right")
    if not len(knots) or (np.diff(knots) <= 0).any():
        raise Broken(f"{place}.knots does not increase, or is empty")
    along: Floats = np.column_stack((left, right)).reshape(-1)  # the survival, from the first knot to the last
    if along[0] != 1 or along[-1] != 0 or (np.diff(along) > ROUNDING).any():
        raise Broken(f"{place}: the survival does not fall from 1 to 0")
    return LinearSurvival(knots, left, right)


def _mixture(stored: MixtureLaw, place: str) -> Mixture:
    same_length(stored.weights, len(stored.laws), f"{place}.weights", "laws")
    weights = finite(stored.weights, f"{place}.weights")
    if (weights <= 0).any() or abs(weights.sum() - 1) > ROUNDING:
        raise Broken(f"{place}.weights are not positive with a sum of 1")
    return Mixture(tuple(law_of(one, f"{place}.laws[{k}]") for k, one in enumerate(stored.laws)), weights)
