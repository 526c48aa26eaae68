"""Little memory is reported by a diagnostic: no traceback, no abort of a library, no internal error."""

import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from found_codes import shows

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="limits of address space")


def limited(space: int) -> Callable[[], None]:
    return lambda: resource.setrlimit(resource.RLIMIT_AS, (space, space))


@pytest.mark.quick(3)
@pytest.mark.parametrize("command", ["check", "solve", "run"])
@pytest.mark.parametrize("mib", [100, 200, 300, 400])
def test_a_small_address_space(command: str, mib: int, pack: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "gpusched_dsl", command, str(pack)],
        capture_output=True, text=True, timeout=120, check=False, preexec_fn=limited(mib << 20),
    )  # fmt: skip
    assert done.returncode == 1, done.stderr
    assert shows(done.stderr, "GSM6014")
    assert "Traceback" not in done.stderr
    assert "GSM9999" not in done.stderr


def test_a_larger_address_space_is_used(pack: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "gpusched_dsl", "solve", str(pack)],
        capture_output=True, text=True, timeout=120, check=False, preexec_fn=limited(64 << 30),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
