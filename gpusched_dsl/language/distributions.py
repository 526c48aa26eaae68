"""Distributions with named numeric parameters: their spelling, and their constructor.

A row of `SPELLINGS` registers a built-in distribution. Other packages add distributions by
entry points of the group `gpusched_dsl.distributions`: the name of a distribution, and the `NamedDistribution`
(`ir/distributions/named.py`) that makes it.
"""

from __future__ import annotations

from functools import cache

from msgspec import Struct

from gpusched_dsl.language.entry_points import entry_points

GROUP = "gpusched_dsl.distributions"


class Spelling(Struct, frozen=True):
    """The arguments of a distribution in the order in which names may be omitted.

    `argument_sets` are the sufficient sets of arguments. Arguments in `plain` are plain numbers, in `per_unit` have the
    reciprocal unit of the random, all others its unit. Arguments must be positive, except those in `any_sign`.
    `made_by` is the place of the `NamedDistribution`, as in an entry point.
    """

    arguments: tuple[str, ...]
    argument_sets: tuple[frozenset[str], ...]
    plain: frozenset[str] = frozenset()
    per_unit: frozenset[str] = frozenset()
    any_sign: frozenset[str] = frozenset()
    made_by: str = ""


def spelling(
    arguments: str, *ways: str, plain: str = "", per_unit: str = "", any_sign: str = "", made_by: str = ""
) -> Spelling:
    """Create a spelling from names separated by spaces; without `ways` all arguments are required."""
    argument_sets = tuple(frozenset(way.split()) for way in ways or (arguments,))
    return Spelling(tuple(arguments.split()), argument_sets, _names(plain), _names(per_unit), _names(any_sign), made_by)


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
    """Return the spelling of a distribution with named numbers; import those of other packages."""
    if name in SPELLINGS:
        return SPELLINGS[name]
    point = entry_points(GROUP).get(name)
    found: Spelling | None = None if point is None else point.load().spelling
    return found


@cache
def distribution_names() -> tuple[str, ...]:
    """Return the names of all distributions; import nothing of other packages."""
    own = ("empirical", *SPELLINGS, *LISTS, "mixture", *RESTRICTIONS)
    return (*own, *(name for name in entry_points(GROUP) if name not in own))
