"""An installed package with a backend that crashes as native code does."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from gsdsl_backends import registry
from gsdsl_backends.isolation import backend as isolated

# HiGHS that crashes as the environment says, in the solve, and once only where a file is to remember it.
PACKAGE = """
import ctypes, os
from gsdsl_backends.highs.backend import HighsBackend
from gsdsl_backends.highs.session import HighsSession

class Session(HighsSession):
    def solve(self, *args, **more):
        memory = os.environ.get("CRASHED_BEFORE")
        if memory:
            if os.path.exists(memory):
                return super().solve(*args, **more)
            open(memory, "w").close()
        match os.environ.get("CRASH"):
            case "abort":
                os.abort()
            case "segmentation fault":
                ctypes.string_at(0)
            case "exit":
                os.write(2, b"out of luck\\n")
                os._exit(3)
            case "endless":
                ctypes.PyDLL(None).sleep(1000)  # without releasing the interpreter, as some native code does
        return super().solve(*args, **more)

class Backend(HighsBackend):
    name = "crashing"

    def open(self, problem):
        return Session(problem)
"""


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with an installed package that declares the backend `crashing`."""
    info = tmp_path / "crashing-1.0.dist-info"
    info.mkdir()
    (tmp_path / "crashing.py").write_text(PACKAGE)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: crashing\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[gpusched_dsl.backends]\ncrashing = crashing:Backend\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    registry._known_backends.cache_clear()
    yield tmp_path
    registry._known_backends.cache_clear()
    isolated.isolate.cache_clear()
