"""Keys and values from tables, files and expressions, each with its source position."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

from gpusched_dsl.data.sources.files import FileColumns
from gpusched_dsl.ir.arrays import Codes, Floats
from gpusched_dsl.ir.domains import Scalar
from gpusched_dsl.language.checked import Constant, LiteralSet, StringLiteral
from gpusched_dsl.language.diagnostics.diagnostic import Cell
from gpusched_dsl.language.scenarios.assignments import ONE, ColumnsAssignment, MatrixAssignment, TableAssignment
from gpusched_dsl.language.source import Span

if TYPE_CHECKING:
    from gpusched_dsl.data.short_columns import Column

Place = Span | Cell


class Origin(Protocol):
    """The source of the rows of a chunk. Rows are counted from 0; `component` is a key's, None for the value."""

    @property
    def statement(self) -> Span:
        """The statement of the scenario that gives the chunk."""
        ...

    def place(self, row: int, component: int | None = None) -> Place: ...


class FileOrigin(Struct, frozen=True, eq=False):
    statement: Span
    file: FileColumns
    keys: tuple[str, ...]
    value: str | None

    def place(self, row: int, component: int | None = None) -> Place:
        return self.file.place(row, self.value if component is None else self.keys[component])


class TableOrigin(Struct, frozen=True, eq=False):
    assignment: TableAssignment

    @property
    def statement(self) -> Span:
        return self.assignment.span

    def place(self, row: int, component: int | None = None) -> Place:
        at = component
        if at is None:
            at = 0 if self.assignment.column is None else self.assignment.keys + self.assignment.column
        return self.assignment.table.cells[row * self.assignment.width + at].span


class MatrixOrigin(Struct, frozen=True, eq=False):
    assignment: MatrixAssignment

    @property
    def statement(self) -> Span:
        return self.assignment.span

    def place(self, row: int, component: int | None = None) -> Place:
        assignment = self.assignment
        columns = len(assignment.matrix.columns)
        line, column = divmod(row, columns) if assignment.values else (row, row)
        if component is None:
            return assignment.matrix.cells[line * assignment.width + assignment.rows + column].span
        source = assignment.components[component]
        if isinstance(source, int):
            cells = (
                assignment.matrix.columns[column:]
                if source == assignment.rows
                else assignment.matrix.cells[line * assignment.width :]
            )
            return cells[0 if source == assignment.rows else source].span
        return source.span


class TextOrigin(Struct, frozen=True, eq=False):
    """An expression; `rows` are the places of its rows if each has one, else all are at `statement`."""

    statement: Span
    rows: tuple[Span, ...] = ()

    def place(self, row: int, component: int | None = None) -> Place:
        return self.rows[row] if self.rows else self.statement


class ColumnChunk(Struct, frozen=True, eq=False):
    """Key columns and a value column of equal length.

    A key or value is text, an integer, a float or a truth value, by the type of its column; null is not given.
    `typed`: text is text on purpose (a quoted label, a database column), not the writing of a number.
    `mixed`: the first row whose key is not of the same kind (number or text) as the rows before.
    `values` is None for a set. `factor` takes values to the declared unit; `function` aggregates the rows of a key.
    `codes` are the keys instead of `keys`. With a `level` the rows are patches of that level, those of
    `single_keys` after the others: settings of single values.
    `weights` of the rows count in means. `windows` are the keys that are slots of time: rows before the first or after
    the last element of the index set are left out, as a file may hold more than the horizon.
    With a `shape`, the values are an array in the order of the index sets, and get their `codes` when these are known.
    """

    keys: tuple[Column, ...]
    values: Column | None
    origin: Origin
    factor: Fraction = ONE
    function: str | None = None
    distinct: bool = False
    typed: bool = True
    mixed: int | None = None
    codes: tuple[Codes, ...] | None = None
    level: int | None = None
    single_keys: bool = False
    weights: Floats | None = None
    windows: tuple[int, ...] = ()
    shape: tuple[int, ...] | None = None


class ValueChunk(Struct, frozen=True, eq=False):
    """One value, already in the declared unit: for every key (`labels` None) or, a patch, for the key `labels`.

    Later patches win over earlier ones and over every chunk that is no patch.
    """

    value: float | str
    span: Span
    labels: tuple[Scalar, ...] | None = None
    level: int = 0


DataChunk = ColumnChunk | ValueChunk


def columns_chunk(given: ColumnsAssignment, *, is_number: bool) -> ColumnChunk:
    """The rows of many settings of single values."""
    import polars as pl

    values = pl.Series(given.values, dtype=pl.String)
    return ColumnChunk(
        tuple(pl.Series(labels, dtype=pl.String) for labels in given.keys),
        values.cast(pl.Float64) if is_number else values,
        TextOrigin(given.span, given.spans),
        given.factor,
        level=given.level,
        single_keys=True,
    )


def literal_chunk(expr: LiteralSet, statement: Span) -> ColumnChunk | None:
    """The rows of a set literal as a chunk, or None when some item must be computed first."""
    rows: list[tuple[Scalar, ...]] = []
    for row in expr.rows:
        items: list[Scalar] = []
        for item in row:
            if isinstance(item, StringLiteral):
                items.append(item.text)
            elif isinstance(item, Constant) and float(item.value).is_integer():
                items.append(int(item.value))
            else:
                return None
        rows.append(tuple(items))
    spans = tuple(row[0].span.to(row[-1].span) for row in expr.rows)
    return label_chunk(rows, len(expr.types), statement, spans)


def label_chunk(
    rows: list[tuple[Scalar, ...]], arity: int, statement: Span, spans: tuple[Span, ...] = ()
) -> ColumnChunk:
    """Label tuples as a chunk for a set; `spans` are the places of the rows if they have any of their own."""
    from gpusched_dsl.data.sources.untyped import column_of

    columns = list(zip(*rows, strict=True)) if rows else [()] * arity
    mixed = first_mixed_row([isinstance(row[0], str) for row in rows])
    return ColumnChunk(tuple(map(column_of, columns)), None, TextOrigin(statement, spans), mixed=mixed)


def first_mixed_row(texts: list[bool]) -> int | None:
    """The first row that is not of the kind of row 0."""
    return texts.index(not texts[0]) if texts and (not texts[0]) in texts else None
