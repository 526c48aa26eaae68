"""The cheapest nodes that serve some loads, one service a node: branch and bound over counts of equal nodes.

Nodes of a class c are alike. Service s on m nodes of class c can take m * capacity[s, c] of its load; a node costs
`fixed[s, c]`, a unit of load `unit[s, c]`. Wanted are counts n[s, c] with sum_s n[s, c] <= free[c] and loads within the
capacities at least total cost. What no node takes (the excess) costs `spill` a unit; infinite: it must not be.

Bound: prices on the nodes of a class (Lagrange multipliers of the rows of `free`, found by subgradient steps) take the
services apart, and each service's relaxation is a fractional fill by rising cost of a unit of load. The bound is the
value of a linear program and so convex in a count that is fixed: counts are tried from the relaxation's own value
upwards and then downwards, and a direction ends with the first count whose bound is too high. Searches end after
`VISITS` counts; what is found then is said not to be proven.
"""

from __future__ import annotations

import numpy as np

from gpusched_dsl.policies.kernels.compiled import compiled
from gpusched_dsl.policies.workload import Floats, Ints

VISITS = 20_000
STEPS = 60
EXACT = 1e-9


@compiled
def fill(
    service: int,
    fixed_before: int,
    count: Ints,
    free: Ints,
    capacity: Floats,
    load: float,
    fixed: Floats,
    unit: Floats,
    price: Floats,
    by_whole: Ints,
    by_unit: Ints,
    spill: float,
    used: Floats,
) -> float:
    """The least cost of one service, nodes priced, counts of classes before `fixed_before` given, the others fractional.

    `used` (C,) receives the nodes that are taken of each class. Both orders list the classes by the cost of a unit of
    load: `by_whole` with the node's own cost, `by_unit` without.
    """
    classes = len(free)
    total = 0.0
    for c in range(classes):
        used[c] = 0.0
        if c < fixed_before:
            used[c] = count[service, c]
            total += count[service, c] * (fixed[service, c] + price[c])
    rest = load
    least = EXACT * load
    p, q = 0, 0
    while rest > least:
        while p < classes and (by_whole[p] < fixed_before or free[by_whole[p]] <= 0 or capacity[service, by_whole[p]] <= 0):
            p += 1
        while q < classes and (
            by_unit[q] >= fixed_before or count[service, by_unit[q]] <= 0 or capacity[service, by_unit[q]] <= 0
        ):
            q += 1
        whole, paid = np.inf, np.inf
        if p < classes:
            c = by_whole[p]
            whole = unit[service, c] + (fixed[service, c] + price[c]) / capacity[service, c]
        if q < classes:
            paid = unit[service, by_unit[q]]
        if min(whole, paid) >= spill or (p >= classes and q >= classes):
            break
        if paid <= whole:
            c = by_unit[q]
            take = min(rest, capacity[service, c] * count[service, c])
            total += take * paid
            q += 1
        else:
            c = by_whole[p]
            take = min(rest, capacity[service, c] * free[c])
            total += take * whole
            used[c] += take / capacity[service, c]
            p += 1
        rest -= take
    if rest > least:
        total += rest * spill
    return total


@compiled
def _orders(capacity: Floats, fixed: Floats, unit: Floats, price: Floats, by_whole: Ints, by_unit: Ints) -> None:
    """Both orders of the classes for every service, under the prices of nodes."""
    services, classes = capacity.shape
    for s in range(services):
        whole = np.full(classes, np.inf)
        alone = np.full(classes, np.inf)
        for c in range(classes):
            if capacity[s, c] > 0:
                whole[c] = unit[s, c] + (fixed[s, c] + price[c]) / capacity[s, c]
                alone[c] = unit[s, c]
        by_whole[s] = np.argsort(whole, kind="mergesort")
        by_unit[s] = np.argsort(alone, kind="mergesort")


