"""Finds the folder that the imports and data of a main file may not leave."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path

MARKER = ".gsdsl-root"


def project_root(main: Path, ceiling: Path | None = None) -> Path:
    """Return the nearest folder above the resolved path `main` with a file `.gsdsl-root`; else the folder of `main`.

    A marker counts only if it is a regular file (no link) of the user or of root: whoever can write into a shared
    folder above, such as `/tmp`, must not open it to the models below. Markers above `ceiling` do not count.
    """
    for folder in main.parents:
        if _is_marked(folder):
            return folder
        if folder == ceiling:
            break
    return main.parent


def _is_marked(folder: Path) -> bool:
    try:
        found = os.lstat(folder / MARKER)
    except (OSError, ValueError):
        return False
    return stat.S_ISREG(found.st_mode) and (sys.platform == "win32" or found.st_uid in (0, os.getuid()))
