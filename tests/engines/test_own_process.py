"""The process of the command: freed memory is used again, cycles are collected rarely."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest

# 120 MB in arrays of 3 MB, twice, without huge pages: prints the pages that the kernel gave the second time.
PROBE = """
import ctypes, resource, sys
import numpy as np
ctypes.CDLL(None).prctl(41, 1, 0, 0, 0)  # PR_SET_THP_DISABLE
if sys.argv[1] == "kept":
    from gpusched_dsl.engines.own_process import keep_freed_memory
    keep_freed_memory()
def pages():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    arrays = [np.ones(3 << 17) for _ in range(40)]
    del arrays
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
pages()
print(pages())
"""


def pages(how: str) -> int:
    done = subprocess.run([sys.executable, "-c", PROBE, how], capture_output=True, text=True, check=True, timeout=60)
    return int(done.stdout)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="settings of the GNU C library")
def test_freed_memory_is_used_again() -> None:
    assert pages("plain") > 20_000
    assert pages("kept") < 1_000


COMMAND = """
import gc, sys
from gpusched_dsl.cli import main
sys.argv[1:] = ["--version"]
try:
    main()
finally:
    print(*gc.get_threshold())
"""


def test_the_command_collects_rarely() -> None:
    done = subprocess.run([sys.executable, "-c", COMMAND], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.splitlines()[-1] == "200000 25 50"
