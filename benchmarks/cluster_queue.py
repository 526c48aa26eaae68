"""A plan of the shipped models/cluster by a queue: which of 10,000 waiting jobs start now on 4,000 nodes.

    python -m benchmarks.cluster_queue [NODES [WAITING]] [--methods FIFO,EASY] [--repeats 3]

Three types of GPU, four partitions, gangs on up to 16 nodes, and jobs that run already: the folder that
`gsdsl inspect --write` writes of the cluster of `benchmarks.inspect_cluster`. The table has for each method the CPU
seconds of a plan and of its check, in one process with compiled kernels, and the ratio of the plan to a pass of the
queue of `gsdsl inspect` over the same jobs. That queue is a compiled loop over arrays, without a model.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.inspect_cluster import made_cluster
from benchmarks.side_rows import planned
from gpusched_dsl.compiling.build import Permissions, build, check_solvable
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.workspace import load_workspace
from gpusched_dsl.online.planners.policy import PolicyPlanner
from gpusched_dsl.policies.library import policy_named
from gsdsl_clusters.inspecting.queue_simulation import QueueRule, present_state, simulate
from gsdsl_clusters.inspecting.written_model import model_folder


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cluster_queue", description=__doc__)
    parser.add_argument("nodes", type=int, nargs="?", default=4_000)
    parser.add_argument("waiting", type=int, nargs="?", default=10_000)
    parser.add_argument("--methods", default="FIFO,EASY")
    parser.add_argument("--repeats", type=int, default=3)
    given = parser.parse_args()
    snapshot = made_cluster(given.nodes, given.waiting)
    rules = {"FIFO": QueueRule.STRICT, "EASY": QueueRule.EASY}
    with TemporaryDirectory() as name:
        folder = Path(name) / "cluster"
        model_folder(snapshot).write(folder)
        began = time.process_time()
        found = Diagnostics()
        workspace = load_workspace(folder / "now.gsm", found)
        found.raise_if_errors()
        scenario, _ = check_solvable(workspace, "Now")
        instance = build(workspace, scenario, full=False).instance
        print(f"data read and instance built in {time.process_time() - began:.1f} CPU s\n")
        print("| method | first plan, s | plan, s | check, s | loop of `inspect`, s | plan / loop |")
        print("| --- | ---: | ---: | ---: | ---: | ---: |")
        for method in given.methods.split(","):
            planner = PolicyPlanner(policy_named(workspace, method, scenario.model), Permissions())
            times = [planned(instance, planner)[1:] for _ in range(given.repeats + 1)]
            plan, check = (min(one[at] for one in times[1:]) for at in (0, 1))
            loop = float("nan")
            for _ in range(given.repeats + 1 if method in rules else 0):
                began = time.process_time()
                simulate(present_state(snapshot), rules[method], until=1.0)
                loop = min(time.process_time() - began, loop) if loop == loop else time.process_time() - began
            ratio = plan / loop
            print(f"| {method} | {times[0][0]:.1f} | {plan:.2f} | {check:.2f} | {loop:.2f} | {ratio:.1f} |", flush=True)


if __name__ == "__main__":
    main()
