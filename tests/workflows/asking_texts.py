"""Small runs to ask questions of: three jobs on a node of one GPU or of two, and one job of a length that is drawn."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.workspace import Workspace, workspace_from_text

# J1 waits at 0 for the solver and runs for Greedy; at 1 J2 and J3 come. The node is of one GPU (A) or of two (B).
THREE_JOBS = """
import "gsdsl:capacity_planning/scenarios/three_jobs.gsm";
policy Patient for CapacityPlanning extends Greedy { place best_fit, new_node, wait; }
policy Urgent for CapacityPlanning extends Greedy {
  order j in Jobs where weight[j] < 3[$/h] by deadline[j];
  choose (v, g) in Configs where (j, v, g) in Runnable by g, gpus[v];
  place best_fit, new_node, next_choice;
  finish smaller_type;
  keep running;
}
scenario CpOn for CapacityPlanning extends ThreeJobs { }
"""

# A job of a length between 0 and 100 epochs, all alike, on one GPU that does one epoch in an hour, due after 70 h.
DRAWN = """
import "gsdsl:gpu_sharing/online.gsm";
scenario Drawn for GpuSharing {
  lengths = law;  sharing = off;  Shares = {};
  table Types: gpus memory[GB] =  K80 1 24;
  table Nodes: node_type =  n1 K80;
  table Configs: cost_rate[$/h] =  K80 1 2;
  table Jobs: memory_need[GB] weight[$/h] deadline[h] =  j1 1 3 70;
  length ~ uniform(0[epoch], 100[epoch]);
  table Runnable: exec_time[h] =  j1 K80 1 100;
}
"""


@lru_cache(8)
def read(text: str) -> Workspace:
    found = Diagnostics()
    made = workspace_from_text(text, "asking.gsm", found, Path.cwd())
    found.raise_if_errors()
    return made
