"""Writes instances of GPU sharing of any size: `python -m benchmarks.sharing.data FOLDER NODES JOBS SEED ...`.

Jobs, times and slowdowns come from the generator of the shipped instances (generate_sharing.py in
models/gpu_sharing/data/cluster_10x20); of ten nodes four have K80, three M60 and three A100, as there. Each seed has a
folder, `seed1` and so on, whose `sharing.gsm` has the scenario `Sharing`.
"""

from __future__ import annotations

import sys
from pathlib import Path

from benchmarks.data_scripts import MODELS, script

PER_TEN = {"K80": 4, "M60": 3, "A100": 3}

SCENARIO = """\
import "gsdsl:gpu_sharing/model.gsm";

scenario Sharing for GpuSharing {
  data "gpus.csv" {
    Types = gpu;
    memory[gpu] = memory_gb[GB];
    gpus[gpu] = gpus;
  }
  data "rates.csv" { cost_rate[gpu, gpus] = usd_per_h[$/h]; }
  data "nodes.csv" { Nodes = node;  node_type[node] = node_type; }
  data "instance_shares.csv" {
    Shares = (gpu, twentieths);
    slowdown[gpu, twentieths] = slowdown;
  }
  data "instance_jobs.csv" {
    Jobs = job;
    memory_need[job] = memory_gb[GB];
    deadline[job] = deadline_h[h];
    weight[job] = weight_usd_per_s[$/s];
  }
  data "instance_times.csv" {
    Runnable = (job, gpu, gpus);
    exec_time[job, gpu, gpus] = hours[h];
  }
  outcomes = 10;
  data "instance_epochs.csv" { epochs[outcome, job] = epochs[epoch]; }
}
"""


def node_types(nodes: int) -> list[str]:
    """The model of GPU of each node; raises ValueError where `nodes` is no multiple of ten."""
    if nodes % 10:
        raise ValueError(f"{nodes} nodes cannot be shared out as {PER_TEN} of ten")
    return [gpu for gpu, count in PER_TEN.items() for _ in range(count * nodes // 10)]


def write(folder: Path, nodes: int = 20, jobs: int = 60, seed: int = 1) -> Path:
    """The CSV files and `sharing.gsm`, whose path is returned."""
    folder.mkdir(parents=True, exist_ok=True)
    made = script(MODELS / "gpu_sharing/data/cluster_10x20/generate_sharing.py")
    made.write(*made.generate(seed, nodes, jobs), folder / "instance")
    made.write_cluster(folder)
    rows = "".join(f"n{number},{gpu}\n" for number, gpu in enumerate(node_types(nodes), start=1))
    (folder / "nodes.csv").write_text("node,node_type\n" + rows, encoding="utf-8")
    path = folder / "sharing.gsm"
    path.write_text(SCENARIO, encoding="utf-8")
    return path


def main(folder: Path, nodes: int, jobs: int, *seeds: int) -> None:
    for seed in seeds:
        write(folder / f"seed{seed}", nodes, jobs, seed)


if __name__ == "__main__":
    main(Path(sys.argv[1]), *map(int, sys.argv[2:]))
