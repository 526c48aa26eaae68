"""An interactive shell of IPython in this process."""

from __future__ import annotations

import atexit
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest


@contextmanager
def opened_shell(folder: Path) -> Iterator[Any]:
    """A new shell with its files in a folder; skips the test if IPython is not installed."""
    pytest.importorskip("IPython", reason="the extra `notebook` is not installed")
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets.config import Config

    hooks = sys.displayhook, sys.excepthook
    config = Config({"HistoryManager": {"enabled": False}})
    shell = InteractiveShell(config=config, ipython_dir=str(folder / "ipython"))
    try:
        yield shell
    finally:
        atexit.unregister(shell.atexit_operations)
        sys.displayhook, sys.excepthook = hooks
