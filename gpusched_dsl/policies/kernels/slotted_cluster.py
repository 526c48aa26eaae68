"""The decisions of slotted policies as arrays: jobs, classes of equal nodes, slots, services; and plans."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gpusched_dsl.ir.arrays import Bools, Floats, Ints
from gpusched_dsl.policies.rules import GUARD_CODES, SERVING_CODES
from gpusched_dsl.policies.workload import NONE

UNGUARDED, ALL_SERVICES = 0, GUARD_CODES["all_services"]
ONE_SERVICE_EACH, EQUAL_PARTS = GUARD_CODES["one_service_each"], GUARD_CODES["equal_parts"]
UNSERVED, CHEAPEST, EQUAL = 0, SERVING_CODES["cheapest_nodes"], SERVING_CODES["equal_parts"]
IN_TURN, POOLS = SERVING_CODES["equal_parts one_service_each"], SERVING_CODES["pools"]


class SlottedCluster(NamedTuple):
    """One decision: J jobs, C classes of equal nodes, K nodes, H slots in the order of time.

    Job j may run on a node of class c in slot h where `allowed[j, c, h]`, for `length[j, c]` slots in all, and prefers
    what is least by `key[j, c, h]` (`key[j, c, 0]` where keys are the same in all slots). `first[j]` is the first slot
    in which it may run anywhere, H where it may not.
    """

    class_of: Ints  # (K,)
    allowed: Bools  # (J, C, H)
    key: Floats  # (J, C, H) or (J, C, 1)
    length: Ints  # (J, C) 0: the job does not run there
    first: Ints  # (J,)
    order: Ints  # (J,) the queue
    value: Floats  # (J, H) the performance of a job by its last slot; (J, 0) where nothing goes by it


class Guard(NamedTuple):
    """Services whose loads the nodes without jobs must be able to serve; `kind` is a code of rules."""

    kind: int
    capacity: Floats  # (S, C) load that one node can take
    load: Floats  # (S, H)


class Serving(NamedTuple):
    """How loads are put on nodes that do not train. `kind` is a code of rules.

    `capacity` is what a node takes (`CHEAPEST`), 1 where the service runs at all (`EQUAL`, `IN_TURN`), or its service
    rate (`POOLS`); `whole` and `unit` price a node and a unit of load (`CHEAPEST`); `bound` is the largest mean
    response time (`POOLS`), in the inverse unit of the rates.
    """

    kind: int
    capacity: Floats  # (S, C)
    load: Floats  # (S, H)
    whole: Floats  # (S, C)
    unit: Floats  # (S, C)
    bound: Floats  # (S,)


class SlottedSchedule(NamedTuple):
    """The plan. `job[k, h]` is the job that trains on a node, `share[s, k, h]` the load that it serves.

    `last` may lie after the last slot: work that does not fit before it. `excess` is the load above what nodes take.
    """

    job: Ints  # (K, H) NONE: does not train
    node: Ints  # (J,) NONE: the job has not been started
    last: Ints  # (J,) the last slot of the job
    share: Floats  # (S, K, H)
    excess: Floats  # (S, H)


class SlottedState(NamedTuple):
    """The state of a run besides its plan. With `here_only`, the guard only checks the starting slot."""

    left: Ints  # (C, H) nodes that do not train
    known: Ints  # (C, H) 1: the guard lets a node of the class train, see `slotted_guard.ask`
    taken: Ints  # (K,) 1 + the service that has taken the node in this slot, 0: none
    first_free: Ints  # (C,) the free node of lowest number in this slot, NONE: there is none
    tried: Ints  # (C,) the next node to try, NONE: the class is not tried further
    here_only: bool


def empty_plan(cluster: SlottedCluster, services: int) -> SlottedSchedule:
    """Nothing runs."""
    jobs, _, slots = cluster.allowed.shape
    nodes = len(cluster.class_of)
    return SlottedSchedule(
        job=np.full((nodes, slots), NONE),
        node=np.full(jobs, NONE),
        last=np.full(jobs, NONE),
        share=np.zeros((services, nodes, slots)),
        excess=np.zeros((services, slots)),
    )


def empty_state(cluster: SlottedCluster, guard: Guard) -> SlottedState:
    """Return a state without jobs and services, and without results of the guard."""
    _, classes, slots = cluster.allowed.shape
    count = np.bincount(cluster.class_of, minlength=classes).astype(np.int64)
    return SlottedState(
        left=np.repeat(count[:, None], slots, axis=1),
        known=np.ones((classes, slots), dtype=np.int64),
        taken=np.zeros(len(cluster.class_of), dtype=np.int64),
        first_free=np.full(classes, NONE),
        tried=np.zeros(classes, dtype=np.int64),
        here_only=guard.kind == EQUAL_PARTS,
    )
