"""Each move of local search compiles with the installed version of Numba. Quick tests run it as plain Python."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from gpusched_dsl.policies.rules import MOVE_CODES

pytest.importorskip("numba")


@pytest.mark.slow
def test_each_move_compiles(tmp_path: Path) -> None:
    more = {"PYTHONPATH": os.pathsep.join(sys.path), "NUMBA_CACHE_DIR": str(tmp_path), "NUMBA_OPT": "0"}
    environment = {name: value for name, value in os.environ.items() if name != "GSDSL_PYTHON_KERNELS"} | more
    script = Path(__file__).parent / "compile_moves.py"
    done = subprocess.run([sys.executable, "-W", "ignore", script], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    assert len(done.stdout.split()) == len(MOVE_CODES)
