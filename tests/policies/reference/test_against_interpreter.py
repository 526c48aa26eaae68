"""Every policy on nodes gives the plan that a slow interpreter of its described steps gives, on random decisions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache

import numpy as np
import pytest
from all_jobs import Undetermined
from comparing import GENERIC_NAMES, Decision, decision_of, some_facts, some_of
from drawing_interpreter import plans_of_passes
from instance_reader import Code
from interpreter import Allows
from queue_interpreter import Queues, queue_text
from random_decisions import DRAWING, POLICIES, WORLDS, Drawn, drawn, with_side_rows
from shipped import DEMANDS, SHIPPED, policies_for

from gpusched_dsl.language.checked_policy import CheckedPolicy
from gpusched_dsl.policies.job_facts import JobFacts

NAMES = (*POLICIES, *(name for name in GENERIC_NAMES if name != "MaxMin"))


def keeps(policy: CheckedPolicy, what: str) -> bool:
    return any(rule.name == what for rule in policy.keep)


def node_at(decision: Decision) -> int:
    placement = decision.scenario.model.placement
    assert placement is not None
    at = placement.position("node")
    assert at is not None
    return at


def stay(decision: Decision, plan: set[Code], running: Sequence[Code]) -> int:
    """How many jobs, the first index, stay on their node."""
    at = node_at(decision)
    return len({(e[0], e[at]) for e in plan} & {(e[0], e[at]) for e in running})


def nodes_by_kind(decision: Decision, policy: CheckedPolicy, plan: set[Code]) -> list[tuple[int, list[Code]]]:
    """The jobs of each node, without its name: nodes of one kind are equal."""
    at, kinds = node_at(decision), decision.instance(policy).node_kind
    found = {node: sorted(e[:at] + e[at + 1 :] for e in plan if e[at] == node) for node in {e[at] for e in plan}}
    return sorted((kinds[node].number, jobs) for node, jobs in found.items())


def plans(
    decision: Decision,
    policies: Sequence[CheckedPolicy],
    rng: np.random.Generator,
    known: JobFacts | None = None,
    allows: Allows | None = None,
) -> Iterator[tuple[str, object, object]]:
    """The plan of each policy and what the interpreter expects: without and with running jobs."""
    running: list[Code] = []
    for policy in policies:
        for now in ([], running) if policy.keep and running else ([],):
            plan, expected = decision.plan(policy, now, known), decision.expected(policy, now, known, allows)
            if now and keeps(policy, "nodes"):  # equal nodes are exchanged, for jobs to stay
                assert stay(decision, plan, now) >= stay(decision, expected, now)
                yield policy.name, nodes_by_kind(decision, policy, plan), nodes_by_kind(decision, policy, expected)
            else:
                yield policy.name, plan, expected
        running = some_of(plan, rng)


def assert_equal_plans(seed: int, names: Sequence[str] = NAMES, *, ties: bool = True, rows: bool = False) -> None:
    one, allows = drawn(seed, ties=ties), None
    if rows:
        one, allows = with_side_rows(one, seed)
    decision, rng = decision_of(one.text), np.random.default_rng(seed)
    known = some_facts(len(one.owner), rng) if seed % 2 else None
    for name, plan, expected in plans(decision, [decision.policy(name) for name in names], rng, known, allows):
        assert plan == expected, (seed, name)


def draws_are_among_passes(seed: int) -> int:
    """Return for how many policies passes gave several plans; the kept one is as cheap as any."""
    decision, running, several = decision_of(drawn(seed).text), list[Code](), 0
    rng = np.random.default_rng(seed)
    for name in DRAWING:
        policy = decision.whole_policy(name)
        now = running if policy.keep else []
        plan = decision.plan(policy, now)
        passes = plans_of_passes(policy, decision.instance(policy), decision.store, now, 0, 6)
        least = min(cost for cost, _ in passes)
        assert plan in [one for cost, one in passes if cost <= least + 1e-9 * abs(least)], (seed, name)
        several += len({one for _, one in passes}) > 1
        running = some_of(plan, rng)
    return several


def max_min_is_equal(seed: int) -> bool:
    """Whether the shares of time are determined; plans are equal then."""
    try:
        assert_equal_plans(seed, ["MaxMin"], ties=False)
    except Undetermined:
        return False
    return True


# --- random models ---------------------------------------------------------------------------------------------------


@pytest.mark.quick(4)
@pytest.mark.parametrize("seed", range(9))
def test_plans_follow_the_described_steps(seed: int) -> None:
    assert_equal_plans(seed)


@pytest.mark.slow
@pytest.mark.parametrize("batch", range(30))
def test_many_plans_follow_the_described_steps(batch: int) -> None:
    for seed in range(10 * batch, 10 * batch + 10):
        assert_equal_plans(seed)


@pytest.mark.quick(2)
@pytest.mark.parametrize("seed", range(5))
def test_plans_obey_side_rows_place_by_place(seed: int) -> None:
    assert_equal_plans(seed, rows=True, ties=False)


@pytest.mark.slow
@pytest.mark.parametrize("batch", range(12))
def test_many_plans_obey_side_rows_place_by_place(batch: int) -> None:
    for seed in range(5 * batch, 5 * batch + 5):
        assert_equal_plans(seed, rows=True)


@pytest.mark.quick(4)
@pytest.mark.parametrize("seed", range(9))
def test_drawn_plans_follow_the_described_steps(seed: int) -> None:
    draws_are_among_passes(seed)


@pytest.mark.slow
@pytest.mark.parametrize("batch", range(30))
def test_many_drawn_plans_follow_the_described_steps(batch: int) -> None:
    assert sum(draws_are_among_passes(seed) for seed in range(10 * batch, 10 * batch + 10)) >= 30


def test_max_min_follows_the_described_steps() -> None:
    assert sum(max_min_is_equal(seed) for seed in range(16)) >= 8


@pytest.mark.slow
@pytest.mark.parametrize("batch", range(6))
def test_many_plans_of_max_min_follow_the_described_steps(batch: int) -> None:
    assert sum(max_min_is_equal(seed) for seed in range(50 * batch, 50 * batch + 50)) >= 25


# --- the standard library --------------------------------------------------------------------------------------------


def assert_equal_plans_of_the_library(model: str, seed: int, names: Sequence[str]) -> None:
    decision = decision_of(SHIPPED[model][1](seed))
    policies = [decision.policy(name, without=DEMANDS) for name in names]
    for name, plan, expected in plans(decision, policies, np.random.default_rng(seed)):
        assert plan == expected, (model, seed, name)


@pytest.mark.parametrize("model", SHIPPED)
def test_policies_of_the_library_follow_their_steps(model: str) -> None:
    assert_equal_plans_of_the_library(model, 0, policies_for(model))


@pytest.mark.slow
@pytest.mark.parametrize("batch", range(20))
@pytest.mark.parametrize("model", SHIPPED)
def test_many_plans_of_the_library_follow_their_steps(model: str, batch: int) -> None:
    for seed in range(15 * batch, 15 * batch + 15):
        assert_equal_plans_of_the_library(model, seed, policies_for(model))


def assert_equal_queues(seed: int) -> None:
    decision = decision_of(queue_text(seed))
    for name in decision.workspace.policies:
        policy = decision.policy(name)
        assert decision.plan(policy) == Queues(policy, decision.store).run(), (seed, name)


@pytest.mark.parametrize("seed", range(4))
def test_queues_of_the_library_follow_their_steps(seed: int) -> None:
    assert_equal_queues(seed)


@pytest.mark.slow
@pytest.mark.parametrize("batch", range(6))
def test_many_queues_of_the_library_follow_their_steps(batch: int) -> None:
    for seed in range(50 * batch, 50 * batch + 50):
        assert_equal_queues(seed)


# --- what is drawn ---------------------------------------------------------------------------------------------------


@cache
def drawn_plans(seed: int) -> tuple[Drawn, set[Code], set[Code], Callable[[Sequence[Code]], bool]]:
    """A decision, the plan of one policy without and with side rows, and these rows."""
    one = drawn(seed)
    limited, allows = with_side_rows(one, seed)
    free, bound = (decision_of(text).plan(decision_of(text).policy("Fit")) for text in (one.text, limited.text))
    return one, free, bound, allows


def test_the_drawn_decisions_have_all_that_is_compared() -> None:
    found = [drawn_plans(seed) for seed in range(18)]
    assert {one.world for one, *_ in found} == set(WORLDS)
    assert sum(len(free) > 1 for _, free, *_ in found) >= 12
    assert sum(free != bound for _, free, bound, _ in found) >= 9
    assert all(allows(list(bound)) for *_, bound, allows in found)
    assert any(amount < 1 for one, *_ in found for amount in one.amount)
    assert len([name for model in SHIPPED for name in policies_for(model)]) > 50
