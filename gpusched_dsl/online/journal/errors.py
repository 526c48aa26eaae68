"""Errors of a journal as diagnostics: whether it can be used, what is lost, and how to continue."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from pathlib import Path

from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import DiagnosticError

FORMAT = 1  # of the file, stored as SQLite's user_version


def _error(code: str, message: str, help: str, notes: Iterable[str] = ()) -> DiagnosticError:
    return DiagnosticError([Diagnostic(code, message, notes=tuple(notes), help=help)])


def cannot_open(path: Path, reason: str, help: str = "name a file in a writable folder") -> DiagnosticError:
    return _error("GSM5101", f"the journal `{path}` cannot be opened: {reason}", help)


def no_journal(path: Path, what: str) -> DiagnosticError:
    return _error(
        "GSM5102",
        f"`{path}` is not a journal: {what}",
        "name another file, or move this file away; it was not changed",
    )


def other_format(path: Path, version: int) -> DiagnosticError:
    if version > FORMAT:
        known = f"this gsdsl reads formats up to {FORMAT}"
        help = "continue with the version of gsdsl that wrote it, or a newer version"
    else:
        known = f"this gsdsl reads formats from {FORMAT}"
        help = "continue with the version of gsdsl that wrote it, or start a new journal"
    return _error("GSM5103", f"the journal `{path}` has format {version}; {known}", help)


def other_run(path: Path, differences: Iterable[str], steps: int) -> DiagnosticError:
    return _error(
        "GSM5104",
        f"the journal `{path}` belongs to another run",
        "run with the inputs and options of the journal, or name another file for this run",
        [*differences, f"it has {steps} step{'' if steps == 1 else 's'}; nothing was changed"],
    )


def damage_error(path: Path, how: str) -> DiagnosticError:
    return _error(
        "GSM5105",
        f"the journal `{path}` is damaged: {how}",
        f"restore a copy of `{path.name}`, or start a new journal",
        ["nothing was changed"],
    )


def in_use(path: Path) -> DiagnosticError:
    return _error(
        "GSM5106",
        f"the journal `{path}` is in use by another process",
        "wait for the end of that run, or name another file for this run",
    )


def cannot_write(path: Path, failure: Exception, steps: int, what: str) -> DiagnosticError:
    """Report a failed write; the first `steps` steps are durable, and `what` may or may not be."""
    safe = f"the first {steps} steps are" if steps > 1 else "the first step is" if steps else "the previous content is"
    return _error(
        "GSM5107",
        f"the journal `{path}` cannot be written: {failure}",
        "free space or repair the disk, then run the same command again: it continues after the recorded steps",
        [f"nothing was lost: {safe} recorded", f"{what} was not executed, so the run ends here"],
    )


def has_steps(path: Path, steps: int) -> DiagnosticError:
    return _error(
        "GSM5108",
        f"the journal `{path}` has {steps} step{'' if steps == 1 else 's'} of an earlier run already",
        "resume that run, name another file, or delete this file",
    )


def step_differs(path: Path, step: int, how: str) -> DiagnosticError:
    return _error(
        "GSM5109",
        f"step {step} of the journal `{path}` differs from the run: {how}",
        "continue with the version of gsdsl that wrote the journal, or start a new journal",
        ["the same inputs, options and decisions gave other events at that time", "nothing was changed"],
    )


def of_sqlite(path: Path, failure: sqlite3.Error) -> DiagnosticError:
    """Return the diagnostic for a failure of SQLite while opening or reading."""
    code = getattr(failure, "sqlite_errorcode", 0) & 0xFF  # the extended codes refine the first byte
    if code == sqlite3.SQLITE_NOTADB:
        return no_journal(path, "it is not an SQLite file, or its beginning is damaged")
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return in_use(path)
    if code in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH):
        return cannot_open(path, str(failure))
    if code in (sqlite3.SQLITE_IOERR, sqlite3.SQLITE_FULL, sqlite3.SQLITE_NOMEM):
        return cannot_open(path, str(failure), "free space or repair the disk, then run the same command again")
    return damage_error(path, str(failure))
