"""The decisions of policies as arrays: jobs, the ways to run them, nodes and their kinds; and their schedules.

Every heuristic sees a cluster in these terms, whichever model it stands for. They are read off the model's `placement`
by `policies/placement_reader.py`; kernels know nothing of models.
"""

from __future__ import annotations

from typing import Final, NamedTuple, TypeVar

import numpy as np

from gpusched_dsl.ir.arrays import Floats, Ints

# No node, no way, no kind. Of NumPy's type, for the compiler makes another version of a function for a plain constant.
NONE: Final[int] = np.int64(-1)  # type: ignore[assignment]
NEVER = np.iinfo(np.int64).max  # the rank of a way that a rule leaves out
_Plan = TypeVar("_Plan", bound=NamedTuple)


class Workload(NamedTuple):
    """One decision. J jobs, W ways to run them, N nodes, K kinds of node, R further capacities, G GPUs of the largest
    kind.

    A *way* is one job on one kind of node with a number of GPUs or a part of one; the ways of job j are
    `first_way[j]` to `first_way[j + 1]`. Amounts of GPUs are whole numbers of *units*: `parts` to a GPU (1 where GPUs
    are not shared). A way of fewer units than `parts` takes its units from one GPU, a larger one takes whole GPUs.

    Ways of a job on a kind may use equally many units, such as two clock rates or halves of a node. Each then has a
    `form` of its own, by all indices of the placement but job and node, and `way_at` has the first of them that the
    policy lists. Else the form is the number of units, and `like_at` is `way_at`.
    """

    parts: int
    # --- nodes
    node_kind: Ints  # (N,) the kind of a node that is there; NONE where it is chosen when the node is opened
    # --- kinds
    units: Ints  # (K,) units of a node
    family: Ints  # (K,) kinds of one family differ in the number of GPUs alone
    stock: Ints  # (K,) most nodes of this kind
    price: Floats  # (K,) money per time of a whole node
    idle: Floats  # (K,) money for each GPU that a node in use leaves idle
    node_rate: Floats  # (K, G + 1) money per time of a node by GPUs in use; (K, 0): the sum of its jobs' rates
    room: Floats  # (K, R) further capacities, such as memory
    # --- jobs
    due: Floats  # (J,) time left until the job is due; infinite if it never is
    weight: Floats  # (J,) money per time of tardiness
    postponed: Floats  # (J,) money if the job does not run
    # --- ways
    first_way: Ints  # (J + 1,)
    job: Ints  # (W,)
    kind: Ints  # (W,)
    size: Ints  # (W,) units taken
    time: Floats  # (W,) from now to the end of the job
    rate: Floats  # (W,) money per time while it runs
    late: Floats  # (W,) money for being late this way
    needs: Floats  # (W, R) further capacities taken
    way_at: Ints  # (J, K, units + 1) the way of a job on a kind with so many units, NONE where there is none
    form: Ints  # (W,) ways of one job are the same but for their kind, if they are of one form
    like_at: Ints  # (J, K, forms) the way of a job on a kind of this form, NONE where there is none


class Schedule(NamedTuple):
    """The assignment of jobs. Kernels change its arrays in place.

    `kind` is that of the node now (NONE: not open; a node that is there has always its kind). `spare[n, i]` are the
    units left of the i-th GPU of a node that is given out in parts, NONE while it is not; width 0 where `parts` is 1.
    """

    node: Ints  # (J,) NONE: postponed
    way: Ints  # (J,) NONE: postponed
    gpu: Ints  # (J,) which shared GPU of its node a job with a part has, else NONE
    kind: Ints  # (N,)
    used: Ints  # (N,) units in use; all units of a shared GPU count as used
    jobs: Ints  # (N,) jobs on the node
    opened: Ints  # (N,) place in the order of opening, NONE: no job has been put on it
    left: Floats  # (N, R) further capacities left
    spare: Ints  # (N, G)
    chosen: Ints  # (J,) the way in which the rules placed a job, before finishing; NONE: they did not


class Instructions(NamedTuple):
    """A policy's lines, evaluated for one decision.

    `choose_rank` and `otherwise_rank` order the ways of a job (0 is best, NEVER: left out); `ranked` lists the ways of
    job j from `first_way[j]` on, first those by `choose`, of which there are `preferred[j]`, then those by `otherwise`.
    `place`, `finish` are codes of `rules.py`. Draws: neighbours in the queue swap with `swap_chance` of the first;
    a way is drawn from the first `way_list[j]` with odds `way_odds`; a node from the best `node_list`.
    """

    order: Ints  # the queue; jobs that are not in it are left alone
    choose_rank: Ints  # (W,)
    otherwise_rank: Ints  # (W,)
    ranked: Ints  # (W,)
    preferred: Ints  # (J,)
    place: Ints
    finish: Ints
    swap_chance: Floats  # (J,)
    way_list: Ints  # (J,) 1: always the best
    way_odds: Floats  # (W,)
    node_list: int  # 1: always the best
    node_odds: int  # code of `rules.py`
    front: int = 0  # jobs at the head of the queue that come first under every rule, also one with its own order


def copy_of(plan: _Plan) -> _Plan:
    """Return a schedule that may be changed without changing the given one."""
    return plan._make(array.copy() for array in plan)


def tables_of(work: Workload) -> list[Ints]:
    """Return `way_at`, and `like_at` where it is another table."""
    return [work.way_at] if work.like_at is work.way_at else [work.way_at, work.like_at]


def with_ways_as_listed(work: Workload, lines: Instructions) -> Workload:
    """Return the workload with `way_at` in the order of a policy's lists: of ways that use equally many units, the
    first listed one; the first of all where the policy lists none of them.
    """
    if work.like_at is work.way_at:
        return work
    listed = lines.ranked[lines.ranked != NONE]
    is_listed = np.zeros(len(work.job), dtype=np.bool_)
    is_listed[listed] = True
    ways = np.concatenate((np.flatnonzero(~is_listed)[::-1], listed[::-1]))  # the last one written stands
    ways = ways[work.size[ways] <= work.units[work.kind[ways]]]
    way_at = np.full_like(work.way_at, NONE)
    way_at[work.job[ways], work.kind[ways], work.size[ways]] = ways
    return work._replace(way_at=way_at)


def empty_schedule(work: Workload) -> Schedule:
    """Return a schedule without jobs; nodes that get their kind on opening have none yet."""
    jobs, nodes = len(work.due), len(work.node_kind)
    gpus = int(work.units.max(initial=0)) // work.parts if work.parts > 1 else 0
    left = np.where(work.node_kind[:, None] >= 0, work.room[np.maximum(work.node_kind, 0)], np.inf)
    return Schedule(
        node=np.full(jobs, NONE),
        way=np.full(jobs, NONE),
        gpu=np.full(jobs, NONE),
        kind=work.node_kind.copy(),
        used=np.zeros(nodes, dtype=np.int64),
        jobs=np.zeros(nodes, dtype=np.int64),
        opened=np.full(nodes, NONE),
        left=left.astype(np.float64),
        spare=np.full((nodes, gpus), NONE),
        chosen=np.full(jobs, NONE),
    )
