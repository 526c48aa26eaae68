"""What slotted policies decide on, as arrays: jobs, nodes in classes of equal ones, slots, services; and their plans."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpusched_dsl.policies.workload import NONE, Floats, Ints

Bools = NDArray[np.bool_]

# Codes of rules; `slotted/rules.py` tells them in the words of the language.
UNGUARDED, ALL_SERVICES, ONE_SERVICE_EACH, EQUAL_PARTS = 0, 1, 2, 3
UNSERVED, LEAST, EQUAL, ROUND_ROBIN, POOLS = 0, 1, 2, 3, 4


class Cluster(NamedTuple):
    """One decision: J jobs, C classes of nodes that nothing tells apart, K nodes, H slots in the order of time.

    Job j may run on a node of class c in slot h where `allowed[j, c, h]`, for `length[j, c]` slots in all, and prefers
    what is least by `key[j, c, h]` (`key[j, c, 0]` where keys are the same in all slots).
    """

    class_of: Ints  # (K,)
    allowed: Bools  # (J, C, H)
    key: Floats  # (J, C, H) or (J, C, 1)
    length: Ints  # (J, C) 0: the job does not run there
    order: Ints  # (J,) the queue
    value: Floats  # (J, 2) of a job whose last slot is h: (value[j, 0] - h) / value[j, 1]; for `by_performance` alone


class Guard(NamedTuple):
    """Services whose loads nodes that do not train must be able to serve; `kind` is a code of rules."""

    kind: int
    capacity: Floats  # (S, C) load that one node can take
    load: Floats  # (S, H)


class Serving(NamedTuple):
    """How loads are put on nodes that do not train. `kind` is a code of rules.

    `capacity` is what a node takes (`LEAST`), 1 where the service runs at all (`EQUAL`, `ROUND_ROBIN`), or its service
    rate (`POOLS`); `whole` and `unit` price a node and a unit of load (`LEAST`); `bound` is the largest mean response
    time (`POOLS`), in the inverse unit of the rates.
    """

    kind: int
    capacity: Floats  # (S, C)
    load: Floats  # (S, H)
    whole: Floats  # (S, C)
    unit: Floats  # (S, C)
    bound: Floats  # (S,)


class Plan(NamedTuple):
    """What runs where. `job[k, h]` is the job that trains on a node, `share[s, k, h]` the load that it serves.

    Work that would begin or go on after the last slot is counted in `beyond`. `unproven` counts slots whose serving
    nodes may not be the cheapest ones, `excess` is the load above what the nodes can take.
    """

    job: Ints  # (K, H) NONE: does not train
    node: Ints  # (J,) NONE: the job has not been started
    begin: Ints  # (J,) first slot
    beyond: Ints  # (J,) slots of the job after the last one
    share: Floats  # (S, K, H)
    excess: Floats  # (S, H)
    unproven: Ints  # (1,)


def empty_plan(cluster: Cluster, services: int) -> Plan:
    """Nothing runs."""
    jobs, _, slots = cluster.allowed.shape
    nodes = len(cluster.class_of)
    return Plan(
        job=np.full((nodes, slots), NONE),
        node=np.full(jobs, NONE),
        begin=np.full(jobs, NONE),
        beyond=np.zeros(jobs, dtype=np.int64),
        share=np.zeros((services, nodes, slots)),
        excess=np.zeros((services, slots)),
        unproven=np.zeros(1, dtype=np.int64),
    )
