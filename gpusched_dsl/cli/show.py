"""A result on the terminal: the summary and the placement table."""

from __future__ import annotations

from collections.abc import Sequence

from gpusched_dsl.cli.arguments.parser import CommandLineError
from gpusched_dsl.cli.output import Output
from gpusched_dsl.cli.tables import show_grid, show_with_note
from gpusched_dsl.language.checked import CheckedModel
from gpusched_dsl.language.diagnostics.diagnostic import did_you_mean
from gpusched_dsl.language.text.numbers import count_text, number_text, with_unit
from gpusched_dsl.reporting.placement import Placement
from gpusched_dsl.reporting.result import Result
from gpusched_dsl.reporting.schedule import schedule, totals
from gpusched_dsl.reporting.summary import result_lines
from gpusched_dsl.reporting.values import ALL, dual_tables, value_tables
from gpusched_dsl.reporting.waiting import WaitingJobs

BAD = "31"  # red
MOST_ROWS = 400  # of the table; files have the complete schedule
MOST_WAITING = 40  # of the jobs that wait


def show_result(result: Result, output: Output, names: Sequence[str] = ()) -> None:
    """Print status, objective by term, bound, gap and times, reports, then the placement or the variables, and duals.

    With `names`, also all values of these. Raises CommandLineError for a name without values.
    """
    for line in result_lines(result):
        is_bad = line.startswith("status ") and not result.has_point
        output.say_wrapped(output.style(line, BAD) if is_bad else line)
    if result.has_point:
        _show_values(result, output, names)
    if result.placed is not None:
        output.say()
        show_placement(result.placed, output)
    if result.waiting_jobs is not None and result.waiting_jobs.labels:
        output.say()
        _show_waiting(result.waiting_jobs, output)


def show_other_solutions(result: Result, output: Output) -> None:
    """Print the alternatives with their differences, and the options of a job."""
    if result.alternatives is not None:
        output.say()
        output.say("alternatives")
        show_grid(result.alternatives.grid(), output)
        for line in result.alternatives.lines():
            output.say_wrapped(line)
    if result.job_options is not None:
        output.say()
        output.say(result.job_options.note)
        show_grid(result.job_options.grid(), output)


def check_shown(names: Sequence[str], model: CheckedModel) -> None:
    """Raise CommandLineError for a name that has no values, before a long solve."""
    known = [*model.variables, *model.reports, *model.lets, *model.params]
    for name in names:
        if name != ALL and name not in known:
            hint = did_you_mean(name, known) or f"`{ALL}`, or variables, reports, lets and parameters"
            raise CommandLineError("GSM6002", f"--show: `{name}` has no values in the model `{model.name}`", hint)


def _show_values(result: Result, output: Output, names: Sequence[str]) -> None:
    try:
        tables = list(value_tables(result, names))
    except KeyError as error:
        raise CommandLineError(
            "GSM6002", f"--show: {error.args[0]}", "name variables, reports, lets or parameters"
        ) from error
    before = True  # an empty line separates tables, not single values
    for found in (*tables, *dual_tables(result)):
        if before or found.grid is not None:
            output.say()
        output.say_wrapped(found.caption)
        before = found.grid is not None
        if found.grid is not None:
            show_grid(found.grid, output)
        if found.left_out:
            more = f"{found.left_out:,} more; `--show` with a name prints all, `--csv` and `--json` write them"
            output.say_wrapped(f"  ... and {more}")


def _show_waiting(waiting: WaitingJobs, output: Output) -> None:
    """Print how many jobs wait, and each with the reason."""
    output.say(waiting.caption)
    grid = waiting.grid()
    show_grid(grid.head(MOST_WAITING), output)
    if grid.rows > MOST_WAITING:
        output.say(f"  ... and {grid.rows - MOST_WAITING:,} more; `--csv` and `--json` write all of them")


def show_placement(placed: Placement, output: Output) -> None:
    """Print a summary line and the table of the placement."""
    grid = schedule(placed)
    if not grid.rows:
        output.say("placement: empty, nothing is placed")
        return
    output.say(_caption(placed))
    first_rows = grid.head(MOST_ROWS)
    show_with_note(first_rows, output)
    if grid.rows > MOST_ROWS:
        output.say(f"  ... and {grid.rows - MOST_ROWS:,} more rows; `--csv` and `--json` write all of them")


def _caption(placed: Placement) -> str:
    """`placement: 4 jobs on 2 nodes, cost 17.55 $`."""
    parts = []
    for role, one in (("job", "job"), ("node", "node")):
        if role in placed.columns:
            parts.append(count_text(len(set(placed.columns[role].tolist())), one))
    counts_text = " on ".join(parts) or count_text(placed.rows, "row")
    costs = [f"cost {with_unit(number_text(v), placed.units.get(n, ''))}" for n, v in totals(placed).items()]
    return ", ".join([f"placement: {counts_text}", *costs])
