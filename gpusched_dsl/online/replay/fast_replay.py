"""Fast replay of a complete run: the final world and its costs, equal to those of the event loop."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gpusched_dsl.compiling.data.slicing import InstanceView
from gpusched_dsl.ir.arrays import Floats, Ints
from gpusched_dsl.language.checked_online import EXECUTION
from gpusched_dsl.language.checked_policy import CheckedPolicy
from gpusched_dsl.online.loops.events import EventLoop
from gpusched_dsl.online.replay.eligibility import (
    ReplayFacts,
    clock_of_due,
    have_moving_keys,
    replay_facts,
    replay_obstacles,
)
from gpusched_dsl.online.replay.run import replay
from gpusched_dsl.online.replay.sampling import difference
from gpusched_dsl.online.replay.trace import ReplayedJobs
from gpusched_dsl.online.replay.trace_reader import NoReplay, read_trace
from gpusched_dsl.online.run_record import RunOutcome
from gpusched_dsl.online.simulation.assignments import AllocationReader, Allocations
from gpusched_dsl.online.simulation.world import DONE, FUTURE, WAITING, lateness
from gpusched_dsl.policies.rows.problem import side_model

SAME = 1e-9


def fast_replay(loop: EventLoop, policy: CheckedPolicy) -> RunOutcome | list[str]:
    """The outcome of a loop that has not begun, or every reason against a replay.

    Raises DiagnosticError as evaluation does.
    """
    found = reasons_against(loop, policy)
    if found:
        return found
    world, facts = loop.world, replay_facts(loop.online)
    reader = AllocationReader(
        loop.online, loop.base.store, loop.base.limits, InstanceView(loop.base.store.universes, {})
    )
    try:
        submitted = world.arrival / reader.hours
        moves = have_moving_keys(policy, facts)
        named_trace = read_trace(policy, loop.base.store, loop.base.limits, submitted, facts.fractions, moves)
        due, weight = _due(loop, policy, facts, named_trace.jobs)
    except NoReplay as no:
        return [str(no)]
    replayed_jobs = replay(named_trace.trace)
    if _events_at_most(loop, replayed_jobs, reader.hours) >= loop.config.most_events:
        return [f"the run may be stopped after {loop.config.most_events:,} events"]
    columns = named_trace.selected_elements(replayed_jobs.node, replayed_jobs.way)
    started = np.flatnonzero(replayed_jobs.node >= 0)
    entries = reader.allocations_of(columns)
    start, end = replayed_jobs.start[started] * reader.hours, replayed_jobs.end[started] * reader.hours
    if loop.config.verify != "none" and (differs := difference(loop, entries, columns, start, end)) is not None:
        return [differs]
    world.due[named_trace.jobs], world.weight[named_trace.jobs] = due, weight
    _fill_world(loop, entries, start, end)
    waiting = int(np.count_nonzero(world.status == WAITING))
    loop.events = 2 * len(started) + waiting
    if waiting:
        loop.warn_stuck()
    return loop.outcome("stuck" if waiting else "finished", instants=replayed_jobs.instants)


def _events_at_most(loop: EventLoop, replayed_jobs: ReplayedJobs, hours: float) -> float:
    """At least as many events as the loop would count: of jobs, and plans after a period."""
    ends, jobs = replayed_jobs.end[np.isfinite(replayed_jobs.end)], len(replayed_jobs.start)
    ticks = 0.0 if np.isinf(loop.period) else float(ends.max(initial=0.0)) * hours / loop.period
    return 2 * jobs + ticks + 1


def reasons_against(loop: EventLoop, policy: CheckedPolicy) -> list[str]:
    """The reasons against a fast replay, each the end of `... because`."""
    online = loop.online
    found = replay_obstacles(policy, replay_facts(online))
    if online.charged == "nodes" or (online.charged == "" and loop.placement.item("node_rate") is not None):
        found.append("the cost of a node depends on all of its jobs")
    if online.base.placement is not None and (side := list(side_model(online.base).checked.constraints)):
        found.append(f"each plan obeys `{side[0]}`, which no role of the placement implies")
    return found


def _due(loop: EventLoop, policy: CheckedPolicy, facts: ReplayFacts, jobs: Ints) -> tuple[Floats, Floats]:
    """Return the due times and the price of tardiness of jobs, by their first plan, at their arrival."""
    base = loop.base
    part = base.part({loop.jobs_root: jobs})
    carried = loop.carrier.carried_values(part, replace(loop.clock(), now=0.0), None)
    reader = AllocationReader(loop.online, base.instance_of(part, carried).store, base.limits, part)
    due, weight = reader.due_and_weight(np.arange(len(jobs), dtype=np.int64))
    slope = clock_of_due(policy, facts)
    decrease = (
        None if slope is None else slope * reader.time_factor("due") * reader.hours
    )  # of the time until due, per unit of the clock
    if decrease == 0.0:
        return loop.world.arrival[jobs] + due, weight
    if decrease is not None and abs(decrease + 1.0) <= SAME:
        return due, weight
    raise NoReplay("the time until jobs are due does not decrease with the clock")


def _fill_world(loop: EventLoop, entries: Allocations, start: Floats, end: Floats) -> None:
    """Set the world to its state at the end of the run."""
    world, jobs = loop.world, entries.job
    world.now = float(max(end.max(initial=0.0), world.arrival.max(initial=0.0)))  # a job that never runs may come last
    came = world.arrival <= world.now + world.tolerance()
    world.status[came & (world.status == FUTURE)] = WAITING
    world.status[jobs], world.done[jobs] = DONE, world.ends[jobs]
    world.first_start[jobs], world.end[jobs], world.since[jobs] = start, end, start
    world.kind[jobs], world.uses[jobs] = entries.kind, entries.uses
    world.counts["start"][jobs] = 1
    world.stretches.append((jobs, entries.place, entries.kind, entries.uses, start, end))
    lasted = end - start
    np.add.at(world.gpu_time, entries.kind, lasted * entries.uses)
    _place_times(loop, entries, start, end)
    ledger, costs = world.ledger, lasted * entries.rate
    if costs.any():
        ledger.add_jobs(EXECUTION, jobs, costs)
        ledger.share_places(EXECUTION, *_sums_by_place(entries.place, costs))
    world.charge_tardiness(jobs, world.weight[jobs] * lateness(end, world.due[jobs]))


def _sums_by_place(places: Ints, amounts: Floats) -> tuple[Ints, Floats]:
    sums: Floats = np.bincount(places, weights=amounts).astype(np.float64)
    used = np.flatnonzero(sums)
    return used, sums[used]


def _place_times(loop: EventLoop, entries: Allocations, start: Floats, end: Floats) -> None:
    """Return the time that places of each kind had a job: the union of the times of their jobs."""
    order = np.lexsort((start, entries.place))
    place, begin, until = entries.place[order], start[order], end[order]
    if not len(place):
        return
    first = np.flatnonzero(np.concatenate(([True], place[1:] != place[:-1])))
    # The latest end so far within a place: times of one place lie behind all those of the place before.
    shift = np.repeat(np.arange(len(first)), np.diff(np.append(first, len(place)))) * (until.max() + 1.0)
    reached = np.maximum.accumulate(until + shift) - shift
    before = np.concatenate(([0.0], reached[:-1]))
    before[first] = begin[first]
    covered = np.maximum(until - np.maximum(begin, before), 0.0)
    np.add.at(loop.world.place_time, entries.kind[order], covered)
