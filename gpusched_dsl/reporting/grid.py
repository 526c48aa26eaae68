"""Tables for the terminal: columns of texts, as plain aligned text or through rich."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.table import Table

GAP = "  "


@dataclass(frozen=True, slots=True)
class GridColumn:
    """`right` aligns numbers; `texts` has one entry per row."""

    header: str
    texts: Sequence[str]
    right: bool = False


@dataclass(frozen=True, slots=True)
class Grid:
    """Columns of equal length. A row number in `starts` begins a group; tables draw a line above it."""

    columns: tuple[GridColumn, ...]
    starts: frozenset[int] = frozenset()

    @property
    def rows(self) -> int:
        return len(self.columns[0].texts) if self.columns else 0

    def head(self, rows: int) -> Grid:
        """The first rows only."""
        if rows >= self.rows:
            return self
        return Grid(tuple(GridColumn(c.header, c.texts[:rows], c.right) for c in self.columns), self.starts)


def plain(grid: Grid, indent: str = "  ") -> str:
    """The table as lines of plain text; a wide table stays wide, for a pipe has no width."""
    padded: list[list[str]] = []
    for column in grid.columns:
        width = max(len(column.header), *map(len, column.texts), 0)
        pad = str.rjust if column.right else str.ljust
        padded.append([pad(text, width) for text in (column.header, "-" * width, *column.texts)])
    lines = [(indent + GAP.join(row)).rstrip() for row in zip(*padded, strict=True)]
    return "\n".join(lines) + "\n"


def rich_table(grid: Grid) -> Table:
    """The same for a terminal: wraps to its width, groups set apart by lines."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="bold")
    for column in grid.columns:
        table.add_column(
            Text(column.header), justify="right" if column.right else "left", no_wrap=column.right, overflow="fold"
        )
    for number, row in enumerate(zip(*(c.texts for c in grid.columns), strict=True)):
        if number and number in grid.starts:
            table.add_section()
        table.add_row(*(Text(t) for t in row))
    return table
