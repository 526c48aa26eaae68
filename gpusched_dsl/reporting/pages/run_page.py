"""Runs over time as pages: the schedule, curves of cost, queue and use, prices, metrics and jobs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from gpusched_dsl.language.text.numbers import percent_text
from gpusched_dsl.reporting.grid import Grid
from gpusched_dsl.reporting.pages.charts import Chart, ChartAxis, Curve, chart, corners, x_axis
from gpusched_dsl.reporting.pages.gantt import Gantt, Stays, gantt
from gpusched_dsl.reporting.pages.page import PageNote, PageSection, PageTable, cell, render, summary_fields
from gpusched_dsl.reporting.pages.prices import price_charts
from gpusched_dsl.reporting.runs.metrics import METRICS, SHARE
from gpusched_dsl.reporting.runs.series import cost_over_time, gpus_in_use, gpus_of_used_nodes, queue_length
from gpusched_dsl.reporting.runs.short_numbers import short
from gpusched_dsl.reporting.runs.summary import summary_lines, title

if TYPE_CHECKING:
    from gpusched_dsl.reporting.runs.result_data import RunResultData

MOST_JOBS = 5000  # rows of the table of jobs: the latest of them
MOST_POINTS = 600  # of a curve: more points are replaced by means


def page(results: Sequence[RunResultData], grid: Grid | None = None, footer: Sequence[str] = ()) -> str:
    """HTML of one run, or of several with the grid of their comparison and the lines below it."""
    head = "Comparison of methods" if grid is not None or len(results) != 1 else title(results[0])
    return render(head, [_section(result) for result in results], grid, footer)


def _section(result: RunResultData) -> PageSection:
    charts = [cost_chart(result)] if result.total or any(result.costs.values()) else []
    charts += [queue_chart(result), use_chart(result), *_prices(result)]
    return PageSection(
        title(result),
        summary_fields(summary_lines(result)),
        [PageNote(w.code, w.message, w.help) for w in result.warnings],
        schedule_chart(result),
        [one for one in charts if one.curves],
        [*_group_tables(result), _metrics_table(result), _jobs_table(result)],
    )


# --- tables ----------------------------------------------------------------------------------------------------------


def _group_tables(result: RunResultData) -> Iterator[PageTable]:
    """Yield a table per attribute of jobs, such as the owner."""
    for attribute in result.attributes:
        table = result.by(attribute)
        numbers = frozenset(range(1, len(table.columns)))
        rows = [[cell(value) for value in row] for row in table.rows()]
        headings = [name.replace("_", " ") for name in table.columns]
        yield PageTable(f"By {attribute.replace('_', ' ')}", headings, rows, numbers, is_open=True)


def _metrics_table(result: RunResultData) -> PageTable:
    rows = [
        (name, _figure(result, name), result.unit_of(name), METRICS[name].means)
        for name, value in result.metrics.items()
        if value is not None
    ]
    return PageTable("All metrics", ("metric", "value", "unit", "meaning"), rows, frozenset({1}))


def _figure(result: RunResultData, name: str) -> str:
    value = result.metrics[name]
    return percent_text(value) if METRICS[name].kind == SHARE else short(value)


def _jobs_table(result: RunResultData) -> PageTable:
    jobs = result.jobs.sort("tardiness", "end", descending=[True, True], nulls_last=True).head(MOST_JOBS)
    columns = [name for name in jobs.columns if not jobs[name].is_null().all()]
    more = result.jobs.height - jobs.height
    verb = "is" if more == 1 else "are"
    left_out = (
        f", the {jobs.height} with the largest tardiness ({more} more {verb} in the JSON and CSV results)"
        if more
        else ""
    )
    numbers = frozenset(at for at, name in enumerate(columns) if jobs[name].dtype.is_numeric())
    rows = [[cell(value) for value in row] for row in jobs.select(columns).rows()]
    return PageTable(f"Jobs{left_out}", [name.replace("_", " ") for name in columns], rows, numbers)


# --- charts ----------------------------------------------------------------------------------------------------------


def _time(result: RunResultData) -> ChartAxis:
    """The time of the run, from 0 to its end."""
    return x_axis(0.0, max(result.outcome.world.now, 1e-9))


def schedule_chart(result: RunResultData) -> Gantt:
    """Return the schedule, with all nodes of the run; without nodes, all jobs are in one row."""
    history, world = result.history, result.outcome.world
    parts = history.stretches
    named = bool(history.places_root)
    places = result.outcome.base.all_codes(history.places_root) if named else np.zeros(1, dtype=np.int64)
    row = parts.place if named else np.zeros(len(parts.place), dtype=np.int64)
    late = (world.end - world.due)[parts.job] > 1e-9 * np.maximum(1.0, np.abs(world.due[parts.job]))
    room = np.full(len(places), np.nan)
    if named:
        room[row] = history.gpus[parts.kind]
    return gantt(
        Stays(
            row=row,
            start=parts.start,
            end=parts.end,
            uses=parts.uses,
            jobs=parts.job,
            names=history.labels(history.jobs_root, parts.job),
            kinds=history.labels(history.kinds_root, parts.kind),
            late=late,
            rows=history.labels(history.places_root, places),
            room=room,
            axis=_time(result),
            unit=result.unit,
        )
    )


def cost_chart(result: RunResultData) -> Chart:
    """Return the charged money so far at every plan; for runs without plans, from the charges of each job."""
    times, totals = result.samples.curve(result.outcome)
    if not result.samples.times:
        times, totals = cost_over_time(result.history)
    if len(times) > MOST_POINTS:
        keep = np.unique(np.linspace(0, len(times) - 1, MOST_POINTS).astype(np.int64))
        times, totals = times[keep], totals[keep]
    unit = f" [{result.money}]" if result.money else ""
    return _chart(result, f"Cost so far{unit}", [("total", "blue", times, totals)])


def queue_chart(result: RunResultData) -> Chart:
    """Return the chart of jobs that are present and do not run."""
    waiting = queue_length(result.history)
    thin = waiting.thin_out(MOST_POINTS)
    curve: Curve = ("jobs waiting", "orange", *corners(thin.times, thin.values))
    return _chart(result, "Jobs waiting", [curve], thinned=thin is not waiting, whole=True)


def use_chart(result: RunResultData) -> Chart:
    """Return the chart of used GPUs, and of the GPUs of nodes in use."""
    used, room = gpus_in_use(result.history), gpus_of_used_nodes(result.history)
    thin = used.thin_out(MOST_POINTS)
    curves: list[Curve] = [
        ("GPUs used" if result.history.has_uses else "nodes used", "blue", *corners(thin.times, thin.values))
    ]
    if room is not None:
        in_use = room.thin_out(MOST_POINTS)
        curves.insert(0, ("GPUs of nodes in use", "grey", *corners(in_use.times, in_use.values)))
    title = "GPUs" if result.history.has_uses else "Nodes used"
    return _chart(result, title, curves, thinned=thin is not used)


def _chart(
    result: RunResultData, title: str, curves: list[Curve], *, thinned: bool = False, whole: bool = False
) -> Chart:
    return chart(title, _time(result), result.unit, curves, thinned=thinned, whole=whole)


def _prices(result: RunResultData) -> list[Chart]:
    """Return the prices of the slots, if the run has slots. Those after its end are not drawn."""
    outcome = result.outcome
    if outcome.online.window is None or not outcome.slot_length:
        return []
    return price_charts(outcome.online.base, outcome.base.store, _time(result), result.unit, outcome.slot_length)
