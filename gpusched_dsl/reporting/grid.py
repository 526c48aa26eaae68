"""Tables for the terminal: columns of texts, as plain aligned text or through rich."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import Struct, structs

if TYPE_CHECKING:
    from rich.table import Table

GAP = "  "
GOOD, BAD, WARNING = "good", "bad", "warning"  # marks of cells
STYLES = {GOOD: "bold green", BAD: "red", WARNING: "yellow"}
SPACE = 3  # between the columns of a rich table
LEAST = 16  # characters of a column whose texts wrap


class GridColumn(Struct, frozen=True):
    """`right` aligns numbers; `texts` has one entry per row.

    `marks` are empty, or have `good`, `bad`, `warning` or "" for each row. On a narrow terminal the texts of a column
    that `wraps` are broken between words, and `optional` columns are left out, the largest number first (0: never).
    """

    header: str
    texts: Sequence[str]
    right: bool = False
    wraps: bool = False
    optional: int = 0
    marks: Sequence[str] = ()

    @property
    def width(self) -> int:
        """The width without wrapping."""
        return max(len(self.header.rstrip()), *map(len, self.texts), 0)

    @property
    def least_width(self) -> int:
        """The smallest width: that of the longest word of the heading and of texts that do not wrap."""
        heading = max(map(len, self.header.split()), default=0)
        longest = max(map(len, self.texts), default=0)
        return max(heading, min(longest, LEAST) if self.wraps else longest)


class Grid(Struct, frozen=True):
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
        columns = (structs.replace(c, texts=c.texts[:rows], marks=c.marks[:rows]) for c in self.columns)
        return Grid(tuple(columns), self.starts)

    def least_width(self, space: int = SPACE) -> int:
        """The smallest width with so many characters between columns, by default those of the rich table."""
        return sum(c.least_width + space for c in self.columns) - space

    def fit(self, width: int, space: int = SPACE) -> tuple[Grid, tuple[str, ...]]:
        """Return the table without the optional columns that `width` characters do not fit, and their headings."""
        columns, left_out = list(self.columns), []
        while Grid(tuple(columns)).least_width(space) > width:
            optional = [c for c in columns if c.optional]
            if not optional:
                break
            least_important = max(optional, key=lambda c: c.optional)
            columns.remove(least_important)
            left_out.append(least_important.header.strip())
        return Grid(tuple(columns), self.starts), tuple(left_out)


def unit_heading(name: str, unit: str) -> str:
    """Return the heading of a column of numbers: `name [unit]`."""
    return f"{name} [{unit}]" if unit else name


def plain(grid: Grid, indent: str = "  ") -> str:
    """The table as lines of plain text; a wide table stays wide, for a pipe has no width."""
    padded: list[list[str]] = []
    for column in grid.columns:
        width = max(len(column.header), *map(len, column.texts), 0)
        pad = str.rjust if column.right else str.ljust
        padded.append([pad(text, width) for text in (column.header, "-" * width, *column.texts)])
    lines = [(indent + GAP.join(row)).rstrip() for row in zip(*padded, strict=True)]
    return "\n".join(lines) + "\n"


def plain_within(grid: Grid, width: int, indent: str = "  ") -> tuple[str, tuple[str, ...]]:
    """The table in lines of at most `width` characters, and the headings of the columns that are left out for it.

    Optional columns are left out first, then texts of columns that wrap are broken. A table that is still too wide
    stays so.
    """
    gap, room = len(GAP), width - len(indent)
    grid, left_out = grid.fit(room, gap)
    sizes = _widths(grid, room, gap)
    cells = [
        [textwrap.wrap(text, size, break_on_hyphens=False) or [""] for text in (c.header, "-" * size, *c.texts)]
        for c, size in zip(grid.columns, sizes, strict=True)
    ]
    lines = []
    for row in zip(*cells, strict=True):
        for number in range(max(map(len, row))):
            parts = [cell[number] if number < len(cell) else "" for cell in row]
            padded = (
                part.rjust(size) if column.right else part.ljust(size)
                for part, size, column in zip(parts, sizes, grid.columns, strict=True)
            )
            lines.append((indent + GAP.join(padded)).rstrip())
    return "\n".join(lines) + "\n", left_out


def rich_table(grid: Grid, width: int | None = None) -> Table:
    """The same for a terminal of `width` characters: headings and long texts wrap, groups are set apart by lines."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="bold")
    for column, size in zip(grid.columns, _widths(grid, width), strict=True):
        table.add_column(Text(column.header), justify="right" if column.right else "left", width=size, overflow="fold")
    for number in range(grid.rows):
        if number and number in grid.starts:
            table.add_section()
        table.add_row(*(Text(c.texts[number], style=_style(c, number)) for c in grid.columns))
    return table


def _style(column: GridColumn, row: int) -> str:
    return STYLES.get(column.marks[row], "") if column.marks else ""


def _widths(grid: Grid, width: int | None, space: int = SPACE) -> list[int]:
    """The width of each column: first wrapping texts become narrower, then headings."""
    widths = [max(len(c.header), c.width) for c in grid.columns]
    if width is None:
        return widths
    excess = sum(w + space for w in widths) - space - width
    for wraps in (True, False):
        for at in sorted(range(len(widths)), key=lambda i: -widths[i]):
            column = grid.columns[at]
            if excess > 0 and column.wraps == wraps:
                least = column.least_width
                if wraps or len(column.header) > least:
                    smaller = max(least, widths[at] - excess)
                    excess -= widths[at] - smaller
                    widths[at] = smaller
    return widths
