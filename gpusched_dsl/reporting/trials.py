"""Tables of trials, one run of a scenario by a method per row, in all forms; trials of one instance are ranked."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeAlias, TypeVar

from gpusched_dsl.ir.contradiction import REMARK as CONTRADICTED
from gpusched_dsl.ir.tolerances import ROUNDING
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.text.numbers import column_texts, percent_number
from gpusched_dsl.reporting.grid import BAD, GOOD, Grid, GridColumn, plain
from gpusched_dsl.reporting.paired_differences import PairedDifferences, paired_differences
from gpusched_dsl.reporting.report import PagedReport, write

if TYPE_CHECKING:
    import polars as pl

    from gpusched_dsl.reporting.figures.figure import Figure

SAME = ROUNDING  # relative difference of equally good values
REMARK = "remark"
R = TypeVar("R")
Columns: TypeAlias = dict[str, tuple[type, list[Any]]]  # the type and the values of each column


@dataclass(frozen=True, eq=False)
class Trial(ABC, Generic[R]):
    """One run of one method. `result` is None if it was refused; `diagnostics` has the reasons or the violations.

    `seed` is None for methods without draws, and where all rows of a table have the same.
    """

    method: str
    result: R | None
    diagnostics: tuple[Diagnostic, ...] = ()
    seed: int | None = None

    @property
    @abstractmethod
    def status(self) -> str:
        """Return how the run ended, or `refused`."""

    @property
    @abstractmethod
    def remark(self) -> str:
        """Return why there is no result, or what is wrong with it."""

    @property
    def title(self) -> str:
        """Return `FIFO, seed 1`, or the method alone."""
        return self.method if self.seed is None else f"{self.method}, seed {self.seed}"

    @property
    def label(self) -> str:
        """Return `FIFO-1`, or the method alone, for names of files."""
        return self.method if self.seed is None else f"{self.method}-{self.seed}"

    @property
    def refusal(self) -> str:
        """Return why there is no result; empty with a result."""
        return self.diagnostics[0].message if self.result is None and self.diagnostics else ""


T = TypeVar("T", bound=Trial[Any])


@dataclass(frozen=True, eq=False)
class Trials(PagedReport, ABC, Generic[T]):
    """Rows in the order of the trials; `interrupted`: those after the last row did not run.

    `print` shows the table of the command line; `table` has a row per trial. `bars` are figures of the methods.
    """

    writers: ClassVar[dict[str, str]] = {"notebook": "gpusched_dsl.reporting.pages.fragment:comparison_fragment"}

    rows: tuple[T, ...]
    interrupted: bool = False

    # --- abstract methods --------------------------------------------------------------------------------------------

    @property
    @abstractmethod
    def table(self) -> pl.DataFrame:
        """All rows as a table."""

    @abstractmethod
    def grid(self) -> Grid:
        """Return the table for people, `*` at the best value."""

    @abstractmethod
    def footer(self) -> list[str]:
        """Return the lines below the table."""

    @property
    def contradictions(self) -> tuple[Diagnostic, ...]:
        """Return the diagnostics GSM9002 of values that are better than their bound."""
        return ()

    @property
    def warnings(self) -> tuple[Diagnostic, ...]:
        """Return the warnings of results that are not diagnostics of rows."""
        return ()

    # --- seeds -------------------------------------------------------------------------------------------------------

    @property
    def paired(self) -> PairedDifferences | None:
        """Return the differences of methods at equal seeds; None without several seeds."""
        return None

    def paired_grid(self) -> Grid | None:
        """Return the differences to the best method over the seeds as texts; None without several seeds."""
        return None

    # --- forms -------------------------------------------------------------------------------------------------------

    def csv_text(self) -> str:
        """Return the table as CSV."""
        from gpusched_dsl.reporting.csv_files import csv_text

        return csv_text(self.table)

    def to_csv(self, path: str | Path) -> None:
        """Write the table as CSV, completely or not at all; raise DiagnosticError (GSM6008)."""
        from gpusched_dsl.data.sources.writing import output_path, write_text

        write_text(output_path(path), self.csv_text())

    def figures(self) -> dict[str, Sequence[Figure]]:
        """Return the bars of the comparison, and the figures of each trial."""
        own = {row.label: row.result.figures() for row in self.rows if row.result is not None}
        return {"comparison": write(self, "bars"), **own}

    def to_figures(self, folder: str | Path) -> list[Path]:
        """Write each figure as SVG and PNG into a folder, and return the files; raise DiagnosticError (GSM6008)."""
        from gpusched_dsl.reporting.figures.drawing.files import write_figures

        return write_figures(self.figures(), folder)

    def grids(self) -> list[Grid]:
        """Return the table for people, and with several seeds the differences."""
        return [grid for grid in (self.grid(), self.paired_grid()) if grid is not None]

    def lines(self) -> list[str]:
        """Return the table for people, and the lines below it."""
        return [*plain(self.grid()).splitlines(), *self.footer()]


@dataclass(frozen=True, eq=False)
class RankedTrials(Trials[T]):
    """Trials of one instance: their values can be ranked, and compared with a bound that is valid for all of them."""

    # --- abstract methods --------------------------------------------------------------------------------------------

    @abstractmethod
    def columns(self) -> Columns:
        """Return the columns of `table`."""

    @abstractmethod
    def rank_value(self, row: T) -> float | None:
        """Return the value that ranks the row; None if it is not ranked."""

    @abstractmethod
    def refutes(self, row: T) -> bool:
        """Whether the value of a row is better than the bound: then one of the two is wrong."""

    @abstractmethod
    def gap(self, row: T) -> float | None:
        """Return the relative distance of a row to the bound; None if one of the two is missing."""

    @abstractmethod
    def is_bad(self, row: T) -> bool:
        """Whether the row has no valid plan."""

    def _choose(self, values: Sequence[float]) -> float:
        """Return the best of several values."""
        return min(values)

    # --- ranking -----------------------------------------------------------------------------------------------------

    @cached_property
    def best(self) -> float | None:
        """Return the best value of all ranked rows."""
        values = [value for row in self.rows if (value := self.rank_value(row)) is not None]
        return self._choose(values) if values else None

    def is_best(self, row: T) -> bool:
        """Whether no row is better."""
        value = self.rank_value(row)
        if value is None or self.best is None or self.refutes(row):
            return False
        return abs(value - self.best) <= SAME * max(1.0, abs(self.best))

    def remark(self, row: T) -> str:
        """Return the remark of a row, or that its value is impossible."""
        return "; ".join(text for text in (CONTRADICTED if self.refutes(row) else "", row.remark) if text)

    # --- tables ------------------------------------------------------------------------------------------------------

    @cached_property
    def table(self) -> pl.DataFrame:
        """All rows as a table."""
        import polars as pl

        columns = self.columns()
        schema = {name: kind for name, (kind, _) in columns.items()}
        return pl.DataFrame({name: values for name, (_, values) in columns.items()}, schema=schema)

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

    def _statuses(self, header: str) -> GridColumn:
        return GridColumn(header, [row.status for row in self.rows], marks=self._row_marks)

    def _gaps(self) -> GridColumn:
        return GridColumn("gap [%]", [percent_number(self.gap(row)) for row in self.rows], right=True, optional=1)

    def _remarks(self) -> list[GridColumn]:
        """Return the column of remarks, if there are any."""
        texts = [self.remark(row) for row in self.rows]
        return [GridColumn(REMARK, texts, wraps=True)] if any(texts) else []

    def _interruption_note(self) -> list[str]:
        return ["interrupted: the methods after the last row were not run"] if self.interrupted else []


def pair_by_seed(
    values: Iterable[tuple[str, int | None, float | None]], *, minimise: bool = True
) -> PairedDifferences | None:
    """Return the differences of methods at equal seeds, from triples of method, seed and value."""
    import polars as pl

    columns = {"method": pl.String, "seed": pl.Int64, "value": pl.Float64}
    return paired_differences(pl.DataFrame(list(values), schema=columns, orient="row"), minimise=minimise)
