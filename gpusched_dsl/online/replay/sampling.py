"""Checks a replay against the inputs of plans of the loop, at some times of the run.

At each time the data of the plan are computed again from the present jobs and the carried values. The uses, costs and
remaining times of running jobs are compared with the replay. This catches gaps in the proof of `eligibility.py`.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gpusched_dsl.ir.arrays import Floats, Ints
from gpusched_dsl.online.loops.events import EventLoop
from gpusched_dsl.online.simulation.assignments import AllocationReader, Allocations
from gpusched_dsl.online.simulation.realisation import stream
from gpusched_dsl.online.simulation.world import TOLERANCE

SAMPLES = 3  # times that are looked at, the first start among them
SAME = 1e-6  # relative


def difference(
    loop: EventLoop, allocations: Allocations, way: tuple[Ints, ...], start: Floats, end: Floats
) -> str | None:
    """Return the difference of a plan's inputs at some time, as text; None if there is none.

    `allocations` have codes of the whole run, `way` the codes of their elements of the placement's family; `start` and
    `end` are in the unit of the clock.
    """
    if not len(start):
        return None
    rng = stream(loop.config.seed, "verify replay")
    middle = 0.5 * (start + end)  # while it runs: what is left of the job is a half
    chosen = np.unique(np.append(rng.choice(len(start), min(SAMPLES - 1, len(start)), replace=False), np.argmin(start)))
    for now in np.unique(middle[chosen]).tolist():
        found = _difference_at(loop, allocations, way, start, end, now)
        if found is not None:
            return f"a sample at {now:g} has another {found} than the replay"
    return None


def _difference_at(
    loop: EventLoop, allocations: Allocations, way: tuple[Ints, ...], start: Floats, end: Floats, now: float
) -> str | None:
    near = TOLERANCE * max(1.0, abs(now))
    runs = np.flatnonzero((start < now - near) & (end > now + near))
    ended = np.zeros(len(loop.world.arrival), dtype=np.bool_)
    ended[allocations.job[end <= now + near]] = True
    there = np.flatnonzero((loop.world.arrival <= now + near) & ~ended)
    jobs = allocations.job[runs]
    clock = loop.clock()
    left, running = clock.remaining.copy(), clock.running.copy()
    left[jobs], running[jobs] = (end[runs] - now) / (end[runs] - start[runs]), 1.0
    part = loop.base.part({loop.jobs_root: there})
    at = replace(clock, now=now, remaining=left, done=loop.world.work * (1.0 - left), running=running)
    store = loop.base.instance_of(part, loop.carrier.carried_values(part, at, None)).store
    reader = AllocationReader(loop.online, store, loop.base.limits, part)
    inner = part.inner_codes(reader.components, tuple(column[runs] for column in way))  # type: ignore[arg-type]
    current = reader.allocations_of(inner)
    pairs = (
        ("`lasts`", current.lasts, end[runs] - now),
        ("`costs`", current.rate, allocations.rate[runs]),
        ("`uses`", current.uses, allocations.uses[runs]),
    )
    for name, ours, theirs in pairs:
        if not np.allclose(ours, theirs, rtol=SAME, atol=1e-9):
            return name
    return None
