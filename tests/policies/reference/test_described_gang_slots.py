"""Plans of gangs in slots are those that the described steps give, where constraints go beyond roles too.

Not compared plan for plan are three rules about the nodes of one gang as a whole (`one_rack`, `few_nodes`,
`most_nodes`): what a constraint says of a gang that still lacks workers is found by propagation, which also sees that
it can no longer be completed, and then gives a node fewer workers. The interpreter asks about the workers that are
there. Of these rules each turn is compared: a gang that the steps can place is placed.
"""

from __future__ import annotations

import numpy as np
import pytest
from comparing import LIMITS, Decision, decision_of
from drawn_gang_slots import HORIZON, DrawnGangSlots, broken_limits, drawn_gang_slots
from gang_slot_interpreter import GangSlots, Seat

from gpusched_dsl.language.blocks.policies.describe import policy_in_words
from gpusched_dsl.policies.decide import decide
from gpusched_dsl.policies.rows.asking import rows_in_words

OF_ONE_GANG = {"one_rack", "few_nodes", "most_nodes"}
NAMES = ("Early", "Blocking", "Valley", "Tight")


def labels_of(decision: Decision, name: str) -> list[str]:
    return list(decision.store.universes[name].labels)


def by_name(one: DrawnGangSlots, decision: Decision, seats: dict[int, Seat]) -> dict[str, dict[int, dict[str, int]]]:
    """The workers on nodes of jobs in the slots of the horizon."""
    jobs, nodes = labels_of(decision, "Jobs"), labels_of(decision, "Nodes")
    return {
        jobs[job]: {
            slot: {nodes[n]: k for n, k in seat.workers.items()}
            for slot in range(seat.start, min(seat.start + seat.slots, HORIZON + 1))
        }
        for job, seat in seats.items()
    }


def planned(one: DrawnGangSlots, decision: Decision, name: str) -> dict[str, dict[int, dict[str, int]]]:
    jobs, nodes = labels_of(decision, "Jobs"), labels_of(decision, "Nodes")
    given = decide(decision.policy(name), decision.store, LIMITS).values["worker"]
    found: dict[str, dict[int, dict[str, int]]] = {}
    columns = (*(codes.tolist() for codes in given.codes), np.rint(given.values).astype(int).tolist())
    for job, node, slot, workers in zip(*columns, strict=True):
        length = one.length[jobs[job]] if one.world == "start" else 1
        for h in range(slot, min(slot + length, HORIZON + 1)):
            found.setdefault(jobs[job], {}).setdefault(h, {})[nodes[node]] = workers
    return found


def assert_described(one: DrawnGangSlots) -> int:
    """Return in how many plans rows were asked."""
    decision, asked = decision_of(one.text), 0

    def allows(seats: dict[int, Seat]) -> bool:
        return not broken_limits(one, by_name(one, decision, seats))

    for name in NAMES:
        policy, plan = decision.policy(name), planned(one, decision, name)
        seats = GangSlots(policy, decision.store).run_gangs()
        if not allows(seats):
            asked += 1
            if OF_ONE_GANG & set(one.rules):
                assert_each_turn(one, decision, name, plan)
                continue
            seats = GangSlots(policy, decision.store, allows).run_gangs()
        assert plan == by_name(one, decision, seats), (one.seed, name)
    return asked


def assert_each_turn(
    one: DrawnGangSlots, decision: Decision, name: str, plan: dict[str, dict[int, dict[str, int]]]
) -> None:
    """Of a policy that places jobs ahead: beside the gangs before it, a gang that the steps can place is placed."""
    if name not in ("Valley", "Tight"):
        return
    jobs, nodes = labels_of(decision, "Jobs"), labels_of(decision, "Nodes")

    def allows(seats: dict[int, Seat]) -> bool:
        return not broken_limits(one, by_name(one, decision, seats))

    steps = GangSlots(decision.policy(name), decision.store, allows)
    for job in steps.queue():
        first = next(steps.options(job, steps.slots, ahead=True), None)
        own = plan.get(jobs[job])
        assert own is not None or first is None, (one.seed, name, jobs[job])
        if own is not None:
            start = min(own)
            slots = one.slots(jobs[job], own[start])
            steps.seats[job] = Seat(start, slots, {nodes.index(n): k for n, k in own[start].items()})
            assert allows(steps.seats)


@pytest.mark.quick(2)
@pytest.mark.parametrize("seed", range(7))
def test_gangs_in_slots_follow_the_described_steps(seed: int) -> None:
    assert_described(drawn_gang_slots(seed))


@pytest.mark.quick(2)
@pytest.mark.parametrize("seed", range(6))
def test_nodes_of_different_speeds(seed: int) -> None:
    """A slow node takes twice as long; the sums of keys are often equal. No rows are asked."""
    one = drawn_gang_slots(seed)
    text = one.text.replace("occupies length[j];", "occupies length[j] * (if rent[n] == 4 then 1 else 1.5);")
    decision = decision_of(text.replace("by tariff[h] * rent[n] * size[j];", "by (if tariff[h] > 4 then 2 else 1);"))
    for name in NAMES:
        policy = decision.policy(name, without=list(decision.scenario.model.constraints))
        seats = GangSlots(policy, decision.store).run_gangs()
        given = decide(policy, decision.store, LIMITS).values["worker"]
        found: dict[tuple[int, int], dict[int, int]] = {}
        for job, node, slot, workers in zip(*(c.tolist() for c in given.codes), given.values.tolist(), strict=True):
            found.setdefault((job, slot), {})[node] = round(workers)
        expected = {
            (job, h): dict(seat.workers)
            for job, seat in seats.items()
            for h in range(seat.start, seat.start + (1 if one.world == "start" else seat.slots))
            if h <= HORIZON
        }
        assert found == expected, name


@pytest.mark.slow
@pytest.mark.parametrize("batch", range(10))
def test_many_gangs_in_slots_follow_the_described_steps(batch: int) -> None:
    assert sum(assert_described(drawn_gang_slots(seed)) for seed in range(7 + 12 * batch, 19 + 12 * batch)) >= 12


def test_gangs_in_slots_are_described() -> None:
    policy = decision_of(drawn_gang_slots(0).text).policy("Valley")
    [line] = rows_in_words(policy)
    assert line.startswith("A gang takes the first slots and nodes")
    words = "\n".join(policy_in_words(policy, [line]))
    assert "A gang on one node occupies `length[j]` slots, on several nodes the most of them times the factor" in words
    assert "`cheapest_block`: all workers in consecutive slots, on one node, in one rack or in several" in words
