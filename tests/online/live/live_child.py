"""A live run of a real model in a process of its own: `live_child.py METHOD EVENTS JOURNAL`; records are its output."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import BinaryIO

from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.workspace import workspace_from_text
from gpusched_dsl.online.run_config import RunConfig
from gpusched_dsl.workflows.live import run_live_loop

TEXT = """
import "gsdsl:capacity_planning/online.gsm";

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
    record = Path(journal) if journal else None
    config = RunConfig(online="EveryEvent", method=method, journal=record).allowing(method)
    return run_live_loop(workspace, source, out or sys.stdout.buffer, config)


if __name__ == "__main__":
    run(*sys.argv[1:])
