"""Values handed over from Python, as the chunks that data from files and tables become."""

from __future__ import annotations

import numbers
import re
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from datetime import time as clock
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NoReturn

from gpusched_dsl.language.checked import CheckedModel, CheckedParam, CheckedSet, Element, Numeric, TextType
from gpusched_dsl.language.diagnostics.diagnostic import Cell, Diagnostic, did_you_mean
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.language.source import Source, Span
from gpusched_dsl.language.units import DIMENSIONLESS, UNITS, Unit, convertible, factor, parse_unit_text
from gpusched_dsl.options.reading import has_unit, seconds_of

if TYPE_CHECKING:
    import polars as pl

    from gpusched_dsl.data.chunks import ColumnChunk, DataChunk

_PLAIN = {str, int, float, bool, type(None)}
_CELLS = (str, int, float, bool, type(None), date, clock)
_QUANTITY = re.compile(
    r"\s*(?P<number>[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*(?:\[(?P<brackets>[^\[\]]+)\]|(?P<plain>[^\W\d][^\[\]]*?|[$%€][^\[\]]*?))\s*"
)


@dataclass(frozen=True, slots=True)
class PythonOrigin:
    """Rows of a table or dictionary that was handed to `set`."""

    statement: Span
    name: str
    columns: tuple[str, ...]

    def place(self, row: int, component: int | None = None) -> Cell:
        column = self.columns[-1 if component is None else component]
        return Cell(f'set("{self.name}")', row + 1, column)


class AssignedValues:
    """Values that were assigned to sets and parameters in Python, each as data of the model that it was read for."""

    def __init__(self) -> None:
        self._values: dict[str, Any] = {}
        self._read: dict[str, tuple[CheckedModel, list[DataChunk]]] = {}

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._values)

    def assign(self, model: CheckedModel, name: str, value: Any) -> None:
        """Read a value now; raises DiagnosticError as `pieces_of` does."""
        self._read[name] = (model, pieces_of(model, name, value))
        self._values[name] = value

    def remove(self, names: Iterable[str]) -> None:
        for name in names:
            self._values.pop(name, None)
            self._read.pop(name, None)

    def chunks(self, model: CheckedModel) -> dict[str, list[DataChunk]]:
        """All values for a model: the same objects until they are assigned again."""
        return {name: self._chunks(model, name) for name in self._values}

    def _chunks(self, model: CheckedModel, name: str) -> list[DataChunk]:
        cached = self._read.get(name)
        if cached is None or cached[0] is not model:
            cached = self._read[name] = (model, pieces_of(model, name, self._values[name]))
        return cached[1]


def pieces_of(model: CheckedModel, name: str, value: Any) -> list[DataChunk]:
    """Convert the value of `set(name, value)`: a scalar, `{key: value}`, an array, a table, or for a set its elements.

    Keys and values are not compared with the sets here; that happens with all data together. Raises DiagnosticError
    (GSM6012) for a name that cannot be set and for a value of a form that cannot be read.
    """
    if not isinstance(name, str):
        raise _refusal(f"the name of a parameter or set is a text, not a value of type `{type(name).__name__}`", None)
    declared: CheckedParam | CheckedSet | None = model.params.get(name) or model.sets.get(name)
    if declared is None:
        _refuse_name(model, name)
    if declared.value is not None:
        help = "set the data from which it is computed"
        raise _refusal(f"`{name}` is derived in the model and cannot be set", declared.span, help)
    if type(value).__name__ == "LazyFrame" and hasattr(value, "collect"):
        value = _collected(value, name)
    statement = Source("Python", f'set("{name}", ...)').span(0, len(name) + 12)
    if isinstance(declared, CheckedSet):
        return [_set_chunk(declared, value, statement)]
    return [_param_chunk(declared, value, statement)]


def _collected(frame: Any, name: str) -> Any:
    """Return the table of a lazy one."""
    import polars as pl

    try:
        return frame.collect()
    except (pl.exceptions.PolarsError, OSError) as failure:
        reason = str(failure).splitlines()[0]
        raise _refusal(f"the table for `{name}` cannot be computed: {reason}", None) from failure


def _refuse_name(model: CheckedModel, name: str) -> NoReturn:
    kinds: tuple[tuple[str, Container[str]], ...] = (
        ("variable", model.variables),
        ("let", model.lets),
        ("option", model.option_choices),
    )
    for kind, names in kinds:
        if name in names:
            help = "set options with `settings={...}`" if kind == "option" else None
            raise _refusal(f"`{name}` is a {kind}; only parameters and sets can be set", None, help)
    known = [n for n, p in model.params.items() if p.value is None]
    known += [n for n, s in model.sets.items() if s.value is None]
    raise _refusal(f"model `{model.name}` has no parameter or set `{name}`", None, did_you_mean(name, known))


