"""`executed(rate, half_life)`: the values of continuous decay, whenever plans are made, also after an empty cluster."""

from __future__ import annotations

import math
from typing import Any

import pytest
from found_codes import raises_code
from online_texts import driver

import gpusched_dsl as gs
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.online.loops.base import SimulationLoop

JOBS = {"a": (0.0, 4.0, "red", 2), "b": (1.0, 1.5, "blue", 1), "c": (60.0, 2.0, "red", 1), "d": (61.5, 1.0, "blue", 3)}
HALF = {"red": 2.0, "blue": 7.0}
TEXT = """
model Teams {
  set Jobs;  set Teams;  set Nodes;
  param team[Jobs] within Teams;  param gpus[Jobs];  param submitted[Jobs] in h;  param length[Jobs] in h > 0;
  param remaining[Jobs] default 1;  param half_life[Teams] in min;
  param used[Teams] in h default 0[h];
  var run[Jobs, Nodes] binary;
  maximize served: sum[j in Jobs, n in Nodes] run[j, n];
  constraint once[j in Jobs]: sum[n in Nodes] run[j, n] <= 1;
  constraint alone[n in Nodes]: sum[j in Jobs] run[j, n] <= 1;
  placement run[j, n] { job j;  node n;  lasts remaining[j] * length[j]; }
}
policy First for Teams { order j in Jobs by submitted[j];  place new_node exclusive, wait; }
online Loop for Teams {
  arrive j in Jobs at submitted[j];
  replan on arrival, completionMORE;
  carry remaining[j] = remaining[j];
  carry used[t] = previous(used[t]) * 0.5^(elapsed / half_life[t])
    + executed(sum[j in Jobs, n in Nodes where team[j] == t] gpus[j] * run[j, n]GIVEN);
}
scenario S for Teams {
  Nodes = { n1, n2, n3 };  table Teams: half_life[h] = red 2 blue 7;
  table Jobs: submitted[h] length[h] team gpus = ROWS;
}
"""


def text(more: str = "", given: str = ", half_life[t]") -> str:
    rows = "  ".join(f"{name} {at} {length} {team} {gpus}" for name, (at, length, team, gpus) in JOBS.items())
    return TEXT.replace("ROWS", rows).replace("MORE", more).replace("GIVEN", given)


def states(more: str = "", given: str = ", half_life[t]") -> list[tuple[float, list[float]]]:
    found = []

    def note(loop: SimulationLoop) -> None:
        assert loop.past is not None
        found.append((loop.world.now, loop.past.kept["used"].values.tolist()))

    options: dict[str, Any] = {"on_plan": note, "fast": False}
    driver(text(more, given), "Loop", "S", "First", **options).run()
    return found


def closed_form(team: str, now: float) -> float:
    """The integral of the GPUs in use, each moment by what is left of it: all jobs start when they are submitted."""
    rate = math.log(2) / HALF[team]
    return sum(
        gpus * (math.exp(-rate * max(now - at - length, 0.0)) - math.exp(-rate * (now - at))) / rate
        for at, length, of, gpus in JOBS.values()
        if of == team and at < now
    )


@pytest.mark.parametrize("more", ["", ", every 0.3[h]", ", every 7[min]"])
def test_values_are_those_of_continuous_decay(more: str) -> None:
    """No plan is made from 4 h, when the cluster is empty, until 60 h: many half-lives."""
    found = states(more)
    assert {round(now, 9) for now, _ in found} >= {0, 1, 2.5, 60, 61.5, 62}
    assert not any(4 < now < 60 for now, _ in found)
    for now, values in found:
        assert values == pytest.approx([closed_form(team, now) for team in ("red", "blue")], rel=1e-12), now
    assert next(values for now, values in found if now == pytest.approx(60))[0] < 1e-7


def test_without_a_half_life_the_last_plan_counts_in_full() -> None:
    """The work from 2.5 h to 4 h is not decayed at 60 h."""
    used = next(values for now, values in states(given="") if now == 60)
    assert used[0] == pytest.approx(3.0)


@pytest.mark.parametrize(
    ("given", "code"),
    [(", 1[h] * sum[j in Jobs, n in Nodes] run[j, n]", "GSM1211"), (", 3[kW]", "GSM1302"), (", 1[h], 2[h]", "GSM1681")],
)
def test_wrong_half_lives_are_refused(given: str, code: str) -> None:
    with pytest.raises(DiagnosticError) as refused:
        gs.loads(text(given=given)).check()
    assert [d.code for d in refused.value.diagnostics] == [code]


def test_a_half_life_must_be_positive() -> None:
    with raises_code("GSM3004", at="half_life[t] - 7[h]") as refused:
        states(given=", half_life[t] - 7[h]")
    assert [d.code for d in refused.value.diagnostics] == ["GSM3004"]


def test_slots_have_no_half_life() -> None:
    window = """
model W {
  set Slots ordered;  param used in h default 0[h];
  var on[Slots] binary;
  minimize cost: sum[h in Slots] on[h];
  placement on[h] { slot h;  lasts 1[h]; }
}
online O for W {
  window h in Slots lookahead 2 commit 1;
  carry used = previous(used) * 0.5^(elapsed / 3[h]) + executed(sum[h in Slots] 1[h] * on[h]GIVEN);
}
"""
    gs.loads(window.replace("GIVEN", "")).check()
    with raises_code("GSM1681", "executed", at="3[h]") as refused:
        gs.loads(window.replace("GIVEN", ", 3[h]")).check()
    assert [d.code for d in refused.value.diagnostics] == ["GSM1681"]
