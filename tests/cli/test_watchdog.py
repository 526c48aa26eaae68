"""SIGTERM, the time limit and the memory limit end a command whatever it does, and nothing of it remains."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

SCRIPT = Path(__file__).with_name("endless_stage.py")
STAGES = ("parse", "check", "read", "ground", "reformulate", "solve", "policy", "verify", "write")
TEXT = 'import "gsdsl:capacity_planning/scenarios/figure1.gsm";\n'
TERM_SECONDS = 3.0  # 2 s are promised; a second for a busy machine

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
Child = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def begin(tmp_path: Path, child: Child) -> Callable[..., "subprocess.Popen[str]"]:
    """Start a solve with an endless stage, and wait until the stage has begun."""
    (tmp_path / "figure.gsm").write_text(TEXT, encoding="utf-8")

    def start(stage: str, kind: str, *options: str) -> "subprocess.Popen[str]":
        method = "Greedy" if stage == "policy" else "highs"
        arguments = ["solve", "figure.gsm", "--scenario", "Figure1", "--method", method, "--json", "out.json"]
        process = child([sys.executable, SCRIPT, stage, kind, *arguments, *options], cwd=tmp_path)
        assert process.stderr is not None
        while (line := process.stderr.readline()) != "here\n":
            assert line, "the stage is never reached"
        return process

    return start


def watchdogs_of(parent: int) -> list[int]:
    """The watchdogs of a process, of which nothing else need be left."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            words = (entry / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if any(word.endswith(b"watchdog_process.py") for word in words) and str(parent).encode() in words:
            found.append(int(entry.name))
    return found


def check_end(process: Any, begun: float, seconds: float, folder: Path) -> tuple[int, str]:
    """The exit code and the errors of a process that ends in time and leaves nothing behind."""
    _, err = process.communicate(timeout=60)  # the end of standard error is the end of the watchdog, too
    assert time.monotonic() - begun < seconds
    assert not watchdogs_of(process.pid)
    assert "Traceback" not in err
    assert "MemoryError" not in err
    out = folder / "out.json"
    assert not out.exists() or json.loads(out.read_text(encoding="utf-8"))
    return process.returncode, err


@pytest.mark.quick(6)
@pytest.mark.parametrize("kind", ["loop", "library_loop"])
@pytest.mark.parametrize("stage", STAGES)
def test_sigterm_ends_each_stage(stage: str, kind: str, begin: Callable[..., Any], tmp_path: Path) -> None:
    process = begin(stage, kind)
    process.send_signal(signal.SIGTERM)
    code, err = check_end(process, time.monotonic(), TERM_SECONDS, tmp_path)
    if stage in ("parse", "check", "write"):  # nothing can be kept
        assert code == -signal.SIGTERM
    elif code == 130:
        assert "GSM6030" in err or "interrupted" in err
    else:
        assert (code, "error[GSM6030]" in err) == (-signal.SIGKILL, True), err


@pytest.mark.quick(2)
@pytest.mark.parametrize("kind", ["loop", "library_loop"])
@pytest.mark.parametrize("stage", STAGES)
def test_the_time_limit_ends_each_stage(stage: str, kind: str, begin: Callable[..., Any], tmp_path: Path) -> None:
    begun = time.monotonic()
    code, err = check_end(begin(stage, kind, "--time-limit", "30"), begun, 30.0, tmp_path)
    assert "error[GSM6030]: the command was ended: it still ran after" in err
    assert code in (5, -signal.SIGKILL)


@pytest.mark.quick(4)
@pytest.mark.parametrize("kind", ["allocation", "library_allocation"])
@pytest.mark.parametrize("stage", STAGES)
def test_the_memory_limit_ends_each_stage(stage: str, kind: str, begin: Callable[..., Any], tmp_path: Path) -> None:
    process = begin(stage, kind, "--memory-limit", "0.1")
    code, err = check_end(process, time.monotonic(), 30.0, tmp_path)
    assert re.search(r"error\[GSM6014\]: the command was ended: it used more than 0\.\d+ GiB", err), err
    assert code in (1, -signal.SIGKILL)


@pytest.mark.parametrize("sent", [[signal.SIGINT], [signal.SIGINT, signal.SIGINT]])
def test_ctrl_c_in_a_library(sent: list[signal.Signals], begin: Callable[..., Any], tmp_path: Path) -> None:
    """The first leaves as much time as it takes, the second ends the command at once."""
    process = begin("ground", "library_loop")
    for number in sent:
        process.send_signal(number)
        time.sleep(0.5)
    if len(sent) == 1:
        time.sleep(3.0)
        assert process.poll() is None
        return
    code, err = check_end(process, time.monotonic(), TERM_SECONDS, tmp_path)
    assert (code, "error[GSM6030]: the command was ended by a second Ctrl-C" in err) == (-signal.SIGKILL, True)


def test_a_killed_command_takes_its_watchdog_along(begin: Callable[..., Any]) -> None:
    process = begin("ground", "library_loop")
    assert len(watchdogs_of(process.pid)) == 1
    process.kill()
    process.wait()
    end = time.monotonic() + 5.0
    while watchdogs_of(process.pid) and time.monotonic() < end:
        time.sleep(0.05)
    assert not watchdogs_of(process.pid)


def test_a_stopped_command_reports_json(begin: Callable[..., Any], tmp_path: Path) -> None:
    process = begin("ground", "library_loop", "--diagnostics", "json")
    process.send_signal(signal.SIGTERM)
    _, err = check_end(process, time.monotonic(), TERM_SECONDS, tmp_path)
    assert "GSM6030" in json.dumps(json.loads(err))


@pytest.mark.parametrize("arguments", [["--help"], ["check", "figure.gsm"]])
def test_commands_without_limits_start_no_watchdog(arguments: list[str], tmp_path: Path) -> None:
    (tmp_path / "figure.gsm").write_text(TEXT, encoding="utf-8")
    program = (
        "import os, sys; from gpusched_dsl.cli import main\n"
        "os.posix_spawn = lambda *a, **k: print('started', file=sys.stderr)\n"
        "sys.exit(main())"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments], cwd=tmp_path, capture_output=True, text=True, timeout=120,
        check=False, env={**os.environ, "COLUMNS": "80"},
    )  # fmt: skip
    assert (done.returncode, "started" in done.stderr) == (0, False), done.stderr
