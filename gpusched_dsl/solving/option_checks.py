"""Checks options by the table: what each value must be (GSM4011), and which options go together (GSM6002)."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Mapping
from numbers import Integral, Real
from typing import Final

from msgspec import structs

from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.options.kinds import Value, is_a
from gpusched_dsl.options.option import OptionRow
from gpusched_dsl.options.table import by_name
from gsdsl_backends.protocol import SolveOptions

CODE: Final = "GSM6002"
Spelling = Callable[[str], str]


# --- values ----------------------------------------------------------------------------------------------------------


def check_values(verb: str, values: Mapping[str, Value], door: str = "python") -> dict[str, Value]:
    """Return the options of a verb among `values`, with plain numbers in place of those of NumPy.

    Other values are left out. Raises DiagnosticError with all that is wrong: GSM4011, and GSM6002 where `backend` and
    `method`, two names of one option, have different values.
    """
    diagnostics = value_diagnostics(verb, values, door) + _two_names(by_name(verb, door), values)
    if diagnostics:
        raise DiagnosticError(diagnostics)
    own = {name: values[name] for name in by_name(verb, door) if name in values}
    return {name: plain_seeds(value) if name == "seeds" else plain_number(value) for name, value in own.items()}


def value_diagnostics(verb: str, values: Mapping[str, Value], door: str = "python") -> list[Diagnostic]:
    """Return GSM4011 for each of the options of a verb among `values` that is of another kind."""
    rows = by_name(verb, door)
    return [d for name, value in values.items() if name in rows for d in _value_diagnostics(rows[name], value)]


def _value_diagnostics(row: OptionRow, value: Value) -> Iterator[Diagnostic]:
    if row.name == "seeds" and row.kind.accepts(value):
        for seed in value:
            yield from _value_diagnostics(by_name("solve")["seed"], seed)
    elif not (value is None and row.optional) and not row.kind.accepts(value):
        yield Diagnostic("GSM4011", f"{row.must_be}, not {_show(value)}", help=_suggest(row, value))


def _two_names(rows: Mapping[str, OptionRow], values: Mapping[str, Value]) -> list[Diagnostic]:
    """Return an error where the older name of `method` names another method; its default counts as not given."""
    older, method = values.get("backend"), values.get("method")
    if "backend" not in rows or not isinstance(older, str) or not isinstance(method, str):
        return []
    if older in (method, rows["backend"].default):
        return []
    message = f"`backend` is {_show(older)} and `method` is {_show(method)}: these are two names of one option"
    return [Diagnostic("GSM6002", message, help="give `method` only")]


def plain_seeds(seeds: Value) -> Value:
    """Return seeds without repetitions; None as it is."""
    return None if seeds is None else tuple(dict.fromkeys(map(plain_number, seeds)))


def plain_number(value: Value) -> Value:
    """A number of NumPy as one of Python; anything else as it is."""
    if isinstance(value, bool | int) or type(value) is float or not isinstance(value, Real):
        return value
    return int(value) if isinstance(value, Integral) else float(value)


def _show(value: Value) -> str:
    text = repr(value)
    return f"`{text}`" if len(text) <= 60 else f"a value of type `{type(value).__name__}`"


def _suggest(row: OptionRow, value: Value) -> str | None:
    """Suggest the number for a text such as `5m` or `1%`, a list for a name, `load` for the path of a text."""
    name = row.name
    if name == "text" and isinstance(value, os.PathLike):
        return "`load` reads a file"
    if (name in ("methods", "without") and isinstance(value, str)) or (name == "seeds" and is_a(value, Integral)):
        return f"write `{name}=[{value!r}]`"
    if not isinstance(value, str) or name not in ("time_limit", "gap", "threads", "seed", "samples", "at"):
        return None
    from gpusched_dsl.options.reading import SHORT_UNITS, number_and_unit

    number, unit = number_and_unit(value) or (0.0, "none")
    if unit not in SHORT_UNITS:
        return None
    if (unit == "%") != (name == "gap" and unit != "") or (unit not in ("", "%") and name != "time_limit"):
        return None
    number *= SHORT_UNITS[unit]
    return f"write `{name}={number:g}`" if row.kind.accepts(number if number % 1 else int(number)) else None


# --- requests to solvers ---------------------------------------------------------------------------------------------


def solve_options(values: Mapping[str, Value]) -> SolveOptions:
    """Return what the values of a solve, a comparison or a run by their names in the table ask of a solver.

    Raises DiagnosticError (GSM4011) for wrong ones.
    """
    fields = {name: values[name] for name in SolveOptions.__struct_fields__ if name in values}
    extra, without = dict(values.get("solver_options") or {}), frozenset(values.get("without", ()))
    return plain_options(SolveOptions(**{**fields, "extra": extra, "without": without}))


def stated_values(verb: str, stated: Mapping[str, bool | float | str], door: str) -> dict[str, Value]:
    """Return the options of a method in a model text by their names in the table; all others are of the solver."""
    own, values, extra = by_name(verb, door), dict[str, Value](), dict[str, Value]()
    for name, value in stated.items():
        if name in own:
            values[name] = (value,) if name == "without" else own[name].kind.type(value)
        else:  # options of solvers need integers for whole numbers
            extra[name] = int(value) if isinstance(value, float) and value.is_integer() else value
    return {**values, "solver_options": extra}


def plain_options(options: SolveOptions) -> SolveOptions:
    """The options with plain numbers in place of those of NumPy; raises DiagnosticError (GSM4011) for wrong ones."""
    return structs.replace(options, **check_values("solve", structs.asdict(options)))


# --- options beside each other ---------------------------------------------------------------------------------------


def as_flag(name: str) -> str:
    """Return an option as the command line writes it."""
    return f"--{name.replace('_', '-')}"


def given_options(verb: str, values: Mapping[str, Value]) -> set[str]:
    """Return the names of the options that are given: their values are neither None, False or empty nor the default."""
    return {name for name, row in by_name(verb).items() if _is_given(values.get(name), row.default)}


def _is_given(value: Value, default: Value) -> bool:
    if isinstance(value, Collection):
        return len(value) > 0 and value is not default
    return value is not None and value is not False and not (is_a(value, Real) and value == default)


def option_diagnostics(
    verb: str, given: Collection[str], method: str = "", proves: bool | None = None, spell: Spelling = str
) -> list[Diagnostic]:
    """Return GSM6002 for each of the `given` options that has no effect or no meaning beside the others.

    `proves`: whether `method` does, None if it is not known or there are several. `spell` writes the name of an option.
    """
    rows = by_name(verb)
    own = [row for name, row in rows.items() if name in given]
    found = []
    for row in own:
        if row.needs and row.needs not in given:
            needed = rows[row.needs]
            value = (
                f" {needed.metavar or needed.kind.metavar}" if spell is as_flag and needed.kind.type is not bool else ""
            )
            message = f"`{spell(row.name)}` is only for `{spell(row.needs)}{value}`"
            found.append(_finding(message, "add it, or remove this"))
    for row in own:
        for other, why in row.excludes.items():
            if other in given:
                message = f"`{spell(row.name)}` and `{spell(other)}` exclude each other: {why}"
                found.append(_finding(message, "remove one of them"))
    for row in own:
        if proves and row.with_proof:
            message = f"`{spell(row.name)}` is only for policies and local search: `{method}` {row.with_proof}"
            found.append(_finding(message, "remove it"))
        if proves is False and row.without_proof:
            message = f"`{spell(row.name)}` needs a solver with proofs: `{method}` {row.without_proof}"
            found.append(_finding(message, "choose a solver, such as highs"))
    return found


def check_options(
    verb: str, given: Collection[str], method: str = "", proves: bool | None = None, spell: Spelling = str
) -> None:
    """Raise DiagnosticError with all that `option_diagnostics` finds."""
    found = option_diagnostics(verb, given, method, proves, spell)
    if found:
        raise DiagnosticError(found)


def _finding(message: str, help: str) -> Diagnostic:
    return Diagnostic(CODE, message, help=help)
