"""Gangs in slots: solved, run in windows and run live, against enumeration and a simulation of their own."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from found_codes import message_values
from gang_hours import GangCase, Workers, drawn_gangs, optimum, simulate
from live_windows import live, simulated, window_setup

import gpusched_dsl
from gpusched_dsl.online.loops.slots import SlotLoop
from gpusched_dsl.online.open import loop_of

CASE = GangCase(
    racks={"n1": "a", "n2": "a", "n3": "b"}, gpus={"n1": 1, "n2": 1, "n3": 2}, workers={"big": 3, "pair": 2},
    hours={"big": 1.0, "pair": 2.0}, arrives={"big": 0, "pair": 0}, prices=(8.0, 1.0, 5.0, 2.0), lookahead=4, commit=1,
)  # fmt: skip


def executed(loop: SlotLoop, slots: int) -> list[dict[str, Workers]]:
    """Run the loop over its slots; return what runs in each of them."""
    found = []
    begin = loop.begin_slot
    universes = loop.base.store.universes
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
    return found


def longer(case: GangCase) -> GangCase:
    return replace(case, prices=case.prices + case.prices[-1:] * case.lookahead)


@pytest.mark.parametrize("seed", range(12))
def test_solvers_find_the_optimum(seed: int) -> None:
    case = drawn_gangs(seed)
    result = gpusched_dsl.loads(case.text).solve("S", gap=0.0)
    assert result.objective == pytest.approx(optimum(case), abs=1e-6)
    assert not [d for d in result.warnings if d.code == "GSM7011"]
    table = result.placement
    workers = table.group_by("job", "slot").agg(pl.col("workers").sum())
    assert all(row["workers"] == case.workers[row["job"]] for row in workers.iter_rows(named=True))


def test_a_gang_takes_as_long_as_its_spread() -> None:
    """`lasts` of a row is the slot times the factor for the nodes and racks of the gang in this slot."""
    result = gpusched_dsl.loads(CASE.text).solve("S", gap=0.0)
    assert set(result.placement["job"]) == set(CASE.workers)
    for row in result.placement.iter_rows(named=True):
        here = [r for r in result.placement.iter_rows(named=True) if (r["job"], r["slot"]) == (row["job"], row["slot"])]
        racks = {CASE.racks[r["node"]] for r in here}
        assert row["lasts"] == pytest.approx(1.0 if len(here) == 1 else 1.25 if len(racks) == 1 else 2.0)
        assert sum(r["workers"] for r in here) == CASE.workers[row["job"]]


@pytest.mark.quick(6)
@pytest.mark.parametrize("seed", range(12))
def test_windows_execute_gangs(seed: int) -> None:
    case = drawn_gangs(seed)
    loop = loop_of(window_setup(longer(case).text, "Hours", "S", "highs"))
    assert isinstance(loop, SlotLoop)
    found = executed(loop, len(case.prices))
    expected = simulate(case, found)
    jobs = loop.base.store.universes["Jobs"].labels
    ends = {str(jobs[j]): float(loop.world.end[j]) for j in np.flatnonzero(~np.isnan(loop.world.end)).tolist()}
    assert ends == pytest.approx(expected.ends)
    assert loop.world.ledger.totals["energy"] == pytest.approx(expected.energy)


@pytest.mark.parametrize("seed", range(12))
def test_gangs_are_the_same_live(seed: int) -> None:
    case = drawn_gangs(seed)
    slots = len(case.prices)
    expected, events = simulated(window_setup(longer(case).text, "Hours", "S", "highs"), slots)
    found, records, _ = live(window_setup(longer(case).text, "Hours", "S", "highs", external=True), events, slots)
    assert not [record for record in records if record["kind"] == "error"]
    assert (found.running, found.plans) == (expected.running, expected.plans)
    assert found.costs == pytest.approx(expected.costs)
    assert found.ends == pytest.approx(expected.ends)


def test_a_gang_waits_for_the_cheap_hour() -> None:
    """All three GPUs run at 1 $, and the pair also at 2 $, by hand: 3 + 2 * 2 for two hours on one node."""
    case = replace(CASE, workers={"big": 3, "pair": 2}, hours={"big": 0.4, "pair": 1.0})
    loop = loop_of(window_setup(longer(case).text, "Hours", "S", "highs"))
    assert isinstance(loop, SlotLoop)
    found = executed(loop, 4)
    assert [sorted(running) for running in found] == [[], ["big"], [], ["pair"]]
    assert found[3] == {"pair": {"n3": 2}}, "on one node it needs one hour"
    assert loop.world.ledger.totals["energy"] == pytest.approx(3 * 1 + 2 * 2)


def test_a_failed_node_stops_a_gang_in_all_of_its_places() -> None:
    case = replace(
        CASE, workers={"big": 4, "pair": 1}, hours={"big": 1.5, "pair": 0.5}, prices=(1.0, 1.0, 1.0, 9.0), commit=4
    )
    setup = window_setup(longer(case).text, "Hours", "S", "highs")
    loop = loop_of(setup)
    assert isinstance(loop, SlotLoop)
    fail = loop.observe_events

    def failing() -> None:
        fail()
        if loop.slot == 1:
            loop.nodes.fail("Nodes", np.array([0]))

    loop.observe_events = failing  # type: ignore[method-assign]
    found = executed(loop, 4)
    assert ["big" in running for running in found] == [True, False, False, False]
    assert loop.world.done[0] == pytest.approx(0.5), "one hour across two racks"
    assert loop.world.ledger.totals["energy"] == pytest.approx(4 + (9 if "pair" in found[3] else 0))


def test_a_part_of_a_gang_in_a_slot_is_named() -> None:
    text = CASE.text.replace("== workers[j] * runs[j, h]", "<= workers[j] * runs[j, h]").replace(
        "    later: sum", '    wish: sum[h in Slots] -100[$] * worker["big", "n1", h];\n    later: sum'
    )
    result = gpusched_dsl.loads(text).solve("S", gap=0.0)
    [warning] = [d for d in result.warnings if d.code == "GSM7011"]
    assert {"big"} <= set(message_values(warning.message))
