"""The diagnostic of a function that this system cannot have."""

from __future__ import annotations

import sys

from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import DiagnosticError


def refuse_windows(what: str, otherwise: str) -> None:
    """Raise DiagnosticError (GSM5460) on Windows, for a function that it cannot have; `otherwise` is what to do."""
    if sys.platform == "win32":
        raise DiagnosticError([Diagnostic("GSM5460", f"{what} does not work on Windows", help=otherwise)])
