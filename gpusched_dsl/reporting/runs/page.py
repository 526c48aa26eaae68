"""A run as a self-contained page with metrics, charts and tables, by Jinja2 with escaping."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

from jinja2 import Environment, PackageLoader, StrictUndefined

from gpusched_dsl.language.text.numbers import number_text, percent_text
from gpusched_dsl.reporting.grid import Grid
from gpusched_dsl.reporting.runs.charts import Chart, cost_chart, queue_chart, use_chart
from gpusched_dsl.reporting.runs.gantt import Gantt, gantt
from gpusched_dsl.reporting.runs.metrics import METRICS, SHARE
from gpusched_dsl.reporting.runs.short_numbers import short
from gpusched_dsl.reporting.runs.summary import summary_lines, title

if TYPE_CHECKING:
    from gpusched_dsl.reporting.runs.result_data import RunResultData

MOST_JOBS = 200  # rows of the table of jobs: the latest of them


def page(results: Sequence[RunResultData], grid: Grid | None = None, footer: Sequence[str] = ()) -> str:
    """HTML of one run, or of several with the grid of their comparison and the lines below it.

    Names come from files and are escaped.
    """
    template = _environment().get_template("run.html.j2")
    head = "Comparison of methods" if grid is not None or len(results) != 1 else title(results[0])
    return template.render(title=head, grid=grid, footer=footer, runs=[_run(result) for result in results])


def _run(result: RunResultData) -> dict[str, object]:
    charts: list[Chart] = [cost_chart(result), queue_chart(result), use_chart(result)]
    schedule: Gantt = gantt(result)
    jobs = result.jobs.sort("tardiness", "end", descending=[True, True], nulls_last=True).head(MOST_JOBS)
    columns = [c for c in jobs.columns if not jobs[c].is_null().all()]
    return {
        "title": title(result),
        "summary": [line.split(maxsplit=1) for line in summary_lines(result)],
        "warnings": [{"code": w.code, "message": w.message, "help": w.help} for w in result.warnings],
        "gantt": schedule,
        "charts": [chart for chart in charts if chart.curves],
        "metrics": [
            (name, _figure(result, name), result.unit_of(name), METRICS[name].means)
            for name, value in result.metrics.items()
            if value is not None
        ],
        "groups": [
            {"name": name, "columns": table.columns, "rows": [[_cell(cell) for cell in row] for row in table.rows()]}
            for name, table in ((attribute, result.by(attribute)) for attribute in result.attributes)
        ],
        "job_columns": columns,
        "jobs": [[_cell(row[name]) for name in columns] for row in jobs.to_dicts()],
        "more_jobs": result.jobs.height - jobs.height,
        "unit": result.unit,
        "money": result.money,
    }


def _figure(result: RunResultData, name: str) -> str:
    value = result.metrics[name]
    return percent_text(value) if METRICS[name].kind == SHARE else short(value)


def _cell(value: object) -> str:
    if value is None:
        return ""
    return number_text(round(value, 6)) if isinstance(value, float) else str(value)


@cache
def _environment() -> Environment:
    return Environment(
        loader=PackageLoader("gpusched_dsl.reporting.runs"), undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True, autoescape=True,
    )  # fmt: skip
