"""Drawn workloads of capacity planning that offer more work than the cluster can do in time."""

from __future__ import annotations

import numpy as np

from gpusched_dsl.ir.arrays import Floats

TYPES = (  # name, whether M60, GPUs, price of an hour
    ("NC6", False, 1, 0.56),
    ("NC12", False, 2, 1.13),
    ("NC24", False, 4, 2.25),
    ("NV6", True, 1, 0.62),
    ("NV12", True, 2, 1.24),
    ("NV24", True, 4, 2.48),
)


def overload(seed: int, nodes: int) -> str:
    """Return a scenario `S` with ten jobs for each node, by the rule of the heavy tracks of the leaderboard.

    A job takes 2 to 96 h on one GPU and is due after 1 to 3 times its shortest time; each node gets one every 8,000 s.
    """
    draw = np.random.default_rng([seed, nodes])
    return _scenario(draw, nodes, np.exp(draw.uniform(np.log(2), np.log(96), 10 * nodes)))


def heavy_tails(seed: int, nodes: int) -> str:
    """Return a scenario like `overload`, with Pareto lengths: 2 h on one GPU or more, at most 400 h, of shape 1.2."""
    draw = np.random.default_rng([seed, nodes, 77])
    return _scenario(draw, nodes, np.minimum(2.0 * (1.0 + draw.pareto(1.2, 10 * nodes)), 400.0))


def _scenario(draw: np.random.Generator, nodes: int, base: Floats) -> str:
    count = len(base)
    faster, power = draw.uniform(0.6, 1.1, count), draw.uniform(0.6, 0.95, count)
    came = np.concatenate([[0.0], draw.exponential(8000 / 3600 / nodes, count - 1)]).cumsum()
    slack, weight = draw.uniform(1, 3, count), draw.uniform(10.8, 54, count)
    times = [
        [base[job] * (faster[job] if model else 1.0) / used ** power[job] for used in range(1, size + 1)]
        for job in range(count)
        for _, model, size, _ in TYPES
    ]
    jobs, runnable = [], []
    for job in range(count):
        of_job = times[job * len(TYPES) : (job + 1) * len(TYPES)]
        due = came[job] + slack[job] * min(min(each) for each in of_job)
        jobs.append(f"j{job} {came[job]:.4f} {due:.4f} {weight[job]:.3f}")
        runnable += [
            f"j{job} {name} {used} {hours:.4f}"
            for (name, *_), each in zip(TYPES, of_job, strict=True)
            for used, hours in enumerate(each, start=1)
        ]
    types = "  ".join(f"{name} {size} {price} {'M60' if model else 'K80'}" for name, model, size, price in TYPES)
    return f"""
import "gsdsl:capacity_planning/online.gsm";
scenario S for CapacityPlanning {{
  node_rule = at_most;
  Nodes = 1..{nodes};
  table Types:  gpus  price[$/h]  family =  {types};
  table Jobs:  submitted[h]  deadline[h]  weight[$/h] =  {"  ".join(jobs)};
  table Runnable:  exec_time[h] =  {"  ".join(runnable)};
}}
"""
