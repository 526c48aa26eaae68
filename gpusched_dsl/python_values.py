"""Values handed over from Python, as the pieces that data from files and tables become."""

from __future__ import annotations

import numbers
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

from gpusched_dsl.language.checked import CheckedModel, CheckedParam, CheckedSet, Element, TextType
from gpusched_dsl.language.diagnostics import Cell, Diagnostic, DiagnosticError, did_you_mean
from gpusched_dsl.language.source import Source, Span

if TYPE_CHECKING:
    from gpusched_dsl.data.pieces import ColumnPiece, Piece


@dataclass(frozen=True, slots=True)
class PythonOrigin:
    """Rows of a table or dictionary that was handed to `set`."""

    statement: Span
    name: str
    columns: tuple[str, ...]

    def place(self, row: int, component: int | None = None) -> Cell:
        column = self.columns[-1 if component is None else component]
        return Cell(f'set("{self.name}")', row + 1, column)


def pieces_of(model: CheckedModel, name: str, value: Any) -> list[Piece]:
    """What `set(name, value)` gives: a scalar, `{key: value}`, a table, or for a set its elements.

    Keys and values are not compared with the sets here; that happens with all data together. Raises DiagnosticError
    (GSM6012) for a name that cannot be set and for a value of a form that cannot be read.
    """
    declared: CheckedParam | CheckedSet | None = model.params.get(name) or model.sets.get(name)
    if declared is None:
        _refuse_name(model, name)
    if declared.value is not None:
        help = "set what it is computed from"
        raise _refusal(f"`{name}` is derived in the model and cannot be set", declared.span, help)
    statement = Source("Python", f'set("{name}", ...)').span(0, len(name) + 12)
    if isinstance(declared, CheckedSet):
        return [_set_piece(declared, value, statement)]
    return [_param_piece(declared, value, statement)]


def _refuse_name(model: CheckedModel, name: str) -> NoReturn:
    kinds: tuple[tuple[str, Container[str]], ...] = (
        ("variable", model.variables),
        ("let", model.lets),
        ("option", model.option_choices),
    )
    for kind, names in kinds:
        if name in names:
            help = "options are set with `settings={...}`" if kind == "option" else None
            raise _refusal(f"`{name}` is a {kind}; only parameters and sets can be set", None, help)
    known = [n for n, p in model.params.items() if p.value is None]
    known += [n for n, s in model.sets.items() if s.value is None]
    raise _refusal(f"model `{model.name}` has no parameter or set `{name}`", None, did_you_mean(name, known))


# --- parameters ------------------------------------------------------------------------------------------------------


def _param_piece(declared: CheckedParam, value: Any, statement: Span) -> Piece:
    from gpusched_dsl.data.pieces import ValuePiece

    arity = sum(len(i.variables) for i in declared.indexing.iterators)
    if _is_table(value):
        return _table_piece(declared, value, arity, statement)
    if isinstance(value, Mapping) or hasattr(value, "items"):
        items = list(value.items())
        keys = [_key(k, arity, declared) for k, _ in items]
        return _column_piece(declared, keys, [_scalar(v) for _, v in items], arity, statement)
    scalar = _scalar(value)
    if isinstance(declared.type, Element | TextType):
        if not isinstance(scalar, str | int):
            raise _refusal(f"`{declared.name}` takes a text, not `{value!r}`", declared.span)
        return ValuePiece(str(scalar), statement)
    if isinstance(scalar, str) or not isinstance(scalar, numbers.Real):
        message = f"`{declared.name}` takes numbers, not a value of type `{type(value).__name__}`"
        help = "give a number in the declared unit, or a dictionary or table with a value per key"
        raise _refusal(message, declared.span, help)
    return ValuePiece(float(scalar), statement)


def _table_piece(declared: CheckedParam, table: Any, arity: int, statement: Span) -> ColumnPiece:
    """Key columns and the value column of a polars or pandas table.

    The value column is the one called `value` or like the parameter, else the last; keys are the columns called like
    the indices when all are there, else the first ones in order.
    """
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
    columns = {str(c): [_scalar(v) for v in _list_of(table[c])] for c in table.columns if str(c) in (*keys, value_name)}
    rows = list(zip(*(columns[k] for k in keys), strict=True)) if keys else [()] * len(columns[value_name])
    return _column_piece(declared, rows, columns[value_name], arity, statement, (*keys, value_name))


def _column_piece(
    declared: CheckedParam,
    keys: Sequence[tuple[Any, ...]],
    values: Sequence[Any],
    arity: int,
    statement: Span,
    columns: tuple[str, ...] = (),
) -> ColumnPiece:
    from gpusched_dsl.data.pieces import ColumnPiece
    from gpusched_dsl.data.untyped import column_of

    named = columns or (*(f"key {n}" for n in range(1, arity + 1)), "value")
    by_component = list(zip(*keys, strict=True)) if keys else [()] * arity
    return ColumnPiece(
        tuple(column_of(c) for c in by_component), column_of(values), PythonOrigin(statement, declared.name, named)
    )


def _key(key: Any, arity: int, declared: CheckedParam) -> tuple[Any, ...]:
    parts = tuple(_scalar(k) for k in key) if isinstance(key, tuple) else (_scalar(key),)
    if len(parts) != arity:
        needed = f"{arity} {'label' if arity == 1 else 'labels'}"
        raise _refusal(f"a key of `{declared.name}` has {needed}, not {len(parts)}: `{key!r}`", declared.span)
    return parts


# --- sets ------------------------------------------------------------------------------------------------------------


def _set_piece(declared: CheckedSet, value: Any, statement: Span) -> ColumnPiece:
    from gpusched_dsl.data.pieces import ColumnPiece, first_mixed
    from gpusched_dsl.data.untyped import column_of

    arity = len(declared.types)
    if _is_table(value):
        listed: Iterable[Any] = zip(*(_list_of(value[c]) for c in value.columns), strict=True)
    elif isinstance(value, str) or not isinstance(value, Iterable):
        raise _refusal(f"the set `{declared.name}` takes a list of its elements, not `{value!r}`", declared.span)
    else:
        listed = value
    rows = [tuple(map(_scalar, r)) if isinstance(r, tuple | list) else (_scalar(r),) for r in listed]
    wrong = next((r for r in rows if len(r) != arity), None)
    if wrong is not None:
        message = f"an element of `{declared.name}` has {arity} components, not {len(wrong)}: `{wrong}`"
        raise _refusal(message, declared.span)
    columns = list(zip(*rows, strict=True)) if rows else [()] * arity
    names = tuple(f"component {n}" for n in range(1, arity + 1))
    mixed = first_mixed([isinstance(r[0], str) for r in rows])
    return ColumnPiece(
        tuple(column_of(c) for c in columns), None, PythonOrigin(statement, declared.name, names), mixed=mixed
    )


# --- plain values ----------------------------------------------------------------------------------------------------


def _is_table(value: Any) -> bool:
    """A polars or pandas table; neither needs to be imported to know."""
    return hasattr(value, "columns") and hasattr(value, "__getitem__") and not isinstance(value, Mapping)


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
