"""A pytest plugin that records which lines of the package every test executes, and its CPU time.

    GSDSL_RECORD=FOLDER python -m pytest -p tests.mutation.record

It needs Python 3.12, whose monitoring costs next to nothing. Kernels are recorded where they run as plain Python.
"""

from __future__ import annotations

import json
import os
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from types import CodeType
from typing import Any

import pytest

TOOL = 4
WATCHED = ("gpusched_dsl/", "backends/gsdsl_backends/")


class Recorder:
    """Lines of JSON, one for a test or a fixture of more than one test, with the executed lines by file."""

    def __init__(self, root: Path, file: Path) -> None:
        self.monitoring: Any = sys.monitoring  # type: ignore[attr-defined, unused-ignore]
        self.root = f"{root}/"
        self.file = file.open("w", encoding="utf-8")
        self.executed: set[tuple[str, int]] = set()
        self.paths: dict[str, str] = {}  # of files of code: the path to record, or nothing
        self.monitoring.use_tool_id(TOOL, "gsdsl")
        self.monitoring.register_callback(TOOL, self.monitoring.events.LINE, self.note)
        self.monitoring.set_events(TOOL, self.monitoring.events.LINE)

    def note(self, code: CodeType, line: int) -> object:
        path = self.paths.get(code.co_filename)
        if path is None:
            path = code.co_filename.removeprefix(self.root)
            path = self.paths[code.co_filename] = path if path.startswith(WATCHED) else ""
        if path:
            self.executed.add((path, line))
        return self.monitoring.DISABLE

    def write(self, name: str, cpu: float) -> None:
        lines: dict[str, list[int]] = defaultdict(list)
        for path, at in sorted(self.executed):
            lines[path].append(at)
        self.file.write(json.dumps({"name": name, "cpu": round(cpu, 3), "lines": lines}) + "\n")
        self.file.flush()

    def pytest_unconfigure(self) -> None:
        self.monitoring.set_events(TOOL, self.monitoring.events.NO_EVENTS)

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self.executed = set()
        self.monitoring.restart_events()
        began = cpu_seconds()
        yield
        self.write(item.nodeid, cpu_seconds() - began)

    @pytest.hookimpl(hookwrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[Any]) -> Iterator[None]:
        """Lines of a fixture that tests share belong to the module as a whole, too."""
        if fixturedef.scope == "function":
            yield
            return
        outer, self.executed = self.executed, set()
        self.monitoring.restart_events()
        began = cpu_seconds()
        yield
        self.write(f"fixture {fixturedef.baseid}", cpu_seconds() - began)
        self.executed |= outer


def cpu_seconds() -> float:
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def pytest_configure(config: pytest.Config) -> None:
    folder = Path(os.environ["GSDSL_RECORD"])
    folder.mkdir(parents=True, exist_ok=True)
    worker = os.environ.get("PYTEST_XDIST_WORKER", "main")
    config.pluginmanager.register(Recorder(config.rootpath, folder / f"{worker}.jsonl"))