@compiled
def _prices(
    free: Ints, capacity: Floats, load: Floats, fixed: Floats, unit: Floats, spill: float, above: float
) -> Floats:
    """Prices of nodes that make the relaxation's bound high; `above` is a cost that can be had."""
    services, classes = capacity.shape
    price = np.zeros(classes)
    best = np.zeros(classes)
    highest = -np.inf
    by_whole = np.zeros((services, classes), dtype=np.int64)
    by_unit = np.zeros((services, classes), dtype=np.int64)
    count = np.zeros((services, classes), dtype=np.int64)
    used = np.zeros(classes)
    weight = 1.0
    for _ in range(STEPS):
        _orders(capacity, fixed, unit, price, by_whole, by_unit)
        value = 0.0
        slope = np.zeros(classes)
        for s in range(services):
            value += fill(
                s, 0, count, free, capacity, load[s], fixed, unit, price, by_whole[s], by_unit[s], spill, used
            )
            slope += used
        for c in range(classes):
            slope[c] -= free[c]
            value -= price[c] * free[c]
        if value > highest:
            highest = value
            best[:] = price
        else:
            weight *= 0.9
        norm = 0.0
        for c in range(classes):
            if slope[c] > 0 or price[c] > 0:
                norm += slope[c] * slope[c]
        if norm <= EXACT or not np.isfinite(value):
            break
        step = weight * max(above - value, EXACT) / norm
        for c in range(classes):
            price[c] = max(0.0, price[c] + step * slope[c])
    return best


@compiled
def _lower(count: Ints, best: Ints, class_by_id: Ints) -> bool:
    """Whether the nodes of `count` are fewer than those of `best`, or as many with the first difference at a lower id."""
    classes = count.shape[1]
    mine = np.zeros(classes, dtype=np.int64)
    other = np.zeros(classes, dtype=np.int64)
    for c in range(classes):
        mine[c] = count[:, c].sum()
        other[c] = best[:, c].sum()
    if mine.sum() != other.sum():
        return bool(mine.sum() < other.sum())
    for c in class_by_id:
        mine[c] -= 1
        other[c] -= 1
        if (mine[c] >= 0) != (other[c] >= 0):
            return bool(mine[c] >= 0)
    return False


@compiled
def search(
    free: Ints,
    capacity: Floats,
    load: Floats,
    fixed: Floats,
    unit: Floats,
    spill: float,
    class_by_id: Ints,
    best_count: Ints,
    best: float,
) -> tuple[float, bool]:
    """The least cost and whether it is proven; `best_count` (S, C) holds counts of cost `best` and receives better ones.

    With infinite `spill`, costs that are equal are told apart by `_lower`; else the search ends at a cost of 0.
    """
    services, classes = capacity.shape
    depth_of_all = services * classes
    price = _prices(free, capacity, load, fixed, unit, spill, best if np.isfinite(best) else load.sum())
    by_whole = np.zeros((services, classes), dtype=np.int64)
    by_unit = np.zeros((services, classes), dtype=np.int64)
    _orders(capacity, fixed, unit, price, by_whole, by_unit)
    unpriced = np.zeros(classes)
    refund = (price * free).sum()
    ties = not np.isfinite(spill)

    left = free.copy()
    count = np.zeros((services, classes), dtype=np.int64)
    value = np.zeros(depth_of_all, dtype=np.int64)
    middle = np.zeros(depth_of_all, dtype=np.int64)
    most = np.zeros(depth_of_all, dtype=np.int64)
    downwards = np.zeros(depth_of_all, dtype=np.bool_)
    before = np.zeros(services + 1)  # the priced cost of the services before
    used = np.zeros(classes)
    visits = 0
    d = 0
    entering = True
    while d >= 0:
        s, c = d // classes, d % classes
        if entering:
            fill(s, c, count, left, capacity, load[s], fixed, unit, price, by_whole[s], by_unit[s], spill, used)
            most[d] = 0
            if capacity[s, c] > 0:
                most[d] = min(left[c], int(np.ceil(load[s] / capacity[s, c] - EXACT)))
            middle[d] = min(most[d], int(np.ceil(used[c] - EXACT)))
            value[d] = middle[d]
            downwards[d] = False
            entering = False
        if not downwards[d] and value[d] > most[d]:
            downwards[d] = True
            value[d] = middle[d] - 1
        if downwards[d] and value[d] < 0:
            d -= 1
            if d >= 0:
                s, c = d // classes, d % classes
                left[c] += count[s, c]
                count[s, c] = 0
                value[d] += -1 if downwards[d] else 1
            continue
        visits += 1
        if visits > VISITS:
            return best, False
        count[s, c] = value[d]
        left[c] -= value[d]
        here = fill(s, c + 1, count, left, capacity, load[s], fixed, unit, price, by_whole[s], by_unit[s], spill, used)
        bound = before[s] + here - refund
        for other in range(s + 1, services):
            bound += fill(
                other, 0, count, left, capacity, load[other], fixed, unit, price, by_whole[other], by_unit[other], spill, used
            )
        slack = EXACT * (1.0 + abs(best)) if np.isfinite(best) else 0.0
        if (bound > best + slack) if ties else (bound >= best - slack) or not np.isfinite(bound):
            left[c] += count[s, c]
            count[s, c] = 0
            if downwards[d]:
                value[d] = -1
            else:
                downwards[d] = True
                value[d] = middle[d] - 1
            continue
        if d < depth_of_all - 1:
            if c == classes - 1:
                before[s + 1] = before[s] + here
            d += 1
            entering = True
            continue
        cost = 0.0
        for each in range(services):
            cost += fill(
                each, classes, count, left, capacity, load[each], fixed, unit, unpriced, by_whole[each], by_unit[each], spill, used
            )
        if cost < best - slack or (ties and cost <= best + slack and _lower(count, best_count, class_by_id)):
            best = min(best, cost)
            best_count[:] = count
            if not ties and best <= EXACT * (1.0 + load.sum()):
                return best, True
        left[c] += count[s, c]
        count[s, c] = 0
        value[d] += -1 if downwards[d] else 1
    return best, True


