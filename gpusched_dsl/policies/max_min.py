"""Max-min fairness over throughputs: the shares of time of each job on each type of node, and their priorities.

D. Narayanan, K. Santhanam, F. Kazhamiaka, A. Phanishayee, M. Zaharia, Heterogeneity-Aware Cluster Scheduling Policies
for Deep Learning Workloads (Gavel), OSDI 2020: the LP of section 4.1, and the priorities of section 5. Priorities are
by job: what a job had on other types of node counts too.

Shares and priorities are compared in six digits: a linear programme is no more exact, and rounding must not decide
before the queue does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np
from scipy import sparse

from gpusched_dsl.ir.arrays import Floats, Ints
from gpusched_dsl.policies.workload import NONE, Instructions, Workload

_SMALL = 1e-9  # a share of time below this is none
_DIGITS = 9
_ORDERED_DIGITS = 6  # solvers are that exact: shares that differ by less are equal, and ordered by the queue
_LARGE = 20_000  # ways: from here on an interior point method is faster, 25 times at 320,000


def ways_by_priority(
    work: Workload,
    lines: Instructions,
    possible: Callable[[Ints], Ints],
    weight: Floats,
    attained: Floats,
    elapsed: Floats,
) -> Ints:
    """Return the listed ways of the jobs of the queue that `possible` keeps, in the order in which they are placed.

    `weight` of jobs; `attained` is their GPU time so far, `elapsed` the time since their arrival.
    """
    waits, place = np.zeros(len(work.due), dtype=np.bool_), np.zeros(len(work.due), dtype=np.int64)
    waits[lines.order], place[lines.order] = True, np.arange(len(lines.order))
    listed = lines.ranked[lines.ranked != NONE]
    ways = possible(np.sort(listed[waits[work.job[listed]]]))
    shares = shares_of_time(work, ways, weight)
    rank = np.minimum(lines.choose_rank, lines.otherwise_rank)
    order = order_of_ways(work, ways, shares, attained, elapsed, rank, place)
    first = np.minimum(place[work.job[order]], lines.front)
    by_front: Ints = order[np.argsort(first, kind="stable")]
    return by_front


def possible_ways(work: Workload, ways: Ints) -> Ints:
    """Those of some ways for which an empty node of their kind has room, and that end; there must be such nodes."""
    kind = work.kind[ways]
    nodes, _, stock = nodes_by_kind(work)
    room = work.room[kind] * (1.0 + _SMALL)
    fits = (work.size[ways] <= work.units[kind]) & (work.needs[ways] <= room).all(axis=1)
    return ways[fits & np.isfinite(work.time[ways]) & ((nodes + stock)[kind] > 0)]


def shares_of_time(work: Workload, ways: Ints, weight: Floats) -> Floats:
    """The part of the time that each job should have in each of some ways.

    The least normalised throughput of a job is as large as possible: its throughput by `weight`, relative to that of an
    equal share of all nodes, and times its number of GPUs. Of such shares those with the largest sum of these. No job
    has more than all of the time, no type of node gives more than it has. Where types are chosen, how many nodes have
    each type is a further variable, at most its stock. HiGHS solves the two linear programmes.
    """
    from scipy.optimize import linprog

    if not len(ways):
        return np.zeros(0)
    jobs, job = np.unique(work.job[ways], return_inverse=True)
    kind, columns = work.kind[ways], np.arange(len(ways))
    gain = normalised_throughputs(work, ways, weight)
    nodes, empty, stock = nodes_by_kind(work)
    capacities = [(work.size[ways].astype(np.float64), work.units.astype(np.float64))]
    capacities += [(work.needs[ways, r], work.room[:, r]) for r in range(work.room.shape[1])]
    # Columns: the shares, then the rented nodes of each kind.
    rented = np.flatnonzero(stock)
    kinds, width = len(work.units), len(ways) + len(rented)
    rows = [sparse.csr_matrix((np.ones(len(ways)), (job, columns)), (len(jobs), width))]
    bounds = [np.ones(len(jobs))]
    for amount, of_node in capacities:
        limited = np.isfinite(of_node)
        total = np.where(limited, of_node, 0.0)
        used = sparse.csr_matrix((amount, (kind, columns)), (kinds, len(ways)))
        rows.append(sparse.hstack([used, -sparse.diags(total).tocsc()[:, rented]]).tocsr()[limited])
        bounds.append(np.asarray((nodes * total)[limited], dtype=np.float64))
    if len(rented):
        each = sparse.hstack([sparse.csr_matrix((len(rented), len(ways))), sparse.identity(len(rented))]).tocsr()
        rows += [each, sparse.csr_matrix(each.sum(axis=0))]
        bounds += [stock[rented].astype(np.float64), np.full(1, float(empty))]
    limits, most = sparse.vstack(rows).tocsr(), np.concatenate(bounds)
    per_job = sparse.csr_matrix((gain, (job, columns)), (len(jobs), width))

    least = sparse.csr_matrix(np.ones((len(jobs), 1)))
    together = sparse.vstack(
        [sparse.hstack([limits, sparse.csr_matrix((limits.shape[0], 1))]), sparse.hstack([-per_job, least])]
    )
    objective = np.append(np.zeros(width), -1.0)
    method: Literal["highs", "highs-ipm"] = "highs" if len(ways) < _LARGE else "highs-ipm"  # both end at a vertex
    first = linprog(objective, A_ub=together.tocsr(), b_ub=np.append(most, np.zeros(len(jobs))), method=method)
    if first.x is None:
        return np.zeros(len(ways))
    floor = np.full(len(jobs), first.x[-1] * (1.0 - _SMALL))
    together = sparse.vstack([limits, -per_job])
    gains = np.append(-gain, np.zeros(len(rented)))
    second = linprog(gains, A_ub=together.tocsr(), b_ub=np.append(most, -floor), method=method)
    found = first.x[:-1] if second.x is None else second.x
    return np.asarray(np.round(np.clip(found[: len(ways)], 0.0, 1.0), _DIGITS))


def nodes_by_kind(work: Workload) -> tuple[Ints, int, Ints]:
    """The existing nodes of each kind, the number of nodes whose kind is chosen, and how many can be of each kind."""
    nodes = np.bincount(work.node_kind[work.node_kind != NONE], minlength=len(work.units))
    empty = int((work.node_kind == NONE).sum())
    return nodes, empty, np.clip(work.stock - nodes, 0, empty)


def normalised_throughputs(work: Workload, ways: Ints, weight: Floats) -> Floats:
    """The throughput of each way, relative to its job's with an equal share of all nodes, by GPU and by weight."""
    job, kind = work.job[ways], work.kind[ways]
    nodes, empty, stock = nodes_by_kind(work)
    serve = np.bincount(kind, minlength=len(nodes)) > 0  # kinds that can have a job
    rentable = max(int((serve & (stock > 0)).sum()), 1)
    units = np.where(serve, (nodes + np.minimum(stock, empty / rentable)) * work.units, 0)
    part = units / max(float(units.sum()), 1.0)
    rate = 1.0 / np.maximum(work.time[ways], np.finfo(np.float64).tiny)
    best = np.zeros((len(work.due), len(work.units)))
    np.maximum.at(best, (job, kind), rate)
    size = np.full(len(work.due), np.inf)
    np.minimum.at(size, job, work.size[ways] / work.parts)
    equal = best @ part
    return np.asarray(rate / equal[job] * size[job] / weight[job])


def order_of_ways(
    work: Workload, ways: Ints, shares: Floats, attained: Floats, elapsed: Floats, rank: Ints, place: Ints
) -> Ints:
    """The ways in the order in which they are placed.

    First those with a share of the time: by the share over the part of the time that the job has run since its arrival,
    largest first, then by the share. Then the others, by their rank in the list of their job. Ties by the queue: shares
    and priorities that are equal to six digits, since sums of times are not exact either.
    """
    job, shares = work.job[ways], np.round(shares, _ORDERED_DIGITS)
    served = attained[job] * work.parts / work.size[ways]  # time at so many GPUs
    with np.errstate(divide="ignore", invalid="ignore"):
        priority = np.where(served > 0, shares * np.maximum(elapsed[job], served) / served, np.inf)
    priority = np.round(priority, _ORDERED_DIGITS)
    has_share = shares > _SMALL
    keys = (
        place[job], np.where(has_share, 0, rank[ways]), np.where(has_share, -shares, 0.0),
        np.where(has_share, -priority, 0.0), ~has_share,
    )  # fmt: skip
    return ways[np.lexsort(keys)]
