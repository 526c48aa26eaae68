"""The labels of jobs and nodes in events, as codes of the run."""

from __future__ import annotations

from typing import NoReturn

from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic, did_you_mean
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.online.data.base import Base

Label = str | int


def find_code(base: Base, root: str, label: Label) -> int | None:
    """Return the code of an element of a root set; None if it is not in the set."""
    return base.store.universes[root].code_of.get(label)


def job_code(base: Base, root: str, label: Label) -> int:
    """Return the code of a job. Raises DiagnosticError (GSM5207) for an unknown one."""
    code = find_code(base, root, label)
    if code is None:
        refuse(f"unknown job `{label}`", _similar(base, root, label) or "send its arrival first")
    return code


def node_code(base: Base, root: str, label: Label) -> int:
    """Return the code of a node. Raises DiagnosticError (GSM5207) for an unknown one."""
    code = find_code(base, root, label)
    if code is None:
        refuse(f"unknown node `{label}`", _similar(base, root, label) or "")
    return code


def _similar(base: Base, root: str, label: Label) -> str | None:
    return did_you_mean(str(label), map(str, base.store.universes[root].labels))


def refuse(message: str, help: str) -> NoReturn:
    """Raise the error of an event that does not fit the run (GSM5207)."""
    raise DiagnosticError([Diagnostic("GSM5207", message, help=help or None)])
