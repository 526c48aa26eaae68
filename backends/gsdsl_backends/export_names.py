"""The names of the formats in which problems and models are written. Nothing heavy is imported here."""

from __future__ import annotations

from collections.abc import Iterator

from gpusched_dsl.language.entry_points import entry_points

GROUP = "gpusched_dsl.exporters"
BUILT_IN = ("lp", "mps", "json", "python", "python-scip")
BY_SUFFIX = {"py": "python"}
MATHEMATICS = ("latex", "markdown")


class Targets:
    """The names of all formats, those of other packages only when they are needed."""

    def __init__(self, built_in: tuple[str, ...] = BUILT_IN) -> None:
        self.built_in = built_in

    def __contains__(self, name: object) -> bool:
        return name in self.built_in or name in entry_points(GROUP)

    def __iter__(self) -> Iterator[str]:
        return iter((*self.built_in, *(name for name in entry_points(GROUP) if name not in self.built_in)))
