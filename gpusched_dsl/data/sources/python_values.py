"""Values handed over from Python, as the chunks that data from files and tables become."""

from __future__ import annotations

import numbers
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

from gpusched_dsl.language.checked import CheckedModel, CheckedParam, CheckedSet, Element, TextType
from gpusched_dsl.language.diagnostics.diagnostic import Cell, Diagnostic, did_you_mean
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.language.source import Source, Span

if TYPE_CHECKING:
    import polars as pl

    from gpusched_dsl.data.chunks import ColumnChunk, DataChunk

_PLAIN = {str, int, float, bool, type(None)}


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
    """Convert the value of `set(name, value)`: a scalar, `{key: value}`, a table, or for a set its elements.

    Keys and values are not compared with the sets here; that happens with all data together. Raises DiagnosticError
    (GSM6012) for a name that cannot be set and for a value of a form that cannot be read.
    """
    declared: CheckedParam | CheckedSet | None = model.params.get(name) or model.sets.get(name)
    if declared is None:
        _refuse_name(model, name)
    if declared.value is not None:
        help = "set the data from which it is computed"
        raise _refusal(f"`{name}` is derived in the model and cannot be set", declared.span, help)
    statement = Source("Python", f'set("{name}", ...)').span(0, len(name) + 12)
    if isinstance(declared, CheckedSet):
        return [_set_chunk(declared, value, statement)]
    return [_param_chunk(declared, value, statement)]


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
        return _table_chunk(declared, value, arity, statement)
    if isinstance(value, Mapping) or hasattr(value, "items"):
        items = list(value.items())
        keys = [_key(k, arity, declared) for k, _ in items]
        return _column_chunk(declared, keys, [v for _, v in items], arity, statement)
    scalar = _scalar(value)
    if isinstance(declared.type, Element | TextType):
        if not isinstance(scalar, str | int):
            raise _refusal(f"`{declared.name}` needs a text, not `{value!r}`", declared.span)
        return ValueChunk(str(scalar), statement)
    if isinstance(scalar, str) or not isinstance(scalar, numbers.Real):
        message = f"`{declared.name}` needs numbers, not a value of type `{type(value).__name__}`"
        help = "give a number in the declared unit, or a dictionary or table with a value per key"
        raise _refusal(message, declared.span, help)
    return ValueChunk(float(scalar), statement)


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
    series = {str(c): _series(table[c]) for c in table.columns if str(c) in (*keys, value_name)}
    origin = PythonOrigin(statement, declared.name, (*keys, value_name))
    return ColumnChunk(tuple(series[k] for k in keys), series[value_name], origin)


def _column_chunk(
    declared: CheckedParam, keys: Sequence[tuple[Any, ...]], values: Sequence[Any], arity: int, statement: Span
) -> ColumnChunk:
    from gpusched_dsl.data.chunks import ColumnChunk

    named = (*(f"key {n}" for n in range(1, arity + 1)), "value")
    by_component = list(zip(*keys, strict=True)) if keys else [()] * arity
    origin = PythonOrigin(statement, declared.name, named)
    return ColumnChunk(tuple(map(_series_of, by_component)), _series_of(values), origin)


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
        if len(value.columns) != arity:
            message = f"an element of `{declared.name}` has {arity} components, not {len(value.columns)}"
            raise _refusal(f"{message}: the table has the columns {', '.join(map(str, value.columns))}", declared.span)
        labels = [value[c] for c in value.columns]
        mixed = None if _is_plain(labels[0]) else first_mixed_row([isinstance(v, str) for v in _list_of(labels[0])])
        return ColumnChunk(tuple(map(_series, labels)), None, origin, mixed=mixed)
    if declared.is_indexed and isinstance(value, Mapping):
        value = _rows_of_mapping(declared, value)
    if isinstance(value, str) or not isinstance(value, Iterable):
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
    from gpusched_dsl.data.sources.untyped import column_of

    plain = set(map(type, values)) <= _PLAIN
    return column_of(values if plain else [_scalar(v) for v in values])


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
    item = getattr(value, "item", None)
    if callable(item) and getattr(value, "ndim", 0) == 0:
        return item()
    return value


def _refusal(message: str, span: Span | None, help: str | None = None) -> DiagnosticError:
    return DiagnosticError([Diagnostic("GSM6012", message, span, help=help)])
