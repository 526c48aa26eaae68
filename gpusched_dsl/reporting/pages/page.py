"""The builder of all pages: sections with summaries, a schedule, charts and tables, by Jinja2 with escaping."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined

from gpusched_dsl.language.text.numbers import number_text
from gpusched_dsl.reporting.grid import Grid
from gpusched_dsl.reporting.pages.charts import Chart
from gpusched_dsl.reporting.pages.gantt import Gantt


@dataclass(frozen=True, slots=True)
class PageTable:
    """A table that readers sort and filter. `numbers` are the positions of its columns of numbers."""

    title: str
    headings: Sequence[str]
    rows: Sequence[Sequence[str]]
    numbers: frozenset[int] = frozenset()
    is_open: bool = False


@dataclass(frozen=True, slots=True)
class PageNote:
    """A diagnostic."""

    code: str
    message: str
    help: str | None = None


@dataclass(frozen=True, slots=True)
class PageSection:
    """One result: lines of a summary in two columns, and its charts and tables."""

    title: str
    summary: Sequence[tuple[str, str]]
    notes: Sequence[PageNote] = ()
    gantt: Gantt | None = None
    charts: Sequence[Chart] = ()
    tables: Sequence[PageTable] = ()


def render(title: str, sections: Sequence[PageSection], grid: Grid | None = None, footer: Sequence[str] = ()) -> str:
    """HTML of one result, or of several with the grid of their comparison and the lines below it.

    Names come from files and are escaped.
    """
    template = _environment().get_template("page.html.j2")
    return template.render(title=title, comparison=grid, footer=footer, sections=sections)


def summary_fields(lines: Sequence[str]) -> list[tuple[str, str]]:
    """Split lines of two columns, which two spaces separate, up to an empty line."""
    fields = []
    for line in lines:
        if not line:
            break
        indent = "\u2003" if line.startswith(" ") else ""  # of the terms of an objective
        word, _, text = line.strip().partition("  ")
        fields.append((indent + word, text.strip()))
    return fields


def grid_table(title: str, grid: Grid, *, is_open: bool = False) -> PageTable:
    """A table of the terminal."""
    numbers = frozenset(at for at, column in enumerate(grid.columns) if column.right)
    rows = list(zip(*(column.texts for column in grid.columns), strict=True))
    return PageTable(title, [column.header.strip() for column in grid.columns], rows, numbers, is_open)


def cell(value: object) -> str:
    """The text of a value; "" for None."""
    if value is None:
        return ""
    return number_text(round(value, 6)) if isinstance(value, float) else str(value)


@cache
def _environment() -> Environment:
    return Environment(
        loader=PackageLoader("gpusched_dsl.reporting.pages"), undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True, autoescape=True,
    )  # fmt: skip
