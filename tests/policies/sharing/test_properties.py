"""Properties of every plan of every policy for GPU sharing, on random clusters."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from deciding_help import LIMITS, Case, case_of, labelled
from random_cluster_texts import KINDS, Text, drawn

from gpusched_dsl.compiling.lowering.fixing import VariableValues
from gpusched_dsl.policies.decide import decide

FALLING_BACK = (
    "STS",
    "STSByGpus",
    "STSUnbound",
    "STSMerged",
    "STSGrown",
    "EDF",
    "FIFO",
    "Greedy",
    "AvgEDF",
    "AvgGreedy",
    "QuickRG",
)
ALL = (*FALLING_BACK, "STSPostponing", "DP", "DPShares", "AvgDP")
SEEDS = [0, 1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 8))]
PLAN = dict[str, tuple[str, int, int]]


@cache
def text(seed: int) -> Text:
    return drawn(seed)


def plan_of(policy: str, what: str, seed: int = 0) -> PLAN:
    return case_of(policy, "Drawn", what).plan(seed)


def gpus_needed(parts: list[int]) -> int:
    """The least number of GPUs that hold some parts, by trying all ways to put them."""
    best = len(parts)

    def put(at: int, spare: list[int]) -> None:
        nonlocal best
        if len(spare) >= best and at < len(parts):
            return
        if at == len(parts):
            best = min(best, len(spare))
            return
        for i in range(len(spare)):
            if spare[i] >= parts[at]:
                spare[i] -= parts[at]
                put(at + 1, spare)
                spare[i] += parts[at]
        put(at + 1, [*spare, 20 - parts[at]])

    put(0, [])
    return best


def used_gpus(plan: PLAN, node: str) -> int:
    here = [(g, u) for n, g, u in plan.values() if n == node]
    return sum(g for g, u in here if u == 20) + gpus_needed(sorted((u for _, u in here if u < 20), reverse=True))


@pytest.mark.quick(6)
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("policy", ALL)
def test_plans_fit(policy: str, seed: int) -> None:
    given = text(seed)
    plan = plan_of(policy, given.text())
    kind = dict(given.nodes)
    for job, (node, gpus, part) in plan.items():
        memory = KINDS[kind[node]][1]
        assert part == 20 or (gpus == 1 and part in KINDS[kind[node]][2])
        assert 20 * given.jobs[job]["memory"] <= part * memory
    assert all(used_gpus(plan, node) <= given.gpus for node, _ in given.nodes)
    if policy in FALLING_BACK:
        # A job waits only if no GPU is left that it could have: here any.
        waiting = set(given.jobs) - set(plan)
        assert not waiting or all(used_gpus(plan, node) == given.gpus for node, _ in given.nodes)


@pytest.mark.quick(3)
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("policy", ["STS", "EDF", "Greedy", "DP", "AvgGreedy"])
def test_money_and_clocks_have_no_scale(policy: str, seed: int) -> None:
    """Prices and weights times a constant, all submitted earlier, jobs listed in another order: the same plan."""
    given = text(seed)
    plan = plan_of(policy, given.text())
    assert plan_of(policy, given.text(money=1024.0)) == plan
    assert plan_of(policy, given.text(later=-64.0)) == plan
    shuffled = Text(**{**vars(given), "order": given.order[::-1]})
    assert plan_of(policy, shuffled.text()) == plan


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_draws_follow_the_seed(seed: int) -> None:
    case = case_of("QuickRG", "Drawn", text(seed).text())
    assert case.plan(7) == case.plan(7)
    prices = [decide(case.policy, case.store, LIMITS, s).objective for s in range(3)]
    # The first of all passes draws nothing, so no seed is worse than Greedy.
    greedy = case_of("OneRG", "Drawn", text(seed).text() + ONE)
    assert max(prices) <= decide(greedy.policy, greedy.store, LIMITS).objective + 1e-9


ONE = "policy OneRG for GpuSharing extends RG { repeat 1 keep best node_first_end; }"


def test_seeds_matter() -> None:
    found = {str(sorted(case_of("QuickRG", "Drawn", text(3).text()).plan(s).items())) for s in range(6)}
    assert len(found) > 1


def swapped(case: Case, values: dict[str, VariableValues], one: str, other: str) -> dict[str, VariableValues]:
    """A plan with two nodes' contents exchanged."""
    labels = case.store.universes["Nodes"].labels
    a, b = labels.index(one), labels.index(other)
    codes = list(values["run"].codes)
    nodes = codes[1].copy()
    nodes[codes[1] == a], nodes[codes[1] == b] = b, a
    codes[1] = nodes
    return {"run": VariableValues(tuple(codes), values["run"].values)}


@pytest.mark.parametrize("policy", ["STS", "Greedy", "DP"])
def test_jobs_stay_on_equal_nodes(policy: str) -> None:
    given = drawn(5, jobs=9, nodes=4)
    kinds = dict(given.nodes)
    pairs = [(a, b) for a in kinds for b in kinds if a < b and kinds[a] == kinds[b]]
    case = case_of(policy, "Drawn", given.text())
    first = dict(case.given())
    here = labelled(case, first)
    for one, other in pairs:
        moved = swapped(case, first, one, other)
        again = case.plan(running=moved)
        assert again == labelled(case, moved)
        changed = {j for j in here if here[j] != again[j]}
        assert changed == {j for j, way in here.items() if way[0] in (one, other)}
    assert pairs


@pytest.mark.quick(3)
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("policy", ["EDF", "FIFO", "AvgEDF"])
def test_running_jobs_are_left_alone(policy: str, seed: int) -> None:
    """Some jobs of a plan go on, the others are gone or have lost their place: what goes on does so as it was."""
    given = drawn(seed, jobs=10)
    case = case_of(policy, "Drawn", given.text())
    first = case.given()["run"]
    kept = np.random.default_rng(seed).random(len(first.values)) < 0.6
    running = {"run": VariableValues(tuple(c[kept] for c in first.codes), first.values[kept])}
    before, after = labelled(case, running), case.plan(running=running)
    assert before
    assert {job: after[job] for job in before} == before
    assert all(used_gpus(after, node) <= given.gpus for node, _ in given.nodes)
