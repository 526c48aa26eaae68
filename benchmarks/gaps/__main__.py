"""`python -m benchmarks.gaps`: gaps of the policies of capacity planning to the proved optimum, one decision each.

Ten jobs a node, of the generator that made models/capacity_planning/data/synthetic; the optimum is that of the same
model and data.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
import time
from pathlib import Path

import numpy as np

import gpusched_dsl as gs
from benchmarks.data_scripts import MODELS, script

HERE = Path(__file__).resolve().parent
METHODS = ("FIFO", "EDF", "PS", "Greedy", "RandomisedGreedy", "LocalSearch", "Hierarchical")


def write(folder: Path, nodes: int, seed: int, catalogue: str) -> None:
    """An instance as CSV files with its scenario."""
    folder.mkdir(parents=True, exist_ok=True)
    made = script(MODELS / "capacity_planning/data/synthetic/generate_instances.py")
    made.write(made.generate(seed, nodes, 10 * nodes, 30, made.read_catalogue(catalogue)), folder / "instance")
    shutil.copy(made.CATALOGUES / f"{catalogue}.csv", folder / "types.csv")
    names = "".join(f"n{i}\n" for i in range(1, nodes + 1))
    (folder / "nodes.csv").write_text("node\n" + names, encoding="utf-8")
    shutil.copy(HERE / "synthetic.gsm", folder)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gaps", description=__doc__)
    parser.add_argument("--nodes", type=int, default=10)
    parser.add_argument("--seeds", type=int, default=5, help="instances: seeds 1 to so many")
    parser.add_argument("--catalogues", default="full9,azure6")
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--import", dest="imports", help="a file of further policies to import")
    options = parser.parse_args()
    for catalogue in options.catalogues.split(","):
        gaps: dict[str, list[float]] = {}
        seconds: dict[str, list[float]] = {}
        for seed in range(1, options.seeds + 1):
            with tempfile.TemporaryDirectory() as place:
                folder = Path(place)
                write(folder, options.nodes, seed, catalogue)
                text = (folder / "synthetic.gsm").read_text(encoding="utf-8")
                if options.imports:
                    text += Path(options.imports).read_text(encoding="utf-8")
                model = gs.loads(text, base=folder)
                bound = model.solve(gap=1e-6).bound
                assert bound is not None
                for method in options.methods.split(","):
                    began = time.process_time()
                    value = model.solve(backend=method, seed=1).objective
                    seconds.setdefault(method, []).append(time.process_time() - began)
                    assert value is not None
                    gaps.setdefault(method, []).append(100 * (value - bound) / value)
        print(
            f"\n{catalogue}, {options.nodes} x {10 * options.nodes}, seeds 1 to {options.seeds}: gap in % of the cost"
        )
        for method, found in gaps.items():
            each = "  ".join(f"{gap:6.2f}" for gap in found)
            print(f"  {method:18} mean {np.mean(found):6.2f}   {each}   {np.mean(seconds[method]):6.2f} CPU s")


if __name__ == "__main__":
    main()
