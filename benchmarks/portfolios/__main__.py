"""`python -m benchmarks.portfolios`: totals of whole runs by portfolios and by their policies, on paired seeds.

The generator of capacity planning with six Azure types and a mean gap of 30 s, with one node for `light`, `medium` or
`overload` jobs; and, with `--elasticflow FILE`, the 195 jobs of the testbed trace of ElasticFlow (Gu et al., ASPLOS
2023) on eight nodes of eight GPUs, where a job costs an hour of its GPUs 1 $ and an hour of its tardiness 1 to 4 $, by
its name. The last table has the means above the bound of each run (with the capacity of the cluster) and, paired by
instance, above the policy that is the best on average; intervals of 95 %.
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
import polars as pl

import gpusched_dsl as gs
from gpusched_dsl.reporting.bootstrap import mean_interval

BASES = ("FIFO", "EDF", "Greedy", "WeightedPressure", "ATC", "LocalSearch")
POLICIES = """
policy Switching for CapacityPlanning "each plan is continued by its own policy" {
  portfolio ATC, Greedy, WeightedPressure, EDF;
}
policy Mixing extends Portfolio "with mixtures of its plans" { mix 12 plans; }
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
PORTFOLIOS = ("Portfolio", "Switching", "Mixing", "Searching", "Drawing")
LOADS = {"light": 3, "medium": 6, "overload": 10}  # jobs for each node
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
    for load in options.loads:
        nodes = options.jobs // LOADS[load]
        for seed in options.seeds:
            yield f"{load}, {nodes} x {options.jobs}", seed, DRAWN.format(nodes=nodes, jobs=options.jobs, seed=seed)
    if options.elasticflow is not None:
        yield "ElasticFlow, 8 x 195", 0, trace(options.elasticflow, folder)


def compare(options: argparse.Namespace, methods: list[str], folder: Path) -> pl.DataFrame:
    """Run all methods on all instances; return a row for each run."""
    rows = []
    for name, seed, text in instances(options, folder):
        model = gs.loads(text + POLICIES, base=folder)
        for method in methods:
            began = time.process_time()
            run = model.run(
                "S", "EveryArrivalAndCompletion", method, seed=seed, verify="none", bound=method == methods[0]
            )
            seconds = time.process_time() - began
            if method == methods[0]:
                bound = run.bound.value or np.nan  # for all methods; of the first one with its own run
            rows.append((name, seed, method, run.total, bound, seconds))
            print(
                f"{name:24} seed {seed:2}  {method:17} {run.total:11.2f} $  bound {bound:10.2f} $  tardiness "
                f"{run.costs.get('tardiness', 0.0):10.2f} $  {len(run.outcome.steps):5} plans  {seconds:7.2f} CPU s",
                flush=True,
            )
    return pl.DataFrame(rows, ["workload", "seed", "method", "total", "bound", "seconds"], orient="row")


def summarise(runs: pl.DataFrame, methods: list[str]) -> Iterator[str]:
    """Yield the lines of the last table."""
    for (name,), part in runs.group_by("workload", maintain_order=True):
        total = {m: part.filter(pl.col("method") == m)["total"].to_numpy() for m in methods}
        bound = part.filter(pl.col("method") == methods[0])["bound"].to_numpy()
        bases = [method for method in methods if method in BASES]
        best = min(bases, key=lambda method: float(np.mean(total[method] / bound)))
        each = np.min([total[method] for method in bases], axis=0)
        yield f"\n{name}: % above the bound; above {best}, the best policy on average; above the best of each instance"
        for method in methods:
            ratios = [100 * (total[method] / against - 1) for against in (bound, total[best], each)]
            yield f"  {method:17} " + "   ".join(map(_with_interval, ratios))


def _with_interval(ratios: np.ndarray) -> str:
    interval = mean_interval(ratios)
    between = "" if interval is None else f" ({interval.low:.2f} to {interval.high:.2f})"
    return f"{np.mean(ratios):8.2f}{between:22}"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.portfolios", description=__doc__)
    parser.add_argument("--loads", nargs="*", choices=LOADS, default=[*LOADS])
    parser.add_argument("--jobs", type=int, default=60)
    parser.add_argument("--seeds", type=int, nargs="*", default=[1, 2, 3, 4, 5, 6, 7, 8])
    parser.add_argument("--elasticflow", type=Path)
    parser.add_argument("--methods", default=",".join((*BASES, *PORTFOLIOS)))
    options = parser.parse_args()
    methods = options.methods.split(",")
    with tempfile.TemporaryDirectory() as place:
        runs = compare(options, methods, Path(place))
    print("\n".join(summarise(runs, methods)))


if __name__ == "__main__":
    main()
