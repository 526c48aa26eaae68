"""Kinds of values of options: how a text gives one, what Python and a model text may give, and the words for both."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from numbers import Integral, Real
from typing import Any, NamedTuple, TypeAlias

from gpusched_dsl.options import reading
from gpusched_dsl.options.reading import LARGEST_SEED, MOST_THREADS, MOST_WORKERS

Value: TypeAlias = Any  # what a caller may have written


class Kind(NamedTuple):
    """What a value must be, in Python (`words`) and in a model text (`stated`; empty: no text may give it).

    `type` is that of one value; numbers are from `least` to `most`, words one of `choices`, and `is_time` are seconds.
    `read` returns the value of a text of the command line, or raises ValueError; None leaves it as it is. `test`
    replaces the usual check of values from Python. `is_file`: a shell completes the names of files. `written`: how the
    command line writes a value, after the meaning of the option.
    """

    type: type
    words: str
    stated: str = ""
    metavar: str = "NAME"
    read: Callable[[str], Any] | None = None
    test: Callable[[Value], bool] | None = None
    least: float = -math.inf
    most: float = math.inf
    choices: Sequence[str] = ()
    is_time: bool = False
    is_file: bool = False
    written: str = ""

    def accepts(self, value: Value) -> bool:
        """Whether a value of a Python caller is one of this kind."""
        if self.test is not None:
            return self.test(value)
        if self.choices or self.type in (bool, str):
            return isinstance(value, self.type) and (not self.choices or value in self.choices)
        try:
            kind = Integral if self.type is int else Real
            return is_a(value, kind) and self.least <= (value if kind is Integral else float(value)) <= self.most
        except OverflowError:  # an integer that no float comes near
            return False

    def accepts_stated(self, value: bool | float | str | None) -> bool:
        """Whether a constant of a model text, in seconds if it is a time, is one of this kind."""
        if self.type is bool or isinstance(value, bool):
            return self.type is bool and isinstance(value, bool)
        if self.type is str:
            return isinstance(value, str) and (not self.choices or value in self.choices)
        if value is None or isinstance(value, str) or not self.least <= value <= self.most or value == math.inf:
            return False
        return self.type is float or float(value).is_integer()


def is_a(value: Value, kind: type) -> bool:
    """Whether it is a number of this kind; True and False are none."""
    return isinstance(value, kind) and not isinstance(value, bool)


def number(words: str, metavar: str, read: Callable[[str], Any], **more: Any) -> Kind:
    """A finite number from 0."""
    return Kind(float, words, "a number from 0", metavar, read, least=0.0, most=_LARGEST, **more)


def integer(least: int, read: Callable[[str], Any], most: float = math.inf, metavar: str = "N") -> Kind:
    span = f"from {least} to {most}" if math.isfinite(most) else f"of at least {least}"
    stated = f"an integer from {least}" + (f" to {most}" if math.isfinite(most) else "")
    return Kind(int, f"an integer {span}", stated, metavar, read, least=least, most=most)


def choice(*words: str, quote: str = "`") -> Kind:
    *most, last = (f"{quote}{word}{quote}" for word in words)
    stated = f"{', '.join(f'`{word}`' for word in words[:-1])} or `{words[-1]}`"
    return Kind(str, f"{', '.join(most)} or {last}", stated, "", choices=words)


def name_of(words: str, metavar: str = "NAME") -> Kind:
    return Kind(str, words, "a name", metavar)


def python(words: str, test: Callable[[Value], bool]) -> Kind:
    """A value that only Python callers have."""
    return Kind(object, words, test=test)


# --- checks of values from Python ------------------------------------------------------------------------------------


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
    return is_list and all(is_a(number, Real) and _is_finite(number) for number in value)


def _is_finite(value: Real) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def _has(value: Value, *names: str) -> bool:
    from inspect import getattr_static  # here, as the command line needs none

    return all(getattr_static(value, name, None) is not None for name in names)


def _is_list_of_names(value: Value) -> bool:
    is_list = isinstance(value, Collection) and not isinstance(value, str | bytes)
    return is_list and all(isinstance(name, str) for name in value)


def _is_list_of_seeds(value: Value) -> bool:
    """Whether it is a list of at least one seed."""
    is_list = isinstance(value, Collection) and not isinstance(value, str | bytes | Mapping)
    return is_list and len(value) > 0


def _is_time_of_run(value: Value) -> bool:
    if isinstance(value, str):
        from gpusched_dsl.options.reading import has_unit, number_and_unit

        return has_unit(value) or number_and_unit(value) is not None
    return TIME.accepts(value)


def _is_engine(value: Value) -> bool:
    return isinstance(value, str) or _has(value, "run")


def _is_file(value: Value) -> bool:
    return isinstance(value, str | os.PathLike)


# --- the kinds -------------------------------------------------------------------------------------------------------

_LARGEST = math.nextafter(math.inf, 0)
FLAG = Kind(bool, "True or False", "`true` or `false`")
SHARE = number("a nonnegative finite number", "G", reading.fraction, written=", such as 0.01 or 1%")
TIME = number("a nonnegative number of seconds", "TIME", reading.duration, is_time=True)._replace(
    stated="a time from 0, such as `60[s]`", written=": seconds, or 90s, 5m, 1h30m"
)
PRICE = number("a nonnegative finite number", "DOLLARS", reading.positive_number)
GIB = Kind(float, "a positive number of GiB", "", "GIB", reading.positive_number, least=0.0)
PROBABILITY = number("a nonnegative number", "P", reading.share_of_days)
TIME_OF_RUN = Kind(str, 'a nonnegative finite number, or a text such as "11.7h"', "", "TIME", reading.time_of_run,
                   _is_time_of_run)  # fmt: skip

COUNT = integer(1, reading.sample_count)
STEP = integer(0, reading.nonnegative_integer, metavar="STEP")
BYTES = COUNT._replace(metavar="BYTES")
FOLDS = integer(2, reading.fold_count, metavar="K")
SOLUTIONS = integer(2, reading.count_of_at_least_two, metavar="K")._replace(
    words="an integer of at least 2: the best solution counts"
)
THREADS = integer(1, reading.thread_count, MOST_THREADS)
WORKERS = integer(1, reading.worker_count, MOST_WORKERS)
SEED = integer(0, reading.nonnegative_integer, LARGEST_SEED)
PORT = integer(0, reading.port_number, metavar="")
ADDRESS = Kind(object, "", "", "[HOST:]PORT", reading.listening_address)

TEXT = Kind(str, "a text", "", "TEXT")
NAME = name_of("a name")
METHOD = name_of("the name of a solver or policy")
SOLVER = name_of("the name of a solver")
JOB = Kind(str, "a text or an integer", "", "JOB", test=lambda value: isinstance(value, str) or is_a(value, Integral))
FILE = Kind(str, "the path of a file", "", "FILE", reading.path, _is_file, is_file=True)
OUT = FILE._replace(metavar="OUT")
FOLDER = FILE._replace(words="a path", metavar="DIR")
SWITCH = choice("auto", "on", "off")
VERIFY = choice("none", "sample", "rows", "full", quote='"')

names = partial(Kind, object, stated="", metavar="A,B,...", read=reading.names, test=_is_list_of_names)
METHODS = names("a list of names of solvers and policies")
VARIABLES = names("a list of names of variables")
PASSES = Kind(str, "a list of names of passes", 'the name of a pass, or `"all"`', "PASS", test=_is_list_of_names)
SEEDS = Kind(object, "a list of at least one integer", "", "N,N,...", reading.seeds, _is_list_of_seeds)
OFFERS = Kind(object, "a list of numbers", "", "KW,KW,...", reading.positive_numbers, _is_list_of_numbers)
DAYS = Kind(object, "a list of scenarios and settings, or a text such as `seed=1..20`", "", "DAYS",
            test=_is_list_of_days)  # fmt: skip
CHANGES = Kind(object, "a list of dictionaries of values by name", "", "NAME=VALUE,...", reading.changed_values,
               _is_list_of_settings)  # fmt: skip
PAIRS = Kind(object, "a dictionary of values by name", "", "NAME=VALUE", test=_is_mapping)
REPORT = Kind(object, "", "", "NAME=OUT", reading.report_target)
ENGINE = Kind(str, "its name, such as `local` or `dask`, or an engine", "", "ENGINE", test=_is_engine)
SETTINGS = python("a dictionary of texts and numbers by name", _is_settings)
MONITOR = python(
    "a method `progress` and a property `stop_requested`", lambda value: _has(value, "progress", "stop_requested")
)
FUNCTION = python("a function", callable)
JSON = python("a text or bytes of JSON", lambda value: isinstance(value, str | bytes | bytearray))
START = FILE._replace(words="a result, its file, values by variable, or a policy", stated="a name", metavar="START",
                      test=lambda value: True)  # fmt: skip
