"""Queues of capacity planning that size a job at its submission or at its start, against a plain simulation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
from online_texts import run

TYPES = {"A": (1, 0.5), "B": (2, 1.3), "C": (4, 2.1)}  # GPUs, $/h


@dataclass(frozen=True)
class Job:
    """Times in h, the weight in $/h; `time` of each VM type and number of GPUs."""

    submitted: float
    due: float
    weight: float
    time: dict[tuple[str, int], float]


ORDERS: dict[str, Callable[[Job], tuple[float, ...]]] = {
    "FIFO": lambda job: (job.submitted,),
    "EDF": lambda job: (job.due, job.submitted),
    "PS": lambda job: (-job.weight, job.submitted),
}


def drawn(seed: int) -> tuple[int, float, list[Job]]:
    """Nodes, price of an idle GPU, and jobs that arrive faster than they end, many of them due while they wait."""
    rng = np.random.default_rng(seed)
    jobs, now = [], 0.0
    for _ in range(int(rng.integers(5, 9))):
        work, serial = rng.uniform(1, 6), rng.uniform(0, 0.4)
        speed = {"A": 1.0, "B": rng.uniform(0.9, 1.6), "C": rng.uniform(1.0, 2.5)}
        time = {
            (name, g): round(float(work / speed[name] * (1 + serial * (g - 1)) / g), 3)
            for name, (gpus, _) in TYPES.items()
            for g in range(1, gpus + 1)
        }
        due = round(now + float(rng.uniform(min(time.values()), 2 * max(time.values()))), 3)
        jobs.append(Job(round(now, 3), due, round(float(rng.uniform(0.4, 4)), 2), time))
        now += float(rng.uniform(0, 0.8))
    return int(rng.integers(1, 3)), float(rng.choice([0.0, 0.1, 1.0])), jobs


def size_of(job: Job, at: float, idle_penalty: float) -> tuple[str, int]:
    """The cheapest way of a job alone on a node, as the model for one job and one node has it at this time."""

    def cost(way: tuple[str, int]) -> float:
        gpus, price = TYPES[way[0]]
        late = max(0.0, at + job.time[way] - job.due)
        return job.weight * late + idle_penalty * (gpus - way[1]) + way[1] / gpus * price * job.time[way]

    return min(job.time, key=cost)


def simulated(nodes: int, idle_penalty: float, jobs: list[Job], order: str, at_arrival: bool) -> list[float]:
    """End of each job, then rent and tardiness in $: one job for each node until it ends."""
    ends: dict[int, float] = {}
    free = [0.0] * nodes
    rent = tardiness = now = 0.0
    while len(ends) < len(jobs):
        node = min(range(nodes), key=free.__getitem__)
        waiting = [j for j in range(len(jobs)) if j not in ends]
        now = max(now, free[node], min(jobs[j].submitted for j in waiting))
        here = [j for j in waiting if jobs[j].submitted <= now + 1e-9]
        j = min(here, key=lambda j: (ORDERS[order](jobs[j]), j))
        job = jobs[j]
        way = size_of(job, job.submitted if at_arrival else now, idle_penalty)
        ends[j] = free[node] = now + job.time[way]
        gpus, price = TYPES[way[0]]
        rent += way[1] / gpus * price * job.time[way]
        tardiness += job.weight * max(0.0, ends[j] - job.due)
    return [*(ends[j] for j in range(len(jobs))), rent, tardiness]


def text_of(nodes: int, idle_penalty: float, jobs: list[Job]) -> str:
    types = "\n".join(f"    {name} {gpus} {price}" for name, (gpus, price) in TYPES.items())
    rows = "\n".join(f"    J{k} {job.submitted} {job.due} {job.weight}" for k, job in enumerate(jobs))
    times = "\n".join(f"    J{k} {v} {g} {t}" for k, job in enumerate(jobs) for (v, g), t in job.time.items())
    return f"""
import "gsdsl:capacity_planning/online.gsm";
scenario Waiting for CapacityPlanning {{
  Nodes = 1..{nodes};
  idle_penalty = {idle_penalty}[$];
  node_rule = at_most;
  table Types: gpus price[$/h] =
{types};
  table Jobs: submitted[h] deadline[h] weight[$/h] =
{rows};
  table Runnable: exec_time[h] =
{times};
}}
"""


@pytest.mark.quick(2)
@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("at_arrival", [False, True])
def test_queues_are_as_simulated(order: str, at_arrival: bool, seed: int) -> None:
    case = drawn(seed)
    outcome = run(text_of(*case), "EveryEvent", method=f"{order}AtArrival" if at_arrival else order)
    totals = outcome.world.ledger.totals
    found = [*outcome.world.end, totals["execution"], totals.get("tardiness", 0.0)]
    assert found == pytest.approx(simulated(*case, order, at_arrival), abs=1e-6)


def test_the_cases_tell_the_moments_apart() -> None:
    """Otherwise one policy could pass for both."""
    differ = [simulated(*drawn(s), "FIFO", True) != simulated(*drawn(s), "FIFO", False) for s in range(8)]
    assert sum(differ) >= 4


def test_a_size_is_kept_while_the_job_waits() -> None:
    """Alone and in time, J2 takes one GPU; after waiting for J1 it would be late, and the moment decides."""
    long, short = {("A", 1): 4.0, ("B", 1): 4.0, ("B", 2): 4.0}, {("A", 1): 2.0, ("B", 1): 2.0, ("B", 2): 1.0}
    jobs = [Job(0.0, 9.0, 1.0, long), Job(0.5, 3.0, 5.0, short)]
    kept = run(text_of(1, 0.0, jobs), "EveryEvent", method="FIFOAtArrival").world.end
    fitted = run(text_of(1, 0.0, jobs), "EveryEvent", method="FIFO").world.end
    assert (list(kept), list(fitted)) == ([4.0, 6.0], [4.0, 5.0])
