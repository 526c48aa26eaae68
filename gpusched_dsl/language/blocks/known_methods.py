"""The names of methods that blocks may use, and those that fit their models."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace

from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic, did_you_mean


@dataclass(frozen=True)
class KnownMethods(Collection[str]):
    """The names of all solvers and policies; `fitting` returns those that can be used with the models of a text.

    `refused_option` returns why a text may not set an option of a solver: of a method, a name and a value.
    """

    names: frozenset[str]
    fitting: Callable[[], Collection[str]]
    refused_option: Callable[[str, str, bool | float | str], Diagnostic | None]

    def __contains__(self, name: object) -> bool:
        return name in self.names

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)


def with_names(known: Collection[str], added: Collection[str]) -> Collection[str]:
    """Return known methods with further names."""
    if isinstance(known, KnownMethods):
        return replace(known, names=known.names.union(added))
    return {*known, *added}


def refused_option(
    known: Collection[str] | None, method: str, option: str, value: bool | float | str
) -> Diagnostic | None:
    """Return why a text may not set an option of a method; None if it may, or if the methods are not known."""
    return known.refused_option(method, option, value) if isinstance(known, KnownMethods) else None


def help_for_unknown(name: str, known: Collection[str]) -> str:
    """Return the help for a name that is not that of a method: near names, or all that can be used."""
    fitting = known.fitting() if isinstance(known, KnownMethods) else known
    near = did_you_mean(name, fitting) or did_you_mean(name, known)
    return near or f"methods are {', '.join(f'`{method}`' for method in sorted(fitting))}"