@compiled
def least_excess(free: Ints, capacity: Floats, load: Floats, count: Ints) -> tuple[float, bool]:
    """The least load that nodes of one service each leave unserved, and whether it is proven; `count` receives nodes."""
    greedy = _greedy(free, capacity, load, count)
    if greedy <= EXACT * (1.0 + load.sum()):
        return 0.0, True
    for s in range(len(load)):
        if (capacity[s] * free).sum() < load[s] * (1.0 - EXACT) and len(load) == 1:
            return greedy, True
    nothing = np.zeros_like(capacity)
    none = np.zeros(0, dtype=np.int64)
    return search(free, capacity, load, nothing, nothing, 1.0, none, count, greedy)


@compiled
def _greedy(free: Ints, capacity: Floats, load: Floats, count: Ints) -> float:
    """Nodes one at a time to the service that lacks the largest part of its load; returns what is left unserved."""
    services, classes = capacity.shape
    left = free.copy()
    rest = load.copy()
    count[:] = 0
    shut = np.zeros(services, dtype=np.bool_)
    while True:
        s, lacking = -1, EXACT
        for each in range(services):
            if not shut[each] and load[each] > 0 and rest[each] / load[each] > lacking:
                s, lacking = each, rest[each] / load[each]
        if s < 0:
            break
        best = -1
        for c in range(classes):
            if left[c] > 0 and capacity[s, c] > 0:
                if best < 0:
                    best = c
                elif capacity[s, c] >= rest[s]:  # the smallest that is enough
                    if capacity[s, best] < rest[s] or capacity[s, c] < capacity[s, best]:
                        best = c
                elif capacity[s, best] < rest[s] and capacity[s, c] > capacity[s, best]:
                    best = c
        if best < 0:
            shut[s] = True
            continue
        left[best] -= 1
        count[s, best] += 1
        rest[s] -= capacity[s, best]
    total = 0.0
    for s in range(services):
        if rest[s] > EXACT * load[s]:
            total += rest[s]
    return total


@compiled
def cheapest_nodes(
    free: Ints, capacity: Floats, load: Floats, fixed: Floats, unit: Floats, class_by_id: Ints, count: Ints
) -> tuple[float, float, bool]:
    """Cost, excess and whether they are proven; `count` (S, C) receives the nodes.

    Where nodes cannot take all loads, those of the least excess are taken, whatever they cost.
    """
    excess, proven = least_excess(free, capacity, load, count)
    classes = len(free)
    none = np.zeros(classes)
    order = np.arange(classes)
    used = np.zeros(classes)
    if excess > EXACT * (1.0 + load.sum()):
        return np.inf, excess, proven
    services = len(load)
    by_whole = np.zeros((services, classes), dtype=np.int64)
    by_unit = np.zeros((services, classes), dtype=np.int64)
    _orders(capacity, fixed, unit, none, by_whole, by_unit)
    best = 0.0
    for s in range(services):
        best += fill(s, classes, count, free, capacity, load[s], fixed, unit, none, order, by_unit[s], np.inf, used)
    best, proven = search(free, capacity, load, fixed, unit, np.inf, class_by_id, count, best)
    return best, 0.0, proven
