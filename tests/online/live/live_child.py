"""A live run of a real model in a process of its own: `live_child.py METHOD EVENTS JOURNAL`; records are its output."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import BinaryIO

from gpusched_dsl.language.diagnostics import Diagnostics
from gpusched_dsl.language.workspace import workspace_from_text
from gpusched_dsl.living import LiveEventLoop
from gpusched_dsl.online.driver import StepJournal
from gpusched_dsl.online.journal_header import header_of
from gpusched_dsl.online.live_clock import LiveClock
from gpusched_dsl.online.live_session import run_live
from gpusched_dsl.running import open_run

TEXT = """
import "gsdsl:online/capacity_planning.gsm";

scenario Cluster for CapacityPlanning {
  Nodes = { n1, n2 };
  period = 2[h];
  idle_penalty = 0.01[$];
  table Types: gpus price[$/h] =
    small 1 1.1
    large 2 2.3 ;
  table Jobs: deadline[h] weight[$/h] =
    old 5 0.7 ;
  table Runnable: exec_time[h] =
    old small 1 4.2 ;
}
"""


def run(method: str, source: str, journal: str, out: BinaryIO | None = None) -> bool:
    found = Diagnostics()
    workspace = workspace_from_text(TEXT, "cluster.gsm", found)
    found.raise_if_errors()

    def loop_with(steps: StepJournal | None) -> LiveEventLoop:
        loop = open_run(workspace, "EveryEvent", method=method, journal=steps, external=True)
        assert isinstance(loop, LiveEventLoop)
        return loop

    header = header_of(
        online="EveryEvent", model="CapacityPlanning", scenario="Cluster", method=method,
        inputs_sha256=workspace.sha256, seed=0, live=True,
    )  # fmt: skip
    return run_live(
        loop_with, source, out or sys.stdout.buffer, name="EveryEvent", clock=LiveClock("h", 3600.0),
        journal=Path(journal) if journal else None, header=header,
    )  # fmt: skip


if __name__ == "__main__":
    run(*sys.argv[1:])
