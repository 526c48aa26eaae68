"""Report a defect of gsdsl without a traceback: the error, the file with details, and where to report it."""

from __future__ import annotations

import os
import platform
import sys
import tempfile
import traceback
from pathlib import Path

from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic

ISSUES = "the project's issue tracker"


def wants_traceback(debug: bool) -> bool:
    return debug or os.environ.get("GSDSL_DEBUG", "") not in ("", "0")


def crash_diagnostic(failure: BaseException, argv: list[str]) -> Diagnostic:
    """Write the details to a private file, and return the diagnostic GSM9999."""
    path = _write_details(failure, argv)
    notes = (f"the details were written to `{path}`",) if path is not None else ()
    words = str(failure).strip().splitlines()
    what = type(failure).__name__ + (f": {words[0][:200]}" if words else "")
    return Diagnostic(
        "GSM9999",
        f"internal error: {what}",
        notes=(*notes, "this is a defect of gsdsl, not of your input"),
        help=f"please report it to {ISSUES} with these details and, if you may share them, the files; "
        "`--debug` shows the traceback",
    )


def _write_details(failure: BaseException, argv: list[str]) -> Path | None:
    from gpusched_dsl.version import __version__

    lines = [
        f"gsdsl {__version__}, Python {platform.python_version()}, {platform.platform()}",
        f"arguments: {argv!r}",
        "",
        *traceback.format_exception(failure),
    ]
    try:
        number, name = tempfile.mkstemp(prefix="gsdsl-error-", suffix=".txt", text=True)
        with os.fdopen(number, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write("\n".join(lines))
    except OSError:
        return None
    return Path(name)


def show_traceback(failure: BaseException) -> None:
    traceback.print_exception(failure, file=sys.stderr)
