"""Writes results: complete files or none, with every failure as a diagnostic."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import DiagnosticError

LARGEST_INPUT = 4 << 30  # bytes of a file that an earlier run wrote and that is read back


def output_path(path: str | Path) -> Path:
    """Return the path of a file or folder to write; raise DiagnosticError (GSM6008) for a value that is no path."""
    if not isinstance(path, str | os.PathLike):
        message = f"cannot write to a value of type `{type(path).__name__}`"
        raise DiagnosticError([Diagnostic("GSM6008", message, help="give the path of a file or folder")])
    return Path(path)


def write_text(path: Path, text: str) -> None:
    """Write a file as `replace_file` does; raises DiagnosticError (GSM6008) when it cannot be written."""
    try:
        with replace_file(path) as beside:
            beside.write_text(text, encoding="utf-8", newline="")
    except (OSError, ValueError) as failure:
        raise DiagnosticError([cannot_write(path, failure)]) from failure


def write_bytes(path: Path, content: bytes) -> None:
    """Write a file as `replace_file` does; raises DiagnosticError (GSM6008) when it cannot be written."""
    try:
        with replace_file(path) as beside:
            beside.write_bytes(content)
    except (OSError, ValueError) as failure:
        raise DiagnosticError([cannot_write(path, failure)]) from failure


@contextmanager
def replace_file(path: Path) -> Iterator[Path]:
    """Open a file that replaces `path` if the block succeeds and is deleted otherwise.

    So a file is complete or absent. Pipes and devices have no such place: they are given to write directly.
    Raises OSError.
    """
    if path.is_dir():
        raise IsADirectoryError(f"`{path}` is a folder")
    if path.exists() and not path.is_file():
        yield path
        return
    target = path.resolve()
    beside = target.with_name(f".{target.name}.{secrets.token_hex(4)}.part")
    try:
        yield beside
        with beside.open("rb+") as file:  # Windows flushes only files that are open for writing
            os.fsync(file.fileno())
        if target.exists():
            beside.chmod(target.stat().st_mode & 0o777)
        beside.replace(target)
    finally:
        beside.unlink(missing_ok=True)


def make_folder(path: Path) -> None:
    """Create a folder and its parents; an existing one is fine. Raises DiagnosticError (GSM6008)."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as failure:
        raise DiagnosticError([cannot_write(path, failure)]) from failure


def check_writable(path: Path, *, folder: bool = False) -> None:
    """Raise DiagnosticError (GSM6008) when a file could not be written there; cheap, and before a long solve."""
    try:
        if "\0" in str(path):
            raise ValueError("the name contains a zero character")
        if not folder and path.is_dir():
            raise IsADirectoryError(f"`{path}` is a folder")
        if folder and path.exists() and not path.is_dir():
            raise NotADirectoryError(f"`{path}` is a file")
        place = path if folder else path.parent
        while folder and not place.exists() and place != place.parent:
            place = place.parent
        if not place.is_dir():
            raise FileNotFoundError(f"folder `{place}` does not exist")
        target = path if path.exists() and not folder else place
        if not os.access(target, os.W_OK):
            raise PermissionError(f"no permission to write `{target}`")
    except (OSError, ValueError) as failure:
        raise DiagnosticError([cannot_write(path, failure)]) from failure


def cannot_write(path: Path, failure: Exception) -> Diagnostic:
    reason = failure.strerror if isinstance(failure, OSError) and failure.strerror else str(failure)
    return Diagnostic(
        "GSM6008",
        f"cannot write `{path}`: {reason}",
        help="name a file in an existing, writable folder",
    )