# --- parameters ------------------------------------------------------------------------------------------------------


def _param_chunk(declared: CheckedParam, value: Any, statement: Span) -> DataChunk:
    from gpusched_dsl.data.chunks import ValueChunk

    arity = sum(len(i.variables) for i in declared.indexing.iterators)
    if _is_table(value):
        return _table_chunk(declared, _with_index(value, arity + 1), arity, statement)
    if isinstance(value, Mapping) or callable(getattr(value, "items", None)):
        items = list(value.items())
        keys = [_key(k, arity, declared) for k, _ in items]
        return _column_chunk(declared, keys, [v for _, v in items], arity, statement)
    if arity and _is_array(value):
        return _array_chunk(declared, value, statement)
    scalar = _scalar(value)
    if isinstance(declared.type, Numeric):
        scalar = quantity(scalar, declared.type.unit, declared)
    if isinstance(declared.type, Element | TextType):
        if not isinstance(scalar, str | int):
            raise _refusal(f"`{declared.name}` needs a text, not `{value!r}`", declared.span)
        return ValueChunk(str(scalar), statement)
    if isinstance(scalar, str) or not isinstance(scalar, numbers.Real):
        message = f"`{declared.name}` needs numbers, not a value of type `{type(value).__name__}`"
        help = "give a number in the declared unit, a text with a unit, or a dictionary or table with a value per key"
        raise _refusal(message, declared.span, help)
    if isinstance(scalar, int) and not _is_exact(scalar):
        message = f"an integer of {len(str(abs(scalar)))} digits is not exact" if abs(scalar) < 10**300 else "too large"
        raise _refusal(f"`{declared.name}` cannot have this value: {message}", declared.span)
    return ValueChunk(float(scalar), statement)


def _is_exact(value: int) -> bool:
    """Whether an integer is the same as a float; -2^53 to 2^53 are."""
    try:
        return int(float(value)) == value
    except OverflowError:
        return False


def _array_chunk(declared: CheckedParam, value: Any, statement: Span) -> ColumnChunk:
    """The values of an array (nested lists, NumPy, a series) in the order of the index sets."""
    from gpusched_dsl.data.chunks import ColumnChunk

    axes = len(declared.indexing.iterators)
    shape, cells = _flat(value, declared)
    if len(shape) != axes:
        message = f"an array for `{declared.name}` has {axes} {'axis' if axes == 1 else 'axes'}, not {len(shape)}"
        raise _refusal(message, declared.span, "give one axis for each index set, or a dictionary or table with keys")
    origin = PythonOrigin(statement, declared.name, ("value",))
    return ColumnChunk((), _values_of(declared, cells), origin, shape=shape)


def _flat(value: Any, declared: CheckedParam) -> tuple[tuple[int, ...], list[Any]]:
    """Return the shape and the cells of an array."""
    if hasattr(value, "shape") and hasattr(value, "reshape") and not hasattr(value, "to_frame"):
        return tuple(value.shape), list(value.reshape(-1).tolist()) if _is_plain_array(value) else list(value.flat)
    rows = _list_of(value) if not isinstance(value, list | tuple) else list(value)
    if not any(map(_is_array, rows)):
        return (len(rows),), rows
    parts = [_flat(row, declared) if _is_array(row) else ((), [row]) for row in rows]
    inner = parts[0][0]
    if any(shape != inner for shape, _ in parts):
        raise _refusal(f"the lists for `{declared.name}` have different lengths", declared.span)
    return (len(rows), *inner), [cell for _, cells in parts for cell in cells]


def _is_array(value: Any) -> bool:
    """Whether it is a list, a series or an array with at least one axis, without keys."""
    if isinstance(value, list | tuple | range):
        return True
    return not isinstance(value, str | bytes) and (
        getattr(value, "ndim", 0) > 0 or (type(value).__name__ == "Series" and hasattr(value, "to_list"))
    )


def _is_plain_array(value: Any) -> bool:
    return getattr(getattr(value, "dtype", None), "kind", "O") in "biufU"


