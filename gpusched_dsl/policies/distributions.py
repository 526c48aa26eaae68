"""Many laws of random work as arrays: survival, its inverses and its integral for all of them in one call.

A law is a base law of some family, restricted: work is W given W > `low`, given W <= `high`, and cut off at `cut`.
With S the survival function of the base law and t >= low what is already done,

    P(W > x given W > t) = (S(x) - S(high)) / (S(t) - S(high))  for t <= x < cut, and 0 from `cut` on,

so all that a family has to know is S, its inverses and its integral.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from gpusched_dsl.ir.distributions import (
    Censored,
    Distribution,
    Exponential,
    LinearSurvival,
    LogNormal,
    Truncated,
    Weibull,
)
from gpusched_dsl.ir.domains import Codes
from gpusched_dsl.ir.matrix import Floats
from gpusched_dsl.policies.families import Exponentials, Family, LogNormals, Others, Weibulls
from gpusched_dsl.policies.piecewise_survival import Tables

_FAMILIES: tuple[tuple[type[Distribution], Callable[[list[Distribution]], Family]], ...] = (
    (LinearSurvival, Tables.of),
    (Exponential, Exponentials.of),
    (Weibull, Weibulls.of),
    (LogNormal, LogNormals.of),
    (Distribution, Others.of),
)


@dataclass(frozen=True, eq=False)
class Laws:
    """Law i is row `row[i]` of `families[family[i]]`, restricted by `low[i]`, `high[i]` and `cut[i]`."""

    families: tuple[Family, ...]
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
        """Gather single laws. Families outside the fast ones are called law by law."""
        members: list[list[Distribution]] = [[] for _ in _FAMILIES]
        place: dict[int, tuple[int, int, float, float, float]] = {}
        for law in laws:
            if id(law) not in place:
                base, low, high, cut = _unwrapped(law)
                at = next(i for i, (kind, _) in enumerate(_FAMILIES) if isinstance(base, kind))
                place[id(law)] = (at, len(members[at]), low, high, cut)
                members[at].append(base)
        used = [at for at, some in enumerate(members) if some]
        families = tuple(_FAMILIES[at][1](members[at]) for at in used)
        numbers = {at: number for number, at in enumerate(used)}
        found = [place[id(law)] for law in laws]
        family, row = np.array([(numbers[f[0]], f[1]) for f in found], dtype=np.int64).reshape(-1, 2).T
        ends = np.array([f[2:] for f in found], dtype=np.float64).reshape(-1, 3)
        return Laws(families, family, row, *ends.T)

    def take(self, which: Codes) -> Laws:
        return Laws(
            self.families, self.family[which], self.row[which], self.low[which], self.high[which], self.cut[which]
        )


def _unwrapped(law: Distribution) -> tuple[Distribution, float, float, float]:
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
