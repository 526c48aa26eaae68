"""A command of `gsdsl`, from the start of its process to its end."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from benchmarks.child import Lap
from benchmarks.packages import ROOT, search_path


def run(_: Path, lap: Lap, *arguments: str) -> Any:
    """`gsdsl` with the arguments given (patterns are expanded); `python` alone starts a bare interpreter."""
    words = [word for pattern in arguments for word in _expand(pattern)]
    program = (
        [sys.executable, "-c", ""] if words == ["python"] else [str(Path(sys.executable).with_name("gsdsl")), *words]
    )
    own = {**os.environ, "PYTHONPATH": search_path()}  # the package of this checkout, not the installed one
    lap("prepare")
    subprocess.run(program, cwd=ROOT, env=own, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    lap("command")


def _expand(word: str) -> list[str]:
    found = sorted(str(path.relative_to(ROOT)) for path in ROOT.glob(word)) if "*" in word else []
    return found or [word]
