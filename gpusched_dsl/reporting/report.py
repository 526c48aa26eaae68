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
        from gpusched_dsl.data.sources.writing import write_text

        write_text(Path(path), self.json_text())

    def save(self, path: str | Path) -> None:
        """Write the document as `to_json` does."""
        self.to_json(path)
