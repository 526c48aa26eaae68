"""The first plan on a new installation: each policy in a new process, with an empty cache of kernels.

`python -m benchmarks.first_answer [--wait SECONDS] [POLICY ...]` prints CPU and wall-clock seconds from the start of
the process to the plan, and those of the same solve once more; with `--wait` also once the kernels have been compiled.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

from benchmarks.packages import ROOT, search_path

SCENARIO = ROOT / "models/capacity_planning/scenarios/gavel_40_jobs.gsm"

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


def measure(method: str, wait: float) -> str:
    """A row of the table: cost, CPU s and s to the first plan, CPU s of the second and of the last solve."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("GSDSL_", "NUMBA_"))}
    with tempfile.TemporaryDirectory() as cache:
        began = time.time()
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, str(SCENARIO), method, str(wait)],
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
    options = parser.parse_args()
    columns = ["policy", "cost", "CPU s to the first plan", "s", "CPU s of a second solve"]
    columns += ["with machine code"] if options.wait else []
    print(f"| {' | '.join(columns)} |", f"| --- |{' ---: |' * (len(columns) - 1)}", sep="\n")
    for method in options.policies:
        print(measure(method, options.wait), flush=True)


if __name__ == "__main__":
    main()
