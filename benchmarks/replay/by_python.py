"""The same queue written by hand in Python: two heaps and a counter, nothing else."""

from __future__ import annotations

from heapq import heappop, heappush
from pathlib import Path

from benchmarks.child import Lap
from benchmarks.replay.data import GPUS, read
from benchmarks.replay.facts import facts


def run(folder: Path, lap: Lap) -> dict[str, float]:
    rows = read(folder)
    lap("data")
    free, head, now = GPUS, 0, 0
    running: list[tuple[int, int]] = []
    end = [0] * len(rows)
    for head, (submitted, gpus, seconds) in enumerate(rows):
        now = max(now, submitted)
        while running and (running[0][0] <= now or free < gpus):
            at, freed = heappop(running)
            now = max(now, at)
            free += freed
        free -= gpus
        end[head] = now + seconds
        heappush(running, (end[head], gpus))
    lap("replay")
    return facts((row[0], row[2], done) for row, done in zip(rows, end, strict=True))
