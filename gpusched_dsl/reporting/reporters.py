"""Formats of reports that other packages add, by entry points of the group `gpusched_dsl.reporters`."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

from msgspec import Struct

from gpusched_dsl.data.sources.writing import write_bytes
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic, did_you_mean
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.language.entry_points import entry_points

GROUP = "gpusched_dsl.reporters"


class Reporter(Struct, frozen=True):
    """A format of reports: `gsdsl solve FILE --report NAME=OUT`, `result.export(path, to=NAME)`.

    `write` writes a report, which is an object of one of the classes `reports`, to a binary file. `doc` describes the
    format in one sentence.
    """

    name: str
    doc: str
    write: Callable[[Any, BinaryIO], None]
    reports: tuple[type, ...] = (object,)


def reporter_names() -> tuple[str, ...]:
    """Return the names of the formats of all installed packages."""
    return tuple(entry_points(GROUP))


def reporter(name: str, report: type) -> Reporter:
    """Return the format of that name for a class of reports.

    Raises DiagnosticError (GSM6024) if no package adds it, if it cannot be loaded, or if it is for other reports.
    """
    point = entry_points(GROUP).get(name)
    if point is None:
        names = reporter_names()
        help = did_you_mean(name, names) or (f"the formats are {', '.join(names)}" if names else _NONE)
        raise _unusable(f"unknown format of reports: `{name}`", help)
    try:
        found = point.load()
    except Exception as failure:  # another package's import may fail in any way
        message = f"the format `{name}` of reports cannot be loaded: {_words(failure)}"
        raise _unusable(message, "install what its package needs", f"it is declared as `{point.value}`") from failure
    if not isinstance(found, Reporter):
        raise _unusable(f"the entry point `{name}` of `{GROUP}` is not a `Reporter`", _AUTHORS)
    if not issubclass(report, found.reports):
        accepted = ", ".join(f"`{kind.__name__}`" for kind in found.reports)
        raise _unusable(f"the format `{name}` is for {accepted}, not for `{report.__name__}`", "choose another format")
    return found


def write_report(report: object, path: Path, name: str) -> None:
    """Write a report in the format of another package, completely or not at all.

    Raises DiagnosticError: GSM6024 as `reporter` does and if the format fails, GSM6008 if the file cannot be written.
    """
    found, file = reporter(name, type(report)), io.BytesIO()
    try:
        found.write(report, file)
    except (DiagnosticError, MemoryError):
        raise
    except Exception as failure:  # the code of another package may fail in any way
        package = str(getattr(found.write, "__module__", "")).partition(".")[0]
        note = f"it belongs to the package `{package}`, not to gsdsl"
        raise _unusable(f"the format `{name}` of reports failed: {_words(failure)}", _AUTHORS, note) from failure
    write_bytes(path, file.getvalue())


_NONE = "no installed package adds a format of reports"
_AUTHORS = "report it to the authors of that package, or choose another format"


def _unusable(message: str, help: str, *notes: str) -> DiagnosticError:
    return DiagnosticError([Diagnostic("GSM6024", message, notes=notes, help=help)])


def _words(failure: Exception) -> str:
    lines = str(failure).strip().splitlines()
    return type(failure).__name__ + (f": {lines[0][:200]}" if lines else "")
