"""Queues and plans with slots are those that the described steps give, where constraints go beyond roles too."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from comparing import LIMITS, Decision, decision_of
from drawn_gangs import drawn_gangs
from drawn_queues import DrawnQueues, broken_queue_rules, drawn_queues
from drawn_slots import DrawnSlots, broken_slot_rules, drawn_slots, text_of
from queue_interpreter import Queues
from slot_interpreter import Plan, Slots

from gpusched_dsl.language.blocks.policies.describe import policy_in_words
from gpusched_dsl.policies.decide import decide
from gpusched_dsl.policies.rows.asking import rows_in_words


def labels_of(decision: Decision, name: str) -> list[str]:
    return list(decision.store.universes[name].labels)


# --- queues ----------------------------------------------------------------------------------------------------------


def queues_by_name(decision: Decision, queues: Mapping[int, list[int]]) -> dict[str, list[str]]:
    jobs, nodes = labels_of(decision, "Jobs"), labels_of(decision, "Nodes")
    return {nodes[node]: [jobs[job] for job in queue] for node, queue in queues.items()}


def assert_described_queues(one: DrawnQueues) -> int:
    """Return of how many policies the queues are made again."""
    decision, again = decision_of(one.text), 0

    def allows(queues: Mapping[int, list[int]]) -> bool:
        return not broken_queue_rules(one, queues_by_name(decision, queues))

    for name in decision.workspace.policies:
        policy = decision.policy(name)
        expected = Queues(policy, decision.store)
        plan = expected.run()
        if not allows(expected.in_order()):
            plan = Queues(policy, decision.store, allows).run()
            again += 1
        assert decision.plan(policy) == plan, (one.seed, name)
    return again


@pytest.mark.quick(5)
@pytest.mark.parametrize("seed", range(16))
def test_queues_follow_the_described_steps(seed: int) -> None:
    assert_described_queues(drawn_queues(seed))


@pytest.mark.slow
@pytest.mark.parametrize("batch", range(10))
def test_many_queues_follow_the_described_steps(batch: int) -> None:
    assert sum(assert_described_queues(drawn_queues(seed)) for seed in range(30 * batch, 30 * batch + 30)) >= 30


# --- slots -----------------------------------------------------------------------------------------------------------


def slots_by_name(decision: Decision, plan: Plan) -> dict[tuple[str, str], list[int]]:
    jobs, nodes = labels_of(decision, "Jobs"), labels_of(decision, "Nodes")
    return {(jobs[job], nodes[node]): list(slots) for (job, node), slots in plan.items()}


def planned_slots(one: DrawnSlots, decision: Decision, name: str) -> dict[tuple[str, str], list[int]]:
    found: dict[tuple[int, int], list[int]] = {}
    given = decide(decision.policy(name), decision.store, LIMITS).values["run"]
    for job, node, slot in zip(*(codes.tolist() for codes in given.codes), strict=True):
        length = one.length[labels_of(decision, "Jobs")[job]] if one.world == "start" else 1
        found.setdefault((job, node), []).extend(range(slot, slot + length))
    return {place: sorted(slots) for place, slots in slots_by_name(decision, found).items()}


def assert_described_slots(one: DrawnSlots) -> int:
    """Return of how many policies the jobs are placed again."""
    text = one.text
    if one.seed % 2:  # all nodes are equally good, although there are two kinds of them in turn
        one.idle = {n: 60 + 20 * (at % 2) for at, n in enumerate(one.nodes)}
        text = text_of(one).replace("by idle[n]", "by 0 * idle[n]")
    decision, again = decision_of(text), 0

    def allows(plan: Plan) -> bool:
        return not broken_slot_rules(one, slots_by_name(decision, plan), {})

    for name in decision.workspace.policies:
        policy = decision.policy(name)
        plan = Slots(policy, decision.store).run()
        if not allows(plan):
            if any(rule.name == "cheapest_slots" for rule in policy.place):
                continue
            plan = Slots(policy, decision.store, allows).run()
            again += 1
        assert planned_slots(one, decision, name) == slots_by_name(decision, plan), (one.seed, name)
    return again


WITHOUT_LOADS = [seed for seed in range(200) if drawn_slots(seed).world != "serving"]


@pytest.mark.quick(5)
@pytest.mark.parametrize("seed", WITHOUT_LOADS[:14])
def test_slots_follow_the_described_steps(seed: int) -> None:
    assert_described_slots(drawn_slots(seed))


@pytest.mark.slow
@pytest.mark.parametrize("batch", range(10))
def test_many_slots_follow_the_described_steps(batch: int) -> None:
    assert sum(assert_described_slots(drawn_slots(seed)) for seed in WITHOUT_LOADS[batch::10]) >= 10


# --- the description -------------------------------------------------------------------------------------------------


def test_each_kind_of_plan_is_described_with_its_constraints() -> None:
    slots, queues, gangs = (decision_of(made.text) for made in (drawn_slots(0), drawn_queues(0), drawn_gangs(0)))
    [line] = rows_in_words(slots.policy("Valley"))
    assert line.startswith("If the plan breaks a constraint of the model, all jobs are placed again")
    [line] = rows_in_words(queues.policy("Fastest"))
    assert line.startswith("If the queues break a constraint of the model, they are made again")
    [line] = rows_in_words(gangs.policy("FIFO"))
    assert line.startswith("A gang takes the first nodes")
    assert "`rack_cap`" in line


def test_constraints_are_described_behind_the_steps() -> None:
    text = drawn_slots(0).text.replace(
        "order j in Jobs by due", "let last[j in Jobs] = due[j];  order j in Jobs by last"
    )
    policy = decision_of(text).policy("Valley")
    [line] = rows_in_words(policy)
    words = policy_in_words(policy, [line])
    assert words[-3:-1] == [line, "where"]
    assert [word for word in words if word != line] == policy_in_words(policy)
