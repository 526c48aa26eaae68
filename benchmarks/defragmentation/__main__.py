"""Room for gangs on 1,000 nodes: `python -m benchmarks.defragmentation [--snapshots 100] [--first 0]`.

A row for each snapshot: running jobs, workers of gangs; for each method the gangs that start, GPU hours lost by jobs
that move or halt, jobs that are halted, and seconds. Plans of the model are checked from the data of the snapshot.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np

from benchmarks.defragmentation.model import change_of, check, load
from benchmarks.defragmentation.rules import Change, by_consolidation, by_preemption, lost
from benchmarks.defragmentation.snapshots import Snapshot, draw


def by_model(snapshot: Snapshot) -> tuple[Change, str]:
    """The change of the model, and its status.

    A search for a start and restarts of HiGHS take longer here than they save.
    """
    result = load(snapshot).solve(
        backend="highs", gap=0.0, time_limit=60, threads=1, second_opinion=False, heuristic="off",
        solver_options={"mip_allow_restart": False},
    )  # fmt: skip
    change = change_of(snapshot, result)
    check(snapshot, change)
    return change, str(result.status)


def timed(rule: Callable[[Snapshot], Change], snapshot: Snapshot) -> tuple[Change, float]:
    began = time.perf_counter()
    change = rule(snapshot)
    return change, time.perf_counter() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--snapshots", type=int, default=100)
    parser.add_argument("--first", type=int, default=0)
    arguments = parser.parse_args()
    print("| seed | jobs | gangs | model | preemption | consolidation | status | s | CPU s |")
    print("| ---: | ---: | --- | ---: | ---: | ---: | --- | ---: | ---: |")
    sums = np.zeros((3, 3))
    slowest, cpu_seconds = 0.0, []
    for seed in range(arguments.first, arguments.first + arguments.snapshots):
        snapshot = draw(seed)
        began, cpu = time.perf_counter(), time.process_time()
        change, status = by_model(snapshot)
        seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
        slowest = max(slowest, seconds)
        cpu_seconds.append(cpu)
        changes = [change, timed(by_preemption, snapshot)[0], timed(by_consolidation, snapshot)[0]]
        figures = [(lost(snapshot, c), len(c.started), int((c.node < 0).sum())) for c in changes]
        sums += figures
        cells = [f"{hours:.1f}, {started} start, {halted} halted" for hours, started, halted in figures]
        gangs = "+".join(str(count) for count in snapshot.gangs)
        print(
            f"| {seed} | {len(snapshot.node)} | {gangs} | {' | '.join(cells)} | {status} | {seconds:.1f} | {cpu:.1f} |"
        )
    print(f"\nGPU hours lost: model {sums[0, 0]:.1f}, preemption {sums[1, 0]:.1f}, consolidation {sums[2, 0]:.1f}")
    print(f"gangs that start: {sums[:, 1].astype(int).tolist()}, halted: {sums[:, 2].astype(int).tolist()}")
    mean, most = np.mean(cpu_seconds), max(cpu_seconds)
    print(f"slowest plan of the model: {slowest:.1f} s; CPU seconds: mean {mean:.2f}, most {most:.2f}")


if __name__ == "__main__":
    main()
