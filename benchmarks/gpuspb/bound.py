"""A lower bound on the cost of a run without tardiness, by the charging rule.

A job pays no less than its share of a full VM. So a job that ends in time pays at least the optimum of a small linear
problem: which fraction of it is done in which way, at least cost, the fractions summing to one and their times to at
most what the job has from its submission on. Two rows, so at most two ways: the cheapest in time, or the best pair of
one that is in time and one that is not.
"""

from __future__ import annotations

import numpy as np

from benchmarks.gpuspb.instance import Instance


def bound_without_tardiness(instance: Instance) -> float:
    """Dollars; infinite if a job cannot be in time."""
    rate = instance.price[instance.way_kind] * instance.way_gpus / instance.gpus[instance.way_kind]
    time, cost = instance.time, instance.time * rate
    has = (instance.deadline - instance.submitted)[:, None]
    in_time = time <= has
    alone = np.where(in_time, cost, np.inf).min(axis=1)
    pairs = in_time[:, :, None] & ~in_time[:, None, :]
    longer = np.where(pairs, time[:, None, :] - time[:, :, None], 1.0)
    part = (has[:, :, None] - time[:, :, None]) / longer  # done in the way that is too slow
    mixed = np.where(pairs, part * cost[:, None, :] + (1 - part) * cost[:, :, None], np.inf).min(axis=(1, 2))
    return float(np.minimum(alone, mixed).sum())