def _table_chunk(declared: CheckedParam, table: Any, arity: int, statement: Span) -> ColumnChunk:
    """Key columns and the value column of a polars or pandas table.

    The value column is the one called `value` or like the parameter, else the last; keys are the columns called like
    the indices when all are there, else the first ones in order.
    """
    from gpusched_dsl.data.chunks import ColumnChunk

    names = [str(c) for c in table.columns]
    value_name = next((n for n in ("value", declared.name) if n in names), names[-1] if names else "")
    others = [n for n in names if n != value_name]
    indices = [v.name for i in declared.indexing.iterators for v in i.variables]
    keys = indices if set(indices) <= set(others) else others
    if len(keys) != arity or not names:
        count = f"{arity} {'index' if arity == 1 else 'indices'}"
        message = f"`{declared.name}` has {count}, but the table has the columns {', '.join(names) or '(none)'}"
        help = f"give a column for each index ({', '.join(indices) or 'there is none'}) and then the value"
        raise _refusal(message, declared.span, help)
    series = {str(c): _series(table[c]) for c in table.columns if str(c) in keys}
    value = next(table[c] for c in table.columns if str(c) == value_name)
    series[value_name] = _values_of(declared, value)
    origin = PythonOrigin(statement, declared.name, (*keys, value_name))
    return ColumnChunk(tuple(series[k] for k in keys), series[value_name], origin)


def _column_chunk(
    declared: CheckedParam, keys: Sequence[tuple[Any, ...]], values: Sequence[Any], arity: int, statement: Span
) -> ColumnChunk:
    from gpusched_dsl.data.chunks import ColumnChunk

    named = (*(f"key {n}" for n in range(1, arity + 1)), "value")
    by_component = list(zip(*keys, strict=True)) if keys else [()] * arity
    origin = PythonOrigin(statement, declared.name, named)
    return ColumnChunk(tuple(map(_series_of, by_component)), _values_of(declared, values), origin)


def _values_of(declared: CheckedParam, values: Any) -> pl.Series:
    """Return values as a series; texts with units and lengths of time as numbers in the declared unit."""
    if _is_plain(values) and not _is_text_column(values):
        found: pl.Series = values
        return found
    cells = values if isinstance(values, list | tuple) else _list_of(values)
    if not isinstance(declared.type, Numeric):
        return _series_of(cells)
    unit = declared.type.unit
    return _series_of([quantity(_scalar(cell), unit, declared, strict=False) for cell in cells])


def _is_text_column(column: pl.Series) -> bool:
    import polars as pl

    return column.dtype == pl.String


def quantity(value: Any, unit: Unit, declared: CheckedParam, *, strict: bool = True) -> Any:
    """Return a text such as `2 h`, `90[min]` or `1h30m`, or a `timedelta`, as a number in a unit.

    Anything else comes back as it is, with `strict` False also texts that are none. Raises DiagnosticError (GSM6012)
    for a unit that does not convert.
    """
    if isinstance(value, timedelta):
        return _in_unit(Fraction(round(value.total_seconds() * 10**6), 10**6), parse_unit_text("s"), unit, declared)
    if not isinstance(value, str):
        return value
    found = _QUANTITY.fullmatch(value)
    try:
        if found is not None and ((found["brackets"] or found["plain"]) in UNITS or not has_unit(value)):
            written = parse_unit_text(found["brackets"] or found["plain"])
            return _in_unit(Fraction(found["number"]), written, unit, declared)
        if has_unit(value):  # `1h30m`, `5m`
            return _in_unit(Fraction(repr(seconds_of(value))), parse_unit_text("s"), unit, declared)
    except ValueError as error:
        if strict:
            raise _refusal(f"`{value}` is not a quantity: {error}", declared.span) from None
    return value


def _in_unit(number: Fraction, written: Unit, unit: Unit, declared: CheckedParam) -> float:
    if not convertible(written, unit):
        own = f"is in `{unit}`" if unit != DIMENSIONLESS else "has no unit"
        raise _refusal(f"units do not agree: `{written}`, but `{declared.name}` {own}", declared.span)
    return float(number * factor(written, unit))


def _with_index(table: Any, columns: int) -> Any:
    """Return a pandas table whose keys are in its index as one with columns for them."""
    if not hasattr(table, "reset_index") or len(table.columns) >= columns:
        return table
    return table.reset_index()


def _key(key: Any, arity: int, declared: CheckedParam) -> tuple[Any, ...]:
    parts = tuple(_scalar(k) for k in key) if isinstance(key, tuple) else (_scalar(key),)
    if len(parts) != arity:
        needed, given = f"{arity} {'label' if arity == 1 else 'labels'}", ", ".join(str(p) for p in parts)
        raise _refusal(f"a key of `{declared.name}` has {needed}, not {len(parts)}: `{given}`", declared.span)
    return parts


# --- sets ------------------------------------------------------------------------------------------------------------


