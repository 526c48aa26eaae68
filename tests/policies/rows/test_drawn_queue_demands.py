"""Demands of random models of queues are met by every policy wherever its ways allow that, which a solver decides."""

from __future__ import annotations

from functools import cache

import pytest
from drawn_queues import DEMANDS, broken_queue_rules, drawn_queue_demands
from test_drawn_queues import POLICIES, queues_of

import gpusched_dsl as gs

SEEDS = 72
SORTED = """
  constraint sorted[n in Nodes, p in Places where p > 1]: sum[j in Jobs where (j, n) in Runs] time[j, n] * run[j, n, p]
    <= sum[j in Jobs where (j, n) in Runs] time[j, n] * run[j, n, p-1];
  placement run"""


@cache
def can_be_met(seed: int, *, is_sorted: bool) -> bool:
    text = drawn_queue_demands(seed).text
    text = text.replace("\n  placement run", SORTED) if is_sorted else text
    return str(gs.loads(text).solve().status) == "optimal"


def assert_met(seed: int) -> None:
    one = drawn_queue_demands(seed)
    for policy in POLICIES:
        result = gs.loads(one.text).solve(backend=policy)
        if not can_be_met(seed, is_sorted="Sorted" in policy):
            assert result.status == "broken", policy
            continue
        assert broken_queue_rules(one, queues_of(one, result)) == [], policy
        assert result.status == "feasible", policy


def test_all_demands_are_drawn_and_most_can_be_met() -> None:
    assert {drawn_queue_demands(seed).rules[0] for seed in range(SEEDS)} == set(DEMANDS)
    assert sum(can_be_met(seed, is_sorted=True) for seed in range(12)) >= 7


@pytest.mark.parametrize("seed", [3, 34])
def test_demands_are_met(seed: int) -> None:
    """Another order of the queue meets those of the first; those of the second have no such order."""
    assert_met(seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(SEEDS))
def test_all_demands_are_met(seed: int) -> None:
    assert_met(seed)
