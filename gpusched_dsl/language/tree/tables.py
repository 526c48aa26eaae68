"""Tables in a scenario: columns of values, and matrices."""

from __future__ import annotations

from gpusched_dsl.language.tree.expressions import UnitNode
from gpusched_dsl.language.tree.node import Identifier, Node, Statement


class TableColumn(Node, frozen=True, kw_only=True):
    name: Identifier
    unit: UnitNode | None = None


class TableCell(Node, frozen=True, kw_only=True):
    """`value` is None for `.` (not given). A bare name or a string is text; `true` and `false` are truth values."""

    value: float | str | bool | None

    @property
    def label(self) -> str | int | None:
        """The cell as a label: a bare or quoted text, an integer, or any other number as the author wrote it."""
        if isinstance(self.value, bool):
            return self.span.text
        if isinstance(self.value, str) or self.value is None:
            return self.value
        return int(self.value) if self.value.is_integer() else self.span.text


class SetCell(TableCell, frozen=True, kw_only=True):
    """`{ j1 j2 }`: the elements of an indexed set in a cell of a table; `value` is None."""

    items: tuple[TableCell, ...]


class Table(Statement, frozen=True, kw_only=True):
    """`table Types: gpus price[$/h] = v1 4 0.2  v2 4 0.3;`: key sets, columns, cells row by row, keys first."""

    keys: tuple[Identifier, ...]
    columns: tuple[TableColumn, ...]
    cells: tuple[TableCell, ...]


class MatrixLabel(TableCell, frozen=True, kw_only=True):
    """A label in the head of a matrix; `bare` before the `:` is the name of a set."""

    bare: bool


class MatrixTable(Statement, frozen=True, kw_only=True):
    """`table time[Jobs, Machines] in h: m1 m2 = a 1 2  b 3 4;`: the labels of the columns, then the cells by rows.

    `keys` has the name of a set for subscripts that run over rows and columns, and a label for a fixed subscript.
    """

    target: Identifier
    keys: tuple[MatrixLabel, ...]
    columns: tuple[MatrixLabel, ...]
    cells: tuple[TableCell, ...]
    unit: UnitNode | None = None
