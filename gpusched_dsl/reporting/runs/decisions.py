"""The decisions of a run over time, each with its reason: starts, moves, halts and completions of jobs."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import polars as pl

from gpusched_dsl.ir.arrays import Bools, Floats, Ints
from gpusched_dsl.language.text.numbers import number_text
from gpusched_dsl.online.history import RunHistory, Stretches

FINISHES, HALTS, RESIZES, MOVES, RESUMES, STARTS = range(6)  # in the order of their rows at one time
WORDS = ("finishes", "is halted", "changes its GPUs", "moves", "resumes", "starts")
TOLERANCE = 1e-9  # relative to a time
MOST_NODES = 4  # of a gang, by name
TRIGGERS = {
    "arrival": "a job arrives",
    "completion": "a job finishes",
    "failure": "a node fails",
    "repair": "a node returns",
    "period": "the period is over",
    "clock": "a time of the clock is reached",
    "slot": "a slot begins",
}


def decisions_table(history: RunHistory, most: int) -> tuple[pl.DataFrame, int]:
    """Return the first `most` decisions by time, and the number of all.

    Columns: `time`, `job`, `decision`, `node` (or its type), `gpus`, `waited` (time since the arrival, or since the job
    was halted) and `why`: the events that asked for the plan, or for runs without plans what happened at this time.
    """
    stints = _stints(history.stretches)
    time, stint, kind, waited = _events(history, stints)
    rows = np.lexsort((stints.job[stint], kind, time))
    count = len(rows)
    rows = rows[:most]
    time, stint, kind, waited = time[rows], stint[rows], kind[rows], waited[rows]
    job = stints.job[stint]
    uses = np.where(kind == FINISHES, np.nan, stints.uses[stint])
    table = pl.DataFrame(
        {
            "time": time,
            "job": pl.Series(history.labels(history.jobs_root, job), dtype=pl.String),
            "decision": pl.Series([WORDS[k] for k in kind.tolist()], dtype=pl.String),
            "node" if history.placement.root("node") else "node_type": pl.Series(
                _places(history, stints.first[stint], stints.nodes[stint]), dtype=pl.String
            ),
            "gpus": pl.Series(uses, nan_to_null=True),
            "waited": pl.Series(waited, nan_to_null=True),
            "why": pl.Series(_reasons(history, time, job, kind, waited), dtype=pl.String),
        }
    )
    return table, count


class _Stints(NamedTuple):
    """A job on its nodes for a time, by job, then start: the GPUs of all nodes, and the rows of `Stretches` of its
    nodes, `nodes` from `first` on. `stays`: on the same nodes as the stint before.
    """

    job: Ints
    start: Floats
    end: Floats
    uses: Floats
    first: Ints
    nodes: Ints
    stays: Bools


def _stints(parts: Stretches) -> _Stints:
    """Return the stretches with the nodes of each gang together."""
    first = np.flatnonzero(parts.leads) if len(parts) else np.zeros(0, dtype=np.int64)
    nodes = np.diff(np.append(first, len(parts)))
    group = np.repeat(np.arange(len(first)), nodes)
    uses = np.bincount(group, weights=parts.uses, minlength=len(first)).astype(np.float64)
    order = np.lexsort((parts.start[first], parts.job[first]))
    before = np.full(len(first), -1, dtype=np.int64)  # the stint of any job before each one, in order
    before[order[1:]] = order[:-1]
    comparable = (before >= 0) & (nodes == nodes[before])
    rows = np.arange(len(parts)) - first[group] + first[before[group]]
    rows = np.where(comparable[group], rows, 0)
    differs = (parts.place != parts.place[rows]) | (parts.kind != parts.kind[rows])
    stays = comparable & (np.bincount(group, weights=differs, minlength=len(first)) == 0)
    led = first[order]
    return _Stints(parts.job[led], parts.start[led], parts.end[led], uses[order], led, nodes[order], stays[order])


def _places(history: RunHistory, first: Ints, nodes: Ints) -> list[str]:
    """Return the node of each stint, `n1, n2` for a gang, `n1 and 7 more` for a large one."""
    place = history.stretches.place
    root = history.places_root or history.kinds_root
    found = history.labels(root, place[first])
    for at in np.flatnonzero(nodes > 1).tolist():
        if nodes[at] > MOST_NODES:
            found[at] = f"{found[at]} and {nodes[at] - 1} more"
        else:
            found[at] = ", ".join(history.labels(root, place[first[at] : first[at] + nodes[at]]))
    return found


def _events(history: RunHistory, stints: _Stints) -> tuple[Floats, Ints, Ints, Floats]:
    """Return time, stint, kind and wait of all decisions."""
    world, count = history.outcome.world, len(stints.job)
    same_job = np.zeros(count, dtype=np.bool_)
    same_job[1:] = stints.job[1:] == stints.job[:-1]
    before = np.maximum(np.arange(count) - 1, 0)
    joins: Bools = same_job & _equal(stints.start, stints.end[before])
    moved = joins & ~stints.stays
    resized = joins & ~moved & (stints.uses != stints.uses[before])
    kind = np.select([~same_job, ~joins, moved, resized], [STARTS, RESUMES, MOVES, RESIZES], -1).astype(np.int64)
    waited = np.where(same_job, stints.start - stints.end[before], stints.start - world.arrival[stints.job])
    waited = np.where(kind < RESUMES, np.nan, np.maximum(waited, 0.0))
    continues = np.zeros(count, dtype=np.bool_)
    continues[:-1] = joins[1:]
    finished = ~continues & _equal(stints.end, world.end[stints.job])
    halted = ~continues & ~finished & ~_equal(stints.end, np.full(count, world.now))
    begins = np.flatnonzero(kind >= 0)
    ends = np.flatnonzero(finished | halted)
    nothing = np.full(len(ends), np.nan)
    return (
        np.concatenate((stints.start[begins], stints.end[ends])),
        np.concatenate((begins, ends)),
        np.concatenate((kind[begins], np.where(finished[ends], FINISHES, HALTS))),
        np.concatenate((waited[begins], nothing)),
    )


def _reasons(history: RunHistory, time: Floats, job: Ints, kind: Ints, waited: Floats) -> list[str]:
    """Return a text for each decision."""
    world, unit = history.outcome.world, history.outcome.unit
    steps = history.outcome.steps
    times = np.array([step.time for step in steps])
    plan = np.searchsorted(times, time + _tolerance(time), side="right") - 1
    found = []
    late = (world.end - world.due)[job]
    for at in range(len(time)):
        if kind[at] == FINISHES:
            found.append(_punctuality(float(late[at]), "" if unit == "1" else unit))
        elif len(steps) and plan[at] >= 0 and _equal(times[plan[at]], time[at]):
            step = steps[plan[at]]
            words = " and ".join(TRIGGERS.get(why, why) for why in step.why)
            found.append(f"plan {step.number:,} of {step.method}: {words}" if words else f"plan {step.number:,}")
        elif kind[at] == STARTS and waited[at] <= TOLERANCE * max(1.0, abs(float(time[at]))):
            found.append("there is room when it arrives")
        else:
            found.append("other jobs have left room")
    return found


def _punctuality(late: float, unit: str) -> str:
    if not np.isfinite(late):
        return "its work is done"
    if late > TOLERANCE:
        return f"its work is done, {number_text(float(f'{late:.4g}'))} {unit}".rstrip() + " late"
    return "its work is done, in time"


def _tolerance(time: Floats) -> Floats:
    found: Floats = TOLERANCE * np.maximum(1.0, np.abs(time))
    return found


def _equal(a: Floats, b: Floats) -> Bools:
    """Whether times are equal up to rounding; NaN equals nothing."""
    found: Bools = np.abs(a - b) <= TOLERANCE * np.maximum(1.0, np.abs(a))
    return found
