"""A result on the terminal: the summary and the placement table."""

from __future__ import annotations

from gpusched_dsl.cli.output import Output
from gpusched_dsl.cli.tables import show_grid
from gpusched_dsl.language.text.numbers import count_text, number_text, with_unit
from gpusched_dsl.reporting.placement import Placement
from gpusched_dsl.reporting.result import Result
from gpusched_dsl.reporting.schedule import schedule, totals
from gpusched_dsl.reporting.summary import result_lines

MOST_ROWS = 400  # of the table; files have the complete schedule


def show_result(result: Result, output: Output) -> None:
    """Print status, objective by term, bound, gap and times, then the placement."""
    for line in result_lines(result):
        output.say(line)
    if result.placed is not None:
        output.say()
        show_placement(result.placed, output)


def show_placement(placed: Placement, output: Output) -> None:
    """Print a summary line and the table of the placement."""
    grid = schedule(placed)
    if not grid.rows:
        output.say("placement: empty, nothing is placed")
        return
    output.say(_caption(placed))
    first_rows = grid.head(MOST_ROWS)
    show_grid(first_rows, output)
    if grid.rows > MOST_ROWS:
        output.say(f"  ... and {grid.rows - MOST_ROWS:,} more rows; `--csv` and `--json` write all of them")


def _caption(placed: Placement) -> str:
    """`placement: 4 jobs on 2 nodes, cost 17.55 $`."""
    parts = []
    for role, one in (("job", "job"), ("node", "node")):
        if role in placed.table.columns:
            parts.append(count_text(placed.table[role].n_unique(), one))
    counts_text = " on ".join(parts) or count_text(placed.table.height, "row")
    costs = [f"cost {with_unit(number_text(v), placed.units.get(n, ''))}" for n, v in totals(placed).items()]
    return ", ".join([f"placement: {counts_text}", *costs])
