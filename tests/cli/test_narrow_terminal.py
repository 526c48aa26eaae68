"""Tables and prose fit a terminal of 80 columns; columns are left out in the order that their grids state."""

from __future__ import annotations

import os
import re
import shlex
import struct
import subprocess
import sys
from pathlib import Path

import pytest

if sys.platform == "win32":
    pytest.skip("terminals of POSIX", allow_module_level=True)

import fcntl
import pty
import termios

from gpusched_dsl.cli.arguments.commands import COMMANDS as SUMMARIES

WIDTH = 80
ROOT = Path(__file__).resolve().parents[2]
GAVEL = "gsdsl:capacity_planning/scenarios/gavel_at_most.gsm"
SHARED = "gsdsl:shared_cluster.gsm"
CAMPAIGN = """\
import "gsdsl:capacity_planning/scenarios/three_jobs.gsm";

campaign Sizes "A long purpose of the campaign" {
  solve ThreeJobs with highs, Greedy, RandomisedGreedy;
  vary length in { 1[h], 2[h] };
  period = length;
  vary seed in { 1, 2 };
}
"""
WIDE = """\
model Wide {
  set Jobs;
  set Nodes;
  var run[Jobs, Nodes] binary;
  minimize cost in $: sum[j in Jobs, n in Nodes] 1.25[$] * run[j, n];
  constraint once[j in Jobs]: sum[n in Nodes] run[j, n] == 1;
  placement run[j, n] { job j;  node n;  lasts 1.25[h];  costs 1.25[$/h];  due 0.5[h];  weight 1[$/h]; }
}
scenario S for Wide {
  Nodes = { a_node_whose_name_has_thirty_chars };
  Jobs = { a_job_whose_name_has_thirty_chars_ };
}
"""
COMMANDS = (
    f"compare {GAVEL} --methods highs,EDF,Greedy,LocalSearch",
    f"compare {GAVEL} --methods EDF,RandomisedGreedy --seeds 1..6",
    "run gsdsl:philly_sample.gsm --scenario PhillyNodes --methods FIFO,SJF,Backfilling",
    f"run {SHARED} --method EASY",
    f"run {SHARED} --methods FIFO,EASY --seeds 1..2",
    "inspect week.txt --price 2",
    f"solve {SHARED} --method EASY --scenario SharedCluster",
    "solve gsdsl:figure1.gsm",
    f"explain {GAVEL}",
    "explain gsdsl:capacity_planning/policies.gsm --policy LocalSearch",
    f"why {SHARED} --job gpt_large --at 4 --method EASY",
    f"estimate {SHARED} --job gpt_large --method EASY",
    "show",
    f"show {SHARED}",
    "policies",
    f"policies {SHARED}",
    "trace --formats",
    "trace --formats philly",
    "campaign show campaign.gsm",
    "explain GSM3002",
    "new --list",
    "solve gsdsl:figure1.gsm --duals --alternatives 3 --options-of j1",
    "--help",
    *(f"{command} --help" for command in sorted(SUMMARIES)),
)


def shown(command: str, folder: Path) -> tuple[list[str], str]:
    """The lines of standard output on a terminal of 80 columns, and standard error."""
    own, other = pty.openpty()
    fcntl.ioctl(other, termios.TIOCSWINSZ, struct.pack("HHHH", 50, WIDTH, 0, 0))
    environment = {key: value for key, value in os.environ.items() if key not in ("COLUMNS", "LINES")}
    environment |= {"TERM": "xterm", "NO_COLOR": "1", "GSDSL_PYTHON_KERNELS": "1"}
    words = [sys.executable, "-m", "gpusched_dsl", *shlex.split(command)]
    with (folder / "told.txt").open("w+b") as told:
        process = subprocess.Popen(
            words, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=other, stderr=told
        )
        os.close(other)
        written = b""
        while True:
            try:
                read = os.read(own, 65536)
            except OSError:  # the command has ended
                break
            if not read:
                break
            written += read
        os.close(own)
        assert process.wait(timeout=200) == 0, (folder / "told.txt").read_text()
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", written.decode()).replace("\r\n", "\n")
    return [line.rpartition("\r")[2] for line in text.splitlines()], (folder / "told.txt").read_text(encoding="utf-8")


@pytest.fixture
def files(tmp_path: Path) -> Path:
    week = ROOT / "edges" / "clusters" / "tests" / "inspecting" / "records" / "week.txt"
    (tmp_path / "week.txt").write_bytes(week.read_bytes())
    (tmp_path / "campaign.gsm").write_text(CAMPAIGN, encoding="utf-8")
    (tmp_path / "wide.gsm").write_text(WIDE, encoding="utf-8")
    return tmp_path


@pytest.mark.quick(3)
@pytest.mark.parametrize("command", COMMANDS)
def test_what_is_shown_fits(command: str, files: Path) -> None:
    if command.startswith("campaign show"):
        shown(command.replace("show", "run"), files)
    lines, _ = shown(command, files)
    assert [line for line in lines if len(line) > WIDTH] == []
    assert len([line for line in lines if line.strip()]) > 1


def test_columns_are_left_out_in_order(files: Path) -> None:
    """Those of the placement: the rate first, then how late a job is; the costs stay."""
    lines, told = shown("solve wide.gsm", files)
    assert [line for line in lines if len(line) > WIDTH] == []
    names = re.findall(r"`([^`]*)`", told.partition("too narrow for")[2].partition(":")[0])
    assert names[0].startswith("rate")
    order = ("rate", "late by", "runs for")
    assert [next(word for word in order if name.startswith(word)) for name in names] == list(order[: len(names)])
    assert any(line.endswith("cost") or "cost [$]" in line for line in lines), lines
