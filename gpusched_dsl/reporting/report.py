"""The base of all reports: results, comparisons, explanations and estimates become JSON in one way."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any


class Report(ABC):
    """A report has one document; its text is for people too, and is the one that the command line writes."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Return the document as nested dictionaries and lists for JSON."""

    def _repr_html_(self) -> str:
        """Return the report as notebooks show it."""
        from gpusched_dsl.reporting.pages.fragment import text_fragment

        return text_fragment(str(self))

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
