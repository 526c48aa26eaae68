"""Distributions of random quantities in a problem file: one tagged form per class, declared with the class."""

from __future__ import annotations

from typing import TYPE_CHECKING, Union

import numpy as np

from gpusched_dsl.ir.distributions import Censored, Distribution, Mixture, Truncated
from gpusched_dsl.ir.distributions.base import StoredDistribution
from gpusched_dsl.ir.distributions.named import named_distribution_classes
from gpusched_dsl.ir.distributions.restricted import check_chance
from gpusched_dsl.ir.json.arrays import Broken, Side, check_length, finite_array, finite_numbers
from gpusched_dsl.ir.tolerances import ROUNDING


class TruncatedLaw(StoredDistribution, tag="truncated"):
    """The law of W given low < W <= high."""

    law: LawFile
    low: Side
    high: Side


class CensoredLaw(StoredDistribution, tag="censored"):
    """The law of min(W, high)."""

    law: LawFile
    high: float


class MixtureLaw(StoredDistribution, tag="mixture"):
    """`laws[i]` with probability `weights[i]`."""

    laws: list[LawFile]
    weights: list[float]


_COMPOSED = (TruncatedLaw, CensoredLaw, MixtureLaw)
if TYPE_CHECKING:
    LawFile = StoredDistribution
else:
    LawFile = Union[(*(kind.form for kind in named_distribution_classes() if kind.form is not None), *_COMPOSED)]


def law_file(law: Distribution) -> LawFile:
    """The form of a law; raises Unwritable for a class that has none."""
    match law:
        case Truncated():
            return TruncatedLaw(law_file(law.law), law.low, law.high)  # msgspec writes infinite ends as null
        case Censored():
            return CensoredLaw(law_file(law.law), law.high)
        case Mixture():
            return MixtureLaw([law_file(one) for one in law.laws], finite_numbers(law.weights))
    return law.to_struct()


def law_of(stored: LawFile, place: str) -> Distribution:
    """The law; raises Broken when it is none."""
    try:
        law = _law(stored, place)
        if not np.isfinite(law.mean):
            raise ValueError("the mean is not finite")
    except (ValueError, OverflowError) as failure:
        raise Broken(f"{place} is not a distribution: {failure}") from failure
    return law


def _law(stored: LawFile, place: str) -> Distribution:
    match stored:
        case TruncatedLaw():
            law = law_of(stored.law, f"{place}.law")
            low = -np.inf if stored.low is None else stored.low
            high = np.inf if stored.high is None else stored.high
            check_chance(law, low, high)
            return Truncated(law, low, high)
        case CensoredLaw():
            finite_array([stored.high], f"{place}.high")
            return Censored(law_of(stored.law, f"{place}.law"), stored.high)
        case MixtureLaw():
            return _mixture(stored, place)
    return stored.distribution(place)


def _mixture(stored: MixtureLaw, place: str) -> Mixture:
    check_length(stored.weights, len(stored.laws), f"{place}.weights", "laws")
    weights = finite_array(stored.weights, f"{place}.weights")
    if (weights <= 0).any() or abs(weights.sum() - 1) > ROUNDING:
        raise Broken(f"{place}.weights are not positive with a sum of 1")
    return Mixture(tuple(law_of(one, f"{place}.laws[{k}]") for k, one in enumerate(stored.laws)), weights)
