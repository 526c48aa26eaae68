"""Small random workloads with shared GPUs, and plans that fill them at random."""

from __future__ import annotations

import numpy as np

from gpusched_dsl.policies.kernels.free_capacity import has_capacity_when_empty, has_room, put
from gpusched_dsl.policies.workload import NONE, Schedule, Workload, empty_schedule

PARTS = 20
SHARES = ((5, 10), (2, 3))  # twentieths by kind


def cluster(rng: np.random.Generator, jobs: int, nodes: int, gpus: int = 2, chosen: bool = False) -> Workload:
    """Two kinds of node of `gpus` GPUs; every job has some of the ways. `chosen`: kinds are chosen on opening."""
    job, kind, size = [], [], []
    for j in range(jobs):
        first = len(job)
        for k in (0, 1):
            sizes = (*SHARES[k], *(PARTS * g for g in range(1, gpus + 1)))
            taken = [s for s in sizes if rng.random() < 0.6]
            job += [j] * len(taken)
            kind += [k] * len(taken)
            size += taken
        if len(job) == first:
            job, kind, size = [*job, j], [*kind, 0], [*size, PARTS]
    ways = len(job)
    arrays = [np.array(a, dtype=np.int64) for a in (job, kind, size)]
    way_at = np.full((jobs, 2, gpus * PARTS + 1), NONE)
    way_at[arrays[0], arrays[1], arrays[2]] = np.arange(ways)
    time = rng.uniform(1, 10, ways)
    due, weight = rng.uniform(0, 12, jobs), rng.uniform(0.5, 2, jobs)
    return Workload(
        parts=PARTS,
        node_kind=np.full(nodes, NONE) if chosen else np.sort(rng.integers(0, 2, nodes)),
        units=np.full(2, gpus * PARTS),
        family=np.arange(2),
        stock=np.full(2, nodes),
        price=np.zeros(2),
        idle=np.zeros(2),
        node_rate=np.zeros((2, 0)),
        room=np.zeros((2, 0)),
        due=due,
        weight=weight,
        postponed=10 * weight,
        first_way=np.searchsorted(arrays[0], np.arange(jobs + 1)),
        job=arrays[0],
        kind=arrays[1],
        size=arrays[2],
        time=time,
        rate=arrays[2] / PARTS * np.array([0.9, 3.67])[arrays[1]],
        late=weight[arrays[0]] * np.maximum(0, time - due[arrays[0]]),
        needs=np.zeros((ways, 0)),
        way_at=way_at,
        form=arrays[2],
        like_at=way_at,
    )


def filled(work: Workload, rng: np.random.Generator) -> Schedule:
    """Jobs in random order, each in a random way on a random node that has room, if there is one."""
    plan = empty_schedule(work)
    turn = 0
    for j in rng.permutation(len(work.due)).tolist():
        ways = np.arange(work.first_way[j], work.first_way[j + 1])
        for w, n in rng.permutation([(w, n) for w in ways for n in range(len(work.node_kind))]).tolist():
            k = int(plan.kind[n])
            fits = (
                has_capacity_when_empty(work.units, work.parts, work.needs, work.room, work.kind[w], work.size[w], w)
                if plan.jobs[n] == 0
                else k == work.kind[w] and has_room(work, plan, n, w)
            )
            if fits and (k in (NONE, work.kind[w])):
                turn += int(plan.jobs[n] == 0)
                gpu = NONE
                if work.size[w] < PARTS and (plan.spare[n] >= work.size[w]).any():
                    gpu = int(np.flatnonzero(plan.spare[n] >= work.size[w])[0])
                put(work, plan, j, n, w, gpu, turn)
                break
    return plan
