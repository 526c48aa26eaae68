"""Helpers of the broken files are imported by name (tests run in importlib mode, which adds no folder to the path).

A shell starts what runs in the background with SIGINT ignored, and so would be the children of tests: here it has
Python's own handler, and children its default.

The quick suite draws the same examples each time; the long tests draw new ones.
"""

import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

sys.path.insert(0, str(Path(__file__).parent / "broken"))

settings.register_profile("quick", derandomize=True, database=None)


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("markexpr") == "not slow":
        settings.load_profile("quick")


@pytest.fixture(autouse=True, scope="session")
def ctrl_c_as_on_a_terminal() -> Iterator[None]:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
