"""Distributions with names in the language: the constructors from their parameters."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from importlib.metadata import EntryPoint

from msgspec import Struct

from gpusched_dsl.ir.distributions.base import Distribution
from gpusched_dsl.language.distributions import GROUP, SPELLINGS, Spelling
from gpusched_dsl.language.entry_points import load_entry_points


class NamedDistribution(Struct, frozen=True):
    """`make` creates a `kind` from named numbers, by one of the parameter lists of its spelling.

    It raises ValueError for numbers that no such distribution has. `spelling` is for distributions of other packages,
    whose entry points name a `NamedDistribution`; ours are spelled in `language/distributions.py`.
    """

    kind: type[Distribution]
    make: Callable[[Mapping[str, float]], Distribution]
    spelling: Spelling | None = None


@cache
def named_distribution(name: str) -> NamedDistribution:
    """The distribution of a name that the language has accepted."""
    if name in SPELLINGS:
        found: NamedDistribution = EntryPoint(name, SPELLINGS[name].made_by, GROUP).load()
        return found
    return load_entry_points(GROUP, NamedDistribution, SPELLINGS)[name]


def named_distribution_classes() -> tuple[type[Distribution], ...]:
    """The classes of all distributions that a text can name."""
    known = [
        *(named_distribution(name) for name in SPELLINGS),
        *load_entry_points(GROUP, NamedDistribution, SPELLINGS).values(),
    ]
    return tuple(dict.fromkeys(one.kind for one in known))
