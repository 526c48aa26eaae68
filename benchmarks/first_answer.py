"""The first plan on a new installation: each policy in a new process, with an empty cache of kernels.

`python -m benchmarks.first_answer [--nodes N] [--wait SECONDS] [POLICY ...]` prints CPU and wall-clock seconds from the
start of the process to the plan, and those of the same solve once more; with `--wait` also once the kernels have been
compiled. The scenario has forty jobs, or with `--nodes` ten jobs for each of so many nodes.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.capacity.data import write
from benchmarks.packages import ROOT, search_path

SCENARIO = ROOT / "models/capacity_planning/scenarios/gavel_40_jobs.gsm"

LARGE = """import "gsdsl:capacity_planning/policies.gsm";

scenario Large for CapacityPlanning {
  period = 1[h];
  data "nodes.csv" { Nodes = node; }
  data "types.csv" { Types = vm_type; gpus[vm_type] = gpus; price[vm_type] = price_usd_per_h[$/h]; }
  data "instance_jobs.csv" { Jobs = job; deadline[job] = deadline_h[h]; weight[job] = weight_usd_per_h[$/h]; }
  data "instance_times.csv" { Runnable = (job, vm_type, gpus); exec_time[job, vm_type, gpus] = hours[h]; }
}
"""

PROGRAM = """
import json, sys, time
import gpusched_dsl as gs
path, method, wait = sys.argv[1], sys.argv[2], float(sys.argv[3])
model = gs.load(path)
cost = model.solve(method=method, reasons=False).objective
print(json.dumps([cost, time.process_time(), time.time()]), flush=True)
def again():
    cpu = time.process_time()
    assert model.solve(method=method, reasons=False).objective == cost
    return time.process_time() - cpu
print(json.dumps(again()))
from gpusched_dsl.policies.kernels.drawing import draw_passes
until = time.time() + wait
while not draw_passes._is_ready and time.time() < until:
    again()
    time.sleep(1)
print(json.dumps([draw_passes._is_ready, again()]))
"""


def large_scenario(folder: Path, nodes: int) -> Path:
    """Write the data of so many nodes and their scenario."""
    write(folder, nodes)
    path = folder / "large.gsm"
    path.write_text(LARGE, encoding="utf-8")
    return path


def measure(scenario: Path, method: str, wait: float) -> str:
    """A row of the table: cost, CPU s and s to the first plan, CPU s of the second and of the last solve."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("GSDSL_", "NUMBA_"))}
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as cache:  # a second process may still compile
        began = time.time()
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, str(scenario), method, str(wait)],
            env={**environment, "XDG_CACHE_HOME": cache, "PYTHONPATH": search_path()},
            check=True, capture_output=True, text=True,
        )  # fmt: skip
    first, second, (compiled, last) = map(json.loads, done.stdout.splitlines())
    cost, cpu, ended = first
    row = f"| `{method}` | {cost:.2f} | {cpu:.2f} | {ended - began:.2f} | {second:.2f} |"
    return row + (f" {last:.2f}{'' if compiled else ' (not compiled)'} |" if wait else "")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.first_answer", description=__doc__)
    parser.add_argument("policies", nargs="*", default=["Greedy", "RandomisedGreedy", "LocalSearch"])
    parser.add_argument("--wait", type=float, default=0.0, help="most seconds to wait for the compiler")
    parser.add_argument("--nodes", type=int, default=0, help="with ten jobs each, instead of the forty jobs")
    options = parser.parse_args()
    columns = ["policy", "cost", "CPU s to the first plan", "s", "CPU s of a second solve"]
    columns += ["with machine code"] if options.wait else []
    print(f"| {' | '.join(columns)} |", f"| --- |{' ---: |' * (len(columns) - 1)}", sep="\n")
    with tempfile.TemporaryDirectory() as folder:
        scenario = large_scenario(Path(folder), options.nodes) if options.nodes else SCENARIO
        for method in options.policies:
            print(measure(scenario, method, options.wait), flush=True)


if __name__ == "__main__":
    main()
