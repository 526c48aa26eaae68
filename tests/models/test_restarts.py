"""`history/restarts.gsm`: each plan is the best by enumeration, with what a simulation of its own remembers."""

from __future__ import annotations

import itertools
import random
from dataclasses import dataclass

import pytest
from online_texts import driver

from gpusched_dsl.online.loops.base import SimulationLoop

NODES = {"f1": ("fast", 2), "s1": ("slow", 2), "o1": ("old", 1)}


@dataclass
class Job:
    name: str
    submitted: float
    needs: int
    rate: dict[str, float]
    loses: float  # hours, by a restart
    weight: float
    place: str | None = None
    left: float = 1.0
    delay: float = 0.0
    since: float = 0.0
    restarts: int = 0


def drawn(seed: int) -> tuple[list[Job], float]:
    rng = random.Random(seed)
    jobs = [
        Job(
            f"j{i}",
            0.0 if i == 0 else rng.randint(1, 16) / 8 + i / 64,
            rng.randint(1, 2),
            {"fast": rng.randint(30, 90) / 100, "slow": rng.randint(10, 60) / 100, "old": 0.0987},
            rng.choice([0.05, 0.2, 0.4]),
            round(rng.uniform(0.8, 1.2), 4),
        )
        for i in range(5)
    ]
    return jobs, rng.choice([0.0, 0.6, 1.5])


def simulate(jobs: list[Job], guaranteed: float) -> list[tuple[float, tuple[str | None, ...], tuple[int, ...]]]:
    """Return of each plan its time, the places of the jobs, and the restarts before it."""
    plans, now, last = [], 0.0, None
    while any(job.left > 1e-9 for job in jobs):
        ends = [now + j.delay + j.left / j.rate[NODES[j.place][0]] for j in jobs if j.place and j.left > 1e-9]
        comes = [j.submitted for j in jobs if j.submitted > now + 1e-12 or (last is None and j.submitted >= now)]
        due = [] if last is None else [last + 0.5]
        step = min(ends + comes + due)
        for job in jobs:
            if job.place and job.left > 1e-9:
                works = max(0.0, step - now - job.delay)
                job.delay = max(0.0, job.delay - (step - now))
                job.left -= works * job.rate[NODES[job.place][0]]
                if job.left <= 1e-9:
                    job.left, job.place = 0.0, None
        now = step
        present = [j for j in jobs if j.submitted <= now + 1e-12 and j.left > 0]
        if not present:
            continue
        for job in present:
            job.since = 0.0 if job.place is None or last is None else job.since + now - last
        found = best(present, now, guaranteed)
        plans.append((now, tuple(found.get(j.name) for j in jobs), tuple(j.restarts for j in present)))
        for job in present:
            place = found[job.name]
            if place != job.place:
                ran = job.left < 1 or job.since > 0 or job.place is not None
                job.restarts += job.place is not None
                if ran and place is not None:
                    job.delay = max(job.delay, job.loses)
            job.place = place
        last = now
    return plans


def best(present: list[Job], now: float, guaranteed: float) -> dict[str, str | None]:
    found: tuple[float, dict[str, str | None]] = (-1.0, {})
    for places in itertools.product([None, *NODES], repeat=len(present)):
        used = dict.fromkeys(NODES, 0)
        value = 0.0
        for job, place in zip(present, places, strict=True):
            if job.place is not None and job.since < guaranteed and place != job.place:
                break
            if place is None:
                continue
            used[place] += job.needs
            age = now - job.submitted
            began = job.left < 1 or job.place is not None
            kept = max(0.0, age - job.restarts * job.loses) / (age + job.loses) if began else 1.0
            goodput = job.rate[NODES[place][0]] / max(job.rate.values())
            value += job.weight * job.needs * goodput * (1.0 if place == job.place else kept)
        else:
            if all(used[n] <= gpus for n, (_, gpus) in NODES.items()) and value > found[0] + 1e-9:
                found = value, dict(zip((j.name for j in present), places, strict=True))
    return found[1]


@pytest.mark.parametrize("seed", range(6))
def test_plans_are_those_of_enumeration(seed: int) -> None:
    jobs, guaranteed = drawn(seed)
    rows = "  ".join(f"{j.name} {j.submitted} {j.needs} {j.loses} {j.weight}" for j in jobs)
    rates = "  ".join(f"{j.name} {j.rate['fast']} {j.rate['slow']} {j.rate['old']}" for j in jobs)
    text = f"""
import "gsdsl:history/restarts.gsm";
scenario S for Restarts {{
  table Nodes: kind gpus = {"  ".join(f"{n} {kind} {gpus}" for n, (kind, gpus) in NODES.items())};
  table Jobs: submitted[h] needs restart_time[h] weight = {rows};
  table rate[Jobs, Kinds] in 1/h: fast slow old = {rates};
  guaranteed = {guaranteed}[h];
}}
"""
    found: list[tuple[float, tuple[str | None, ...], tuple[float, ...]]] = []

    def note(loop: SimulationLoop) -> None:
        assert loop.past is not None
        places = tuple(list(NODES)[at] if at >= 0 else None for at in loop.world.place.tolist())
        found.append((loop.world.now, places, tuple(loop.past.kept["restarts"].values.tolist())))

    driver(text, "Restarting", "S", "highs", on_plan=note, fast=False).run()
    expected = simulate(jobs, guaranteed)
    for one, other in zip(found, expected, strict=True):
        assert one[0] == pytest.approx(other[0])
        assert one[1] == other[1], one[0]
