"""The cost of a schedule: the price that repetitions and moves compare.

Price = lateness of what runs + price of what is postponed + idle GPUs of nodes in use + running costs, which are paid
to the end of each job (`TOTAL`), of the job that ends first of all (`FIRST_END`), or first on its node
(`NODE_FIRST_END`). The model prices the plan again once it is handed over; a test holds the two against each other.
"""

from __future__ import annotations

import numpy as np

from gpusched_dsl.ir.arrays import Floats
from gpusched_dsl.policies.kernels.compiled import compiled
from gpusched_dsl.policies.workload import Schedule, Workload

TOTAL, FIRST_END, NODE_FIRST_END = 0, 1, 2
PRICES = {"total": TOTAL, "first_end": FIRST_END, "node_first_end": NODE_FIRST_END}


@compiled
def price(work: Workload, plan: Schedule, kind_of_price: int) -> float:
    """The price of a schedule, from scratch."""
    parts = price_by_term(work, plan, kind_of_price)
    return float(parts.sum())


@compiled
def price_by_term(work: Workload, plan: Schedule, kind_of_price: int) -> Floats:
    """Lateness, postponement, idle GPUs, running costs."""
    found = np.zeros(4)
    for j in range(len(plan.node)):
        w = plan.way[j]
        if w < 0:
            found[1] += work.postponed[j]
        else:
            found[0] += work.late[w]
            if kind_of_price == TOTAL and work.node_rate.shape[1] == 0:
                found[3] += work.rate[w] * work.time[w]
    for n in range(len(plan.kind)):
        if plan.jobs[n] > 0:
            k = plan.kind[n]
            found[2] += work.idle[k] * (work.units[k] - plan.used[n]) / work.parts
    if kind_of_price != TOTAL or work.node_rate.shape[1] > 0:
        found[3] = running_costs(work, plan, kind_of_price)
    return found


@compiled
def running_costs(work: Workload, plan: Schedule, kind_of_price: int) -> float:
    """Return the cost of running jobs until the first end, of all or on each node; or to the end of each job."""
    nodes = len(plan.kind)
    ends = np.full(nodes, np.inf)
    rates = np.zeros(nodes)
    shares = np.zeros(nodes)  # of a node's rate, paid to the end of each job
    total = 0.0
    for j in range(len(plan.node)):
        n, w = plan.node[j], plan.way[j]
        if n >= 0:
            ends[n] = min(ends[n], work.time[w])
            rates[n] += work.rate[w]
            shares[n] += work.rate[w] * work.time[w]
    first = np.inf
    for n in range(nodes):
        if plan.jobs[n] > 0:
            if work.node_rate.shape[1] > 0:
                rates[n] = work.node_rate[plan.kind[n], plan.used[n] // work.parts]
            first = min(first, ends[n])
    for n in range(nodes):
        if plan.jobs[n] > 0:
            if kind_of_price == FIRST_END:
                total += rates[n] * first
            elif kind_of_price == NODE_FIRST_END:
                total += rates[n] * ends[n]
            else:
                total += shares[n]
    return total
