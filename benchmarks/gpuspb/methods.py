"""The compared methods as instructions to the engine: the jobs of a decision, their order, and random draws."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from benchmarks.gpuspb.instance import Instance
from gpusched_dsl.ir.arrays import Floats, Ints
from gpusched_dsl.policies.kernels.ranking import list_ways, order_rows, rank_ways
from gpusched_dsl.policies.rules import FINISH_CODES, NODE_ODDS, PLACE_CODES
from gpusched_dsl.policies.search import SearchSettings
from gpusched_dsl.policies.workload import NEVER, NONE, Instructions, Workload


@dataclass(frozen=True)
class Method:
    """`order` is a key of `_orders`. The others are the numbers that a policy states."""

    name: str
    order: str = "pressure"
    place: tuple[str, ...] = ("best_fit", "new_node", "best_suboptimal")
    finish: tuple[str, ...] = ("smaller_type", "grow by speedup")
    preemptive: bool = True
    swap: float = 0.0  # times 1 - weight / largest weight
    fraction: float = 0.0  # of the ways on time that are drawn from; at least two
    node_list: int = 1
    whole: bool = False  # ways are chosen by the price of the whole VM, for a job that has it for itself
    postponing: float = 100.0  # times the weight
    settings: SearchSettings = field(default_factory=lambda: SearchSettings(price="first_end"))


def workload_of(instance: Instance, method: Method, jobs: Ints, left: Floats, now: float) -> Workload:
    """What is to be decided at a moment: jobs that are there, with the part of each that is left to do.

    The whole VM is charged to the jobs on it, whatever they use of it, so nodes have a rate by kind.
    """
    count, ways, kinds = len(jobs), len(instance.way_kind), len(instance.gpus)
    time = left[:, None] * instance.time[jobs]
    due, weight = instance.deadline[jobs] - now, instance.weight[jobs]
    most = int(instance.gpus.max())
    way_at = np.full((count, kinds, most + 1), NONE)
    numbers = np.arange(count * ways).reshape(count, ways)
    way_at[:, instance.way_kind, instance.way_gpus] = numbers
    price = instance.price
    node_rate = np.where(np.arange(most + 1)[None, :] > 0, price[:, None], 0.0)
    return Workload(
        parts=1,
        node_kind=np.full(instance.nodes, NONE),
        units=instance.gpus,
        family=instance.family,
        stock=np.full(kinds, NEVER),
        price=price,
        idle=np.zeros(kinds),
        node_rate=node_rate,
        room=np.zeros((kinds, 0)),
        due=due,
        weight=weight,
        postponed=method.postponing * weight * np.maximum(0.0, time.max(axis=1, initial=0.0) - due),
        first_way=np.arange(count + 1) * ways,
        job=np.repeat(np.arange(count), ways),
        kind=np.tile(instance.way_kind, count),
        size=np.tile(instance.way_gpus, count),
        time=time.ravel(),
        rate=np.tile(price[instance.way_kind] * instance.way_gpus / instance.gpus[instance.way_kind], count),
        late=(weight[:, None] * np.maximum(0.0, time - due[:, None])).ravel(),
        needs=np.zeros((count * ways, 0)),
        way_at=way_at,
        form=np.tile(instance.way_gpus, count),
        like_at=way_at,
    )


def instructions_of(instance: Instance, method: Method, work: Workload, jobs: Ints) -> Instructions:
    """A method's order, lists and odds for one decision."""
    count = len(work.due)
    cost = (work.price[work.kind] if method.whole else work.rate) * work.time
    on_time = (work.time <= work.due[work.job] + 1e-6).astype(np.int64)
    choose = rank_ways(work.first_way, np.stack([cost, work.time, work.size.astype(np.float64)], axis=1), on_time)
    everything = np.ones(len(work.job), dtype=np.int64)
    otherwise = rank_ways(work.first_way, np.stack([work.time, cost], axis=1), everything)
    ranked, preferred = list_ways(work.first_way, choose, otherwise)
    keys = _orders(work, instance.submitted[jobs])[method.order]
    order = np.array(order_rows(np.stack(keys, axis=1)))
    drawn = np.maximum(2, np.ceil(method.fraction * preferred)).astype(np.int64)
    return Instructions(
        order=order,
        choose_rank=choose,
        otherwise_rank=otherwise,
        ranked=ranked,
        preferred=preferred,
        place=np.array([PLACE_CODES[rule] for rule in method.place], dtype=np.int64),
        finish=np.array([FINISH_CODES[rule] for rule in method.finish], dtype=np.int64),
        swap_chance=method.swap * (1.0 - work.weight / work.weight.max(initial=1e-9)),
        way_list=drawn if method.fraction > 0 else np.ones(count, dtype=np.int64),
        way_odds=1.0 / np.maximum(cost, 1e-9),
        node_list=method.node_list,
        node_odds=NODE_ODDS["inverse idle"],
    )


def _orders(work: Workload, submitted: Floats) -> dict[str, list[Floats]]:
    """Keys of the queue, the smallest first.

    `pressure`: the time that a job needs at least minus the time left. `weighted pressure`: times its weight where it
    is positive, as later work of the same authors has it. `apparent`: weight by time, discounted by the slack beside
    the mean time, the rule for weighted tardiness of Vepsalainen and Morton (1987).
    """
    shortest = work.time.reshape(len(work.due), -1).min(axis=1, initial=np.inf)
    late = shortest - work.due
    weighted = np.where(late > 0, late * work.weight / work.weight.max(initial=1e-9), late)
    discount = np.exp(-np.maximum(0.0, -late) / shortest.mean())
    return {
        "pressure": [-late, -work.weight, work.due],
        "weighted pressure": [-weighted, -work.weight, work.due],
        "apparent": [-work.weight / shortest * discount],
        "submitted": [submitted],
        "deadline": [work.due],
        "weight": [-work.weight],
    }


_FIRST = Method("FIFO", order="submitted", place=("new_node exclusive",), finish=(), preemptive=False, whole=True)
_RANDOM = Method(
    "RandomGreedy",
    swap=0.3,
    fraction=0.2,
    node_list=3,
    settings=SearchSettings(iterations=100, keep=10, price="first_end"),
)
# Exchanges of late jobs are left out: where nothing need be late in the end, they spend the slack of other jobs.
MOVES = (
    ("swap_postponed_running", 0),
    ("faster_type", 10),
    ("double_gpus", 10),
    ("halve_gpus", 10),
    ("regroup_gpus", 10),
)
_LOCAL = replace(
    _RANDOM,
    name="LocalSearch",
    order="weighted pressure",
    settings=replace(_RANDOM.settings, price="total", moves=MOVES, rounds=1, improve=10),
)
METHODS = (
    _FIRST,
    replace(_FIRST, name="EDF", order="deadline"),
    replace(_FIRST, name="Priority", order="weight"),
    Method("Greedy"),
    _RANDOM,
    _LOCAL,
)
# Ours beside the reference's best: the same policies with another queue.
APPARENT = (
    Method("Greedy, apparent", order="apparent"),
    replace(_LOCAL, name="RandomGreedy, apparent", order="apparent", settings=replace(_LOCAL.settings, moves=())),
)
