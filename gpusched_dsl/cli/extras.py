"""The message of commands that need an optional package."""

from __future__ import annotations

from importlib.util import find_spec

from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import DiagnosticError


def require_extra(package: str, extra: str, what: str) -> None:
    """Raise DiagnosticError (GSM6023) if a package is not installed."""
    if find_spec(package) is None:
        message = f"{what} needs the package `{package}`, which is not installed"
        help = f"`pip install 'gpusched-dsl[{extra}]'`"
        raise DiagnosticError([Diagnostic("GSM6023", message, help=help)])
