"""The first observation of a driver, from the JSON of Slurm to the first plan: CPU seconds by number of jobs.

    python -m benchmarks.first_observation [JOBS ...]

prints the time of each number of waiting jobs on 100 nodes, and its ratio to the time of the number before. The first
run after an installation also compiles the kernels of policies, once for all.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.workspace import load_workspace
from gsdsl_clusters.drivers.drive import DriveOptions, drive
from gsdsl_clusters.drivers.protocol import Action, Observation
from gsdsl_clusters.drivers.settings import read_settings
from gsdsl_clusters.drivers.slurm.observe import FIELDS, observation_of

NODES, GPUS, EPOCH = 100, 8, 1_800_000_000
MODEL = f"""import "gsdsl:trace_replay/policies.gsm";
scenario Cluster for TraceReplay {{
  Nodes = {{ {", ".join(f"g{n}" for n in range(NODES))} }};
  gpus[n in Nodes] = {GPUS};
  Jobs = {{ }};
}}
online Live for TraceReplay {{
  arrive j in Jobs at submitted[j];
  replan on arrival, completion, failure, recovery;
  carry remaining[j] = remaining[j];
  carry clock = now;
}}
"""
CLUSTER = """driver = "many"
model = "cluster.gsm"
online = "Live"
method = "FIFO"

[jobs]
submitted = "submitted"
needs = "gpus"
exec_time = "time_limit"
"""


class ManyJobs:
    """A Slurm with so many waiting jobs, of which every tenth excludes a node."""

    fields = FIELDS

    def __init__(self, jobs: int) -> None:
        self.nodes = [
            {"name": f"g{n}", "gres": f"gpu:h200:{GPUS}", "state": "idle", "partitions": ["main"]} for n in range(NODES)
        ]
        self.jobs = [
            {
                "job_id": n + 1, "job_state": ["PENDING"], "state_reason": "JobHeldUser", "node_count": 1, "tasks": 1,
                "priority": {"set": True, "infinite": False, "number": 0}, "partition": "main",
                "submit_time": EPOCH - n,
                "tres_per_node": f"gres/gpu:{1 + n % GPUS}", "time_limit": {"set": True, "number": 60 + n % 600},
                "excluded_nodes": "g7" if n % 10 == 0 else "", "user_name": f"user{n % 50}", "comment": "", "qos": "",
            }
            for n in range(jobs)
        ]  # fmt: skip

    def observe(self) -> Observation:
        return observation_of(self.jobs, self.nodes, "main", EPOCH)

    def act(self, action: Action) -> None:
        raise NotImplementedError("shadow mode does nothing")


def seconds(jobs: int) -> float:
    """The CPU seconds from the first observation to the first plan."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "cluster.gsm").write_text(MODEL, encoding="utf-8")
        path = Path(folder) / "cluster.toml"
        path.write_text(CLUSTER, encoding="utf-8")
        cluster = ManyJobs(jobs)
        settings, _ = read_settings(path, cluster)
        diagnostics = Diagnostics()
        workspace = load_workspace(settings.model, diagnostics)
        diagnostics.raise_if_errors()
        began = time.process_time()
        done = drive(workspace, settings, cluster, DriveOptions(rounds=1), report=print)
        spent = time.process_time() - began
    assert (done.rounds, done.plans, done.left_out) == (1, 1, {})
    return spent


def main(numbers: Sequence[int] = (1_000, 4_000, 20_000)) -> None:
    seconds(10)  # kernels and modules are loaded
    before: tuple[int, float] | None = None
    for jobs in numbers:
        spent = seconds(jobs)
        shown = "" if before is None else f", {spent / before[1]:.1f} times that of {before[0]:,}"
        print(f"{jobs:,} jobs: {spent:.2f} s of CPU{shown}")
        before = jobs, spent


if __name__ == "__main__":
    main(tuple(map(int, sys.argv[1:])) or (1_000, 4_000, 20_000))
