"""Runs a block with a window on the jobs of a history, as a live run would: values as they came, real lengths.

All rows of a comparison count in slots. The executions of the cluster begin with the nearest slot, not before the
arrival of their job, and keep their lengths.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gpusched_dsl.ir.arrays import Floats
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.online.loops.external_slots import ExternalSlotLoop
from gpusched_dsl.online.loops.setup import RunSetup
from gpusched_dsl.online.open import loop_of
from gpusched_dsl.online.progress import CostSamples
from gpusched_dsl.online.run_record import RunOutcome
from gpusched_dsl.online.simulation.world import DONE
from gsdsl_clusters.drivers.observed_jobs import Stay
from gsdsl_clusters.drivers.observed_plans import ObservedSlots, ObservedStays
from gsdsl_clusters.drivers.occupancy import Occupancy

PATIENCE = 4  # a method gets so many times as long as all jobs need one after the other
NEAR = 1e-6  # of a slot


@dataclass(frozen=True)
class TimedValues:
    """Values of parameters that came at a time, by the clock of the run."""

    time: float
    values: Mapping[str, Any]


@dataclass(frozen=True)
class NodeOutage:
    """A node is down or up from a time on, by the clock of the run."""

    time: float
    node: str
    down: bool


def node_outages(others: Sequence[Stay], start: float, seconds: float, nodes: Sequence[str]) -> list[NodeOutage]:
    """Return when left-out work occupies a part of each node: no method uses the node meanwhile."""
    occupied = Occupancy.of(others, nodes, start)
    taken, before, found = occupied.gpus > 0, np.zeros(len(nodes), dtype=np.bool_), []
    for time, now in zip(((occupied.times - start) * seconds).tolist(), taken, strict=True):
        found += [NodeOutage(time, nodes[n], bool(now[n])) for n in np.flatnonzero(now != before).tolist()]
        before = now
    return found


def observed_slots(setup: RunSetup, stays: ObservedStays, arrival: Floats, seconds: float) -> RunSetup:
    """Return the setup that does what the cluster did, planned slot by slot. `arrival` is by the clock of the run."""
    assert setup.window is not None
    length = setup.slot_length / seconds
    earliest = np.ceil(arrival / setup.slot_length - NEAR)[stays.job]
    first = np.maximum(np.rint(stays.start / length), earliest).astype(np.int64)
    slots = np.maximum(1, np.ceil((stays.end - stays.start) / length - NEAR)).astype(np.int64)
    numbered_from = int(setup.base.store.universes[setup.window.root].labels[0])
    planner = ObservedSlots(setup.online.base, setup.base.limits, stays, first + numbered_from, slots)
    return replace(setup, planner=planner, fallback=None, window=replace(setup.window, every=1))


def run_slots(
    setup: RunSetup,
    values: Sequence[TimedValues],
    outages: Sequence[NodeOutage],
    samples: CostSamples,
    *,
    checkpoints: bool,
) -> tuple[RunOutcome, int]:
    """Run until all jobs have ended; return the outcome, and how often an outage has halted a job.

    The jobs are those of the data, with the arrivals, work and stretch of the realisation.
    """
    loop = loop_of(setup, on_plan=samples)
    assert isinstance(loop, ExternalSlotLoop)
    halted = 0
    loop.world.ends, loop.world.stretch = setup.realisation.ends.copy(), setup.realisation.stretch.copy()
    needed = float((setup.realisation.stretch * _longest(setup)).sum())
    known = [*(v.time for v in values), *(o.time for o in outages)]
    came = setup.realisation.arrival[np.isfinite(setup.realisation.arrival)]
    last = max(*known, float(came.max(initial=0.0)), 0.0) + PATIENCE * needed + setup.slot_length
    for event in _events(loop, values, outages, last):
        before = loop.world.running
        try:
            loop.on_event(event)
        except DiagnosticError:
            if event["kind"] != "value":  # a value that the live run refused, too
                raise
        if event["kind"] == "node_down":
            gone = np.setdiff1d(before, loop.world.running)
            halted += len(gone)
            if not checkpoints:
                loop.world.done[gone] = 0.0
    loop.settle()
    ended = "finished" if bool((loop.world.status == DONE).all()) else "horizon"
    return loop.outcome(ended), halted


def _longest(setup: RunSetup) -> Floats:
    """Return a generous length of each job by its stated work: a slot for each unit of work at least."""
    return np.maximum(setup.realisation.work, setup.slot_length)


def _events(
    loop: ExternalSlotLoop, values: Sequence[TimedValues], outages: Sequence[NodeOutage], last: float
) -> Iterator[dict[str, Any]]:
    """Yield what happens, in the order of time: completions, then nodes and values, then the beginning of a slot."""
    told: list[tuple[float, dict[str, Any]]] = [
        *((o.time, {"kind": "node_down" if o.down else "node_up", "node": o.node}) for o in outages),
        *((v.time, {"kind": "value", "values": v.values}) for v in values),
    ]
    told.sort(key=lambda one: one[0])
    length, number, slot = loop.setup.slot_length, 0, 0
    while not (loop.world.status == DONE).all() and slot * length <= last:
        world = loop.world
        time, event = slot * length, dict[str, Any](kind="tick")
        if number < len(told) and told[number][0] <= time:
            time, event = told[number]
        completions = world.completions()
        if len(completions) and completions.min() <= time + world.tolerance():
            job = int(world.running[int(np.argmin(completions))])
            time = float(completions.min())
            event = {"kind": "completion", "job": loop.base.store.universes[loop.jobs_root].labels[job]}
        elif event["kind"] == "tick":
            slot += 1
        else:
            number += 1
        yield {**event, "time": max(time, loop.now)}
