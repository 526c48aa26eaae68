"""Small random workloads and policies. Numbers are short binary fractions, so that many of them tie, and exactly."""

from __future__ import annotations

import numpy as np
from clusters import workload
from reference import Policy

from gpusched_dsl.policies.kernels.ranking import list_ways, rank_ways
from gpusched_dsl.policies.rules import FINISH_CODES, NODE_ODDS, PLACE_CODES
from gpusched_dsl.policies.workload import NEVER, NONE, Instructions, Workload

PLACES = (
    ("best_fit", "new_node", "best_suboptimal"),
    ("best_fit", "new_node", "first_suboptimal"),
    ("first_fit", "new_node", "best_suboptimal", "postpone"),
    ("first_fit", "new_node", "first_suboptimal", "wait"),
    ("new_node exclusive",),
    ("new_node exclusive", "wait"),
    ("best_fit", "new_node", "next_choice"),
    ("first_fit", "new_node", "next_choice", "postpone"),
    ("new_node exclusive", "next_choice"),
    ("best_fit", "new_node exclusive", "next_choice", "best_suboptimal"),
    ("new_node", "best_fit"),
    ("best_suboptimal", "new_node"),
    ("best_fit", "best_suboptimal", "next_choice", "new_node", "next_choice", "wait"),
)
FINISHES = (
    (),
    ("smaller_type",),
    ("smaller_type", "grow by speedup"),
    ("smaller_type", "grow_by_one by speedup"),
    ("expand_parts",),
    ("expand_parts", "grow by speedup", "smaller_type"),
)


def some_workload(rng: np.random.Generator) -> Workload:
    """Up to 9 jobs, 5 nodes and 5 kinds of up to 3 families; GPUs in quarters or whole; further capacities; stocks."""
    parts = int(rng.choice([1, 4]))
    jobs, nodes, kinds = int(rng.integers(1, 10)), int(rng.integers(1, 6)), int(rng.integers(1, 6))
    gpus = rng.choice([1, 2, 4], kinds)
    family = rng.integers(0, 3, kinds)
    described = [
        {
            "units": int(gpus[k]) * parts,
            "family": int(family[k]),
            "price": float(gpus[k] * rng.choice([0.5, 0.5, 1.0])),
            "idle": float(rng.choice([0.0, 1.0])),
            **({"stock": int(rng.integers(0, nodes + 1))} if rng.random() < 0.3 else {}),
        }
        for k in range(kinds)
    ]
    rented = rng.choice([0.0, 1.0, 0.5])
    node_kind = [NONE if rng.random() < rented else int(rng.integers(0, kinds)) for _ in range(nodes)]
    capacities = int(rng.choice([0, 0, 1, 2]))
    sizes = ([1, 2, 3] if parts == 4 else []) + [parts * g for g in (1, 2, 3, 4)]
    times, needs = {}, {}
    by_family = rng.integers(2, 17, (jobs, 3, len(sizes))) / 4
    by_family = np.where(rng.random(by_family.shape) < 0.7, -np.sort(-by_family, axis=2), by_family)
    for j in range(jobs):
        present = rng.random((kinds, len(sizes))) < rng.choice([0.3, 0.8, 1.0])
        for k in range(kinds):
            for at, size in enumerate(sizes):
                if size <= described[k]["units"] and present[k, at]:
                    times[j, k, size] = float(by_family[j, family[k], at] + (rng.random() < 0.1) * 0.25)
                    needs[j, k, size] = rng.integers(0, 5, capacities) / 4
    return workload(
        described,
        node_kind,
        rng.integers(0, 17, jobs) / 4,
        rng.choice([0.5, 0.5, 1.0], jobs),
        rng.integers(0, 9, jobs) / 4,
        times,
        parts=parts,
        needs=needs,
        rooms=rng.integers(2, 9, (kinds, capacities)) / 4,
    )


def some_policy(rng: np.random.Generator, work: Workload) -> tuple[Policy, Instructions]:
    """The same policy twice: for the reference with its keys, for the kernels with ranks."""
    place, finish = PLACES[rng.integers(len(PLACES))], FINISHES[rng.integers(len(FINISHES))]
    jobs, ways = len(work.due), len(work.job)
    order = rng.permutation(jobs)[: jobs if rng.random() < 0.8 else rng.integers(0, jobs + 1)]
    if rng.random() < 0.5:
        choose = np.stack((work.rate * work.time, work.time, work.size), axis=1).astype(float)
        otherwise = np.stack((work.time, work.rate * work.time, work.size), axis=1).astype(float)
        preferred = work.time <= work.due[work.job]
        rest = np.ones(ways, bool)
    else:
        choose, otherwise = (rng.integers(0, 3, (ways, 2)).astype(float) for _ in range(2))
        preferred, rest = rng.random(ways) < 0.5, rng.random(ways) < 0.8
    choose_rank = rank_ways(work.first_way, choose, preferred.astype(np.int64))
    otherwise_rank = rank_ways(work.first_way, otherwise, rest.astype(np.int64))
    if rng.random() < 0.1:
        rest[:], otherwise_rank[:] = False, NEVER
    ranked, count = list_ways(work.first_way, choose_rank, otherwise_rank)
    swap, way_list = rng.choice([0.0, 0.3, 0.9], jobs), rng.integers(1, 4, jobs)
    odds, node_list = rng.integers(1, 9, ways) / 8, int(rng.integers(1, 4))
    node_odds = str(rng.choice(list(NODE_ODDS)))
    told = Policy(
        place,
        finish,
        order.tolist(),
        [tuple(row) if kept else None for row, kept in zip(choose.tolist(), preferred, strict=True)],
        [tuple(row) if kept else None for row, kept in zip(otherwise.tolist(), rest, strict=True)],
        swap.tolist(),
        way_list.tolist(),
        odds.tolist(),
        node_list,
        node_odds,
    )
    lines = Instructions(
        order=order,
        choose_rank=choose_rank,
        otherwise_rank=otherwise_rank,
        ranked=ranked,
        preferred=count,
        place=np.array([PLACE_CODES[name] for name in place], np.int64),
        finish=np.array([FINISH_CODES[name] for name in finish], np.int64),
        swap_chance=swap,
        way_list=way_list,
        way_odds=odds,
        node_list=node_list,
        node_odds=NODE_ODDS[node_odds],
    )
    return told, lines
