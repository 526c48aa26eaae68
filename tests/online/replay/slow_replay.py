"""A queue on a cluster, simulated step by step with plain lists: the reference of replays."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from gpusched_dsl.online.replay.trace import BEST_FIT, FIRST_FIT, FITS_NOWHERE, ArrivalTrace, Rules

NEAR = 1e-9


@dataclass(frozen=True)
class Way:
    """`listed`: the place in the policy's list, None where it lists it not."""

    kind: int
    gpus: int
    time: float
    listed: int | None


@dataclass(frozen=True)
class Job:
    submitted: float
    rank: int | None
    ways: tuple[Way, ...]


@dataclass(frozen=True)
class Setting:
    jobs: tuple[Job, ...]
    node_kind: tuple[int, ...]
    gpus: tuple[int, ...]  # of a node, by kind
    family: tuple[int, ...]
    rules: Rules


@dataclass
class Run:
    """Start, end, node and way (of the job's own) of each job; None where it does not start."""

    start: list[float | None]
    end: list[float | None]
    node: list[int | None]
    way: list[int | None]


def simulate(setting: Setting) -> Run:
    """The whole queue is gone through at every instant, by looking at every node."""
    jobs = range(len(setting.jobs))
    run = Run([None] * len(jobs), [None] * len(jobs), [None] * len(jobs), [None] * len(jobs))
    due: dict[int, float] = {}  # of running jobs, when they end
    to_come = {j for j in jobs if setting.jobs[j].rank is not None}
    waiting: set[int] = set()
    while to_come or due:
        now = min([setting.jobs[j].submitted for j in to_come] + list(due.values()))
        simultaneous = now + NEAR * max(1.0, abs(now))
        for j in [j for j in due if due[j] <= simultaneous]:
            run.end[j] = now
            del due[j]
        here = {j for j in to_come if setting.jobs[j].submitted <= simultaneous}
        to_come -= here
        waiting |= here
        for j in sorted(waiting, key=lambda j: setting.jobs[j].rank):
            load = {n: [] for n in range(len(setting.node_kind))}
            for other in due:
                load[run.node[other]].append(setting.jobs[other].ways[run.way[other]].gpus)
            found = place(setting, load, setting.jobs[j])
            if found is None:
                if setting.rules.waits:
                    break
                continue
            run.start[j] = now
            run.node[j], run.way[j] = found
            due[j] = now + setting.jobs[j].ways[run.way[j]].time
            waiting.remove(j)
    return run


def place(setting: Setting, load: dict[int, list[int]], job: Job) -> tuple[int, int] | None:
    """The node and the way by the rules, each of which is read literally."""
    rules = setting.rules
    listed = sorted((w for w in job.ways if w.listed is not None), key=lambda w: w.listed)
    steps = []
    if rules.fit != FITS_NOWHERE:
        steps.append("fit")
    if rules.opens:
        steps.insert(0 if rules.opens_first else len(steps), "open")
    for wanted in listed if rules.next_choice else listed[:1]:
        for step in steps:
            found = []
            for node, kind in enumerate(setting.node_kind):
                alike = [w for w in job.ways if w.kind == kind and w.gpus == wanted.gpus]
                if not alike or setting.family[kind] != setting.family[wanted.kind]:
                    continue
                if rules.alone and kind != wanted.kind:
                    continue
                left = setting.gpus[kind] - sum(load[node]) - wanted.gpus
                if left >= 0 and (len(load[node]) > 0) == (step == "fit"):
                    found.append((left, node, job.ways.index(alike[0])))
            if found and step == "fit" and rules.fit == FIRST_FIT:
                return min(found, key=lambda place: place[1])[1:]
            if found:
                return min(found)[1:]
    return None


def random_setting(rng: np.random.Generator) -> Setting:
    """Few jobs on few nodes; times on a grid, so that much happens at once, or a hair apart."""
    kinds, nodes = int(rng.integers(1, 4)), int(rng.integers(1, 6))
    gpus = tuple(int(g) for g in rng.choice([1, 2, 4, 8], kinds))
    family = tuple(int(f) for f in rng.integers(0, kinds, kinds))
    grid = rng.choice([1.0, 0.5, 0.1, 1 / 3])
    jobs = []
    count = int(rng.integers(1, 15))
    ranks = rng.permutation(count)
    span = int(rng.choice([1, 4, 20]))
    for j in range(count):
        submitted = float(rng.integers(0, span)) * grid
        if rng.random() < 0.1:
            submitted += float(rng.choice([1e-10, 3e-10, 1e-8]))
        ways = []
        for kind in range(kinds):
            for size in sorted({int(s) for s in rng.choice([1, 1, 2, 4, 8, 16], int(rng.integers(0, 3)))}):
                ways.append((kind, size, float(rng.integers(1, 6)) * grid + (1e-10 if rng.random() < 0.05 else 0.0)))
        places: list[int | None] = [int(p) if rng.random() < 0.9 else None for p in rng.permutation(len(ways))]
        made = tuple(Way(*way, listed=place) for way, place in zip(ways, places, strict=True))
        jobs.append(Job(submitted, None if rng.random() < 0.05 else int(ranks[j]), made))
    fit = int(rng.choice([BEST_FIT, FIRST_FIT, FITS_NOWHERE]))
    alone = fit == FITS_NOWHERE and rng.random() < 0.5
    rules = Rules(
        fit=fit,
        opens=fit == FITS_NOWHERE or rng.random() < 0.95,
        opens_first=fit == FITS_NOWHERE or rng.random() < 0.3,
        alone=alone,
        next_choice=rng.random() < 0.5,
        waits=rng.random() < 0.5,
    )
    return Setting(tuple(jobs), tuple(int(k) for k in rng.integers(0, kinds, nodes)), gpus, family, rules)


def trace_of(setting: Setting) -> ArrivalTrace:
    """The same as arrays."""
    ways = [way for job in setting.jobs for way in job.ways]
    first = np.cumsum([0, *(len(job.ways) for job in setting.jobs)], dtype=np.int64)
    ranked = np.full(len(ways), -1, dtype=np.int64)
    for j, job in enumerate(setting.jobs):
        listed = sorted((w.listed, at) for at, w in enumerate(job.ways) if w.listed is not None)
        ranked[first[j] : first[j] + len(listed)] = [first[j] + at for _, at in listed]
    return ArrivalTrace(
        submitted=np.array([job.submitted for job in setting.jobs], dtype=np.float64),
        rank=np.array([-1 if job.rank is None else job.rank for job in setting.jobs], dtype=np.int64),
        first_way=first,
        ranked=ranked,
        kind=np.array([way.kind for way in ways], dtype=np.int64),
        size=np.array([way.gpus for way in ways], dtype=np.int64),
        time=np.array([way.time for way in ways], dtype=np.float64),
        node_kind=np.array(setting.node_kind),
        units=np.array(setting.gpus),
        family=np.array(setting.family),
        rules=setting.rules,
    )


def none_for(values: list[float | int | None]) -> list[float]:
    return [math.nan if value is None else float(value) for value in values]
