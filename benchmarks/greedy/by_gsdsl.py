"""The kernels as they run: `passes` with ranking and price, or `drawn` passes that keep the best ten."""

from pathlib import Path

from benchmarks.child import Lap
from benchmarks.greedy.instance import keys_of, rank, read
from gpusched_dsl.policies.controlled_search import run as run_search
from gpusched_dsl.policies.search import SearchSettings


def run(folder: Path, lap: Lap, what: str, count: str) -> dict[str, float]:
    work = read(folder)
    keys = keys_of(work)
    lap("read")
    drawn = what == "drawn"
    iterations = int(count) if drawn else 0
    run_search(work, rank(work, keys, drawn), SearchSettings(iterations=min(iterations, 1), keep=10))
    lap("first call")
    if drawn:
        best = run_search(work, rank(work, keys, True), SearchSettings(iterations=iterations, keep=10), seed=1).price
    else:
        for _ in range(int(count)):
            best = run_search(work, rank(work, keys, False), SearchSettings()).price
    lap("work")
    return {"price": round(best, 6)}
