"""Warm starts that a text names: a policy, or the file of a result within the folder of the text."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from gpusched_dsl.data.sources.files import FileLimits, Unreadable, locate
from gpusched_dsl.language import tree
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.language.source import Span
from gpusched_dsl.language.workspace import Workspace

MISSING_FILE = "GSM2001"


class StartPolicy(Struct, frozen=True):
    """A warm start that is a policy, whatever files there are."""

    name: str


def start_of_text(workspace: Workspace, name: str, text: Span) -> Path | None:
    """Return the file that a text names as a warm start, which need not exist; None for the name of a policy.

    Raises DiagnosticError for a path that a text may not read (GSM2002, GSM2003).
    """
    from gpusched_dsl.policies.library import is_policy

    if is_policy(workspace, name):
        return None
    node = tree.Node(span=text)
    folder, root = workspace.folder_of(node) or Path.cwd(), workspace.root_of(node)
    try:
        return locate(folder, name, FileLimits(allow_outside=workspace.allow_outside), root).path
    except Unreadable as error:
        fault = error.faults[0]
        if fault.code == MISSING_FILE:
            return folder / name
        message = fault.message.replace("data file", "warm start", 1)
        raise DiagnosticError([Diagnostic(fault.code, message, text, notes=fault.notes, help=fault.help)]) from None
