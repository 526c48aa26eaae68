"""`gsdsl watch`: rounds after saves, changes of the objective by term, Ctrl-C."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from gpusched_dsl.reporting.objective_changes import objective_changes
from gpusched_dsl.workflows.watched_files import WatchedFiles

MODEL = """model Small {
  set Jobs;
  param hours[Jobs] in h;
  var late[Jobs] in h >= 0;
  minimize total in h { weight: 2 * sum[j in Jobs] late[j]; fixed: 1[h]; }
  constraint enough[j in Jobs]: late[j] >= hours[j];
}
scenario Two for Small { Jobs = { a, b }; data "hours.csv" { hours[job] = hours[h]; } }
"""


def result(**terms: float) -> Any:
    values = tuple(SimpleNamespace(name=name, value=value) for name, value in terms.items())
    total = SimpleNamespace(name="total", sense="minimize", unit="$", value=sum(terms.values()), terms=values)
    return cast(Any, SimpleNamespace(objectives=(total,)))


def test_changes_by_term() -> None:
    changes = objective_changes(result(rent=4.0, late=2.0, old=1.0), result(rent=3.0, late=2.0, new=5.0))
    assert [(c.name, c.text, c.change_text) for c in changes] == [
        ("total", "10 $", "+3 $"),
        ("rent", "3 $", "-1 $"),
        ("late", "2 $", ""),
        ("new", "5 $", "new"),
        ("old", "-", "gone"),
    ]
    assert [c.change_text for c in objective_changes(result(a=1.0), result(a=1.0 + 1e-12))] == ["", ""]
    assert [c.change_text for c in objective_changes(None, result(a=1.0))] == ["new", "new"]


def test_changes_of_files_are_noticed(tmp_path: Path) -> None:
    file, missing = tmp_path / "a.gsm", tmp_path / "b.gsm"
    file.write_text("1")
    files = WatchedFiles([file, missing])
    assert files.wait(lambda: True) == []
    missing.write_text("2")
    calls = iter((False, False, False, True))
    assert files.wait(lambda: next(calls, True)) == [missing]
    file.unlink()
    time.sleep(0.25)
    assert files.changed


@dataclass
class Watch:
    """A running watch and its lines so far."""

    process: subprocess.Popen[str]
    lines: list[str] = field(default_factory=list)

    def read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append(line.rstrip())

    def wait_for(self, text: str, after: int = 0) -> str:
        until = time.monotonic() + 120
        while time.monotonic() < until:
            for line in self.lines[after:]:
                if text in line:
                    return line
            time.sleep(0.05)
        raise AssertionError(f"{text!r} not in {self.lines}")


@contextmanager
def watching(file: Path, *options: str) -> Iterator[Watch]:
    process = subprocess.Popen(
        [sys.executable, "-m", "gpusched_dsl", "watch", str(file), *options],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=file.parent,
    )  # fmt: skip
    watch = Watch(process)
    reader = threading.Thread(target=watch.read, daemon=True)
    reader.start()
    try:
        yield watch
    finally:
        process.kill()
        process.wait()
        reader.join(10)


@pytest.mark.slow
def test_a_watch_solves_after_saves_and_ends_with_ctrl_c(tmp_path: Path) -> None:
    file, data = tmp_path / "small.gsm", tmp_path / "hours.csv"
    file.write_text(MODEL)
    data.write_text("job,hours\na,1\nb,2\n")
    with watching(file) as watch:
        assert "7 h" in watch.wait_for("Two: optimal")
        seen = len(watch.lines)
        data.write_text("job,hours\na,1\nb,3\n")  # a data file counts too
        assert "9 h" in watch.wait_for("Two: optimal", seen)
        assert "+2 h" in watch.wait_for("weight", seen)
        seen = len(watch.lines)
        file.write_text(MODEL.replace("late[j] >= hours[j]", "late[j] >= hors[j]"))
        watch.wait_for("GSM1101", seen)
        seen = len(watch.lines)
        file.write_text(MODEL.replace("2 * sum", "3 * sum"))
        assert "13 h" in watch.wait_for("Two: optimal", seen)
        watch.process.send_signal(signal.SIGINT)
        assert watch.process.wait(30) == 0


@pytest.mark.slow
def test_a_file_without_a_scenario_is_checked_only(tmp_path: Path) -> None:
    file = tmp_path / "model.gsm"
    file.write_text(MODEL.partition("scenario")[0])
    with watching(file) as watch:
        watch.wait_for("ok")
        watch.process.send_signal(signal.SIGINT)
        assert watch.process.wait(30) == 0
