"""The overhead of a campaign on local processes: runs of one second, with every result stored.

    python -m benchmarks.campaign_overhead [RUNS [WORKERS]]

prints how much longer the campaign takes than its runs alone, and the computing time of the parent per run. A run
sleeps, so that the other load of the machine does not count.
"""

from __future__ import annotations

import resource
import sys
import tempfile
import time
from pathlib import Path

from gpusched_dsl.campaigns.campaign import record_of
from gpusched_dsl.campaigns.store import Store
from gpusched_dsl.campaigns.tasks import DONE, RunRecord, encode
from gpusched_dsl.engines.local import LocalEngine
from gpusched_dsl.engines.protocol import Work

SECONDS = 1.0


def one_second(message: bytes) -> bytes:
    """Return the record of a run that takes one second."""
    time.sleep(SECONDS)
    metrics = {f"measure_{number}": 1.0 / (number + 1) for number in range(60)}
    return encode(RunRecord(key=message.decode(), state=DONE, metrics=metrics, seconds=SECONDS))


def main(runs: int = 40, workers: int = 2) -> None:
    work = [Work(f"{number:032x}", f"{number:032x}".encode()) for number in range(runs)]
    with (
        tempfile.TemporaryDirectory() as folder,
        Store(Path(folder) / "store", "C") as store,
        LocalEngine(workers) as engine,
    ):
        for _ in engine.run("benchmarks.campaign_overhead:one_second", work[:workers]):
            pass  # the workers have started
        start, used = time.perf_counter(), _used()
        for done in engine.run("benchmarks.campaign_overhead:one_second", work):
            store.put(record_of(done))
        wall, cpu = time.perf_counter() - start, _used() - used
    alone = runs * SECONDS / workers
    print(f"{runs} runs of {SECONDS:g} s on {workers} workers: {wall:.2f} s, {100 * (wall / alone - 1):.1f} % overhead")
    print(f"parent: {1000 * cpu / runs:.1f} ms of computing per run")


def _used() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
