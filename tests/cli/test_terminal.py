"""`gsdsl solve` on a terminal: the stage that runs is shown, Ctrl-C, typed, ends it, and names do not control it."""

from __future__ import annotations

import csv
import os
import select
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

if sys.platform == "win32":
    pytest.skip("terminals of POSIX", allow_module_level=True)

import fcntl
import pty
import termios

# A stage that never ends by itself, in the process that the terminal belongs to.
PROGRAM = """
import sys, time
from gpusched_dsl.cli import main
from gpusched_dsl.compiling.lowering import ground
from gpusched_dsl.ir.deadline import checkpoint

def forever(*anything):
    until = time.monotonic() + 60
    while time.monotonic() < until:
        checkpoint()
        time.sleep(0.001)

ground._Grounding._constraint = forever
sys.exit(main(["solve", sys.argv[1]]))
"""
TEXT = """model M { var x >= 0 <= 3; maximize f: x; constraint c: x <= 2; } scenario S for M { }"""
CTRL_C = b"\x03"


class Terminal:
    """A pseudo-terminal and what a process wrote to it."""

    def __init__(self) -> None:
        self.own, self.other = pty.openpty()
        self.written = ""

    def read_until(self, found: Callable[[], bool], seconds: float = 30.0) -> bool:
        """Read what is written until that is so; False where it takes longer."""
        until = time.monotonic() + seconds
        while not found():
            ready, _, _ = select.select([self.own], [], [], 0.05)
            try:
                self.written += os.read(self.own, 4096).decode(errors="replace") if ready else ""
            except OSError:  # nobody has the other side open any more
                time.sleep(0.05)
            if time.monotonic() > until:
                return False
        return True


def take_terminal() -> None:
    """Make standard input the controlling terminal of this process, so that Ctrl-C is typed to it."""
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


@pytest.mark.slow
def test_ctrl_c_while_the_problem_is_built(tmp_path: Path, child: Callable[..., Any]) -> None:
    (tmp_path / "m.gsm").write_text(TEXT, encoding="utf-8")
    terminal = Terminal()
    try:
        process = child(
            [sys.executable, "-c", PROGRAM, tmp_path / "m.gsm"], stdin=terminal.other, stdout=terminal.other,
            stderr=terminal.other, preexec_fn=take_terminal, env={**os.environ, "TERM": "xterm", "COLUMNS": "100"},
        )  # fmt: skip
        os.close(terminal.other)
        assert terminal.read_until(lambda: "grounding" in terminal.written), terminal.written
        os.write(terminal.own, CTRL_C)
        assert terminal.read_until(lambda: process.poll() is not None), terminal.written
        terminal.read_until(lambda: False, 0.2)  # what it wrote last
    finally:
        os.close(terminal.own)
    assert process.returncode == 130, terminal.written
    assert "solving" not in terminal.written
    assert "stopping with the best solution so far" in terminal.written
    assert "stopped by Ctrl-C" in terminal.written
    assert "Traceback" not in terminal.written


@pytest.mark.parametrize(
    ("text", "indent"),
    [
        ("bound        64.5 $   (each job separately, in its cheapest way or mixture of two ways)", 13),
        ("  FIFO: first in, first out: no job overtakes an earlier job, in the order of arrival", 2),
        ("\x1b[33mtardiness    1 late (20 %), 0.35 h mean, 1.75 h at most, and much more\x1b[0m", 13),
        ("a_name_longer_than_half_of_the_terminal_is_wide  and its text, which continues below the name", 0),
    ],
)
def test_long_lines_break_between_words(text: str, indent: int) -> None:
    from gpusched_dsl.cli.output import _STYLE, _wrap

    for width in (40, 60, 80, 200):
        lines = _wrap(text, width)
        assert " ".join(" ".join(lines).split()) == " ".join(text.split())
        assert all(len(_STYLE.sub("", line)) <= max(width, 49) for line in lines)
        assert all(line.startswith(" " * indent) and line[indent] != " " for line in lines[1:])
        assert (len(lines) == 1) == (len(_STYLE.sub("", text)) <= width)


def test_names_from_data_cannot_control_the_terminal(gsdsl: Callable[..., Any], tmp_path: Path) -> None:
    names = ["\x1b]0;title\x07", "two\nlines", "\u202egpj", "\x1b[2J"]
    with (tmp_path / "jobs.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("job", "time"), *((name, "1") for name in names)])
    path = tmp_path / "hostile.gsm"
    path.write_text(
        'import "gsdsl:trace_replay/model.gsm";\n'
        "scenario S for TraceReplay {\n"
        "  Nodes = { n };  gpus = [1];\n"
        '  data "jobs.csv" { Jobs = job;  exec_time[job] = time[h]; }\n'
        "  needs[j in Jobs] = 1;\n"
        "}\n"
    )
    solved = gsdsl("solve", path, "--show", "all")
    run = gsdsl("run", path, "--method", "FIFO")
    for done in (solved, run):
        assert done.code == 0
        assert not set("\x1b\x07\u202e") & set(done.out + done.err)
    assert "two�lines" in solved.out
