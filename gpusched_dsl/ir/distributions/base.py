"""The interface of distributions: survival, mean, partial expectation, inverses, conditioning, samples."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property
from typing import Any, ClassVar, Protocol

import msgspec
import numpy as np
from msgspec import Struct

from gpusched_dsl.ir.arrays import Bools, Codes, Floats
from gpusched_dsl.ir.json.arrays import Unwritable

INF = float("inf")
# A probability below this share of what it is taken from is lost in rounding.
LOST = 1e-9


class ExponentialSum(Struct, frozen=True, eq=False):
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

    `form` is its form in a problem file. `parameters` names attributes with a number each of which all formulas are
    made, in such a way that arrays may take the place of the numbers: many laws are then one call.

    Notation: S(x) = P(W > x) is the survival function, G(x) = E[min(W, x)] the partial expectation; G' = S.
    """

    form: ClassVar[type[StoredDistribution] | None] = None
    parameters: ClassVar[tuple[str, ...]] = ()

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

    def condition_above(self, x: float) -> Distribution:
        """The law of W given W > x; raises ValueError when that has probability 0."""
        return self.truncate(low=x)

    @abstractmethod
    def truncate(self, low: float = -INF, high: float = INF) -> Distribution:
        """The law of W given low < W <= high; raises ValueError when that has no probability."""

    @abstractmethod
    def censor(self, high: float) -> Distribution:
        """Return the distribution of min(W, high): probability beyond it moves to `high`."""

    # --- samples -----------------------------------------------------------------------------------------------------

    def sample(self, rng: np.random.Generator, size: int) -> Floats:
        """Independent draws: `inv_lo` of uniform ones has this law, atoms or not."""
        return self.inv_lo(rng.random(size))

    # --- many at once, and files -------------------------------------------------------------------------------------

    @classmethod
    def family_of(cls, laws: Sequence[Any]) -> LawFamily:
        """Several laws of this class as one family."""
        if not cls.parameters:
            return Others(tuple(laws))
        return Parametric(cls, {name: np.array([getattr(law, name) for law in laws]) for name in cls.parameters})

    def to_struct(self) -> StoredDistribution:
        """The form in a problem file; raises Unwritable where there is none."""
        raise Unwritable(f"a distribution of class `{type(self).__name__}`")

    @cached_property
    def content(self) -> bytes | None:
        """Equal bytes for equal laws; None where the class has no form in a problem file."""
        try:
            return msgspec.msgpack.encode(self.to_struct())
        except Unwritable:
            return None


class StoredDistribution(msgspec.Struct, tag_field="kind", forbid_unknown_fields=True):
    """The law of a random number W."""

    def distribution(self, place: str) -> Distribution:
        """The law; raises ValueError or Broken, with the place in the file, where it is none."""
        raise NotImplementedError


# --- families: many laws in one call ---------------------------------------------------------------------------------


class LawFamily(Protocol):
    """Laws that share formulas. Arguments have the shape (m, n); those in line i are for the law `row[i]`, S."""

    def survival(self, x: Floats, row: Codes) -> Floats: ...

    def inverses(self, u: Floats, row: Codes) -> tuple[Floats, Floats]:
        """inf{x : S(x) <= u} and sup{x : S(x-) >= u}, for u in [0, 1]; they differ where S is flat."""
        ...

    def beyond(self, x: Floats, row: Codes) -> Floats:
        """The integral of S from x on, with a small relative error far out too."""
        ...


class Parametric(Struct, frozen=True, eq=False):
    """Distributions of a class with formulas that accept arrays of parameters."""

    kind: type[Distribution]
    parameters: dict[str, Floats]

    def _law(self, row: Codes) -> Distribution:
        """Return one distribution of the class with columns as parameters, one row per distribution."""
        law = object.__new__(self.kind)
        law.__dict__.update({name: values[row, None] for name, values in self.parameters.items()})
        return law

    def survival(self, x: Floats, row: Codes) -> Floats:
        return self._law(row).survival(x)

    def inverses(self, u: Floats, row: Codes) -> tuple[Floats, Floats]:
        law = self._law(row)
        return law.inv_lo(u), law.inv_hi(u)

    def beyond(self, x: Floats, row: Codes) -> Floats:
        return self._law(row).stop_loss(x)


class Others(Struct, frozen=True, eq=False):
    """Any laws, called one after another."""

    laws: tuple[Distribution, ...]

    def _each(self, method: str, x: Floats, row: Codes) -> Floats:
        order = np.argsort(row, kind="stable")
        found = np.empty_like(x)
        numbers, first = np.unique(row[order], return_index=True)
        for number, part in zip(numbers.tolist(), np.split(order, first[1:]), strict=True):
            found[part] = getattr(self.laws[number], method)(x[part])
        return found

    def survival(self, x: Floats, row: Codes) -> Floats:
        return self._each("survival", x, row)

    def inverses(self, u: Floats, row: Codes) -> tuple[Floats, Floats]:
        return self._each("inv_lo", u, row), self._each("inv_hi", u, row)

    def beyond(self, x: Floats, row: Codes) -> Floats:
        return self._each("stop_loss", x, row)


def as_floats(x: object) -> Floats:
    return np.asarray(x, dtype=np.float64)


def require(holds: bool | Bools, message: str) -> None:
    """Raise ValueError with a message if the condition is false (or NaN)."""
    if not np.all(holds):
        raise ValueError(message)
