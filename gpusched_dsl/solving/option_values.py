"""Values of options as Python callers write them: their kind and range, checked before anything is done with them."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from inspect import getattr_static
from numbers import Integral, Real
from typing import Any, TypeAlias

from msgspec import structs

from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.language.option_limits import LARGEST_SEED, MOST_THREADS, MOST_WORKERS
from gpusched_dsl.language.text.durations import has_unit
from gsdsl_backends.protocol import SolveOptions

VERIFY = ("none", "sample", "rows", "full")

Value: TypeAlias = Any  # what a caller may have written
Check: TypeAlias = Callable[[Value], bool]

_SECONDS = {"": 1.0, "s": 1.0, "sec": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "%": 0.01}
_WITH_UNIT = re.compile(r"\s*([0-9]*\.?[0-9]+(?:[eE][+-]?[0-9]+)?)\s*([a-z%]*)\s*", re.ASCII)


def _number_check(least: float) -> Check:
    def accepts(value: Value) -> bool:
        try:
            return is_a(value, Real) and least <= float(value) < math.inf
        except OverflowError:  # an integer that no float comes near
            return False

    return accepts


def _is_time(value: Value) -> bool:
    if isinstance(value, str):
        return has_unit(value) or bool(_WITH_UNIT.fullmatch(value))
    return _number_check(0.0)(value)


def _integer_check(least: int, most: float = math.inf) -> Check:
    def accepts(value: Value) -> bool:
        return is_a(value, Integral) and least <= value <= most

    return accepts


def is_a(value: Value, kind: type) -> bool:
    """Whether it is a number of this kind; True and False are none."""
    return isinstance(value, kind) and not isinstance(value, bool)


def _is_text(value: Value) -> bool:
    return isinstance(value, str)


def _is_flag(value: Value) -> bool:
    return isinstance(value, bool)


def _is_mapping(value: Value) -> bool:
    return isinstance(value, Mapping) and all(isinstance(name, str) for name in value)


def _is_settings(value: Value) -> bool:
    return _is_mapping(value) and all(isinstance(one, str | Real) for one in value.values())


def _is_list_of_settings(value: Value) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str | bytes) and all(map(_is_mapping, value))


def _is_list_of_days(value: Value) -> bool:
    if isinstance(value, str | os.PathLike):
        return True
    is_list = isinstance(value, Iterable) and not isinstance(value, bytes | Mapping)
    return is_list and all(isinstance(day, str) or _is_settings(day) for day in value)


def _is_list_of_numbers(value: Value) -> bool:
    is_list = isinstance(value, Iterable) and not isinstance(value, str | bytes | Mapping)
    return is_list and all(_number_check(-math.inf)(number) for number in value)


def _is_json(value: Value) -> bool:
    return isinstance(value, str | bytes | bytearray)


def _is_monitor(value: Value) -> bool:
    return all(getattr_static(value, name, None) is not None for name in ("progress", "stop_requested"))


def _is_names(value: Value) -> bool:
    is_list = isinstance(value, Collection) and not isinstance(value, str | bytes)
    return is_list and all(isinstance(name, str) for name in value)


def _is_list_of_seeds(value: Value) -> bool:
    """Whether it is a list of at least one seed; each seed is checked by the rule for one."""
    return isinstance(value, Collection) and not isinstance(value, str | bytes | Mapping) and len(value) > 0


def _is_engine(value: Value) -> bool:
    return isinstance(value, str) or getattr_static(value, "run", None) is not None


def _is_file(value: Value) -> bool:
    return isinstance(value, str | os.PathLike)


# What each option must be, and what tests it.
RULES: Mapping[str, tuple[str, Check]] = {
    "time_limit": ("the time limit must be a nonnegative number of seconds", _number_check(0.0)),
    "gap": ("the gap must be a nonnegative finite number", _number_check(0.0)),
    "threads": (f"the number of threads must be an integer from 1 to {MOST_THREADS}", _integer_check(1, MOST_THREADS)),
    "seed": (f"the seed must be an integer from 0 to {LARGEST_SEED}", _integer_check(0, LARGEST_SEED)),
    "seeds": ("seeds must be a list of at least one integer", _is_list_of_seeds),
    "controllers": ("the number of controllers must be an integer of at least 1", _integer_check(1)),
    "samples": ("the number of samples must be an integer of at least 1", _integer_check(1)),
    "at": ('the time `at` must be a nonnegative finite number, or a text such as "11.7h"', _is_time),
    "backend": ("the backend must be the name of a solver or policy", _is_text),
    "method": ("the method must be the name of a solver or policy", _is_text),
    "methods": ("methods must be a list of names of solvers and policies", _is_names),
    "without": ("`without` must be a list of names of passes", _is_names),
    "journal": ("the journal must be the path of a file", _is_file),
    "text": ("the text of a model must be a `str`", _is_text),
    "path": ("the file to load must be a path", _is_file),
    "source": ("the source must be a path, or `slurm`", _is_file),
    "format": ("the format must be a name", _is_text),
    "timezone": ("the time zone must be a name, such as `Europe/Berlin`", _is_text),
    "nodes": ("the nodes must be a text such as `20x8`, or the path of a file", _is_file),
    "price": ("the price must be a nonnegative finite number", _number_check(0.0)),
    "memory": ("the memory must be an integer number of bytes, at least 1", _integer_check(1)),
    "judge": ("the judge must be the name of a solver", _is_text),
    "fallback": ("the fallback must be the name of a solver or policy", _is_text),
    "scenario": ("the scenario must be a name", _is_text),
    "online": ("the online block must be a name", _is_text),
    "alternatives": ("`alternatives` must be an integer of at least 2: the best solution counts", _integer_check(2)),
    "within": ("`within` must be a nonnegative finite number, such as 0.01", _number_check(0.0)),
    "distinct_by": ("`distinct_by` must be a list of names of variables", _is_names),
    "options_of": ("`options_of` must be the name of a job", _is_text),
    "bound": ("`bound` must be True or False", _is_flag),
    "strict": ("`strict` must be True or False", _is_flag),
    "deep": ("`deep` must be True or False", _is_flag),
    "why": ("`why` must be True or False", _is_flag),
    "with_alternatives": ("`alternatives` must be True or False", _is_flag),
    "allow_outside": ("`allow_outside` must be True or False", _is_flag),
    "heuristic": ("the heuristic must be `auto`, `on` or `off`", _is_text),
    "decompose": ("`decompose` must be `auto`, `on` or `off`", _is_text),
    "job": ("the job must be a text or an integer", lambda value: _is_text(value) or is_a(value, Integral)),
    "why_gap": ("`why_gap` must be True or False", _is_flag),
    "relax": ("`relax` must be True or False", _is_flag),
    "duals": ("`duals` must be True or False", _is_flag),
    "second_opinion": ("`second_opinion` must be True or False", _is_flag),
    "reasons": ("`reasons` must be True or False", _is_flag),
    "replay": ("`replay` must be True or False", _is_flag),
    "aggregated": ("`aggregated` must be True or False", _is_flag),
    "verify": (
        '`verify` must be "none", "sample", "rows" or "full"',
        lambda value: _is_text(value) and value in VERIFY,
    ),
    "settings": ("settings must be a dictionary of texts and numbers by name", _is_settings),
    "changes": ("`changes` must be a list of dictionaries of values by name", _is_list_of_settings),
    "days": ("`days` must be a list of scenarios and settings, or a text such as `seed=1..20`", _is_list_of_days),
    "offers": ("`offers` must be a list of numbers", _is_list_of_numbers),
    "probability": ("the probability must be a nonnegative number", _number_check(0.0)),
    "steps": ("the number of steps must be an integer of at least 1", _integer_check(1)),
    "event": ("the event must be a text, such as `68..75`", _is_text),
    "name": ("the name must be a `str`", _is_text),
    "model": ("the model must be a name", _is_text),
    "base": ("the folder `base` must be a path", _is_file),
    "export": ("the file to write must be a path", _is_file),
    "to": ("the format `to` must be a name", _is_text),
    "problem": ("a stored problem must be a text or bytes of JSON", _is_json),
    "solver_options": ("solver options must be a dictionary of values by name", _is_mapping),
    "monitor": ("a monitor must have a method `progress` and a property `stop_requested`", _is_monitor),
    "stop": ("`stop` must be a function without arguments", callable),
    "engine": ("the engine must be its name, such as `local` or `dask`, or an engine", _is_engine),
    "workers": (f"the number of workers must be an integer from 1 to {MOST_WORKERS}", _integer_check(1, MOST_WORKERS)),
    "tell": ("`tell` must be a function of the run", callable),
}
NEEDED = ("gap", "seed", "samples", "controllers", "method", "backend", "judge", "bound", "relax", "duals", "reasons",
          "replay", "verify", "why_gap", "second_opinion", "without", "changes", "steps", "probability",
          "event", "source", "timezone")  # fmt: skip


def value_diagnostics(values: Mapping[str, Value], optional: tuple[str, ...] = ()) -> list[Diagnostic]:
    """Return a diagnostic (GSM4011) for each invalid value; None is valid for `optional` names."""
    diagnostics = []
    for name, value in values.items():
        words, accepts = RULES[name]
        if (value is None and name in optional) or accepts(value):
            continue
        diagnostics.append(Diagnostic("GSM4011", f"{words}, not {_show(value)}", help=_suggest(name, value)))
    return diagnostics


def check_values(values: Mapping[str, Value], optional: tuple[str, ...] = ()) -> None:
    """Raise DiagnosticError (GSM4011) with all that `value_diagnostics` finds."""
    diagnostics = value_diagnostics(values, optional)
    if diagnostics:
        raise DiagnosticError(diagnostics)


def check_option_values(**values: Value) -> None:
    """Raise DiagnosticError (GSM4011) for options of the wrong type; None is accepted if it means no value."""
    check_values(values, optional=tuple(name for name in values if name not in NEEDED))


def plain_seeds(seeds: Value) -> tuple[int, ...]:
    """Return seeds without repetitions; raise DiagnosticError (GSM4011) for anything but a list of valid seeds."""
    check_values({"seeds": seeds})
    for seed in seeds:
        check_values({"seed": seed})
    return tuple(dict.fromkeys(map(plain_number, seeds)))


def option_diagnostics(options: SolveOptions) -> list[Diagnostic]:
    """Return the errors in the numbers among the options of a solve."""
    numbers = ("time_limit", "gap", "threads", "seed")
    return value_diagnostics({name: getattr(options, name) for name in numbers}, optional=("time_limit", "threads"))


def plain_options(options: SolveOptions) -> SolveOptions:
    """The options with plain numbers in place of those of NumPy; raises DiagnosticError (GSM4011) for wrong ones."""
    diagnostics = option_diagnostics(options)
    if diagnostics:
        raise DiagnosticError(diagnostics)
    changed = {}
    for name in options.__struct_fields__:
        value = getattr(options, name)
        plain = plain_number(value)
        if plain is not value:
            changed[name] = plain
    return structs.replace(options, **changed) if changed else options


def plain_number(value: Value) -> Value:
    """A number of NumPy as one of Python; anything else as it is."""
    if isinstance(value, bool | int) or type(value) is float or not isinstance(value, Real):
        return value
    return int(value) if isinstance(value, Integral) else float(value)


def _show(value: Value) -> str:
    text = repr(value)
    return f"`{text}`" if len(text) <= 60 else f"a value of type `{type(value).__name__}`"


def _suggest(name: str, value: Value) -> str | None:
    """Suggest the number for a text such as `5m` or `1%`, a list for a name, `load` for the path of a text."""
    if name == "text" and isinstance(value, os.PathLike):
        return "`load` reads a file"
    if (name in ("methods", "without") and isinstance(value, str)) or (name == "seeds" and is_a(value, Integral)):
        return f"write `{name}=[{value!r}]`"
    if not isinstance(value, str) or name not in ("time_limit", "gap", "threads", "seed", "samples", "at"):
        return None
    found = _WITH_UNIT.fullmatch(value)
    if found is None or found[2] not in _SECONDS:
        return None
    unit = found[2]
    if (unit == "%") != (name == "gap" and unit != "") or (unit not in ("", "%") and name != "time_limit"):
        return None
    number = float(found[1]) * _SECONDS[unit]
    return f"write `{name}={number:g}`" if RULES[name][1](number if number % 1 else int(number)) else None
