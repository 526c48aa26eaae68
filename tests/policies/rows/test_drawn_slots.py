"""Every policy for slots obeys rows that no role states, in random models, by a check from the drawn numbers alone."""

from __future__ import annotations

from itertools import pairwise

import pytest
from drawn_slots import HORIZON, RULES, WORLDS, DrawnSlots, broken_slot_rules, drawn_slots

import gpusched_dsl as gs

SEEDS = 36


def policies_of(one: DrawnSlots) -> tuple[str, ...]:
    more = {"occupied": ("Turns", "Single"), "start": ("Turns",), "serving": ("Single",)}
    return ("Early", "Blocking", "Valley", *more[one.world])


def slots_of(one: DrawnSlots, result: gs.Result) -> dict[tuple[str, str], list[int]]:
    found: dict[tuple[str, str], list[int]] = {}
    for job, node, slot, value in result["run"].rows():
        if value > 0.5:
            length = one.length[job] if one.world == "start" else 1
            found.setdefault((job, node), []).extend(range(slot, slot + length))
    return {place: sorted(own) for place, own in found.items()}


def loads_of(one: DrawnSlots, result: gs.Result) -> dict[tuple[str, int], float]:
    if one.world != "serving":
        return {}
    return {(node, slot): value for node, slot, _, value in result["share"].rows() if value > 1e-9}


def may_still_start(one: DrawnSlots, slots: dict[tuple[str, str], list[int]]) -> list[tuple[str, str, int]]:
    """Return the starts of jobs that do not run which would break no rule."""
    out = [j for j in one.jobs if all(j != job for job, _ in slots)]
    found = []
    for j in out:
        for n in one.nodes:
            for h in range(1, HORIZON + 2 - one.length[j]):
                more = {**slots, (j, n): list(range(h, h + one.length[j]))}
                if not broken_slot_rules(one, more, {}):
                    found.append((j, n, h))
    return found


def assert_all_obey(seed: int) -> None:
    one = drawn_slots(seed)
    for policy in policies_of(one):
        result = gs.loads(one.text).solve(backend=policy)
        slots, loads = slots_of(one, result), loads_of(one, result)
        assert broken_slot_rules(one, slots, loads) == [], policy
        assert result.status == "feasible", policy
        assert slots, policy
        if policy != "Single":
            assert all(b == a + 1 for own in slots.values() for a, b in pairwise(own)), policy
        if one.world != "serving" and policy != "Blocking":
            assert may_still_start(one, slots) == [], policy


def test_all_worlds_and_rules_are_drawn() -> None:
    models = [drawn_slots(seed) for seed in range(SEEDS)]
    assert {one.world for one in models} == set(WORLDS)
    assert {(one.world, one.rules[0]) for one in models} == {(w, r) for w in WORLDS for r in RULES}


def test_without_rows_asked_plans_break_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    """Most of the drawn rules bind: without them other plans come out."""
    from gpusched_dsl.policies.slotted import run

    monkeypatch.setattr(
        run,
        "slotted_plan_that_obeys",
        lambda passes: passes.values(passes.place(None, passes.instance.cluster.order, None)),
    )
    broken = 0
    for seed in range(SEEDS):
        one = drawn_slots(seed)
        result = gs.loads(one.text).solve(backend="Early")
        broken += bool(broken_slot_rules(one, slots_of(one, result), loads_of(one, result)))
    assert broken > SEEDS / 2


@pytest.mark.quick(4)
@pytest.mark.parametrize("seed", [0, 1, 2, 3, 4, 5, 8, 9, 13, 15])
def test_every_policy_obeys(seed: int) -> None:
    assert_all_obey(seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(SEEDS))
def test_every_policy_obeys_every_model(seed: int) -> None:
    assert_all_obey(seed)
