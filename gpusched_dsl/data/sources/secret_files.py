"""Files of secrets, such as tokens: a warning if other users can read them."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic, Severity

OTHERS = stat.S_IRGRP | stat.S_IWGRP | stat.S_IROTH | stat.S_IWOTH


def secret_warnings(*files: str | Path | None) -> list[Diagnostic]:
    """Return GSM5510 for each file that users besides its owner can read or write, by its POSIX mode."""
    return [warning for file in files if file is not None and (warning := _warning(Path(file))) is not None]


def _warning(file: Path) -> Diagnostic | None:
    try:
        mode = file.stat().st_mode
    except OSError:  # whoever reads the file reports it
        return None
    if os.name != "posix" or not mode & OTHERS:
        return None
    message = f"other users can read or write the file of secrets `{file}` (mode {stat.S_IMODE(mode):03o})"
    return Diagnostic("GSM5510", message, help=f"`chmod 600 {file}`", severity=Severity.WARNING)
