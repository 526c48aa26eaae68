"""The nodes of one gang under random rows against enumeration: found where there are some, and nothing left behind."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from building import INF, Row, problem

from gpusched_dsl.ir.arrays import Floats, Ints
from gpusched_dsl.policies.gangs.workload import GangWorkload
from gpusched_dsl.policies.kernels.gang_candidates import EXCLUDED, SEATED, make_search, seat
from gpusched_dsl.policies.kernels.gang_nodes import ANYWHERE, ONE_NODE, ONE_RACK
from gpusched_dsl.policies.kernels.row_guard import REFUSING, RowGuard, arrays_of, commit, settle, take
from gpusched_dsl.policies.rows.guard import guard_of
from gpusched_dsl.policies.workload import NONE

RULES = ("rack_cap", "share", "weights", "few_nodes", "one_rack", "half_in_rack", "pairs", "apart", "equal", "required")


class Drawn:
    """A gang of `workers` on N nodes with `gpus` each: columns 0 to N - 1, another job has N to 2 N - 1.

    Behind them are binaries of its nodes and racks, and half its workers on each node. `keeps` checks a plan by the
    numbers alone.
    """

    def __init__(self, seed: int) -> None:
        draw = np.random.default_rng([46, seed])
        self.nodes = int(draw.integers(2, 6))
        self.rack = np.sort(np.unique(draw.integers(0, 3, self.nodes), return_inverse=True)[1]).astype(np.int64)
        self.gpus = draw.integers(1, 5, self.nodes)
        self.workers = int(draw.integers(1, max(2, int(self.gpus.sum()))))
        self.rules = [str(rule) for rule in draw.choice(RULES, int(draw.integers(1, 3)), replace=False)]
        self.racks = int(self.rack.max()) + 1
        self.most = draw.integers(1, self.workers + 2, self.racks).tolist()
        self.weight = draw.integers(1, 4, self.nodes).astype(float)
        self.limit = float(draw.integers(1, 2 * self.workers + 2))
        self.few = int(draw.integers(1, 4))
        self.apart = draw.choice(self.nodes, 2, replace=False).tolist()
        self.other = np.where(draw.random(self.nodes) < 0.3, np.minimum(1, self.gpus), 0)  # workers of another job
        self.columns = 2 * self.nodes + self.nodes + self.racks + self.nodes
        self.on, self.in_rack, self.half = 2 * self.nodes, 3 * self.nodes, 3 * self.nodes + self.racks

    def _row(self, entries: dict[int, float], low: float, high: float) -> Row:
        row = np.zeros(self.columns)
        row[list(entries)] = list(entries.values())
        return low, row.tolist(), high

    def rows(self) -> list[Row]:
        own, found = range(self.nodes), []
        for n in own:
            found.append(self._row({n: 1, self.nodes + n: 1}, -INF, float(self.gpus[n])))
            found.append(self._row({n: 1, self.on + n: -float(self.gpus[n])}, -INF, 0))
            found.append(self._row({self.on + n: 1, self.in_rack + int(self.rack[n]): -1}, -INF, 0))
        for rule in self.rules:
            found += self._rows_of(rule)
        return found

    def _rows_of(self, rule: str) -> list[Row]:
        own = range(self.nodes)
        here = [[n for n in own if self.rack[n] == r] for r in range(self.racks)]
        match rule:
            case "rack_cap":
                both = [{c: 1.0 for n in ns for c in (n, self.nodes + n)} for ns in here]
                return [self._row(both[r], -INF, self.most[r]) for r in range(self.racks)]
            case "share":
                return [self._row(dict.fromkeys(own, 1.0), -INF, self.limit)]
            case "weights":
                return [self._row({n: self.weight[n] for n in own}, -INF, self.limit)]
            case "few_nodes":
                return [self._row({self.on + n: 1.0 for n in own}, -INF, self.few)]
            case "one_rack":
                return [self._row({self.in_rack + r: 1.0 for r in range(self.racks)}, -INF, 1)]
            case "half_in_rack":
                return [self._row(dict.fromkeys(ns, 1.0), -INF, (self.workers + 1) // 2) for ns in here]
            case "pairs":
                return [self._row({n: 1, self.half + n: -2}, 0, 0) for n in own]
            case "apart":
                a, b = self.apart
                return [self._row({self.on + a: 1, self.on + b: 1}, -INF, 1)]
            case "equal":  # as many workers on one node as on another
                a, b = self.apart
                return [self._row({a: 1, b: -1}, 0, 0)]
            case _:
                return [self._row({self.apart[0]: 1.0}, 1, INF)]

    def keeps(self, counts: Ints) -> bool:
        nodes = np.flatnonzero(counts)
        in_rack = np.bincount(self.rack, weights=counts, minlength=self.racks)
        others = np.bincount(self.rack, weights=self.other, minlength=self.racks)
        a, b = self.apart
        checks = {
            "rack_cap": (in_rack + others <= np.array(self.most)).all(),
            "share": counts.sum() <= self.limit,
            "weights": counts @ self.weight <= self.limit,
            "few_nodes": len(nodes) <= self.few,
            "one_rack": len(np.unique(self.rack[nodes])) <= 1,
            "half_in_rack": (in_rack <= (self.workers + 1) // 2).all(),
            "pairs": not (counts % 2).any(),
            "apart": not (counts[a] and counts[b]),
            "equal": counts[a] == counts[b],
            "required": counts[a] >= 1,
        }
        return bool((counts + self.other <= self.gpus).all()) and all(checks[rule] for rule in self.rules)

    def work(self) -> GangWorkload:
        """Two jobs with a way on each kind of node, which is that of its GPUs."""
        kinds = 5
        kind = np.tile(np.arange(kinds), 2)
        ones, job = np.ones(2 * kinds), np.repeat(np.arange(2), kinds)
        workers = np.where(job == 0, self.workers, 1)
        whole = ones.astype(np.int64)
        return GangWorkload(
            self.gpus, self.rack, np.arange(kinds), np.zeros((kinds, 0)), np.array([0, kinds, 2 * kinds]),
            np.arange(2 * kinds), job, kind, 0 * whole, 0 * whole, whole, np.zeros((2 * kinds, 0)), workers, workers,
            ones, ones, ones,
        )  # fmt: skip

    def guard(self) -> RowGuard | None:
        """The guard with the other job entered, None where rows exclude that."""
        upper: Floats = np.ones(self.columns)
        upper[: 2 * self.nodes] = np.tile(self.gpus, 2)
        upper[self.half :] = 5
        one = problem(columns=self.columns, rows=self.rows(), upper=upper.tolist(), integer=True)
        kinds, column = 5, np.arange(2 * self.nodes)
        first = np.repeat([0, self.nodes], kinds)
        workers = np.array([self.workers, int(self.other.sum())])
        guard = guard_of(one, first, np.arange(self.nodes), column, column // self.nodes, workers)
        for n in range(self.nodes):
            if not take(guard, self.nodes + n, float(self.other[n])):
                return None
        if not settle(guard):
            return None
        commit(guard)
        return guard


def plans(one: Drawn) -> list[Ints]:
    """All ways to put the workers on nodes that keep the rows."""
    found = (np.array(counts) for counts in product(*(range(int(g) + 1) for g in one.gpus)))
    return [counts for counts in found if counts.sum() == one.workers and one.keeps(counts)]


def spread(one: Drawn, counts: Ints) -> int:
    nodes = np.flatnonzero(counts)
    return ONE_NODE if len(nodes) == 1 else ONE_RACK if len(np.unique(one.rack[nodes])) == 1 else ANYWHERE


def state(guard: RowGuard) -> list[list[float]]:
    arrays = arrays_of(guard)
    return [arrays.bounds.tolist(), arrays.sums.tolist(), arrays.infinite.tolist(), arrays.queued.tolist()]


@pytest.mark.quick(100)
@pytest.mark.parametrize("seed", range(250))
def test_nodes_are_found_as_near_as_rows_allow(seed: int) -> None:
    one = Drawn(seed)
    guard = one.guard()
    expected = plans(one)
    if guard is None:
        assert not expected
        return
    work = one.work()
    search = make_search(work, guard)
    search.way_on[:] = np.arange(5)
    least = min((spread(one, counts) for counts in expected), default=None)
    for span in (ONE_NODE, ONE_RACK, ANYWHERE):
        before = state(guard)
        search.rest[:] = search.most[:] = one.gpus - one.other
        guard.ints[REFUSING] = NONE
        outcome = seat(work, np.zeros(one.nodes, dtype=np.bool_), 0, one.workers, span, search, guard)
        if outcome == SEATED:
            assert search.counts.sum() == one.workers
            assert one.keeps(search.counts)
            assert span == least
            assert (
                arrays_of(guard).bounds[: one.nodes].tolist() == np.repeat(search.counts[:, None], 2, axis=1).tolist()
            )
            return
        assert least is None or span < least
        assert state(guard) == before
        if outcome == EXCLUDED:
            assert least is None
            assert guard.ints[REFUSING] != NONE
            return
    assert least is None


def test_a_row_over_all_nodes_ends_the_search_at_once() -> None:
    """No node by itself is in conflict with the share of a team, so a search would try them all."""
    one = Drawn(0)
    one.nodes, one.racks, one.workers, one.rules = 12, 3, 20, ["share"]
    one.gpus, one.rack, one.other = np.full(12, 4), np.repeat([0, 1, 2], 4), np.zeros(12, dtype=np.int64)
    one.on, one.in_rack, one.half, one.columns = 24, 36, 39, 51
    for limit, expected in ((19.0, EXCLUDED), (20.0, SEATED)):
        one.limit = limit
        guard, work = one.guard(), one.work()
        assert guard is not None
        search = make_search(work, guard)
        search.way_on[:] = np.arange(5)
        search.rest[:] = search.most[:] = one.gpus
        assert seat(work, np.zeros(12, dtype=np.bool_), 0, 20, ANYWHERE, search, guard) == expected
