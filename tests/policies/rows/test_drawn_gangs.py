"""Every policy for gangs obeys rows that no role states, in random models, by a check from the drawn numbers alone."""

from __future__ import annotations

from functools import cache

import pytest
from drawn_gangs import RULES, DrawnGangs, Place, broken_rules, cost, drawn_gangs

import gpusched_dsl as gs

POLICIES = ("FIFO", "SJF", "SRTF", "LAS", "EASY", "Conservative", "FairShare", "MaxMin", "Queue")
SEEDS = 36


@cache
def best(seed: int) -> float:
    found = gs.loads(drawn_gangs(seed).text).solve(gap=0)
    assert found.objective is not None
    return found.objective


def places_in(result: gs.Result) -> list[Place]:
    return [(str(j), str(n), round(count)) for j, n, count in result["worker"].rows() if count > 0.5]


def assert_obeys(one: DrawnGangs, policy: str) -> None:
    result = gs.loads(one.text).solve(backend=policy)
    places = places_in(result)
    assert broken_rules(one, places) == [], policy
    assert result.status == "feasible", policy
    assert result.objective == pytest.approx(cost(one, places))
    assert result.objective is not None
    assert result.objective >= best(one.seed) - 1e-6


def test_all_rules_are_drawn() -> None:
    assert {rule for seed in range(12) for rule in drawn_gangs(seed).rules} == set(RULES)


@pytest.mark.quick(4)
@pytest.mark.parametrize("seed", [*range(12), 17])  # 17: one of a pair can never run
def test_every_policy_obeys(seed: int) -> None:
    for policy in POLICIES:
        assert_obeys(drawn_gangs(seed), policy)


@pytest.mark.quick(2)
@pytest.mark.parametrize("seed", [51, 119, 143])
@pytest.mark.parametrize("policy", ["FIFO", "MaxMin"])
def test_a_team_gets_its_gang_where_no_order_of_all_jobs_leaves_room(seed: int, policy: str) -> None:
    """Gangs of nodes of several sizes: `MaxMin` has no rule that places them, so a solver does."""
    assert_obeys(drawn_gangs(seed), policy)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [s for s in range(12, SEEDS) if s != 17])
def test_every_policy_obeys_more(seed: int) -> None:
    for policy in POLICIES:
        assert_obeys(drawn_gangs(seed), policy)
