"""Values of variables, reports and duals as tables for the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from gpusched_dsl.language.checked import Numeric
from gpusched_dsl.language.text.numbers import NOISE, column_texts, count_text, number_text, with_unit
from gpusched_dsl.reporting.grid import Grid, GridColumn

if TYPE_CHECKING:
    import polars as pl

    from gpusched_dsl.reporting.result import Result

ALL = "all"
MOST_ROWS = 20  # of a table that was not asked for
MOST_TABLES = 8
NUMBERS = frozenset({
    "activity", "lower", "upper", "slack", "dual", "valid_from", "valid_to", "reduced_cost", "cost_from", "cost_to",
    "part",
})  # fmt: skip


class ValueTable(Struct, frozen=True):
    """A line of text, and the table below it; None where the line says all. `rows` counts those that are left out."""

    caption: str
    grid: Grid | None = None
    left_out: int = 0


def value_tables(result: Result, names: Sequence[str]) -> Iterator[ValueTable]:
    """Return the reports, then the variables: the first rows of some of them, or all rows of those with `names`.

    A name may be that of a variable, report, let or parameter, or `all` for all variables. Raises KeyError for another.
    """
    variables = [family.name for family in result.problem.variables]
    reports = [name for name in result.reports if name not in names]
    for name in reports:
        yield _value_table(result, name, None if names else MOST_ROWS, zeros=True)
    if names:
        chosen = dict.fromkeys(name for given in names for name in (variables if given == ALL else (given,)))
        for name in chosen:
            yield _value_table(result, name, None)
        return
    if result.placed is not None:
        return
    for name in variables[:MOST_TABLES]:
        yield _value_table(result, name, MOST_ROWS)
    if len(variables) > MOST_TABLES:
        yield ValueTable(f"... and {count_text(len(variables) - MOST_TABLES, 'more variable')}: `--show all`")


def dual_tables(result: Result) -> Iterator[ValueTable]:
    """Return the rows with a dual that is not zero, and the variables with a reduced cost that is not zero."""
    sensitivity = result.sensitivity
    if sensitivity is None:
        return
    at = " with the integer variables fixed at the solution" if sensitivity.fixed.any() else ""
    yield ValueTable(f"duals{at}: how much the objective changes with the right-hand side")
    for name in dict.fromkeys(family.name for family in result.problem.constraints):
        yield _nonzero_table(name, row_table(result, name), "dual")
    for family in result.problem.variables:
        yield _nonzero_table(family.name, column_table(result, family.name), "reduced_cost")


def row_table(result: Result, constraint: str) -> pl.DataFrame:
    """Return activity, sides, slack and dual of the rows of a constraint, and the range of the side if there is one."""
    frame = result.slacks(constraint).with_columns(result.duals(constraint)["dual"])
    if result.sensitivity is None or result.sensitivity.ranges is None:
        return frame
    ranges = result.side_ranges(constraint)
    return frame.with_columns(ranges["lower"].alias("valid_from"), ranges["upper"].alias("valid_to"))


def column_table(result: Result, variable: str) -> pl.DataFrame:
    """Return the reduced costs of a variable, and the ranges of its costs if there are some."""
    frame = result.reduced_costs(variable)
    if result.sensitivity is None or result.sensitivity.ranges is None:
        return frame
    ranges = result.cost_ranges(variable)
    return frame.with_columns(ranges["lower"].alias("cost_from"), ranges["upper"].alias("cost_to"))


def _value_table(result: Result, name: str, most: int | None, zeros: bool = False) -> ValueTable:
    unit = unit_of(result, name)
    frame = result.table(name, zeros=zeros)
    if len(frame.columns) == 1 and frame.height <= 1:
        value = frame.row(0)[0] if frame.height else 0.0
        return ValueTable(f"{name}  {with_unit(value if isinstance(value, str) else number_text(value), unit)}")
    heading = f"{name}{f' [{unit}]' if unit else ''}"
    if not frame.height:
        return ValueTable(f"{heading}: all are 0")
    shown = frame if most is None else frame.head(most)
    number = count_text(frame.height, "value" if zeros else "nonzero value")
    return ValueTable(f"{heading}: {number}", _grid(shown), frame.height - shown.height)


def _nonzero_table(name: str, frame: pl.DataFrame, column: str) -> ValueTable:
    import polars as pl

    kept = frame.filter(pl.col(column).is_not_nan() & (pl.col(column).abs() > NOISE))
    if not kept.height:
        return ValueTable(f"{name}: {column.replace('_', ' ')}s are all 0")
    shown = kept.head(MOST_ROWS)
    return ValueTable(f"{name}: {count_text(kept.height, 'row')}", _grid(shown), kept.height - shown.height)


def _grid(frame: pl.DataFrame) -> Grid:
    columns = []
    for series in frame:
        heading = series.name.replace("_", " ")
        if series.dtype.is_float():
            columns.append(GridColumn(heading, column_texts(series.fill_nan(None).to_list(), 6, 0), right=True))
        else:
            columns.append(GridColumn(heading, [str(v) for v in series.to_list()], right=series.dtype.is_integer()))
    return Grid(tuple(columns))


def unit_of(result: Result, name: str) -> str:
    """Return the unit of a variable, report, `let` or parameter; "" for none."""
    model = result.provenance.model
    if model is None:
        return ""
    declared = model.variables.get(name) or model.reports.get(name) or model.lets.get(name) or model.params.get(name)
    if declared is None or not isinstance(declared.type, Numeric):
        return ""
    text = str(declared.type.unit)
    return "" if text == "1" else text
