"""Standard streams that are closed, or whose reader leaves: files are written, and nobody sees a traceback."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

import pytest

from gpusched_dsl.cli import exits
from gpusched_dsl.cli.arguments.commands import build_parser
from gpusched_dsl.cli.streams import OUTPUTS

MODEL = """model M { set J; param w[J] >= 0; var x[J] binary; maximize t: sum[j in J] w[j] * x[j]; }
scenario S for M { J = { a, b }; w[a] = 1; w[b] = 2; }
"""
FILES = ("--csv", "tables", "--json", "result.json", "--html", "page.html")
OTHERS = {"records"}  # folders of `serve`, which prints nothing


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "m.gsm").write_text(MODEL)
    return tmp_path


def solve(folder: Path, *options: str, close: str = "", stdout: int | None = None) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, "-m", "gpusched_dsl", "solve", "m.gsm", *options]
    shell = ["/bin/sh", "-c", f'exec "$@" {close}', "sh", *words]
    taken = subprocess.PIPE if stdout is None else stdout
    return subprocess.run(shell, cwd=folder, stdout=taken, stderr=subprocess.PIPE, text=True, check=False)


def written(folder: Path) -> bool:
    return all((folder / name).exists() for name in ("tables/x.csv", "result.json", "page.html"))


@pytest.mark.parametrize("both", [False, True])
def test_a_reader_that_has_left(folder: Path, both: bool) -> None:
    """The first line of output fails, long before the files are written."""
    reader, writer = os.pipe()
    os.close(reader)
    done = solve(folder, *FILES, close="2>&1" if both else "", stdout=writer)
    os.close(writer)
    assert done.returncode == exits.BROKEN_PIPE
    assert written(folder)
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("close", [">&-", ">&- 2>&-", ">&- 2>&- <&-"])
def test_closed_streams(folder: Path, close: str) -> None:
    done = solve(folder, *FILES, close=close)
    assert done.returncode == exits.OK
    assert written(folder)
    assert "Traceback" not in done.stderr
    assert (folder / "result.json").read_text().startswith("{")  # and nothing that was printed


def test_a_closed_output_without_files(folder: Path) -> None:
    done = solve(folder, close=">&-")
    assert done.returncode == exits.BAD_INPUT
    assert done.stderr.startswith("error[GSM6008]: cannot write standard output: it is closed\n")
    assert "Traceback" not in done.stderr
    assert solve(folder, "--quiet", close=">&-").returncode == exits.OK


def test_every_option_that_names_an_output_is_known() -> None:
    """Options with these placeholders are outputs: a new one must be in the table."""
    parser = build_parser()[0]
    commands = next(a for a in parser._actions if isinstance(a, argparse._SubParsersAction))
    options = [action for command in commands.choices.values() for action in command._actions if action.option_strings]
    names = {action.dest for action in options if action.metavar in ("OUT", "DIR", "DB")}
    names |= {action.dest for action in options if (action.help or "").startswith(("write ", "output file"))}
    assert names >= {"csv", "json", "html", "figures", "journal"}
    assert names <= {*OUTPUTS, *OTHERS}
    assert {*OUTPUTS} <= {action.dest for action in options}
