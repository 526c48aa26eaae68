"""Tables on the terminal, and as plain text elsewhere."""

from __future__ import annotations

from msgspec import structs

from gpusched_dsl.cli.output import Output
from gpusched_dsl.language.diagnostics.excerpt import printable
from gpusched_dsl.reporting.grid import Grid, plain, rich_table


def show_grid(grid: Grid, output: Output, *, indent: str = "  ") -> tuple[str, ...]:
    """Print a table; return the headings of the columns for which the terminal is too narrow."""
    grid = _printable(grid)
    if not output.is_terminal or output.quiet:
        output.say(plain(grid, indent=indent).rstrip("\n"))
        return ()
    console = output.console()
    fitting, left_out = grid.fit(console.width)
    if fitting.least_width() > console.width:  # rich would break the names
        output.say(plain(fitting, indent="").rstrip("\n"))
    else:
        console.print(rich_table(fitting, console.width))
    return left_out


def _printable(grid: Grid) -> Grid:
    """Return the table with cells of one line, without what controls a terminal: names come from data files."""
    columns = tuple(
        structs.replace(column, header=_one_line(column.header), texts=list(map(_one_line, column.texts)))
        for column in grid.columns
    )
    return structs.replace(grid, columns=columns)


def _one_line(text: str) -> str:
    return text if text.isprintable() else printable(text).replace("\n", "�")


def show_with_note(grid: Grid, output: Output, *, indent: str = "  ") -> None:
    """Print a table; a note names the columns for which the terminal is too narrow."""
    left_out = show_grid(grid, output, indent=indent)
    if left_out:
        names = ", ".join(f"`{name}`" for name in left_out)
        output.note(f"the terminal is too narrow for {names}: `--csv` and `--json` write them")
