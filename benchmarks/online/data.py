"""`python -m benchmarks.online.data FOLDER`: a cluster of 100 nodes at which 400 jobs are from the beginning."""

from __future__ import annotations

import sys
from pathlib import Path

# Jobs come 40 h before they were submitted: 400 are there at once, and one more with nearly every arrival.
TEXT = """import "gsdsl:capacity_planning/online.gsm";

scenario Crowd for CapacityPlanning {
  node_rule = at_most;
  generate capacity_nodes (nodes = 100) { Nodes = node; }
  generate capacity_types { Types = type; gpus[type] = gpus; price[type] = price[$/h]; family[type] = family; }
  generate capacity_jobs (jobs = 460, seed = 1) {
    Jobs = job;
    submitted[job] = submitted[h];
    deadline[job] = due[h];
    weight[job] = weight[$/h];
  }
  generate capacity_times (jobs = 460, seed = 1) {
    Runnable = (job, type, gpus);
    exec_time[job, type, gpus] = time[h];
  }
}

online Crowded for CapacityPlanning extends EveryArrivalAndCompletion {
  arrive j in Jobs at max(0[h], submitted[j] - 40[h]);
}
"""


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "crowd.gsm").write_text(TEXT, encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
