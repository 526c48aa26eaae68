"""`history/rounds.gsm`: after some rounds each job has received the shares of time of a linear programme of its own."""

from __future__ import annotations

import numpy as np
import pytest
from online_texts import driver
from scipy.optimize import linprog

import gpusched_dsl as gs
from gpusched_dsl.online.loops.base import SimulationLoop

KINDS = ["fast", "slow"]
ROUND = 0.1  # h


def text_of(rate: np.ndarray, gpus: list[int]) -> str:
    nodes = "  ".join(f"{k}{i} {k} 1" for k, count in zip(KINDS, gpus, strict=True) for i in range(count))
    jobs = "  ".join(f"j{i} {' '.join(map(str, row))}" for i, row in enumerate(rate.tolist()))
    return f"""
import "gsdsl:history/rounds.gsm";
scenario S for FairRounds {{
  table Nodes: kind gpus = {nodes};
  table rate[Jobs, Kinds] in 1/h: {"  ".join(KINDS)} = {jobs};
  round = {ROUND}[h];
}}
"""


def shares(rate: np.ndarray, gpus: list[int], thresholds: np.ndarray | None = None) -> np.ndarray | None:
    """Max-min shares; with `thresholds` any shares whose throughput is at least these, None where there are none."""
    jobs, kinds = rate.shape
    equal = rate @ np.array(gpus) / sum(gpus)
    time, room = np.kron(np.eye(jobs), np.ones(kinds)), np.kron(np.ones(jobs), np.eye(kinds))
    upper = np.hstack([np.vstack([time, room]), np.zeros((jobs + kinds, 1))])
    throughput = np.zeros((jobs, jobs * kinds + 1))
    for j in range(jobs):
        throughput[j, j * kinds : (j + 1) * kinds] = -rate[j] / equal[j]
        throughput[j, -1] = 1.0
    limits = np.concatenate([np.ones(jobs), gpus, np.zeros(jobs)])
    if thresholds is not None:
        throughput[:, -1] = 0.0
        limits[-jobs:] = -thresholds / equal
    goal = np.append(np.zeros(jobs * kinds), -1.0)
    bounds = [(0, 1)] * (jobs * kinds) + [(0, None if thresholds is None else 0)]
    found = linprog(goal, np.vstack([upper, throughput]), limits, bounds=bounds)
    return None if found.status == 2 else found.x[:-1].reshape(jobs, kinds)


def received(text: str, rounds: int, method: str, settings: dict[str, str]) -> tuple[np.ndarray, float]:
    """The time of each job on each type, and the time of the last plan."""
    found: list[tuple[float, list[float]]] = []

    def note(loop: SimulationLoop) -> None:
        assert loop.past is not None
        found.append((loop.world.now, loop.past.kept["received"].values.tolist()))

    loop = driver(
        text, "Rounds", "S", method, settings=settings, on_plan=note, stop=lambda: len(found) > rounds, fast=False
    )
    loop.run()
    return np.array(found[-1][1]).reshape(-1, len(KINDS)), found[-1][0]


@pytest.mark.parametrize("seed", range(2))
def test_max_min_shares(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rate = np.round(rng.uniform(0.001, 0.01, (3, 1)) * np.stack([rng.uniform(2, 6, 3), np.ones(3)], axis=1), 5)
    gpus = [1, 1]
    best = shares(rate, gpus)
    assert best is not None
    times, clock = received(text_of(rate, gpus), 20, "highs", {})
    equal = rate @ np.array(gpus) / sum(gpus)
    least = (rate * best).sum(axis=1) / equal
    assert clock == pytest.approx(20 * ROUND)
    reached = (rate * times).sum(axis=1) / clock / equal
    assert reached.min() >= least.min() - 1.5 * (rate.max(axis=1) / equal).max() * ROUND / clock
    assert times.sum(axis=0) == pytest.approx([clock, clock])  # no GPU is idle


@pytest.mark.parametrize("seed", range(2))
def test_finish_time_fairness(seed: int) -> None:
    """The largest ratio is the least for which thresholds on the throughputs can be met, by bisection."""
    rng = np.random.default_rng(seed)
    rate = np.round(rng.uniform(0.1, 1, (3, 1)) * np.stack([rng.uniform(2, 6, 3), np.ones(3)], axis=1), 3)
    left, ran = np.round(rng.uniform(0.2, 1, 3), 2), np.round(rng.uniform(0.1, 3, 3), 2)
    gpus, clock = [1, 1], 3.0
    rows = "  ".join(f"j{i} {clock - age:.2f} {rest}" for i, (age, rest) in enumerate(zip(ran, left, strict=True)))
    more = f"table Jobs: submitted[h] remaining = {rows};  clock = {clock}[h];\n}}"
    model = gs.loads(text_of(rate, gpus).rstrip().removesuffix("}") + more)
    result = model.solve(backend="scip", settings={"aim": "finish_time"})
    alone = 1 / (rate @ np.array(gpus) / sum(gpus) * min(1.0, sum(gpus) / 3))
    low, high = 0.0, 100.0
    for _ in range(60):
        ratio = (low + high) / 2
        rest = ratio * alone - ran
        met = (rest > 0).all() and shares(rate, gpus, left / np.maximum(rest, 1e-9)) is not None
        low, high = (low, ratio) if met else (ratio, high)
    assert result.status == "optimal"
    assert result.objectives[0].value == pytest.approx(high, rel=1e-4)
