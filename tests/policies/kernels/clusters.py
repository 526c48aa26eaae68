"""Workloads by hand or at random, and the instructions of the specification's policies for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from gpusched_dsl.policies.kernels.ranking import list_ways, order_rows, rank_ways
from gpusched_dsl.policies.rules import FINISH_CODES, NODE_ODDS, PLACE_CODES
from gpusched_dsl.policies.workload import NEVER, NONE, Instructions, Schedule, Workload

Time = float | tuple[float, ...]  # a time, or a time and what the way needs of each further capacity


def workload(
    kinds: Sequence[Mapping[str, float]],
    nodes: Sequence[int],
    due: Sequence[float],
    weight: Sequence[float],
    postponed: Sequence[float],
    times: Mapping[tuple[int, int, int], float],
    *,
    parts: int = 1,
    needs: Mapping[tuple[int, int, int], Sequence[float]] | None = None,
    rooms: Sequence[Sequence[float]] = (),
) -> Workload:
    """`times[j, k, size]`; kinds have `units`, `family`, `price` and perhaps `stock`, `idle`; rent goes by units."""
    ways = sorted(times)
    jobs, count, largest = len(due), len(kinds), int(max((k["units"] for k in kinds), default=0))
    units = np.array([int(k["units"]) for k in kinds], np.int64)
    price = np.array([float(k["price"]) for k in kinds])
    job = np.array([j for j, _, _ in ways], np.int64)
    kind = np.array([k for _, k, _ in ways], np.int64)
    size = np.array([g for _, _, g in ways], np.int64)
    time = np.array([times[w] for w in ways], np.float64)
    way_at = np.full((jobs, count, largest + 1), NONE)
    way_at[job, kind, size] = np.arange(len(ways))
    capacities = len(rooms[0]) if len(rooms) else 0
    return Workload(
        parts=parts,
        node_kind=np.array(nodes, np.int64),
        units=units,
        family=np.array([int(k["family"]) for k in kinds], np.int64),
        stock=np.array([int(k.get("stock", NEVER)) for k in kinds], np.int64),
        price=price,
        idle=np.array([float(k.get("idle", 1.0)) for k in kinds]),
        node_rate=np.zeros((count, 0)),
        room=np.array(rooms, np.float64).reshape(count, capacities),
        due=np.array(due, np.float64),
        weight=np.array(weight, np.float64),
        postponed=np.array(postponed, np.float64),
        first_way=np.searchsorted(job, np.arange(jobs + 1)).astype(np.int64),
        job=job,
        kind=kind,
        size=size,
        time=time,
        rate=price[kind] * size / units[kind] if len(ways) else np.zeros(0),
        late=np.array(weight, np.float64)[job] * np.maximum(0.0, time - np.array(due, np.float64)[job])
        if len(ways)
        else np.zeros(0),
        needs=np.array([needs[w] for w in ways], np.float64).reshape(len(ways), capacities)
        if needs is not None
        else np.zeros((len(ways), capacities)),
        way_at=way_at,
        form=size,
        like_at=way_at,
    )


def instructions(
    work: Workload,
    place: Sequence[str],
    finish: Sequence[str] = (),
    *,
    order: Sequence[int] | None = None,
    choose: np.ndarray | None = None,
    on_time: np.ndarray | None = None,
    otherwise: np.ndarray | None = None,
    allowed: np.ndarray | None = None,
    swap: np.ndarray | None = None,
    way_list: np.ndarray | None = None,
    node_list: int = 1,
    node_odds: str = "inverse idle",
) -> Instructions:
    """Those of the specification's greedy method, changed where told: the most urgent first, the cheapest on time."""
    cost = work.rate * work.time
    fastest = np.full(len(work.due), np.inf)
    np.minimum.at(fastest, work.job, work.time)
    if choose is None:
        choose = np.stack((cost, work.time, work.size.astype(np.float64)), axis=1)
        otherwise = np.stack((work.time, cost, work.size.astype(np.float64)), axis=1)
        on_time = work.time <= work.due[work.job] + 1e-9
    if order is None:
        pressure = fastest - work.due
        keys = np.stack((-pressure, -work.weight, work.due), axis=1)
        order = order_rows(keys).tolist()
    every = np.ones(len(work.job), np.int64) if allowed is None else allowed.astype(np.int64)
    choose_rank = rank_ways(work.first_way, choose, every if on_time is None else on_time.astype(np.int64) * every)
    otherwise_rank = np.full(len(work.job), NEVER) if otherwise is None else rank_ways(work.first_way, otherwise, every)
    ranked, preferred = list_ways(work.first_way, choose_rank, otherwise_rank)
    return Instructions(
        order=np.array(order, np.int64),
        choose_rank=choose_rank,
        otherwise_rank=otherwise_rank,
        ranked=ranked,
        preferred=preferred,
        place=np.array([PLACE_CODES[name] for name in place], np.int64),
        finish=np.array([FINISH_CODES[name] for name in finish], np.int64),
        swap_chance=np.zeros(len(work.due)) if swap is None else swap,
        way_list=np.ones(len(work.due), np.int64) if way_list is None else way_list.astype(np.int64),
        way_odds=1 / np.maximum(cost, 1e-9),
        node_list=node_list,
        node_odds=NODE_ODDS[node_odds],
    )


def told(work: Workload, plan: Schedule) -> list[tuple[int, list[tuple[int, int]]]]:
    """The nodes in use as (kind, [(job, size), ...]), sorted."""
    found: dict[int, list[tuple[int, int]]] = {}
    for j, (n, w) in enumerate(zip(plan.node.tolist(), plan.way.tolist(), strict=True)):
        if n != NONE:
            found.setdefault(n, []).append((j, int(work.size[w])))
    return sorted((int(plan.kind[n]), sorted(jobs)) for n, jobs in found.items())
