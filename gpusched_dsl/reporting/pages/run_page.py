"""Runs over time as pages: figures, decisions, plans, metrics and jobs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import polars as pl

from gpusched_dsl.language.text.numbers import percent_text, short
from gpusched_dsl.reporting.figures.run_figures import run_bars, run_figures
from gpusched_dsl.reporting.figures.schedule_figure import MOST_STAYS
from gpusched_dsl.reporting.pages.page import (
    PageNote,
    PageOverview,
    PageSection,
    PageTable,
    cell,
    render,
    summary_fields,
)
from gpusched_dsl.reporting.runs.decisions import decisions_table
from gpusched_dsl.reporting.runs.metrics import METRICS, SHARE
from gpusched_dsl.reporting.runs.summary import summary_lines, title
from gpusched_dsl.reporting.runs.tables import JOB_TIMES, STEP_TIMES, for_readers

if TYPE_CHECKING:
    from gpusched_dsl.reporting.runs.comparison import RunTrials
    from gpusched_dsl.reporting.runs.result import RunResult

MOST_JOBS = 10_000  # rows of the tables of jobs of a page, of all its runs together
MOST_DECISIONS = 10_000
MOST_PLANS = 5_000
LEAST_ROWS = 200  # of a table, however many runs there are


def run_page(result: RunResult) -> str:
    """HTML of one run."""
    return render(title(result), [run_section(result)])


def comparison_page(trials: RunTrials) -> str:
    """HTML of several runs: the table, bars, and each run."""
    runs = [(row.seed, row.result) for row in trials.rows if row.result is not None]
    sections = [run_section(r, len(runs), "" if seed is None else f", seed {seed}") for seed, r in runs]
    overview = PageOverview(trials.grid(), trials.footer(), run_bars(trials))
    return render("Comparison of methods", sections, overview)


def run_section(result: RunResult, runs: int = 1, ending: str = "") -> PageSection:
    """Return the summary, figures and tables of one of several runs; the more there are, the shorter are tables."""
    return PageSection(
        title(result) + ending,
        summary_fields(summary_lines(result)),
        [PageNote(w.code, w.message, w.help) for w in result.warnings],
        run_figures(result, MOST_STAYS // runs),
        [
            *_group_tables(result),
            _decisions_table(result, _share(MOST_DECISIONS, runs)),
            *_plans_table(result, _share(MOST_PLANS, runs)),
            _metrics_table(result),
            _jobs_table(result, _share(MOST_JOBS, runs)),
        ],
    )


def _share(most: int, runs: int) -> int:
    """Return the rows of one run, so that a page of many runs stays small."""
    return max(min(most, LEAST_ROWS), most // runs)


# --- tables ----------------------------------------------------------------------------------------------------------


def _group_tables(result: RunResult) -> Iterator[PageTable]:
    """Yield a table per attribute of jobs, such as the owner."""
    for attribute in result.attributes:
        table = result.by(attribute)
        yield _table(f"By {attribute.replace('_', ' ')}", table, is_open=True)


def _decisions_table(result: RunResult, most: int) -> PageTable:
    table, count = decisions_table(result.history, most)
    units = {"waited": result.unit} | _unit_of_times(result, STEP_TIMES)
    table = for_readers(table, result.clock, STEP_TIMES)
    return _table(f"Decisions{_left_out('first', table.height, count)}", table, units)


def _plans_table(result: RunResult, most: int) -> Iterator[PageTable]:
    """Yield the table of plans, if there are any."""
    steps = result.steps
    if not steps.height:
        return
    shown = steps.head(most).with_columns(pl.col("why").list.join(" and "))
    units = {"plan_seconds": "s", "build_seconds": "s", "other_seconds": "s"} | _unit_of_times(result, STEP_TIMES)
    shown = for_readers(shown, result.clock, STEP_TIMES)
    yield _table(f"Plans{_left_out('first', shown.height, steps.height)}", shown, units)


def _metrics_table(result: RunResult) -> PageTable:
    rows = [
        (name, _figure(result, name), result.unit_of(name), METRICS[name].means)
        for name, value in result.metrics.items()
        if value is not None
    ]
    return PageTable("All metrics", ("metric", "value", "unit", "meaning"), rows, frozenset({1}))


def _figure(result: RunResult, name: str) -> str:
    value = result.metrics[name]
    return percent_text(value) if METRICS[name].kind == SHARE else short(value)


def _jobs_table(result: RunResult, most: int) -> PageTable:
    jobs = result.jobs.sort("tardiness", "end", descending=[True, True], nulls_last=True).head(most)
    more = result.jobs.height - jobs.height
    verb = "is" if more == 1 else "are"
    left_out = (
        f", the {jobs.height} with the largest tardiness ({more} more {verb} in the JSON and CSV results)"
        if more
        else ""
    )
    return _table(f"Jobs{left_out}", for_readers(jobs, result.clock, JOB_TIMES))


def _unit_of_times(result: RunResult, times: tuple[str, ...]) -> dict[str, str]:
    """Return the unit of columns with times, which dates do not have."""
    return {} if result.clock.dates is not None else dict.fromkeys(times, result.unit)


def _left_out(which: str, shown: int, count: int) -> str:
    return f", the {which} {shown:,} of {count:,}" if shown < count else ""


def _table(
    heading: str, frame: pl.DataFrame, units: dict[str, str] | None = None, *, is_open: bool = False
) -> PageTable:
    """A table without its empty columns."""
    columns = [name for name in frame.columns if frame.height == 0 or not frame[name].is_null().all()]
    numbers = frozenset(at for at, name in enumerate(columns) if frame[name].dtype.is_numeric())
    rows = [[cell(value) for value in row] for row in frame.select(columns).rows()]
    return PageTable(heading, [_heading(name, (units or {}).get(name, "")) for name in columns], rows, numbers, is_open)


def _heading(name: str, unit: str) -> str:
    words = name.replace("_seconds", " time").replace("_", " ")
    return f"{words} [{unit}]" if unit else words
