"""Typed reading of a TOML file: every entry is read once, wrong and unknown entries become diagnostics with a place."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic, did_you_mean
from gpusched_dsl.language.diagnostics.errors import DiagnosticError, Diagnostics
from gpusched_dsl.language.source import Source, Span
from gsdsl_clusters.drivers.positions import Positions

UNREADABLE, WRONG = "GSM5401", "GSM5402"
KINDS: Mapping[type, str] = {
    str: "a text", int: "an integer", float: "a number", bool: "true or false", dict: "a table", list: "a list",
}  # fmt: skip
LONGEST_WAIT = 1e6  # seconds: `poll` counts milliseconds in 32 bits
T = TypeVar("T")


def read_toml(path: Path) -> tuple[dict[str, Any], Source]:
    """Read a file. Raises DiagnosticError (GSM5401) if it cannot be read or is not TOML."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as failure:
        reason = failure.strerror if isinstance(failure, OSError) and failure.strerror else "it is not UTF-8 text"
        message = f"cannot read the cluster file `{path}`: {reason}"
        raise DiagnosticError([Diagnostic(UNREADABLE, message, help="docs/slurm.md shows one")]) from failure
    source = Source(str(path), text, path)
    try:
        return tomllib.loads(text), source
    except RecursionError:
        message = f"the cluster file `{path}` is nested too deeply"
        raise DiagnosticError([Diagnostic(UNREADABLE, message, help="docs/slurm.md shows one")]) from None
    except tomllib.TOMLDecodeError as failure:
        message, _, place = str(failure).partition(" (at ")
        span = _line_span(source, place)
        help = "the syntax is that of TOML: `key = value`, `[section]`"
        raise DiagnosticError(
            [Diagnostic(UNREADABLE, f"the cluster file is not TOML: {message}", span, help=help)]
        ) from failure


def seconds_of(value: float) -> float:
    """A time that a system call can wait. Raises ValueError with the reason."""
    if not value > 0:
        raise ValueError("must be positive")
    if value > LONGEST_WAIT:
        raise ValueError(f"must be at most {LONGEST_WAIT:g} s")
    return value


def timeout_of(settings: Mapping[str, Any]) -> float:
    """The entry `timeout` of a driver, 30 s by default. Raises ValueError with `key: reason`."""
    try:
        return seconds_of(float(settings.get("timeout", 30.0)))
    except ValueError as wrong:
        raise ValueError(f"timeout: {wrong}") from None


def _line_span(source: Source, place: str) -> Span:
    """The line in `line 3, column 5)`, else the last line."""
    lines = source.text.splitlines() or [""]
    words = place.replace(",", " ").split()
    number = int(words[1]) if words[:1] == ["line"] and words[1].isdigit() else len(lines)
    number = min(max(number, 1), len(lines))
    start = sum(len(line) + 1 for line in lines[: number - 1])
    return source.span(start, start + len(lines[number - 1]))


class TableReader:
    """The entries of one table. `finish` reports those that nobody has read."""

    def __init__(self, table: Mapping[str, Any], path: tuple[str, ...], places: Positions, found: Diagnostics) -> None:
        self.table, self.path, self._places, self._found = table, path, places, found
        self._known: list[str] = []

    def key_span(self, name: str) -> Span:
        return self._places.key((*self.path, name))

    def value_span(self, name: str) -> Span:
        return self._places.value((*self.path, name))

    @property
    def span(self) -> Span:
        return self._places.key(self.path)

    def get(self, name: str, kind: type[T], default: T | None = None) -> T | None:
        """An entry of a kind; `default` without one, and after the diagnostic of another kind."""
        self._known.append(name)
        if name not in self.table:
            return default
        value = self.table[name]
        if kind is float and isinstance(value, int) and not isinstance(value, bool):
            value = float(value)
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            self.error(name, f"`{name}` must be {KINDS[kind]}")
            return default
        return value

    def need(self, name: str, kind: type[T], help: str) -> T | None:
        """An entry that must be there."""
        value = self.get(name, kind)
        if value is None and name not in self.table:
            where = f"[{'.'.join(self.path)}] " if self.path else "the file "
            self._found.add(Diagnostic(WRONG, f"{where}has no `{name}`", self.span, help=help))
        return value

    def scalar(self, name: str) -> str | int | float | bool | None:
        """A text, number or truth value."""
        self._known.append(name)
        value = self.table.get(name)
        if value is not None and not isinstance(value, str | int | float | bool):
            self.error(name, f"`{name}` must be a text or a number")
            return None
        return value

    def sub(self, name: str) -> TableReader:
        """A table within this one, empty without it."""
        table = self.get(name, dict, {})
        return TableReader(table or {}, (*self.path, name), self._places, self._found)

    def error(self, name: str, message: str, help: str | None = None) -> None:
        self._found.add(Diagnostic(WRONG, message, self.value_span(name), help=help))

    def finish(self, known: Iterable[str] = ()) -> None:
        """Report unknown entries."""
        names = [*self._known, *known]
        for name in self.table:
            if name not in names:
                help = did_you_mean(name, names) or f"known are {', '.join(f'`{n}`' for n in names)}"
                where = f" in [{'.'.join(self.path)}]" if self.path else ""
                self._found.add(Diagnostic(WRONG, f"unknown entry `{name}`{where}", self.key_span(name), help=help))
