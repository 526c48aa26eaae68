"""Helpers of this folder, of aggregation, of tests/cli and of tests/models are imported by name (importlib mode)."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from _pytest.capture import CaptureFixture

from gpusched_dsl.cli import main

HERE = Path(__file__).parent
for folder in (HERE, HERE.parent / "compiling" / "aggregation", HERE.parent / "models"):
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))


@pytest.fixture
def gsdsl(capsys: CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """Run `gsdsl` with these arguments: exit code, output and errors."""

    def run(*arguments: object) -> tuple[int, str, str]:
        capsys.readouterr()
        code = main([str(a) for a in arguments])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run
