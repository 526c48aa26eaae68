"""simpy: one process per job, and a container of GPUs that serves requests in the order of arrival."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import simpy

from benchmarks.child import Lap
from benchmarks.replay.data import GPUS, read
from benchmarks.replay.facts import facts


def run(folder: Path, lap: Lap) -> dict[str, float]:
    rows = read(folder)
    lap("data")
    environment = simpy.Environment()
    cluster = simpy.Container(environment, GPUS, GPUS)
    done: list[tuple[float, float, float]] = []

    def job(submitted: int, gpus: int, seconds: int) -> Iterator[Any]:
        yield cluster.get(gpus)
        yield environment.timeout(seconds)
        done.append((submitted, seconds, environment.now))
        yield cluster.put(gpus)

    def arrivals() -> Iterator[Any]:
        for row in rows:
            if row[0] > environment.now:
                yield environment.timeout(row[0] - environment.now)
            environment.process(job(*row))

    environment.process(arrivals())
    environment.run()
    lap("replay")
    return facts(done)
