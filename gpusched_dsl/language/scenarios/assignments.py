"""The value of a set or parameter in a scenario: the places of its labels and values, not yet read."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from msgspec import Struct

from gpusched_dsl.language import tree
from gpusched_dsl.language.checked import TypedExpr, TypedIndexing, TypedLaw, TypedSet
from gpusched_dsl.language.scenarios.formats import Use
from gpusched_dsl.language.source import Span

ONE = Fraction(1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """One giving of one target.

    `level` counts the scenarios of an `extends` chain, the oldest being 0; settings from outside come last.
    A `patch` replaces single values of what the other givings of its target state, later levels last.
    """

    target: str
    span: Span
    level: int = 0
    patch: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpressionAssignment(Assignment):
    """`period = 1[h];`, `Nodes = 1..40;`, `weight["j1"] = 3[$/h];` (`subscripts`: a patch).

    With `indexing`, a patch of all keys of an index list: `deadline[j in Jobs] = 2 * length[j];`.
    A Core is in the declared unit; without subscripts it holds for every key of an indexed parameter.
    A TypedSet gives a set.
    """

    value: TypedExpr | TypedSet
    subscripts: tuple[TypedExpr, ...] = ()
    indexing: TypedIndexing | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ArrayAssignment(Assignment):
    """`length = [4, 2, 3][h];`: all values in the order of the index sets; `shape` has the length of each level.

    `factor` takes the values to the declared unit.
    """

    shape: tuple[int, ...]
    values: tuple[TypedExpr, ...]
    factor: Fraction = ONE


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnsAssignment(Assignment):
    """Many settings of single values, a patch: their labels by component, their values as texts, and their places.

    `factor` takes the values to the declared unit.
    """

    keys: tuple[tuple[str, ...], ...]
    values: tuple[str, ...]
    spans: tuple[Span, ...]
    factor: Fraction = ONE


@dataclass(frozen=True, slots=True, kw_only=True)
class LawAssignment(Assignment):
    """`length ~ exponential(mean = 40[epoch]);`, over the index variables of the declaration."""

    law: TypedLaw


@dataclass(frozen=True, slots=True, kw_only=True)
class TableAssignment(Assignment):
    """A column of an inline table, or for a set its key cells (`column` is None). The cells of an indexed set are sets.

    Each row has `keys` key cells and then one cell per column; `factor` takes the column's unit to the declared one.
    `labels`: the values are labels or texts, not numbers.
    """

    table: tree.Table
    keys: int
    column: int | None
    factor: Fraction = ONE
    labels: bool = False

    @property
    def width(self) -> int:
        return self.keys + len(self.table.columns)


@dataclass(frozen=True, slots=True, kw_only=True)
class MatrixAssignment(Assignment):
    """The values of a matrix, or for a set (`values` false) the labels of its rows or columns.

    Each row has `rows` labels and then one cell per column. `components` gives for each subscript its fixed label, or
    the number of its label in the row; the number `rows` stands for the label of the column.
    `factor` takes the unit of the matrix to the declared one. `labels`: the values are labels or texts, not numbers.
    """

    matrix: tree.MatrixTable
    components: tuple[int | tree.TableCell, ...]
    rows: int
    values: bool = True
    factor: Fraction = ONE
    labels: bool = False

    @property
    def width(self) -> int:
        return self.rows + len(self.matrix.columns)


class SlotKey(Struct, frozen=True):
    """`slot(time, 15[min])`, `slot(time, 15[min], "2018-06-01")`: slots of `micros` µs, numbered from 0.

    `start` is where slot 0 begins: a time as text or in µs; None: at the first time of the column. A column of numbers
    counts in `seconds`.
    """

    micros: int
    start: str | int | None = None
    seconds: Fraction = ONE


@dataclass(frozen=True, slots=True, kw_only=True)
class FileAssignment(Assignment):
    """An item of a data statement: `columns` in the file for the keys (of a set: for its components) and the value.

    `function` is an aggregate over the rows of one key; `distinct` lets the rows of a set repeat. `use` is the format
    of the file, or the generator that draws the table instead of one; without it the file is a plain table. `slots`
    says for each key whether it is derived from a time.
    """

    data: tree.Data | tree.Generate
    item: tree.DataItem
    keys: tuple[str, ...]
    value: str | None
    factor: Fraction = ONE
    function: str | None = None
    distinct: bool = False
    use: Use | None = None
    slots: tuple[SlotKey | None, ...] = ()


AGGREGATES = ("mean", "sum", "min", "max", "count", "first", "last")
