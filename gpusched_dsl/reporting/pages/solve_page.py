"""Results of solves and their comparisons as pages: figures, the jobs that wait and why, and the placement."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusched_dsl.language.text.numbers import count_text
from gpusched_dsl.reporting.figures.schedule_figure import MOST_STAYS
from gpusched_dsl.reporting.figures.solve_figures import solve_bars, solve_figures
from gpusched_dsl.reporting.pages.page import (
    PageNote,
    PageOverview,
    PageSection,
    PageTable,
    cell,
    grid_table,
    render,
    summary_fields,
)
from gpusched_dsl.reporting.schedule import heading, with_readable_dates
from gpusched_dsl.reporting.summary import result_lines

if TYPE_CHECKING:
    from gpusched_dsl.reporting.comparison import Comparison
    from gpusched_dsl.reporting.placement import Placement
    from gpusched_dsl.reporting.result import Result

MOST_ROWS = 10_000  # of the tables of placements of a page, of all its results together
LEAST_ROWS = 200


def result_page(result: Result) -> str:
    """HTML of one result."""
    section = result_section(result.backend, result)
    return render(section.title, [section])


def comparison_page(comparison: Comparison) -> str:
    """HTML of a comparison: its table, bars, and the result of each method."""
    results = [(row.title, row.result) for row in comparison.rows if row.result is not None]
    sections = [result_section(title, result, len(results)) for title, result in results]
    overview = PageOverview(comparison.grid(), comparison.footer(), solve_bars(comparison))
    return render("Comparison of methods", sections, overview)


def result_section(method: str, result: Result, results: int = 1) -> PageSection:
    """Return the summary, figures and tables of one of several results; the more there are, the shorter are tables."""
    model = result.provenance.model
    name = result.problem.name if model is None else model.name
    scenario = result.provenance.scenario
    where = f", scenario {scenario}" if scenario not in (None, "", name) else ""
    tables: list[PageTable] = []
    if result.placed is not None:
        tables.append(_placement_table(result.placed, max(LEAST_ROWS, MOST_ROWS // results)))
    waiting = result.waiting_jobs
    if waiting is not None and waiting.labels:
        tables.insert(0, grid_table(waiting.caption, waiting.grid(), is_open=True))
    return PageSection(
        f"{name}{where}, with {method}",
        summary_fields(result_lines(result)),
        [PageNote(w.code, w.message, w.help) for w in result.diagnostics],
        solve_figures(result, MOST_STAYS // max(1, results)),
        tables,
    )


def _placement_table(placed: Placement, most: int) -> PageTable:
    frame = with_readable_dates(placed).head(most)
    more = placed.table.height - frame.height
    left_out = f", the first {frame.height} of {count_text(placed.table.height, 'row')}" if more else ""
    numbers = frozenset(at for at, name in enumerate(frame.columns) if frame[name].dtype.is_numeric())
    rows = [[cell(value) for value in row] for row in frame.rows()]
    return PageTable(
        f"Placement{left_out}",
        [heading(name, placed.units.get(name, "")) for name in frame.columns],
        rows,
        numbers,
        is_open=True,
    )
