"""Many laws of random work as arrays: survival, its inverses and its integral for all of them in one call.

A law is a base law of some family, restricted: work is W given W > `low`, given W <= `high`, and cut off at `cut`.
With S the survival function of the base law and t >= low what is already done,

    P(W > x given W > t) = (S(x) - S(high)) / (S(t) - S(high))  for t <= x < cut, and 0 from `cut` on,

so all that a family has to know is S, its inverses and its integral.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gpusched_dsl.ir.arrays import Codes, Floats
from gpusched_dsl.ir.distributions import Censored, Distribution, Truncated
from gpusched_dsl.ir.distributions.base import LawFamily


@dataclass(frozen=True, eq=False)
class Laws:
    """Law i is row `row[i]` of `families[family[i]]`, restricted by `low[i]`, `high[i]` and `cut[i]`."""

    families: tuple[LawFamily, ...]
    family: Codes
    row: Codes
    low: Floats
    high: Floats
    cut: Floats

    @property
    def size(self) -> int:
        return len(self.family)

    @staticmethod
    def of(laws: Sequence[Distribution]) -> Laws:
        """Gather single laws: those of one class are a family."""
        members: dict[type[Distribution], list[Distribution]] = {}
        place: dict[int, tuple[type[Distribution], int, float, float, float]] = {}
        for law in laws:
            if id(law) not in place:
                base, low, high, cut = _unwrap(law)
                own = members.setdefault(type(base), [])
                place[id(law)] = (type(base), len(own), low, high, cut)
                own.append(base)
        families = tuple(kind.family_of(own) for kind, own in members.items())
        numbers = {kind: number for number, kind in enumerate(members)}
        found = [place[id(law)] for law in laws]
        family, row = np.array([(numbers[f[0]], f[1]) for f in found], dtype=np.int64).reshape(-1, 2).T
        ends = np.array([f[2:] for f in found], dtype=np.float64).reshape(-1, 3)
        return Laws(families, family, row, *ends.T)

    def take(self, which: Codes) -> Laws:
        return Laws(
            self.families, self.family[which], self.row[which], self.low[which], self.high[which], self.cut[which]
        )


def _unwrap(law: Distribution) -> tuple[Distribution, float, float, float]:
    """The base law, and `low`, `high`, `cut`."""
    low, high, cut = -np.inf, np.inf, np.inf
    base = law
    if isinstance(base, Censored):
        cut, base = base.high, base.law
    if isinstance(base, Truncated):
        low, high, base = base.low, base.high, base.law
    if isinstance(base, Truncated | Censored):
        return law, -np.inf, np.inf, np.inf
    return base, low, high, cut
