"""`python -m benchmarks.online.data FOLDER NODES HOURS`: a cluster with four jobs per node there from the beginning."""

from __future__ import annotations

import sys
from pathlib import Path

# Jobs come `hours` before they were submitted: most are there at once, and one more with nearly every arrival.
TEXT = """import "gsdsl:capacity_planning/online.gsm";

scenario Crowd for CapacityPlanning {
  node_rule = at_most;
  generate capacity_nodes (nodes = {nodes}) { Nodes = node; }
  generate capacity_types { Types = type; gpus[type] = gpus; price[type] = price[$/h]; family[type] = family; }
  generate capacity_jobs (jobs = {jobs}, seed = 1) {
    Jobs = job;
    submitted[job] = submitted[h];
    deadline[job] = due[h];
    weight[job] = weight[$/h];
  }
  generate capacity_times (jobs = {jobs}, seed = 1) {
    Runnable = (job, type, gpus);
    exec_time[job, type, gpus] = time[h];
  }
}

online Crowded for CapacityPlanning extends EveryArrivalAndCompletion {
  arrive j in Jobs at max(0[h], submitted[j] - {hours}[h]);
}
"""


def main(folder: Path, nodes: str, hours: str) -> None:
    """Draw 4.6 jobs per node."""
    text = TEXT
    for name, value in {"nodes": nodes, "hours": hours, "jobs": str(23 * int(nodes) // 5)}.items():
        text = text.replace(f"{{{name}}}", value)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "crowd.gsm").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
