"""The decisions of a run over time, each with its reason: starts, moves, halts and completions of jobs."""

from __future__ import annotations

import numpy as np
import polars as pl

from gpusched_dsl.ir.arrays import Bools, Floats, Ints
from gpusched_dsl.language.text.numbers import number_text
from gpusched_dsl.online.history import RunHistory, Stretches

FINISHES, HALTS, RESIZES, MOVES, RESUMES, STARTS = range(6)  # in the order of their rows at one time
WORDS = ("finishes", "is halted", "changes its GPUs", "moves", "resumes", "starts")
TOLERANCE = 1e-9  # relative to a time
TRIGGERS = {
    "arrival": "a job arrives",
    "completion": "a job finishes",
    "failure": "a node fails",
    "repair": "a node returns",
    "period": "the period is over",
    "slot": "a slot begins",
}


def decisions_table(history: RunHistory, most: int) -> tuple[pl.DataFrame, int]:
    """Return the first `most` decisions by time, and the number of all.

    Columns: `time`, `job`, `decision`, `node` (or its type), `gpus`, `waited` (time since the arrival, or since the job
    was halted) and `why`: the events that asked for the plan, or for runs without plans what happened at this time.
    """
    parts = history.stretches
    order = np.lexsort((parts.start, parts.job))
    ordered = Stretches(*(getattr(parts, name)[order] for name in ("job", "place", "kind", "uses", "start", "end")))
    time, stretch, kind, waited = _events(history, ordered)
    rows = np.lexsort((ordered.job[stretch], kind, time))
    count = len(rows)
    rows = rows[:most]
    time, stretch, kind, waited = time[rows], stretch[rows], kind[rows], waited[rows]
    job = ordered.job[stretch]
    places = history.labels(history.places_root or history.kinds_root, ordered.place[stretch])
    uses = np.where(kind == FINISHES, np.nan, ordered.uses[stretch])
    table = pl.DataFrame(
        {
            "time": time,
            "job": pl.Series(history.labels(history.jobs_root, job), dtype=pl.String),
            "decision": pl.Series([WORDS[k] for k in kind.tolist()], dtype=pl.String),
            "node" if history.placement.root("node") else "node_type": pl.Series(places, dtype=pl.String),
            "gpus": pl.Series(uses, nan_to_null=True),
            "waited": pl.Series(waited, nan_to_null=True),
            "why": pl.Series(_reasons(history, time, job, kind, waited), dtype=pl.String),
        }
    )
    return table, count


def _events(history: RunHistory, parts: Stretches) -> tuple[Floats, Ints, Ints, Floats]:
    """Return time, stretch, kind and wait of all decisions; `parts` are by job, then start."""
    world, count = history.outcome.world, len(parts)
    same_job = np.zeros(count, dtype=np.bool_)
    same_job[1:] = parts.job[1:] == parts.job[:-1]
    before = np.maximum(np.arange(count) - 1, 0)
    joins: Bools = same_job & _equal(parts.start, parts.end[before] if count else parts.end)
    moved = joins & ((parts.place != parts.place[before]) | (parts.kind != parts.kind[before]))
    resized = joins & ~moved & (parts.uses != parts.uses[before])
    kind = np.select([~same_job, ~joins, moved, resized], [STARTS, RESUMES, MOVES, RESIZES], -1).astype(np.int64)
    waited = np.where(same_job, parts.start - parts.end[before], parts.start - world.arrival[parts.job])
    waited = np.where(kind < RESUMES, np.nan, np.maximum(waited, 0.0))
    continues = np.zeros(count, dtype=np.bool_)
    continues[:-1] = joins[1:]
    finished = ~continues & _equal(parts.end, world.end[parts.job])
    halted = ~continues & ~finished & ~_equal(parts.end, np.full(count, world.now))
    begins = np.flatnonzero(kind >= 0)
    ends = np.flatnonzero(finished | halted)
    nothing = np.full(len(ends), np.nan)
    return (
        np.concatenate((parts.start[begins], parts.end[ends])),
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
