"""Runs commands of `gsdsl` in processes of their own: solves, tests, and checks of data."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lsprotocol import types

from gsdsl_editor.document import Document
from gsdsl_editor.features.diagnostics import SOURCE

_SEVERITIES = {"error": types.DiagnosticSeverity.Error, "warning": types.DiagnosticSeverity.Warning}


@dataclass(frozen=True, slots=True)
class CommandResult:
    """The exit code and the complete output of a command."""

    code: int
    output: str


async def run_command(arguments: Sequence[str], folder: Path, *, errors: bool = True) -> CommandResult:
    """Run `gsdsl` with arguments in a folder; a cancelled call ends the process."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-P", "-m", "gpusched_dsl", *arguments, cwd=folder,
        stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT if errors else asyncio.subprocess.DEVNULL,
    )  # fmt: skip
    try:
        output, _ = await process.communicate()
    except asyncio.CancelledError:
        process.kill()
        await process.wait()
        raise
    return CommandResult(process.returncode or 0, output.decode("utf-8", "replace"))


async def data_diagnostics(document: Document) -> list[types.Diagnostic]:
    """The findings of `gsdsl check` on a saved file, in the file itself, that need its data: codes GSM2xxx, GSM3xxx."""
    path = document.path
    if path is None:
        return []
    outside = ["--allow-outside"] if document.allow_outside else []
    result = await run_command(["check", "--diagnostics", "json", *outside, str(path)], path.parent, errors=False)
    try:
        found = json.loads(result.output or "[]")
    except ValueError:
        return []
    return [d for each in found if (d := _diagnostic(document, each, path)) is not None]


def _diagnostic(document: Document, found: dict[str, Any], path: Path) -> types.Diagnostic | None:
    code, file = str(found["code"]), found["file"]
    if code[:4] not in ("GSM2", "GSM3"):
        return None
    message = str(found["message"])
    start = types.Position(0, 0)
    place = types.Range(start, start)
    if file == str(path):
        place = types.Range(_position(document, found, ""), _position(document, found, "end_"))
    elif file is not None:
        line = "" if found["line"] is None else f":{found['line']}"
        message += f" ({file}{line})"
    return types.Diagnostic(
        place,
        f"{message}\nhelp: {found['help']}" if found["help"] else message,
        severity=_SEVERITIES.get(found["severity"], types.DiagnosticSeverity.Information),
        code=code,
        source=SOURCE,
    )


def _position(document: Document, found: dict[str, Any], prefix: str) -> types.Position:
    """A place of the report, whose columns count characters, as the client counts."""
    line, column = found[f"{prefix}line"], found[f"{prefix}column"]
    starts = document.positions.starts
    return document.positions.position(starts[min(line, len(starts)) - 1] + column - 1)
