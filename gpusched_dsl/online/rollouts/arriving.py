"""Adds drawn arrivals to a simulated run: blocks of consecutive arrivals of the past, again.

Real jobs come in bursts, and the jobs of a burst are alike: as the arrivals of a Poisson process of the same rate, they
would delay others too evenly. Blocks of random length keep gaps and jobs together: the stationary bootstrap of D. N.
Politis, J. P. Romano, Journal of the American Statistical Association 89, 1994.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from msgspec import Struct

from gpusched_dsl.ir.arrays import Codes, Floats
from gpusched_dsl.language.checked import ParamRef
from gpusched_dsl.online.data.base import Base
from gpusched_dsl.online.data.updates import with_values
from gpusched_dsl.online.data.variations import with_copies
from gpusched_dsl.online.loops.events import EventLoop
from gpusched_dsl.online.replay.eligibility import replay_facts
from gpusched_dsl.online.rollouts.clones import DrawnArrivals
from gpusched_dsl.online.simulation.realisation import realisation_of
from gpusched_dsl.online.simulation.world import FUTURE, TOLERANCE

MOST_ADDED = 100  # of one future: a copy costs time, and a job rarely waits for so many


def blocks_of_arrivals(loop: EventLoop, seed: int, count: int) -> DrawnArrivals:
    """Return `count` arrivals after now, by a stream of their own; none if none came since the first time.

    Of n arrivals since then, with their gaps to the one before, blocks of a mean length of sqrt(n) are repeated; the
    last one is followed by the first. Jobs that were there at the first time are not: they came at unknown times.
    """
    world = loop.world
    # a job that was withdrawn while it was on hold has no time of arrival
    past = np.flatnonzero((world.status != FUTURE) & np.isfinite(world.arrival))
    past = past[np.argsort(world.arrival[past], kind="stable")]
    came = world.arrival[past]
    first = float(came[0]) if len(came) else world.now
    later = came > first + TOLERANCE * max(1.0, abs(world.now))
    jobs, gaps = past[later], np.diff(came[later], prepend=first)
    if not len(jobs):
        return DrawnArrivals(np.zeros(0, dtype=np.int64), np.zeros(0))
    rng = np.random.default_rng([seed, 0xA6])
    begins = rng.random(count) < 1.0 / np.sqrt(len(jobs))
    begins[:1] = True
    at = np.arange(count)
    block = np.maximum.accumulate(np.where(begins, at, 0))
    rows = (rng.integers(len(jobs), size=count)[block] + at - block) % len(jobs)
    waits = gaps[rows]
    since = world.now - float(came[-1])
    longer = gaps[gaps > since]
    if len(longer):  # the next arrival has not come yet
        waits[0] = rng.choice(longer) - since
    return DrawnArrivals(jobs[rows], world.now + np.cumsum(waits))


def add_arrivals(loop: EventLoop, seed: int, known: dict[int, Base] | None = None, most: int = MOST_ADDED) -> None:
    """Let copies of jobs arrive in a simulated run after now, drawn by a seed; see `blocks_of_arrivals`.

    Times since the start of the run (the time of arrival, due times) are moved with them. `known` keeps the data with
    the copies by seed, for further futures from the same time. Raises ValueError where the data have pairs of jobs.
    """
    drawn = blocks_of_arrivals(loop, seed, most)
    template, time = drawn.template, drawn.time
    count = len(loop.world.status)
    if not len(template):
        return
    base = None if known is None else known.get(seed)
    if base is None:
        base = _with_moved_copies(loop, template, time)
        if known is not None:
            known[seed] = base
    loop.use_data(base)
    real = realisation_of(loop.online, base, seed, loop.setup.slot_length)
    new = slice(count, None)
    loop.world.grow(replace(real, arrival=time, work=real.work[new], ends=real.ends[new], stretch=real.stretch[new]))
    for _ in range(len(template)):
        loop.memory.add_jobs(1)


def _with_moved_copies(loop: EventLoop, template: Codes, time: Floats) -> Base:
    """Return the data with copies of jobs that arrive at these times."""
    count = len(loop.world.status)
    base = with_copies(loop.base, loop.jobs_root, template)
    waits = time - loop.world.arrival[template]
    labels = base.store.universes[loop.jobs_root].labels[count:]
    changes: dict[str, list[tuple[tuple[str | int, ...], float | str]]] = {}
    for name in _absolute_times(loop):
        values = np.asarray(base.store.params[name].values[count:], dtype=np.float64) + waits
        changes[name] = [((label,), value) for label, value in zip(labels, values.tolist(), strict=True)]
    return with_values(base, changes)


def _absolute_times(loop: EventLoop) -> Iterator[str]:
    """Return the given parameters of jobs that are times since the start of the run."""
    online, base = loop.online, loop.base
    facts = replay_facts(online)
    found = {name for name, slope in facts.slopes.items() if slope < 0}
    if online.arrival is not None and isinstance(online.arrival.at, ParamRef):
        found.add(online.arrival.at.name)
    due = loop.placement.value("due")
    names = set(_names(due))
    if names & {name for name, slope in facts.slopes.items() if slope > 0}:  # a time minus the clock
        found |= names
    for name in sorted(found & base.input_names & base.store.params.keys()):
        components = base.store.params[name].domain.components
        if len(components) == 1 and components[0] is not None and components[0].name == loop.jobs_root:
            yield name


def _names(node: object) -> Iterator[str]:
    """Return the parameters in an expression."""
    if isinstance(node, ParamRef):
        yield node.name
    if isinstance(node, tuple | list):
        for part in node:
            yield from _names(part)
    elif isinstance(node, Struct):
        for name in node.__struct_fields__:
            yield from _names(getattr(node, name))
