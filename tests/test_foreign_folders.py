"""Python files in the folder of a model of others are never imported by the processes that gsdsl starts."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.packages import sources

MODEL = 'import "gsdsl:capacity_planning/scenarios/figure1.gsm";\n'
HOSTILE = """import os
open(os.environ["GSDSL_MARK"], "a").write(__name__ + "\\n")
raise ImportError("taken from the folder")
"""
NAMES = ("numpy", "highspy", "pickle", "json", "struct", "polars", "numba", "gpusched_dsl", "sitecustomize", "asyncio")


@pytest.mark.slow
@pytest.mark.parametrize("kernels", ["GSDSL_PYTHON_KERNELS", "GSDSL_COMPILED_KERNELS", ""])
def test_nothing_is_imported_from_the_folder(kernels: str, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "m.gsm").write_text(MODEL, encoding="utf-8")
    for name in NAMES:
        (folder / f"{name}.py").write_text(HOSTILE, encoding="utf-8")
    environment = {k: v for k, v in os.environ.items() if not k.startswith("GSDSL_") and k != "PYTHONPATH"}
    environment |= {"GSDSL_MARK": str(mark), "XDG_CACHE_HOME": str(tmp_path / "cache")} | (
        {kernels: "1"} if kernels else {}
    )
    for arguments in (
        ["check", "m.gsm"],
        ["solve", "m.gsm", "-s", "Figure1"],
        ["solve", "m.gsm", "-s", "Figure1", "-m", "Greedy"],
    ):
        # As the installed command does: without the working folder on the path.
        command = [sys.executable, "-P", "-m", "gpusched_dsl", *arguments]
        done = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=600
        )
        assert done.returncode == 0, done.stderr
        assert not mark.exists(), mark.read_text(encoding="utf-8")


def test_every_process_ignores_the_working_folder() -> None:
    """Each Python process of the package is started with -P, or with -I, which implies it."""
    for path in sources():
        for line in path.read_text(encoding="utf-8").splitlines():
            if "[sys.executable," in line:
                assert re.search(r'\[sys.executable, "-[PI]"', line), f"{path}: {line.strip()}"
