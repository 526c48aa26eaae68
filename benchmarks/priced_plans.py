"""Large decisions by prices: the plan of `ReducedCost`, and the bound that its prices prove.

`python -m benchmarks.priced_plans [--nodes 100 1000 10000] [--seeds 1 2 3] [--method ReducedCost]` writes capacity
planning with ten jobs for each node (benchmarks/capacity/data.py) as scenarios of `capacity_planning/model.gsm` with
`node_rule = at_most`, and solves each in a new process: CPU seconds from the text to the verified plan without imports
and compilation, wall seconds of everything, the gap to the proved bound, and the peak memory.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.capacity.data import write

SCENARIO = """
import "gsdsl:capacity_planning/model.gsm";
import "gsdsl:capacity_planning/policies.gsm";
scenario Priced for CapacityPlanning {
  node_rule = at_most;
  data "nodes.csv" { Nodes = node; }
  data "types.csv" { Types = vm_type;  gpus[vm_type] = gpus;  price[vm_type] = price_usd_per_h[$/h]; }
  data "instance_jobs.csv" { Jobs = job;  deadline[job] = deadline_h[h];  weight[job] = weight_usd_per_h[$/h]; }
  data "instance_times.csv" { Runnable = (job, vm_type, gpus);  exec_time[job, vm_type, gpus] = hours[h]; }
}
"""


def measure(folder: Path, method: str) -> dict[str, float]:
    """Solve the scenario of a folder in this process."""
    import polars  # noqa: F401
    import scipy.optimize  # noqa: F401

    import gpusched_dsl as gs

    gs.loads("model M { var x >= 0; minimize z: x; constraint c: x >= 1; }").solve()  # imports
    cpu, began = time.process_time(), time.perf_counter()
    model = gs.load(folder / "priced.gsm", memory=16 << 30)
    result = model.solve("Priced", method=method, reasons=False)
    facts = {"CPU": time.process_time() - cpu, "wall": time.perf_counter() - began}
    statistics = result.solved.statistics
    facts |= {"build": result.build_seconds, "policy": result.solve_seconds}
    facts |= {name: statistics.get(f"{name}_seconds", 0.0) for name in ("prices", "judge", "ready")}
    facts |= {"objective": result.objective or float("nan"), "bound": result.bound or float("nan")}
    facts["gap"] = 100 * (result.gap if result.gap is not None else float("nan"))
    return facts | {"MB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.priced_plans", description=__doc__)
    parser.add_argument("--nodes", type=int, nargs="+", default=[100, 1_000])
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--method", default="ReducedCost")
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.folder is not None:
        print(json.dumps(measure(given.folder, given.method)))
        return
    shown = False
    for nodes in given.nodes:
        for seed in given.seeds:
            with tempfile.TemporaryDirectory() as folder:
                write(Path(folder), nodes, seed)
                (Path(folder) / "priced.gsm").write_text(SCENARIO, encoding="utf-8")
                command = [
                    sys.executable,
                    "-m",
                    "benchmarks.priced_plans",
                    "--folder",
                    folder,
                    "--method",
                    given.method,
                ]
                done = subprocess.run(command, check=True, capture_output=True, text=True)
            facts = json.loads(done.stdout.splitlines()[-1])
            if not shown:
                print("| nodes x jobs, seed | " + " | ".join(facts) + " |")
                print("| --- |" + " ---: |" * len(facts))
                shown = True
            cells = " | ".join(f"{value:,.3f}" for value in facts.values())
            print(f"| {nodes:,} x {10 * nodes:,}, {seed} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
