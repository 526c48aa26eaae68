"""Helpers of the broken files are imported by name (tests run in importlib mode, which adds no folder to the path).

A shell starts what runs in the background with SIGINT ignored, and so would be the children of tests: here it has
Python's own handler, and children its default.
"""

import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent / "broken"))


@pytest.fixture(autouse=True, scope="session")
def ctrl_c_as_on_a_terminal() -> Iterator[None]:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
