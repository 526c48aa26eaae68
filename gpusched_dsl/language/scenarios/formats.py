"""The interface of data formats and generators for the checker: columns with units, and options.

What reads and draws is no business of the language: a format describes itself, and its module is found by name when a
text names it, as solvers are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Protocol, TypeAlias

from msgspec import Struct

Setting: TypeAlias = bool | int | float | str

# The module that knows all formats; it has `names(generated)`, `reader(name)` and `generator(name)`.
_REGISTRY = "gpusched_dsl.data.formats.registry"
_KINDS: Mapping[type, str] = {bool: "true or false", int: "an integer", float: "a number", str: "a text"}


class Option(Struct, frozen=True):
    """`first = 1000` after the name of a format.

    Its kind is that of `default`, or `kind` where it must be given (then `default` is None). A number may have a `unit`
    ("h"), in which readers get it; it may be stated in any unit that converts to it, or without one. `choices` are the
    texts that may stand there (none: any), `least` the smallest number. `shown` tells the default in words.
    A `condition` compares columns of the file with values; readers get it as text (`row_conditions.py`). An option that
    `starts` is the date of slot 0: in a scenario with a calendar it is by default the start of the calendar.
    """

    name: str
    meaning: str
    default: Setting | None = None
    kind: type[bool] | type[int] | type[float] | type[str] | None = None
    unit: str = ""
    choices: tuple[str, ...] = ()
    least: float | None = None
    shown: str = ""
    condition: bool = False
    starts: bool = False

    @property
    def type(self) -> type[bool] | type[int] | type[float] | type[str]:
        return self.kind or (float if self.default is None else type(self.default))

    @property
    def needs(self) -> str:
        """`an integer`, `a number or a quantity in h`, `one of a, b`."""
        if self.condition:
            return "a condition on columns, such as `state == COMPLETED and gpus >= 1`"
        if self.choices:
            return f"one of {', '.join(self.choices)}"
        return _KINDS[self.type] + (f" in `{self.unit}`" if self.unit else "")


class FormatColumn(Struct, frozen=True):
    """A column of the table that a format gives; `unit` as a data statement writes it, "" for labels and counts."""

    name: str
    meaning: str
    unit: str = ""


class Described(Protocol):
    """The data of a format or a generator for the checker."""

    @property
    def name(self) -> str: ...
    @property
    def columns(self) -> Sequence[FormatColumn]: ...
    @property
    def options(self) -> Sequence[Option]: ...
    @property
    def open_columns(self) -> bool:
        """Whether a file's own columns may be used besides `columns`."""
        ...


class Use(Struct, frozen=True):
    """A format or generator with all of its options, as one statement uses it. Equal uses of a file read the same."""

    name: str
    generated: bool
    options: tuple[tuple[str, Setting], ...]

    @property
    def text(self) -> str:
        """Return `capacity_jobs (jobs = 40, seed = 1)`: a stable name of the drawn instance."""
        shown = ", ".join(f"{name} = {_write(value)}" for name, value in self.options)
        return f"{self.name} ({shown})" if shown else self.name


def _write(value: Setting) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return f'"{value}"' if isinstance(value, str) else repr(value)


def names(generated: bool) -> tuple[str, ...]:
    """The formats of files, or the generators, there are."""
    known: tuple[str, ...] = import_module(_REGISTRY).names(generated)
    return known


def describe_format(name: str, generated: bool) -> Described:
    """The format of files or the generator of this name; raises KeyError."""
    registry = import_module(_REGISTRY)
    found: Described = registry.generator(name) if generated else registry.reader(name)
    return found
