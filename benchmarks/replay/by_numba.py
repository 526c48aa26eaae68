"""The queue of `by_python` on arrays, compiled by Numba; the phase `replay` is a second call, without compilation."""

from __future__ import annotations

from heapq import heappop, heappush
from pathlib import Path
from typing import Any

import numpy as np
from numba import njit

from benchmarks.child import Lap
from benchmarks.replay.data import GPUS, read
from benchmarks.replay.facts import facts
from gpusched_dsl.ir.arrays import Ints


def ends(submitted: Ints, gpus: Ints, seconds: Ints, free: int) -> Ints:
    now, found = 0, np.zeros_like(submitted)
    running = [(0, 0)]
    running.pop()
    for job in range(len(submitted)):
        now = max(now, submitted[job])
        while len(running) > 0 and (running[0][0] <= now or free < gpus[job]):
            at, freed = heappop(running)
            now = max(now, at)
            free += freed
        free -= gpus[job]
        found[job] = now + seconds[job]
        heappush(running, (found[job], gpus[job]))
    return found


compiled: Any = njit(ends)


def run(folder: Path, lap: Lap) -> dict[str, float]:
    submitted, gpus, seconds = np.array(read(folder), dtype=np.int64).T.copy()
    lap("data")
    compiled(submitted[:1], gpus[:1], seconds[:1], GPUS)
    lap("compilation")
    found = compiled(submitted, gpus, seconds, GPUS)
    lap("replay")
    return facts(zip(submitted.tolist(), seconds.tolist(), found.tolist(), strict=True))
