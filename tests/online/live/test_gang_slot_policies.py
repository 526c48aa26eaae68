"""Policies for gangs in slots: run in windows, live and with a driver, against a simulation of their own."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from gang_hours import GangCase, Workers, drawn_gangs, simulate
from live_windows import live, simulated, window_setup

import gpusched_dsl
from gpusched_dsl.online.loops.slots import SlotLoop
from gpusched_dsl.online.open import loop_of

POLICIES = """
policy Cheap for GangHours "the longest first, each in its cheapest hours" {
  order j in Jobs by hours[j] descending;
  choose n in Nodes, h in Slots by price[h];
  occupies hours[j] / slot;
  place cheapest_block;
}
policy Now extends Cheap { place start_now; }
policy Stay extends Now { order j in Jobs by hours[j];  keep running; }
"""
METHODS = ("Cheap", "Now", "Stay")


def text_of(case: GangCase) -> str:
    longer = replace(case, prices=case.prices + case.prices[-1:] * case.lookahead)
    return longer.text + POLICIES


def executed(text: str, method: str, slots: int) -> tuple[list[dict[str, Workers]], SlotLoop]:
    """Run the loop over its slots; return what runs in each of them."""
    loop = loop_of(window_setup(text, "Hours", "S", method))
    assert isinstance(loop, SlotLoop)
    found, begin, universes = [], loop.begin_slot, loop.base.store.universes
    jobs, nodes = universes["Jobs"].labels, universes["Nodes"].labels

    def noting() -> None:
        begin()
        running: dict[str, dict[str, int]] = {}
        parts = loop.world.parts
        for job, node, uses in zip(parts.job.tolist(), parts.place.tolist(), parts.uses.tolist(), strict=True):
            running.setdefault(str(jobs[job]), {})[str(nodes[node])] = round(uses)
        found.append(running)

    loop.begin_slot = noting  # type: ignore[method-assign]
    while loop.slot < slots and not loop.step():
        pass
    loop.settle()
    return found, loop


@pytest.mark.quick(8)
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("seed", range(8))
def test_windows_execute_plans_of_policies(seed: int, method: str) -> None:
    case = drawn_gangs(seed)
    found, loop = executed(text_of(case), method, len(case.prices))
    expected = simulate(case, found)
    jobs = loop.base.store.universes["Jobs"].labels
    ends = {str(jobs[j]): float(loop.world.end[j]) for j in np.flatnonzero(~np.isnan(loop.world.end)).tolist()}
    assert ends == pytest.approx(expected.ends)
    assert loop.world.ledger.totals["energy"] == pytest.approx(expected.energy)
    if method != "Cheap":
        assert found[0], "a job that may start does"


@pytest.mark.quick(8)
@pytest.mark.parametrize("seed", range(24))
def test_running_gangs_stay_where_they_are(seed: int) -> None:
    """From slot to slot, until the gang ends; `Stay` sorts by the work that is left, so that others overtake."""
    case = drawn_gangs(seed)
    found, _ = executed(text_of(case), "Stay", len(case.prices))
    assert moved(case, found) == []


def moved(case: GangCase, found: list[dict[str, Workers]]) -> list[str]:
    """Return the jobs that were somewhere else in the slot after one in which they ran, and were not done."""
    ends = simulate(case, found).ends
    return [
        job
        for slot, (now, after) in enumerate(pairwise(found))
        for job, workers in now.items()
        if ends.get(job, np.inf) > slot + 1 + 1e-9 and after.get(job) != workers
    ]


def test_without_keeping_gangs_move_or_halt() -> None:
    """A short job comes in hour 1: only `keep running` lets the long one go on before it."""
    case = GangCase(
        racks={"n1": "a", "n2": "a"}, gpus={"n1": 1, "n2": 1}, workers={"long": 2, "short": 1},
        hours={"long": 2.0, "short": 1.0}, arrives={"long": 0, "short": 1}, prices=(1.0,) * 5, lookahead=3, commit=1,
    )  # fmt: skip
    text = text_of(case)
    kept, _ = executed(text, "Stay", 4)
    assert [sorted(running) for running in kept] == [["long"], ["long"], ["long"], ["short"]]
    text = text.replace("order j in Jobs by hours[j];  keep running;", "order j in Jobs by hours[j];")
    free, _ = executed(text, "Stay", 4)
    assert [sorted(running) for running in free] == [["long"], ["short"], ["long"], ["long"]]


@pytest.mark.quick(6)
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("seed", range(6))
def test_policies_are_the_same_live(seed: int, method: str) -> None:
    case = drawn_gangs(seed)
    slots = len(case.prices)
    expected, events = simulated(window_setup(text_of(case), "Hours", "S", method), slots)
    found, records, _ = live(window_setup(text_of(case), "Hours", "S", method, external=True), events, slots)
    assert not [record for record in records if record["kind"] == "error"]
    assert (found.running, found.plans) == (expected.running, expected.plans)
    assert found.costs == pytest.approx(expected.costs)
    assert found.ends == pytest.approx(expected.ends)


def test_the_policy_of_the_page_waits_for_cheap_slots() -> None:
    page = (Path(__file__).resolve().parents[3] / "docs/reference/policies_in_detail.md").read_text(encoding="utf-8")
    policy = re.search(r"^policy Valley for GangHours.*?^}$", page, re.MULTILINE | re.DOTALL)
    assert policy is not None
    case = GangCase(
        racks={"n1": "a", "n2": "b"}, gpus={"n1": 2, "n2": 2}, workers={"wide": 3, "pair": 2},
        hours={"wide": 1.0, "pair": 1.0}, arrives={"wide": 0, "pair": 0}, prices=(9.0, 2.0, 1.0, 4.0), lookahead=4,
        commit=4,
    )  # fmt: skip
    result = gpusched_dsl.loads(case.text + policy[0]).solve("S", backend="Valley")
    found = {(job, slot) for job, _, slot, workers in result["worker"].rows() if workers > 0.5}
    assert found == {("wide", 1), ("wide", 2), ("pair", 3)}, "across two racks it takes two hours"
    assert result.objective == pytest.approx(3 * (2 + 1) + 2 * 4)
