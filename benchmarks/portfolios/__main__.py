"""`python -m benchmarks.portfolios`: totals of whole runs by portfolios and by their policies, on paired seeds.

Heavy workloads: ten jobs for each node of the generator of capacity planning, six Azure types, mean gap 30 s; and,
with `--elasticflow FILE`, the 195 jobs of the testbed trace of ElasticFlow (Gu et al., ASPLOS 2023) on eight nodes of
eight GPUs, where a job costs an hour of its GPUs 1 $ and an hour of its tardiness 1 to 4 $, by its name.
"""

from __future__ import annotations

import argparse
import csv
import tempfile
import time
import zlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import gpusched_dsl as gs
from gpusched_dsl.reporting.bootstrap import mean_interval

BASES = ("FIFO", "EDF", "Greedy", "WeightedPressure", "ATC", "LocalSearch")
POLICIES = """
policy Switching for CapacityPlanning "each plan is continued by its own policy" {
  portfolio ATC, Greedy, WeightedPressure, EDF;
}
policy Searching for CapacityPlanning "with the plans of local search" {
  portfolio ATC, Greedy, WeightedPressure, EDF, LocalSearch;
  continue with ATC, WeightedPressure;
}
policy Drawing for CapacityPlanning "with arrivals as in the past" {
  portfolio ATC, Greedy, WeightedPressure, EDF;
  lookahead 12[h];
  futures 3 with arrivals seed 1;
  continue with ATC;
}
"""
PORTFOLIOS = ("Portfolio", "Switching", "Searching", "Drawing")
DRAWN = """
import "gsdsl:capacity_planning/online.gsm";
scenario S for CapacityPlanning {{
  node_rule = at_most;
  generate capacity_nodes (nodes = {nodes}) {{ Nodes = node; }}
  generate capacity_types (catalogue = azure6) {{
    Types = type;  gpus[type] = gpus;  price[type] = price;  family[type] = family;
  }}
  generate capacity_jobs (seed = {seed}, jobs = {jobs}, catalogue = azure6) {{
    Jobs = job;  submitted[job] = submitted;  deadline[job] = due;  weight[job] = weight;
  }}
  generate capacity_times (seed = {seed}, jobs = {jobs}, catalogue = azure6) {{
    Runnable = (job, type, gpus);  exec_time[job, type, gpus] = time;
  }}
}}
"""
TRACE = """
import "gsdsl:capacity_planning/online.gsm";
scenario S for CapacityPlanning {
  node_rule = at_most;
  Nodes = 1..8;
  table Types: gpus price[$/h] = A100 8 8;
  data "jobs.csv" {
    Jobs = job;  submitted[job] = submitted[h];  deadline[job] = deadline[h];  weight[job] = weight[$/h];
    Runnable = (job, type, gpus);  exec_time[job, type, gpus] = hours[h];
  }
}
"""


def trace(file: Path, folder: Path) -> str:
    """Write the jobs of a trace file for `TRACE`, and return the text."""
    with file.open(encoding="utf-8", newline="") as source, (folder / "jobs.csv").open("w", encoding="utf-8") as out:
        rows = list(csv.DictReader(source))
        first = min(float(row["submission_time"]) for row in rows)
        out.write("job,type,gpus,submitted,deadline,weight,hours\n")
        for number, row in enumerate(rows):
            came, due = (float(row[name]) - first for name in ("submission_time", "deadline"))
            weight = 1 + zlib.crc32(row["job_id"].encode()) % 4
            values = (came / 3600, due / 3600, weight, float(row["duration"]) / 3600)
            out.write(f"j{number},A100,{row['num_gpu']},{','.join(f'{value:.9g}' for value in values)}\n")
    return TRACE


def instances(options: argparse.Namespace, folder: Path) -> Iterator[tuple[str, int, str]]:
    """Name, seed and text of each instance."""
    for nodes in options.nodes:
        for seed in options.seeds:
            yield f"{nodes} x {10 * nodes}", seed, DRAWN.format(nodes=nodes, jobs=10 * nodes, seed=seed)
    if options.elasticflow is not None:
        yield "ElasticFlow, 8 x 195", 0, trace(options.elasticflow, folder)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.portfolios", description=__doc__)
    parser.add_argument("--nodes", type=int, nargs="*", default=[4, 10])
    parser.add_argument("--seeds", type=int, nargs="*", default=[1, 2, 3])
    parser.add_argument("--elasticflow", type=Path)
    parser.add_argument("--methods", default=",".join((*BASES, *PORTFOLIOS)))
    options = parser.parse_args()
    methods = options.methods.split(",")
    ratios: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as place:
        for name, seed, text in instances(options, Path(place)):
            model = gs.loads(text + POLICIES, base=Path(place))
            totals = {}
            for method in methods:
                began = time.process_time()
                run = model.run("S", "EveryArrivalAndCompletion", method, seed=seed, verify="none")
                seconds, totals[method] = time.process_time() - began, run.total
                plans = max(1, len(run.outcome.steps))
                print(
                    f"{name:22} seed {seed}  {method:18} {run.total:12.2f} $  tardiness "
                    f"{run.costs.get('tardiness', 0.0):11.2f} $  {plans:5} plans  {seconds:7.2f} CPU s",
                    flush=True,
                )
            best = min(totals[method] for method in methods if method in BASES)
            for method in methods:
                ratios.setdefault(method, []).append(100 * (totals[method] / best - 1))
    print("\nabove the best single policy of each instance, in %")
    for method, found in ratios.items():
        interval = mean_interval(np.array(found)) if len(found) > 1 else None
        between = "" if interval is None else f"  ({interval.low:.2f} to {interval.high:.2f})"
        print(f"  {method:18} mean {np.mean(found):8.2f}{between}  worst {max(found):8.2f}")


if __name__ == "__main__":
    main()
