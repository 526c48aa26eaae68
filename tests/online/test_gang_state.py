"""Accumulated values over workers of gangs follow from where the gangs really were."""

from __future__ import annotations

import random

import pytest
from online_texts import driver

from gpusched_dsl.online.history import stretches_of
from gpusched_dsl.online.loops.base import SimulationLoop

TEXT = """
import "gsdsl:gangs/online.gsm";
model Spread extends Gangs {
  param used[Racks] in h default 0[h];  param had[Jobs, Nodes] in h default 0[h];  param top default 0;
}
online Loop for Spread extends EveryEvent {
  replan on EVENTS;
  carry used[r] = previous(used[r]) * 0.5 ^ (elapsed / 2[h])
    + executed(sum[j in Jobs, n in Nodes where rack[n] == r] worker[j, n]);
  carry had[j, n] = previous(had[j, n]) + executed(worker[j, n]);
  carry top = max(previous(top), sum[j in Jobs, n in Nodes] worker[j, n]);
}
scenario S for Spread {
  Racks = { r0, r1 };
  table Nodes: rack gpus = n0 r0 2  n1 r0 4  n2 r1 4  n3 r1 2;
  table Jobs: workers submitted[h] length[h] deadline[h] weight[$/h] = JOBS;
  moving = MOVING;
}
"""
RACK = [0, 0, 1, 1]


@pytest.mark.quick(8)
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("events", ["arrival, completion", "arrival, completion, every 0.75[h]"])
@pytest.mark.parametrize("method", ["FIFO", "SJF", "SRTF"])
def test_accumulated_workers_are_those_of_the_history(method: str, events: str, seed: int) -> None:
    draw = random.Random(seed)
    jobs = "  ".join(
        f"j{i} {draw.randint(1, 8)} {draw.randint(0, 24) / 4} {draw.randint(1, 12) / 4} 9 1" for i in range(9)
    )
    text = TEXT.replace("EVENTS", events).replace("JOBS", jobs).replace("MOVING", "yes" if method == "SRTF" else "no")
    seen: list[tuple[float, list[float], list[float], float]] = []

    def note(loop: SimulationLoop) -> None:
        assert loop.past is not None
        kept = loop.past.kept
        seen.append((loop.world.now, *(kept[name].values.tolist() for name in ("used", "had")), *kept["top"].values))

    outcome = driver(text, "Loop", "S", method, on_plan=note, fast=False).run()
    found = stretches_of(outcome.world)
    assert outcome.ended == "finished"
    assert len(found) > 9  # some gangs are on several nodes
    rows = list(zip(found.job, found.place, found.uses, found.start, found.end, strict=True))
    expected, top, last = [0.0, 0.0], 0.0, seen[0][0]
    for time, used, _, most in seen:
        for rack in (0, 1):
            spans = ((g, min(e, time) - max(s, last)) for _, n, g, s, e in rows if RACK[n] == rack)
            inside = sum(gpus * hours for gpus, hours in spans if hours > 0)
            expected[rack] = expected[rack] * 0.5 ** ((time - last) / 2) + inside
        top = max(top, sum(g for _, _, g, s, e in rows if s <= last < e and time > last))
        assert used == pytest.approx(expected, abs=1e-9)
        assert most == pytest.approx(top)
        last = time
    of_pairs = sum(g * (min(e, last) - s) for _, _, g, s, e in rows if s < last)
    assert sum(seen[-1][2]) == pytest.approx(of_pairs)
