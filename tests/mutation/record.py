"""A pytest plugin that records which functions of the package every test calls, and its CPU time.

    GSDSL_RECORD=FOLDER python -m pytest -p tests.mutation.record

It needs Python 3.12, whose monitoring costs next to nothing. Kernels are recorded where they run as plain Python.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from types import CodeType
from typing import Any

import pytest

TOOL = 4
WATCHED = ("gpusched_dsl/", "backends/")


class Recorder:
    """Lines of JSON, one for a test or a fixture of more than one test, with the first lines of called functions."""

    def __init__(self, root: Path, file: Path) -> None:
        self.monitoring: Any = sys.monitoring  # type: ignore[attr-defined, unused-ignore]
        self.root = f"{root}/"
        self.file = file.open("w", encoding="utf-8")
        self.called: set[tuple[str, int]] = set()
        self.monitoring.use_tool_id(TOOL, "gsdsl")
        self.monitoring.register_callback(TOOL, self.monitoring.events.PY_START, self.note)
        self.monitoring.set_events(TOOL, self.monitoring.events.PY_START)

    def note(self, code: CodeType, _: int) -> object:
        path = code.co_filename.removeprefix(self.root)
        if path.startswith(WATCHED):
            self.called.add((path, code.co_firstlineno))
        return self.monitoring.DISABLE

    def write(self, name: str, cpu: float) -> None:
        line = {"name": name, "cpu": round(cpu, 3), "calls": sorted(self.called)}
        self.file.write(json.dumps(line) + "\n")
        self.file.flush()

    def pytest_unconfigure(self) -> None:
        self.monitoring.set_events(TOOL, self.monitoring.events.NO_EVENTS)

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self.called = set()
        self.monitoring.restart_events()
        began = cpu_seconds()
        yield
        self.write(item.nodeid, cpu_seconds() - began)

    @pytest.hookimpl(hookwrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[Any]) -> Iterator[None]:
        """Calls of a fixture that tests share belong to the module as a whole, too."""
        if fixturedef.scope == "function":
            yield
            return
        outer, self.called = self.called, set()
        self.monitoring.restart_events()
        began = cpu_seconds()
        yield
        self.write(f"fixture {fixturedef.baseid}", cpu_seconds() - began)
        self.called |= outer


def cpu_seconds() -> float:
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def pytest_configure(config: pytest.Config) -> None:
    folder = Path(os.environ["GSDSL_RECORD"])
    folder.mkdir(parents=True, exist_ok=True)
    worker = os.environ.get("PYTEST_XDIST_WORKER", "main")
    config.pluginmanager.register(Recorder(config.rootpath, folder / f"{worker}.jsonl"))
