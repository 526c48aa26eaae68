"""Tables on the terminal, and as plain text elsewhere."""

from __future__ import annotations

from typing import Any

from gpusched_dsl.cli.output import Output
from gpusched_dsl.reporting.grid import Grid, plain, rich_table
from gpusched_dsl.reporting.method_comparison import REMARK, MethodComparison

SPACE = 3  # between columns


def show_grid(grid: Grid, output: Output, *, indent: str = "  ") -> None:
    if output.is_terminal and not output.quiet:
        output.console().print(rich_table(grid))
    else:
        output.say(plain(grid, indent=indent).rstrip("\n"))


def show_comparison(comparison: MethodComparison[Any], output: Output) -> bool:
    """Show a comparison; return whether the terminal is wide enough for the cost by term, which is left out if not."""
    grid = comparison.grid()
    fits = not output.is_terminal or output.quiet or _width(grid) <= output.console().width
    show_grid(grid if fits else comparison.grid(terms=False), output)
    return fits


def _width(grid: Grid) -> int:
    """Return the width of the table in characters, without the remarks, which wrap."""
    columns = [column for column in grid.columns if column.header != REMARK]
    return sum(max(len(text) for text in (c.header, *c.texts)) + SPACE for c in columns)
