"""The cheapest nodes that serve some loads, one service a node: branch and bound over counts of equal nodes.

Nodes of a class c are alike. Service s on m nodes of class c can take m * capacity[s, c] of its load; a node costs
`whole[s, c]`, a unit of load `unit[s, c]`. Wanted are counts n[s, c] with sum_s n[s, c] <= free[c] and loads within the
capacities at least total cost. What no node takes (the excess) costs `spill` a unit; infinite: it must not be.

Bound: prices on the nodes of a class (Lagrange multipliers of the rows of `free`, found by subgradient steps) take the
services apart, and each service's relaxation is a fractional fill by rising cost of a unit of load. The bound is the
value of a linear program and so convex in a count that is fixed: counts are tried from the relaxation's own value
upwards and then downwards, and a direction ends with the first count whose bound is too high and not falling. A search
ends after `VISITS` counts; what is found then is said not to be proven.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gpusched_dsl.ir.arrays import Floats, Ints
from gpusched_dsl.policies.kernels.compiled import compiled, compiled_in_place

VISITS = 6_000
STEPS = 60
EXACT = 1e-9  # relative: loads and costs that differ by less are equal


class Cover(NamedTuple):
    """The problem. S services, C classes."""

    free: Ints  # (C,)
    capacity: Floats  # (S, C)
    load: Floats  # (S,)
    whole: Floats  # (S, C)
    unit: Floats  # (S, C)
    spill: float


class _Orders(NamedTuple):
    """Prices of nodes, and the classes of each service by the cost of a unit of load with and without its node."""

    price: Floats  # (C,)
    by_whole: Ints  # (S, C)
    by_unit: Ints  # (S, C)


@compiled_in_place
def sort(key: Floats, order: Ints) -> None:
    """Return the positions of `key` by increasing value, ties in their order."""
    for i in range(len(order)):
        place = i
        while place > 0 and key[order[place - 1]] > key[i]:
            order[place] = order[place - 1]
            place -= 1
        order[place] = i


@compiled_in_place
def _fill(cover: Cover, orders: _Orders, s: int, fixed: int, count: Ints, left: Ints, used: Floats) -> float:
    """Return the least priced cost of service s: counts of classes before `fixed` are given, of the others `left` nodes
    are available and may be used in part. `used` (C,) receives the used nodes of each class.
    """
    classes = len(left)
    capacity, unit = cover.capacity[s], cover.unit[s]
    found = 0.0
    for c in range(classes):
        used[c] = 0.0
        if c < fixed:
            used[c] = count[s, c]
            found += count[s, c] * (cover.whole[s, c] + orders.price[c])
    rest = cover.load[s]
    least = EXACT * rest
    p, q = 0, 0
    while rest > least:
        while p < classes:
            c = orders.by_whole[s, p]
            if c >= fixed and left[c] > 0 and capacity[c] > 0:
                break
            p += 1
        while q < classes:
            c = orders.by_unit[s, q]
            if c < fixed and count[s, c] > 0 and capacity[c] > 0:
                break
            q += 1
        cost = np.inf
        nodes = 0
        open_ = False
        if q < classes:
            cost, nodes = unit[orders.by_unit[s, q]], count[s, orders.by_unit[s, q]]
        if p < classes:
            c = orders.by_whole[s, p]
            with_node = unit[c] + (cover.whole[s, c] + orders.price[c]) / capacity[c]
            if with_node < cost:
                cost, nodes, open_ = with_node, left[c], True
        if cost >= cover.spill:
            break
        c = orders.by_whole[s, p] if open_ else orders.by_unit[s, q]
        take = min(rest, capacity[c] * nodes)
        found += take * cost
        rest -= take
        if open_:
            used[c] += take / capacity[c]
            p += 1
        else:
            q += 1
    return found + rest * cover.spill if rest > least else found


@compiled_in_place
def _bound(
    cover: Cover, orders: _Orders, s: int, fixed: int, count: Ints, left: Ints, used: Floats
) -> tuple[float, float, float]:
    """Return, for service s with counts before `fixed` given, and the services after it: the cost of s, the total cost,
    and the number of used nodes of the class whose count is given next.
    """
    services, classes = cover.capacity.shape
    first, found, ahead = 0.0, 0.0, 0.0
    for other in range(s, services):
        cost = _fill(cover, orders, other, fixed if other == s else 0, count, left, used)
        found += cost
        if other == s:
            first = cost
            if fixed < classes:
                ahead = used[fixed]
        elif other == s + 1 and fixed == classes:
            ahead = used[0]
    return first, found, ahead


@compiled
def _order(cover: Cover, orders: _Orders) -> None:
    """Both orders under the prices of nodes."""
    services, classes = cover.capacity.shape
    key = np.zeros(classes)
    for s in range(services):
        for priced in range(2):
            for c in range(classes):
                key[c] = np.inf
                if cover.capacity[s, c] > 0:
                    key[c] = cover.unit[s, c]
                    if priced:
                        key[c] += (cover.whole[s, c] + orders.price[c]) / cover.capacity[s, c]
            sort(key, orders.by_whole[s] if priced else orders.by_unit[s])


@compiled
def _find_prices(cover: Cover, orders: _Orders, above: float) -> None:
    """Find prices of nodes that make the bound large, by subgradient steps; `above` is an achievable cost."""
    services, classes = cover.capacity.shape
    count = np.zeros((services, classes), dtype=np.int64)
    best = np.zeros(classes)
    used = np.zeros(classes)
    slope = np.zeros(classes)
    highest = -np.inf
    weight = 1.0
    for _ in range(STEPS):
        _order(cover, orders)
        value = 0.0
        for c in range(classes):
            slope[c] = 0.0
        for s in range(services):
            value += _fill(cover, orders, s, 0, count, cover.free, used)
            for c in range(classes):
                slope[c] += used[c]
        norm = 0.0
        for c in range(classes):
            slope[c] -= cover.free[c]
            value -= orders.price[c] * cover.free[c]
            if slope[c] > 0 or orders.price[c] > 0:
                norm += slope[c] * slope[c]
        if value > highest:
            highest = value
            for c in range(classes):
                best[c] = orders.price[c]
        else:
            weight *= 0.9
        if norm <= EXACT or value >= above:
            break
        step = weight * (above - value) / norm
        for c in range(classes):
            orders.price[c] = max(0.0, orders.price[c] + step * slope[c])
    for c in range(classes):
        orders.price[c] = best[c]
    _order(cover, orders)


@compiled
def _lower(count: Ints, best: Ints, class_by_id: Ints) -> bool:
    """Whether `count` has fewer nodes than `best`, or as many with the first difference at a lower id."""
    services, classes = count.shape
    mine = np.zeros(classes, dtype=np.int64)
    other = np.zeros(classes, dtype=np.int64)
    more = 0
    for s in range(services):
        for c in range(classes):
            mine[c] += count[s, c]
            other[c] += best[s, c]
            more += count[s, c] - best[s, c]
    if more != 0:
        return more < 0
    for c in class_by_id:
        mine[c] -= 1
        other[c] -= 1
        if (mine[c] >= 0) != (other[c] >= 0):
            return bool(mine[c] >= 0)
    return False


@compiled
def search(cover: Cover, class_by_id: Ints, best_count: Ints, best: float) -> tuple[float, bool]:
    """The least cost and whether it is proven; `best_count` (S, C) are counts of cost `best` and receives better ones.

    Where there must be no excess, costs that are equal are told apart by fewer nodes and lower ids (`class_by_id`: the
    classes of the free nodes by rising id); else the search ends at a cost of 0.
    """
    services, classes = cover.capacity.shape
    depths = services * classes
    orders = _Orders(
        np.zeros(classes), np.zeros((services, classes), dtype=np.int64), np.zeros((services, classes), dtype=np.int64)
    )
    _find_prices(cover, orders, best)
    refund = 0.0
    for c in range(classes):
        refund += orders.price[c] * cover.free[c]
    ties = cover.spill == np.inf
    slack = EXACT * (1.0 + abs(best))

    left = cover.free.copy()
    count = np.zeros((services, classes), dtype=np.int64)
    value = np.zeros(depths, dtype=np.int64)
    middle = np.zeros(depths, dtype=np.int64)
    most = np.zeros(depths, dtype=np.int64)
    upwards = np.ones(depths, dtype=np.int64)
    last = np.zeros(depths)  # the bound at the count tried before
    first = np.zeros(depths)  # the bound at the middle
    before = np.zeros(services + 1)  # the priced cost of the services before
    used = np.zeros(classes)
    _, bound, ahead = _bound(cover, orders, 0, 0, count, left, used)
    if not (bound - refund <= best + slack if ties else bound - refund < best - slack):
        return best, True
    d = 0
    entering = True
    for _ in range(VISITS):
        s, c = d // classes, d % classes
        if entering:
            most[d] = 0
            if cover.capacity[s, c] > 0:
                most[d] = min(left[c], int(np.ceil(cover.load[s] / cover.capacity[s, c] - EXACT)))
            middle[d] = min(most[d], int(np.ceil(ahead - EXACT)))
            value[d] = middle[d]
            upwards[d] = 1
            last[d] = np.inf
            entering = False
        if upwards[d] == 1 and value[d] > most[d]:
            upwards[d] = 0
            value[d] = middle[d] - 1
            last[d] = first[d]
        if value[d] < 0:
            d -= 1
            if d < 0:
                return best, True
            s, c = d // classes, d % classes
            left[c] += count[s, c]
            count[s, c] = 0
            value[d] += 2 * upwards[d] - 1
            continue
        count[s, c] = value[d]
        left[c] -= value[d]
        here, bound, ahead = _bound(cover, orders, s, c + 1, count, left, used)
        bound += before[s] - refund
        rising = last[d] <= bound and last[d] < np.inf
        last[d] = bound
        if value[d] == middle[d]:
            first[d] = bound
        within = bound <= best + slack if ties else bound < best - slack
        if within and d < depths - 1:
            if c == classes - 1:
                before[s + 1] = before[s] + here
            d += 1
            entering = True
            continue
        if within:  # all counts are given: the bound less the price of nodes that are not taken is the cost
            cost = bound
            for each in range(classes):
                cost += orders.price[each] * left[each]
            if cost < best - slack or (ties and cost <= best + slack and _lower(count, best_count, class_by_id)):
                best = min(best, cost)
                for each in range(depths):
                    best_count[each // classes, each % classes] = count[each // classes, each % classes]
                slack = EXACT * (1.0 + abs(best))
                if not ties and best <= slack:
                    return best, True
        left[c] += count[s, c]
        count[s, c] = 0
        if within or not rising:
            value[d] += 2 * upwards[d] - 1
        elif upwards[d] == 1:
            upwards[d] = 0
            value[d] = middle[d] - 1
            last[d] = first[d]
        else:
            value[d] = -1
    return best, False


@compiled
def least_excess(free: Ints, capacity: Floats, load: Floats, count: Ints) -> tuple[float, bool]:
    """The least load that nodes of one service each leave unserved, and whether it is proven, with `count` of nodes."""
    found = greedy(free, capacity, load, count)
    if found == 0.0:
        return 0.0, True
    nothing = np.zeros(capacity.shape)
    cover = Cover(free, capacity, load, nothing, nothing, 1.0)
    return search(cover, np.zeros(0, dtype=np.int64), count, found)


@compiled
def greedy(free: Ints, capacity: Floats, load: Floats, count: Ints) -> float:
    """Assign nodes one at a time to the service that lacks the largest part of its load: the smallest sufficient node,
    else the largest. Return the unserved load.
    """
    services, classes = capacity.shape
    left = free.copy()
    rest = load.copy()
    for s in range(services):
        for c in range(classes):
            count[s, c] = 0
    unserved = 0.0
    while True:
        s, lacking = -1, EXACT
        for each in range(services):
            if load[each] > 0 and rest[each] / load[each] > lacking:
                s, lacking = each, rest[each] / load[each]
        if s < 0:
            return unserved
        best = -1
        for c in range(classes):
            if left[c] > 0 and capacity[s, c] > 0:
                least = capacity[s, best] if best >= 0 else 0.0
                if least < rest[s]:
                    if capacity[s, c] > least:
                        best = c
                elif rest[s] <= capacity[s, c] < least:
                    best = c
        if best < 0:
            unserved += rest[s]
            rest[s] = 0.0
        else:
            left[best] -= 1
            count[s, best] += 1
            rest[s] -= capacity[s, best]


@compiled
def cost_of(cover: Cover, count: Ints) -> float:
    """Return the cost of given nodes with the cheapest distribution of the loads; infinite if they cannot
    serve them.
    """
    services, classes = cover.capacity.shape
    orders = _Orders(
        np.zeros(classes), np.zeros((services, classes), dtype=np.int64), np.zeros((services, classes), dtype=np.int64)
    )
    _order(cover, orders)
    used = np.zeros(classes)
    found = 0.0
    for s in range(services):
        found += _fill(cover, orders, s, classes, count, cover.free, used)
    return found
