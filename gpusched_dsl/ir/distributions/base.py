"""What a law can tell: survival, mean, partial expectation, inverses, conditioning, samples."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gpusched_dsl.ir.matrix import Floats

INF = float("inf")
# A probability below this share of what it is taken from is lost in rounding.
LOST = 1e-9


@dataclass(frozen=True, eq=False)
class ExponentialSum:
    """G(x) = low + slope (x - low) + sum_i factors[i] (1 - exp(-rates[i] (x - low))) for low <= x <= high.

    Before `low` it is x, from `high` on the mean.
    """

    low: float
    high: float
    slope: float
    factors: Floats
    rates: Floats


class Distribution(ABC):
    """The law of a real random variable W with a finite mean. All methods are vectorised over their argument.

    Notation: S(x) = P(W > x) is the survival function, G(x) = E[min(W, x)] the partial expectation; G' = S.
    """

    @property
    @abstractmethod
    def mean(self) -> float: ...

    @property
    @abstractmethod
    def support(self) -> tuple[float, float]:
        """The smallest interval that W never leaves; infinite ends are possible."""

    @abstractmethod
    def survival(self, x: Floats) -> Floats:
        """P(W > x), right-continuous."""

    def survival_left(self, x: Floats) -> Floats:
        """P(W >= x)."""
        return self.survival(x)

    @abstractmethod
    def partial_expectation(self, x: Floats) -> Floats:
        """E[min(W, x)]: concave, its derivative is the survival function."""

    @abstractmethod
    def stop_loss(self, x: Floats) -> Floats:
        """E[max(W - x, 0)], with a small relative error also far out in the tail."""

    @abstractmethod
    def inv_lo(self, y: Floats) -> Floats:
        """inf{x : S(x) <= y}, within the support."""

    def inv_hi(self, y: Floats) -> Floats:
        """sup{x : S(x-) >= y}, within the support. As `inv_lo` where S is continuous and strictly decreasing."""
        return self.inv_lo(y)

    @property
    def atoms(self) -> tuple[Floats, Floats] | None:
        """All values and their probabilities where the support is finite, else None."""
        return None

    @property
    def jumps(self) -> Floats:
        """The values that have a probability of their own."""
        return np.zeros(0)

    @property
    def kinks(self) -> Floats:
        """Where a piecewise approximation of G should have a knot: ends of the support, jumps of S or of its slope."""
        ends = np.array(self.support)
        return np.union1d(self.jumps, ends[np.isfinite(ends)])

    @property
    def exponentials(self) -> ExponentialSum | None:
        """G as a sum of exponentials on the support, where it is one."""
        return None

    # --- conditioning ------------------------------------------------------------------------------------------------

    def chance(self, low: Floats, high: Floats) -> Floats:
        """P(low < W <= high); NaN where it is positive but lost in rounding."""
        above = self.survival(low)
        chance = above - self.survival(high)
        return np.where((chance > 0) & (chance < LOST * above), np.nan, chance)

    def integral(self, low: Floats, high: Floats) -> Floats:
        """The integral of S from `low` to `high`, precise in the tail too."""
        tail = self.survival(low) < 0.5
        with np.errstate(invalid="ignore"):
            upper = self.stop_loss(low) - self.stop_loss(high)
            lower = self.partial_expectation(high) - self.partial_expectation(low)
        return np.where(tail, upper, lower)

    def survival_given(self, x: Floats, low: Floats, high: Floats) -> Floats:
        """P(W > x given low < W <= high)."""
        rest = self.survival(high)
        inside = self.survival(np.clip(x, low, high)) - rest
        return np.asarray(inside / (self.survival(low) - rest))

    def partial_expectation_given(self, x: Floats, low: Floats, high: Floats) -> Floats:
        """E[min(W, x) given low < W <= high]."""
        x, low, high = np.broadcast_arrays(x, low, high)
        rest = self.survival(high)
        chance = self.survival(low) - rest
        start = np.maximum(low, self.support[0])
        top = np.minimum(x, np.minimum(high, self.support[1]))
        with np.errstate(invalid="ignore", divide="ignore"):
            bounded = np.isfinite(start)
            origin = np.where(bounded, start, 0.0)
            grown = np.where(bounded, self.integral(start, top), self.partial_expectation(top))
            lost = np.where(rest > 0, rest * (top - origin), 0.0)
            inside = origin + (grown - lost) / chance
        return np.where(x <= start, x, inside)

    def given_above(self, x: float) -> Distribution:
        """The law of W given W > x; raises ValueError when that has probability 0."""
        return self.truncated(low=x)

    @abstractmethod
    def truncated(self, low: float = -INF, high: float = INF) -> Distribution:
        """The law of W given low < W <= high; raises ValueError when that has no probability."""

    @abstractmethod
    def censored(self, high: float) -> Distribution:
        """The law of min(W, high): what lies beyond is moved to `high`."""

    # --- samples -----------------------------------------------------------------------------------------------------

    def sample(self, rng: np.random.Generator, size: int) -> Floats:
        """Independent draws: `inv_lo` of uniform ones has this law, atoms or not."""
        return self.inv_lo(rng.random(size))


def as_floats(x: object) -> Floats:
    return np.asarray(x, dtype=np.float64)


def need(holds: bool | NDArray[np.bool_], message: str) -> None:
    """Raise ValueError with a message unless it holds (NaN never does)."""
    if not np.all(holds):
        raise ValueError(message)
