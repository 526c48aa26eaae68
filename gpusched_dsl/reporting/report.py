"""Reports: what a call or a command has found, as data. Functions write them, found by the class and the form."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from gpusched_dsl.reporting.figures.figure import Figure


class Report:
    """The base of results, comparisons, explanations and estimates: each has a document, most have a text.

    `writers` has the function that writes each form, as `module:function`: `json` (nested dictionaries and lists),
    `text` (lines), `csv` (tables by name), `figures`, `html` (a page) and `notebook` (HTML within a page). Functions
    are imported when they are called: a report loads no writers, and writers can import the class that they write.
    """

    writers: ClassVar[dict[str, str]] = {"notebook": "gpusched_dsl.reporting.pages.fragment:text_fragment"}

    def to_dict(self) -> dict[str, Any]:
        """Return the document as nested dictionaries and lists for JSON; NaN and infinite numbers are None."""
        document: dict[str, Any] = write(self, "json")
        return document

    def lines(self) -> list[str]:
        """Return the text that the command line prints."""
        lines: list[str] = write(self, "text")
        return lines

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def __repr__(self) -> str:
        """Return the first line of the text: a report may hold arrays of millions of numbers."""
        return f"<{type(self).__name__}: {self.lines()[0].strip()}>"

    def _repr_html_(self) -> str:
        """Return the report as notebooks show it."""
        html: str = write(self, "notebook")
        return html

    def json_text(self) -> str:
        """The document as JSON."""
        from gpusched_dsl.reporting.document import json_text

        return json_text(self.to_dict())

    def to_json(self, path: str | Path) -> None:
        """Write the document as JSON, completely or not at all; raise DiagnosticError (GSM6008)."""
        from gpusched_dsl.data.sources.writing import output_path, write_text

        write_text(output_path(path), self.json_text())

    def export(self, path: str | Path, *, to: str | None = None) -> Path:
        """Write the report in a format of an installed package (`Reporter`), and return the path.

        `to` is the name of the format, by default the extension of the path. Raises DiagnosticError: GSM6024 if the
        format is unknown, for other reports, or fails; GSM6008 if the file cannot be written.
        """
        from gpusched_dsl.data.sources.writing import output_path
        from gpusched_dsl.reporting.reporters import write_report

        target = output_path(path)
        write_report(self, target, target.suffix.removeprefix(".").lower() if to is None else to)
        return target

    def save(self, path: str | Path) -> None:
        """Write the document as `to_json` does."""
        self.to_json(path)


class PagedReport(Report):
    """A report that is also a page."""

    def html_text(self) -> str:
        """Return a page with figures and tables, in one text that loads nothing."""
        html: str = write(self, "html")
        return html

    def to_html(self, path: str | Path) -> None:
        """Write the page, completely or not at all; raise DiagnosticError (GSM6008)."""
        from gpusched_dsl.data.sources.writing import output_path, write_text

        write_text(output_path(path), self.html_text())


class IllustratedReport(PagedReport):
    """A report that also has figures, and tables."""

    def to_csv(self, folder: str | Path) -> list[Path]:
        """Write each table to a CSV file in a folder, which is created if necessary; return the files.

        Raises DiagnosticError (GSM6008) if a file cannot be written.
        """
        from gpusched_dsl.data.sources.writing import output_path
        from gpusched_dsl.reporting.csv_files import write_csv_folder

        return write_csv_folder(output_path(folder), write(self, "csv"))

    def figures(self) -> list[Figure]:
        """Return the figures of the page."""
        figures: list[Figure] = write(self, "figures")
        return figures

    def to_figures(self, folder: str | Path) -> list[Path]:
        """Write each figure as SVG and PNG into a folder, and return the files; raise DiagnosticError (GSM6008)."""
        from gpusched_dsl.reporting.figures.drawing.files import write_figures

        return write_figures({"": self.figures()}, folder)


def write(report: Report, form: str) -> Any:
    """Return a report in a form, by the function that `Report.writers` names.

    Raises ValueError if the report has no such form.
    """
    writers = type(report).writers
    if form not in writers:
        name = type(report).__name__
        raise ValueError(f"a {name} has no form `{form}`; it has {', '.join(writers) or 'none'}")
    module, _, function = writers[form].partition(":")
    return getattr(import_module(module), function)(report)
