"""The result of a run over time: metrics, tables, costs, bound, and its files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpusched_dsl.reporting.report import Report
from gpusched_dsl.reporting.runs.result_data import RunResultData

if TYPE_CHECKING:
    from gpusched_dsl.reporting.figures.figure import Figure


@dataclass(frozen=True, eq=False)
class RunResult(RunResultData, Report):
    """The result of a run. Times are in `unit`, the unit of the run's clock, money in `money`.

    `bound` is a proved lower bound of `total` if the charges allow one (otherwise `bound.value` is None, and
    `bound.how` is the reason). `completion_bound` is one of the mean completion time, None if it was not asked for.
    """

    def to_dict(self) -> dict[str, Any]:
        """Return the result as in `docs/schema/run-1.json`; NaN and infinite numbers are None."""
        from gpusched_dsl.reporting.runs.document import document

        return document(self)

    def to_csv(self, folder: str | Path) -> list[Path]:
        """Write `jobs.csv`, `schedule.csv`, `steps.csv`, `node_types.csv`, `metrics.csv`, and `by_owner.csv` for an
        attribute `owner` of jobs; return the files.

        The folder is created if necessary. Raises DiagnosticError (GSM6008) if a file cannot be written.
        """
        import polars as pl

        from gpusched_dsl.reporting.csv_files import write_csv_folder

        values = [None if v is None else float(v) for v in self.metrics.values()]
        figures = {"metric": list(self.metrics), "value": values}
        units = [self.unit_of(name) for name in self.metrics]
        tables = {
            "jobs": self.jobs,
            "schedule": self.schedule,
            "steps": self.steps.with_columns(pl.col("why").list.join("+")),
            "node_types": self.node_types,
            "metrics": pl.DataFrame({**figures, "unit": units}, schema_overrides={"value": pl.Float64}),
            **{f"by_{attribute}": self.by(attribute) for attribute in self.attributes},
        }
        from gpusched_dsl.data.sources.writing import output_path

        return write_csv_folder(output_path(folder), tables)

    def figures(self) -> list[Figure]:
        """Return the figures of the page: schedule, utilisation, cost, queue, load, power, prices."""
        from gpusched_dsl.reporting.figures.run_figures import run_figures

        return run_figures(self)

    def to_figures(self, folder: str | Path) -> list[Path]:
        """Write each figure as SVG and PNG into a folder, and return the files; raise DiagnosticError (GSM6008)."""
        from gpusched_dsl.reporting.figures.drawing.files import write_figures

        return write_figures({"": self.figures()}, folder)

    def html_text(self) -> str:
        """Return a page with charts and tables."""
        from gpusched_dsl.reporting.pages.run_page import page

        return page([self])

    def to_html(self, path: str | Path) -> None:
        """Write a self-contained page with charts and tables; raise DiagnosticError (GSM6008)."""
        from gpusched_dsl.data.sources.writing import output_path, write_text

        write_text(output_path(path), self.html_text())

    def _repr_html_(self) -> str:
        from gpusched_dsl.reporting.pages.fragment import run_fragment

        return run_fragment(self)

    def __str__(self) -> str:
        from gpusched_dsl.reporting.runs.summary import summary_lines, tables_by_attribute

        return "\n".join([*summary_lines(self), *tables_by_attribute(self)])

    def __repr__(self) -> str:
        from gpusched_dsl.language.text.numbers import number_text, with_unit

        total = with_unit(number_text(self.total), self.money)
        return f"<RunResult {self.outcome.online.name}, {self.method}: {self.ended}, {total}>"
