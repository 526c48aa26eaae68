"""`python -m benchmarks.gpuspb [FOLDER] [--instances ...] [--methods ...]`: our costs against those of a C++ program.

The folder, or that of the environment variable GPUSPB_INSTANCES, holds one folder for each instance, with the tables
that the program reads, and `reference_costs.csv`. Exit code 1 if a target is missed.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from benchmarks.gpuspb.bound import bound_without_tardiness
from benchmarks.gpuspb.instance import read_instance, reference_costs
from benchmarks.gpuspb.loop import simulate
from benchmarks.gpuspb.methods import APPARENT, METHODS

BEST = "LocalSearch"  # what methods that the program does not have are held against
# Our cost is at most so many times that of the program.
LIMITS = {"Greedy": 1.02, "LocalSearch": 1.005}
HARDER = {("n20_heavy", "LocalSearch"): 1.0}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpuspb", description=__doc__)
    parser.add_argument("folder", nargs="?", default=os.environ.get("GPUSPB_INSTANCES"), type=Path)
    parser.add_argument("--instances", nargs="*", help="names of folders (default: all)")
    parser.add_argument(
        "--methods", nargs="*", help=f"some of {', '.join(m.name for m in (*METHODS, *APPARENT))} (default: all)"
    )
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if options.folder is None:
        parser.error("name the folder of the instances, or set GPUSPB_INSTANCES")
    folder = Path(options.folder)
    costs = reference_costs(folder)
    missed = 0
    print(
        f"{'instance':12} {'method':22} {'$ C++':>9} {'$ ours':>9} {'ratio':>7} {'tardy $':>9} {'decisions':>9}", end=""
    )
    print(f" {'CPU s':>7} {'ms each':>7}")
    for name in options.instances or sorted({instance for instance, _ in costs}):
        instance = read_instance(folder / name)
        print(f"{name:12} without tardiness at least ${bound_without_tardiness(instance):.1f}")
        for method in (*METHODS, *APPARENT):
            if options.methods and method.name not in options.methods:
                continue
            bill = simulate(instance, method, options.seed)
            theirs = costs[name, method.name if method in METHODS else BEST]
            ratio = bill.total / theirs
            verdict = ""
            if ratio > HARDER.get((name, method.name), LIMITS.get(method.name, ratio)):
                verdict, missed = "  MISSED", missed + 1
            print(
                f"{name:12} {method.name:22} {theirs:9.1f} {bill.total:9.1f} {ratio:7.4f} {bill.tardiness:9.1f} "
                f"{bill.events:9} {bill.cpu_seconds:7.2f} {1000 * bill.cpu_seconds / bill.events:7.2f}{verdict}",
                flush=True,
            )
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
