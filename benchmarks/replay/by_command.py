"""The complete command, `gsdsl run replay.gsm --method FIFO`, from its start to the printed report."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from benchmarks.child import Lap


def run(folder: Path, lap: Lap, policy: str, *options: str) -> dict[str, float]:
    """Facts of jobs are those of the report, and so only their number."""
    command = [sys.executable, "-m", "gpusched_dsl", "run", "replay.gsm", "--method", policy, *options]
    report = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout
    lap("replay")
    [jobs] = [line.split() for line in report.splitlines() if line.startswith("jobs ")]
    return {"finished": int(jobs[1].replace(",", ""))}
