"""The builder of all pages: sections with summaries, figures and tables, by Jinja2 with escaping.

A page is one file that loads nothing: the charting library, the scripts of `assets/` and the data are within it. Its
content security policy allows exactly these scripts, so no text of a model can become one.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from gpusched_dsl.language.text.numbers import number_text
from gpusched_dsl.reporting.figures.figure import Figure, file_names
from gpusched_dsl.reporting.grid import Grid
from gpusched_dsl.reporting.pages.assets import charting_library, licence, scripts, style

TINY, SMALL = 1e-9, 1e-3  # numbers below are rounding errors, or would lose their digits
FIRST_ROWS = 200  # of a table within the HTML: the scripts draw longer tables from the data of the page


@dataclass(frozen=True, slots=True)
class PageTable:
    """A table that readers sort and filter. `numbers` are the positions of its columns of numbers."""

    title: str
    headings: Sequence[str]
    rows: Sequence[Sequence[str]]
    numbers: frozenset[int] = frozenset()
    is_open: bool = False

    @property
    def is_long(self) -> bool:
        return len(self.rows) > FIRST_ROWS

    @property
    def first_rows(self) -> Sequence[Sequence[str]]:
        return self.rows[:FIRST_ROWS]


@dataclass(frozen=True, slots=True)
class PageNote:
    """A diagnostic."""

    code: str
    message: str
    help: str | None = None


@dataclass(frozen=True, slots=True)
class PageSection:
    """One result: lines of a summary in two columns, and its figures and tables."""

    title: str
    summary: Sequence[tuple[str, str]]
    notes: Sequence[PageNote] = ()
    figures: Sequence[Figure] = ()
    tables: Sequence[PageTable] = ()

    @property
    def file_names(self) -> list[str]:
        return file_names(self.figures)


@dataclass(frozen=True, slots=True)
class PageOverview:
    """The comparison of several results: its table, the lines below it, and bars."""

    grid: Grid
    footer: Sequence[str] = ()
    figures: Sequence[Figure] = field(default=())

    @property
    def file_names(self) -> list[str]:
        return file_names(self.figures)


def render(title: str, sections: Sequence[PageSection], overview: PageOverview | None = None) -> str:
    """HTML of one result, or of several with their comparison. Names come from files and are escaped."""
    parts: list[tuple[Sequence[Figure], Sequence[PageTable]]] = [(s.figures, s.tables) for s in sections]
    if overview is not None:
        parts.insert(0, (overview.figures, ()))
    data = {
        "parts": [
            {
                "figures": [figure.document() for figure in figures],
                "tables": [{"rows": list(t.rows)} if t.is_long else None for t in tables],
            }
            for figures, tables in parts
        ]
    }
    drawn = any(figures for figures, _ in parts)
    programs = [*([charting_library()] if drawn else []), scripts()]
    return (
        environment()
        .get_template("page.html.j2")
        .render(
            title=title,
            overview=overview,
            sections=sections,
            style=style(),
            data=script_json(data),
            programs=programs,
            policy=_policy(programs),
            licence=licence() if drawn else "",
            over_time=any(hasattr(figure, "axis") for figures, _ in parts for figure in figures),
        )
    )


def _policy(programs: Sequence[str]) -> str:
    """Return a content security policy: no network, and no script but these."""
    hashes = (base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in programs)
    allowed = " ".join(f"'sha256-{each}'" for each in hashes)
    return f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data: blob:"


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
    """The text of a value; "" for None. Numbers have six decimals, small ones six digits, tiny ones are 0."""
    if value is None:
        return ""
    if not isinstance(value, float):
        return str(value).lower() if isinstance(value, bool) else str(value)
    return number_text(float(f"{value:.6g}") if TINY <= abs(value) < SMALL else round(value, 6))


@cache
def environment() -> Environment:
    """Return the templates of this folder."""
    return Environment(
        loader=PackageLoader("gpusched_dsl.reporting.pages"), undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True, autoescape=True,
    )  # fmt: skip


# Within a script, "<" could end it or begin a comment; the two separators are no white space in JSON.
_ESCAPES = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"})


def script_json(value: Any) -> str:
    """Return JSON without characters that have a meaning in HTML; raise ValueError for NaN and infinite numbers."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False).translate(_ESCAPES)
