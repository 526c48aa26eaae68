"""The worked instances of capacity planning as arrays, with the plans of the greedy method."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from clusters import instructions, workload

from gpusched_dsl.policies.workload import Instructions, Workload

GREEDY = ("best_fit", "new_node", "best_suboptimal")
TIDY = ("smaller_type", "grow by speedup")


def capacity(
    nodes: int,
    kinds: Sequence[tuple[int, float, int]],
    due: Sequence[float],
    weight: Sequence[float],
    times: Sequence[Sequence[Sequence[float]]],
    idle: float = 1.0,
    period: float = 1.0,
) -> Workload:
    """`kinds`: GPUs, price, family; `times[j][k]` by GPUs. Postponing costs 100 times the weight."""
    table = {
        (j, k, g + 1): time
        for j, of_job in enumerate(times)
        for k, of_kind in enumerate(of_job)
        for g, time in enumerate(of_kind)
    }
    slowest = np.array([max(max(of_kind) for of_kind in of_job) for of_job in times])
    described = [{"units": s, "price": c, "family": f, "idle": idle} for s, c, f in kinds]
    late = np.maximum(0.0, period + slowest - np.array(due))
    return workload(described, [-1] * nodes, due, weight, 100 * np.array(weight) * late, table)


def cp_6() -> Workload:
    return capacity(3, [(2, 1.0, 0)], [2, 2], [1, 1], [[[2, 1.9]], [[2, 1.9]]])


def cp_9() -> Workload:
    long, short = [8, 4.5, 3, 2.8], [5, 3, 2.4, 2.1]
    return capacity(2, [(4, 2.0, 0)], [3, 3, 3], [2, 2, 2], [[long], [long], [short]])


def cp_10(period: float = 1.0) -> Workload:
    times = [
        [[3], [3.5, 2], [4, 2.5, 1.9, 1.6]],
        [[5], [6, 3.5], [7, 4, 3.2, 2.8]],
        [[2], [2.5, 1.5], [3, 1.8, 1.4, 1.2]],
    ]
    return capacity(2, [(1, 0.6, 0), (2, 1.0, 1), (4, 1.6, 2)], [2, 6, 4], [1, 0.5, 0.8], times, period=period)


def cp_ls() -> Workload:
    k = [[8, 4.4, 3.2, 2.6], [4, 2.2, 1.6, 1.3], [6, 3.3, 2.4, 1.95], [2, 1.1, 0.8, 0.65]]
    m = [[6.4, 3.52, 2.56, 2.08], [5, 2.75, 2, 1.62], [4.8, 2.64, 1.92, 1.56], [2, 1.1, 0.8, 0.65]]
    times = [[k[j][:2], k[j], m[j][:2], m[j]] for j in range(4)]
    return capacity(2, [(2, 1.0, 0), (4, 2.0, 0), (2, 1.3, 1), (4, 2.6, 1)], [3, 6, 3, 2.5], [1, 0.5, 0.8, 0.6], times)


def drawn(work: Workload, place: Sequence[str] = GREEDY, finish: Sequence[str] = TIDY) -> Instructions:
    """The randomised greedy method with the parameters of the specification."""
    plain = instructions(work, place, finish)
    return plain._replace(
        swap_chance=0.3 * (1 - work.weight / work.weight.max()),
        way_list=np.maximum(2, np.ceil(0.2 * plain.preferred)).astype(np.int64),
        node_list=3,
    )


def right_sized(work: Workload, order: Sequence[int], place: Sequence[str]) -> Instructions:
    """The baselines: each job as if it were alone, on a node of its own."""
    cost, size = work.rate * work.time, work.size.astype(np.float64)
    empty = work.idle[work.kind] * (work.units[work.kind] - size)
    keys = np.stack((work.late + empty + cost, work.late, cost, size), axis=1)
    return instructions(work, place, order=order, choose=keys)
