"""The base of comparisons: methods as rows, the best of them, and the values that refute a bound."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from gpusched_dsl.ir.contradiction import REMARK as CONTRADICTED
from gpusched_dsl.ir.tolerances import ROUNDING
from gpusched_dsl.language.text.numbers import column_texts, percent_number
from gpusched_dsl.reporting.grid import BAD, GOOD, Grid, GridColumn, plain
from gpusched_dsl.reporting.report import Report

if TYPE_CHECKING:
    import polars as pl

SAME = ROUNDING  # relative difference of equally good values
REMARK = "remark"


class MethodRow(Protocol):
    @property
    def method(self) -> str: ...

    @property
    def remark(self) -> str: ...


Row = TypeVar("Row", bound=MethodRow)


@dataclass(frozen=True, eq=False)
class MethodComparison(Report, Generic[Row]):
    """Rows in the order of the methods; `interrupted`: the methods after the last row were not run."""

    rows: tuple[Row, ...]
    interrupted: bool = False

    # --- abstract methods --------------------------------------------------------------------------------------------

    @abstractmethod
    def rank_value(self, row: Row) -> float | None:
        """Return the value that ranks the row; None if it is not ranked."""

    @abstractmethod
    def refutes(self, row: Row) -> bool:
        """Whether the value of a row is better than the bound: then one of the two is wrong."""

    @abstractmethod
    def gap(self, row: Row) -> float | None:
        """The relative distance of a row to the bound; None if one of the two is missing."""

    @abstractmethod
    def is_bad(self, row: Row) -> bool:
        """Whether the row has no valid plan."""

    @abstractmethod
    def _schema(self) -> dict[str, Any]:
        """The columns of the table with their types."""

    @abstractmethod
    def _record(self, row: Row) -> dict[str, Any]:
        """A row of the table."""

    @abstractmethod
    def grid(self) -> Grid:
        """The table as texts, `*` at the best value."""

    @abstractmethod
    def footer(self) -> list[str]:
        """The lines below the table."""

    def _choose(self, values: Sequence[float]) -> float:
        """The best of several values."""
        return min(values)

    # --- ranking -----------------------------------------------------------------------------------------------------

    @cached_property
    def best(self) -> float | None:
        """Return the best value of all ranked rows."""
        values = [value for row in self.rows if (value := self.rank_value(row)) is not None]
        return self._choose(values) if values else None

    def is_best(self, row: Row) -> bool:
        """Whether no row is better."""
        value = self.rank_value(row)
        if value is None or self.best is None or self.refutes(row):
            return False
        return abs(value - self.best) <= SAME * max(1.0, abs(self.best))

    def remark(self, row: Row) -> str:
        """Return the remark of a row, or that its value is impossible."""
        return "; ".join(text for text in (CONTRADICTED if self.refutes(row) else "", row.remark) if text)

    # --- tables ------------------------------------------------------------------------------------------------------

    @cached_property
    def table(self) -> pl.DataFrame:
        """All rows as a table."""
        import polars as pl

        return pl.DataFrame([self._record(row) for row in self.rows], schema=self._schema(), orient="row")

    def csv_text(self) -> str:
        """The table as CSV."""
        from gpusched_dsl.reporting.csv_files import csv_text

        return csv_text(self.table)

    def to_csv(self, path: str | Path) -> None:
        """Write the table as CSV, completely or not at all; raise DiagnosticError (GSM6008)."""
        from gpusched_dsl.data.sources.writing import output_path, write_text

        write_text(output_path(path), self.csv_text())

    def __str__(self) -> str:
        return "\n".join([plain(self.grid()).rstrip("\n"), *self.footer()])

    def _mark_best(self, header: str, values: Sequence[float | None]) -> GridColumn:
        """Return a column of values, with `*` at the best value and `!` at values better than the bound."""
        marks = ["!" if self.refutes(row) else "*" if self.is_best(row) else " " for row in self.rows]
        texts = [f"{text} {mark}" for text, mark in zip(column_texts(values, digits=6), marks, strict=True)]
        return GridColumn(f"{header}  ", texts, right=True, marks=self._row_marks)

    @cached_property
    def _row_marks(self) -> tuple[str, ...]:
        """Return `good` for the best rows, and `bad` for rows that have no valid value."""
        return tuple(
            GOOD if self.is_best(row) else BAD if self.refutes(row) or self.is_bad(row) else "" for row in self.rows
        )

    def _methods(self) -> GridColumn:
        return GridColumn("method", [row.method for row in self.rows], marks=self._row_marks)

    def _gaps(self) -> GridColumn:
        return GridColumn("gap [%]", [percent_number(self.gap(row)) for row in self.rows], right=True, optional=1)

    def _remarks(self) -> list[GridColumn]:
        """The column of remarks, if there are any."""
        texts = [self.remark(row) for row in self.rows]
        return [GridColumn(REMARK, texts, wraps=True)] if any(texts) else []

    def _interruption_note(self) -> list[str]:
        return ["interrupted: the methods after the last row were not run"] if self.interrupted else []