def _set_chunk(declared: CheckedSet, value: Any, statement: Span) -> ColumnChunk:
    from gpusched_dsl.data.chunks import ColumnChunk, first_mixed_row

    arity = len(declared.types)
    origin = PythonOrigin(statement, declared.name, tuple(f"component {n}" for n in range(1, arity + 1)))
    if _is_table(value):
        value = _with_index(value, arity)
        if len(value.columns) != arity:
            message = f"an element of `{declared.name}` has {arity} components, not {len(value.columns)}"
            raise _refusal(f"{message}: the table has the columns {', '.join(map(str, value.columns))}", declared.span)
        labels = [value[c] for c in value.columns]
        mixed = None if _is_plain(labels[0]) else first_mixed_row([isinstance(v, str) for v in _list_of(labels[0])])
        return ColumnChunk(tuple(map(_series, labels)), None, origin, mixed=mixed)
    if declared.is_indexed and isinstance(value, Mapping):
        value = _rows_of_mapping(declared, value)
    if isinstance(value, str | bytes) or not isinstance(value, Iterable):
        raise _refusal(f"the set `{declared.name}` needs a list of its elements, not `{value!r}`", declared.span)
    rows = [r if isinstance(r, tuple | list) else (r,) for r in value]
    wrong = next((tuple(map(_scalar, r)) for r in rows if len(r) != arity), None)
    if wrong is not None:
        message = f"an element of `{declared.name}` has {arity} components, not {len(wrong)}: `{wrong}`"
        raise _refusal(message, declared.span)
    columns: list[Sequence[Any]] = list(zip(*rows, strict=True)) if rows else [()] * arity
    mixed = first_mixed_row([isinstance(v, str) for v in columns[0]])
    return ColumnChunk(tuple(map(_series_of, columns)), None, origin, mixed=mixed)


def _rows_of_mapping(declared: CheckedSet, value: Mapping[Any, Any]) -> list[tuple[Any, ...]]:
    """The tuples of an indexed set from `{index: elements}`."""
    rows: list[tuple[Any, ...]] = []
    for key, elements in value.items():
        index = key if isinstance(key, tuple) else (key,)
        if isinstance(elements, str) or not isinstance(elements, Iterable) or len(index) != declared.index_arity:
            help = f"write `{{index: [elements], ...}}`, as in `{{{key!r}: [...]}}`"
            raise _refusal(f"`{declared.name}` needs a list of elements for each index", declared.span, help)
        rows += [(*index, *(e if isinstance(e, tuple | list) else (e,))) for e in elements]
    return rows


# --- plain values ----------------------------------------------------------------------------------------------------


def _is_table(value: Any) -> bool:
    """Whether it is a polars or pandas table; this imports neither."""
    return hasattr(value, "columns") and hasattr(value, "__getitem__") and not isinstance(value, Mapping)


def _is_plain(column: Any) -> bool:
    """Whether it is a polars column with cells of one supported type."""
    import polars as pl

    return isinstance(column, pl.Series) and column.dtype in (pl.String, pl.Boolean, pl.Int64, pl.Float64)


def _series(column: Any) -> pl.Series:
    """A column of a table; a plain one as it is, without looking at its cells."""
    return column if _is_plain(column) else _series_of(_list_of(column))


def _series_of(values: Sequence[Any]) -> pl.Series:
    from gpusched_dsl.data.sources.untyped import series_of

    if set(map(type, values)) <= _PLAIN:
        return series_of(values)
    cells = [_scalar(v) for v in values]
    wrong = next((cell for cell in cells if not isinstance(cell, _CELLS)), None)
    if wrong is not None:
        raise _refusal(f"a value of type `{type(wrong).__name__}` is neither a number nor a text", None)
    return series_of(cells)


def _list_of(column: Any) -> list[Any]:
    for method in ("to_list", "tolist"):
        if hasattr(column, method):
            plain: list[Any] = getattr(column, method)()
            return plain
    return list(column)


def _scalar(value: Any) -> Any:
    """NumPy's scalars as Python's."""
    if isinstance(value, str | int | float | bool) or value is None:
        return value
    if isinstance(value, Decimal | Fraction):
        return int(value) if value % 1 == 0 else float(value)
    if type(value).__name__ == "timedelta64":
        value = value.astype("timedelta64[us]")  # of nanoseconds, `item` is a number
    item = getattr(value, "item", None)
    if callable(item) and getattr(value, "ndim", 0) == 0:
        return item()
    return value


def _refusal(message: str, span: Span | None, help: str | None = None) -> DiagnosticError:
    return DiagnosticError([Diagnostic("GSM6012", message, span, help=help)])
