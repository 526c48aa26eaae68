"""The table of options: the only place that says which verb has which option, what it must be and what it means."""

from __future__ import annotations

from functools import cache
from typing import Any

from gpusched_dsl.options.commands import COMMANDS, OUTPUT
from gpusched_dsl.options.option import OptionRow
from gpusched_dsl.options.python import ARGUMENTS
from gpusched_dsl.options.shared import SHARED

TABLE: tuple[OptionRow, ...] = (*COMMANDS, *SHARED, *OUTPUT, *ARGUMENTS)


@cache
def rows(verb: str, door: str | None = None) -> tuple[OptionRow, ...]:
    """Return the options of a verb in the order of its help, or those that one door has."""
    own = (row for row in TABLE if verb in row.verbs.split())
    return tuple(row for row in own if door is None or door in row.doors.split())


@cache
def by_name(verb: str, door: str | None = None) -> dict[str, OptionRow]:
    """Return the options of a verb by name; of two rows of one door the last one, such as the one for Python."""
    return {row.name: row for row in rows(verb, door)}


def defaults(verb: str, door: str) -> dict[str, Any]:
    """Return the values of the options that a caller left out."""
    return {name: row.default for name, row in by_name(verb, door).items()}
