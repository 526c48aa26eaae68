"""The synthetic instances of `benchmarks.capacity.data` as arrays, and the greedy method as instructions."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl

from gpusched_dsl.ir.arrays import Floats, Ints
from gpusched_dsl.policies.kernels.ranking import list_ways, order_rows, rank_ways
from gpusched_dsl.policies.rules import FINISH_CODES, NODE_ODDS, PLACE_CODES
from gpusched_dsl.policies.workload import NEVER, NONE, Instructions, Workload

PERIOD, POSTPONING = 1.0, 100.0  # h; times the weight
SWAP, FRACTION, NODES = 0.3, 0.2, 3  # the randomisation of the greedy method


def read(folder: Path) -> Workload:
    """All jobs are there at time 0 with the time left that they were drawn with."""
    types, jobs = pl.read_csv(folder / "types.csv"), pl.read_csv(folder / "instance_jobs.csv")
    times, nodes = pl.read_csv(folder / "instance_times.csv"), pl.read_csv(folder / "nodes.csv")
    gpus = types["gpus"].to_numpy().astype(np.int64)
    price = types["price_usd_per_h"].to_numpy().astype(np.float64)
    models = types["gpu_model"].to_list()
    family = np.array([models.index(model) for model in models], np.int64)
    kind_of = {name: k for k, name in enumerate(types["vm_type"].to_list())}
    job_of = {name: j for j, name in enumerate(jobs["job"].to_list())}
    job = np.array([job_of[name] for name in times["job"].to_list()], np.int64)
    kind = np.array([kind_of[name] for name in times["vm_type"].to_list()], np.int64)
    size = times["gpus"].to_numpy().astype(np.int64)
    time = times["hours"].to_numpy().astype(np.float64)
    sorted_ = np.lexsort((size, kind, job))
    job, kind, size, time = job[sorted_], kind[sorted_], size[sorted_], time[sorted_]
    due = jobs["deadline_h"].to_numpy().astype(np.float64)
    weight = jobs["weight_usd_per_h"].to_numpy().astype(np.float64)
    slowest = np.zeros(len(due))
    np.maximum.at(slowest, job, time)
    way_at = np.full((len(due), len(gpus), int(gpus.max()) + 1), NONE)
    way_at[job, kind, size] = np.arange(len(job))
    return Workload(
        parts=1,
        node_kind=np.full(len(nodes), NONE),
        units=gpus,
        family=family,
        stock=np.full(len(gpus), NEVER),
        price=price,
        idle=np.ones(len(gpus)),
        node_rate=np.zeros((len(gpus), 0)),
        room=np.zeros((len(gpus), 0)),
        due=due,
        weight=weight,
        postponed=POSTPONING * weight * np.maximum(0.0, PERIOD + slowest - due),
        first_way=np.searchsorted(job, np.arange(len(due) + 1)),
        job=job,
        kind=kind,
        size=size,
        time=time,
        rate=price[kind] * size / gpus[kind],
        late=weight[job] * np.maximum(0.0, time - due[job]),
        needs=np.zeros((len(job), 0)),
        way_at=way_at,
    )


def keys_of(work: Workload) -> tuple[Floats, Floats, Floats, Ints]:
    """Keys of the queue, of ways on time and of the others; which ways are on time: what an evaluator hands over."""
    cost = work.rate * work.time
    shortest = np.full(len(work.due), np.inf)
    np.minimum.at(shortest, work.job, work.time)
    queue = np.stack((work.due - shortest, -work.weight, work.due), axis=1)
    choose = np.stack((cost, work.time, work.size.astype(np.float64)), axis=1)
    otherwise = np.stack((work.time, cost, work.size.astype(np.float64)), axis=1)
    return queue, choose, otherwise, (work.time <= work.due[work.job] + 1e-9).astype(np.int64)


def rank(work: Workload, keys: tuple[Floats, Floats, Floats, Ints], drawn: bool) -> Instructions:
    """The instructions of the greedy method from the keys: what is done at every decision."""
    queue, choose, otherwise, on_time = keys
    choose_rank = rank_ways(work.first_way, choose, on_time)
    otherwise_rank = rank_ways(work.first_way, otherwise, np.ones(len(on_time), np.int64))
    ranked, preferred = list_ways(work.first_way, choose_rank, otherwise_rank)
    return Instructions(
        order=order_rows(queue),
        choose_rank=choose_rank,
        otherwise_rank=otherwise_rank,
        ranked=ranked,
        preferred=preferred,
        place=np.array([PLACE_CODES[name] for name in ("best_fit", "new_node", "best_suboptimal")]),
        finish=np.array([FINISH_CODES[name] for name in ("smaller_type", "grow by speedup")]),
        swap_chance=SWAP * (1 - work.weight / work.weight.max()) if drawn else np.zeros(len(queue)),
        way_list=np.maximum(2, np.ceil(FRACTION * preferred)).astype(np.int64) if drawn else np.ones_like(preferred),
        way_odds=1 / np.maximum(choose[:, 0], 1e-9),
        node_list=NODES if drawn else 1,
        node_odds=NODE_ODDS["inverse idle"],
    )
