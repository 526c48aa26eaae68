"""Every policy for queues obeys rows that no role states, in random models, by a check from the drawn numbers alone."""

from __future__ import annotations

from itertools import pairwise

import pytest
from drawn_queues import RULES, DrawnQueues, broken_queue_rules, drawn_queues

import gpusched_dsl as gs
from gpusched_dsl.policies.queues import run

POLICIES = ("Fastest", "FastestSorted", "Earliest", "EarliestSorted")
SEEDS = 32


def queues_of(one: DrawnQueues, result: gs.Result) -> dict[str, list[str]]:
    found: dict[str, list[tuple[int, str]]] = {}
    for job, node, place, value in result["run"].rows():
        if value > 0.5:
            found.setdefault(node, []).append((place, job))
    for queue in found.values():
        assert sorted(place for place, _ in queue) == list(range(1, len(queue) + 1))
    return {node: [job for _, job in sorted(queue, reverse=True)] for node, queue in found.items()}


def may_still_wait_at_the_end(one: DrawnQueues, queues: dict[str, list[str]]) -> list[tuple[str, str]]:
    """Return the queues that would take a job behind all others, of jobs that are in no queue."""
    out = [j for j in one.jobs if all(j not in queue for queue in queues.values())]
    return [
        (j, n) for j in out for n in one.nodes if not broken_queue_rules(one, {**queues, n: [*queues.get(n, []), j]})
    ]


def assert_all_obey(seed: int) -> None:
    one = drawn_queues(seed)
    for policy in POLICIES:
        result = gs.loads(one.text).solve(backend=policy)
        queues = queues_of(one, result)
        assert broken_queue_rules(one, queues) == [], policy
        assert result.status == "feasible", policy
        assert queues, policy
        if "Sorted" in policy:
            assert all(one.time[a, n] <= one.time[b, n] for n, queue in queues.items() for a, b in pairwise(queue))
        else:  # a job that was refused once is refused by the complete queues too
            assert may_still_wait_at_the_end(one, queues) == [], policy


def test_all_rules_are_drawn_and_most_bind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "first_that_obeys", lambda first, *_: first)
    models = [drawn_queues(seed) for seed in range(SEEDS)]
    assert {rule for one in models for rule in one.rules} == set(RULES)
    plans = [queues_of(one, gs.loads(one.text).solve(backend="Fastest")) for one in models]
    broken = [rules for one, queues in zip(models, plans, strict=True) if (rules := broken_queue_rules(one, queues))]
    assert len(broken) > SEEDS / 2


@pytest.mark.quick(5)
@pytest.mark.parametrize("seed", range(0, SEEDS, 3))
def test_every_policy_obeys(seed: int) -> None:
    assert_all_obey(seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(SEEDS))
def test_every_policy_obeys_every_model(seed: int) -> None:
    assert_all_obey(seed)
