"""The command line, called within the process."""

from collections.abc import Callable

import pytest
from _pytest.capture import CaptureFixture

from gpusched_dsl.cli import main


@pytest.fixture
def gsdsl(capsys: CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """Run `gsdsl` with these arguments: exit code, output and errors."""

    def run(*arguments: object) -> tuple[int, str, str]:
        capsys.readouterr()
        code = main([str(a) for a in arguments])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run
