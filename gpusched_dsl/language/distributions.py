"""Distributions with named numeric parameters: their spelling, and their constructor.

A row of `SPELLINGS` is the one place where a distribution of ours is registered. Other packages add distributions by
entry points of the group `gpusched_dsl.distributions`: the name of a distribution, and the `NamedDistribution`
(`ir/distributions/named.py`) that makes it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from gpusched_dsl.language.entry_points import points_of

GROUP = "gpusched_dsl.distributions"


@dataclass(frozen=True, slots=True)
class Spelling:
    """The arguments of a distribution in the order in which names may be omitted.

    `ways` are the sets of arguments that say enough. Arguments in `plain` are plain numbers, in `per_unit` they have
    the reciprocal unit of the random, all others its unit. Arguments are positive but for those in `any_sign`.
    `made_by` is the place of the `NamedDistribution`, written as an entry point is.
    """

    arguments: tuple[str, ...]
    ways: tuple[frozenset[str], ...]
    plain: frozenset[str] = frozenset()
    per_unit: frozenset[str] = frozenset()
    any_sign: frozenset[str] = frozenset()
    made_by: str = ""


def spelling(
    arguments: str, *ways: str, plain: str = "", per_unit: str = "", any_sign: str = "", made_by: str = ""
) -> Spelling:
    """From names with spaces between; without `ways` all arguments are needed."""
    found = tuple(frozenset(way.split()) for way in ways or (arguments,))
    return Spelling(tuple(arguments.split()), found, _names(plain), _names(per_unit), _names(any_sign), made_by)


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_PLACE = "gpusched_dsl.ir.distributions"
SPELLINGS = {
    "exponential": spelling("mean rate", "mean", "rate", per_unit="rate", made_by=f"{_PLACE}.exponential:EXPONENTIAL"),
    "uniform": spelling("low high", any_sign="low high", made_by=f"{_PLACE}.linear_survival:UNIFORM"),
    "normal": spelling("mean deviation", any_sign="mean", made_by=f"{_PLACE}.normal:NORMAL"),
    "lognormal": spelling(
        "median sigma mean deviation", "median sigma", "mean sigma", "mean deviation", plain="sigma",
        made_by=f"{_PLACE}.lognormal:LOGNORMAL",
    ),
    "weibull": spelling(
        "scale shape mean", "scale shape", "mean shape", plain="shape", made_by=f"{_PLACE}.weibull:WEIBULL"
    ),
    "deterministic": spelling("value", any_sign="value", made_by=f"{_PLACE}.linear_survival:DETERMINISTIC"),
}  # fmt: skip
LISTS = ("discrete", "survival_points")
RESTRICTIONS = {"truncate": spelling("low high", "low high", "low", "high"), "censor": spelling("high")}


def spelling_of(name: str) -> Spelling | None:
    """Return the spelling of a distribution with named numbers; import that of another package."""
    if name in SPELLINGS:
        return SPELLINGS[name]
    point = points_of(GROUP).get(name)
    found: Spelling | None = None if point is None else point.load().spelling
    return found


@cache
def distribution_names() -> tuple[str, ...]:
    """All names that a call of a distribution may have. Imports nothing of other packages."""
    own = ("empirical", *SPELLINGS, *LISTS, "mixture", *RESTRICTIONS)
    return (*own, *(name for name in points_of(GROUP) if name not in own))
