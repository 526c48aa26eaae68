"""Gangs that rows place: the plan is that of asking all rows, and breaks none."""

from __future__ import annotations

import random

import pytest

import gpusched_dsl as gs
from gpusched_dsl.policies.gangs import pinned
from gpusched_dsl.policies.gangs import run as gang_run
from gpusched_dsl.reporting.result import Result

MODEL = """
model Held {
  set Jobs ordered;  set Nodes;
  param gpus[Nodes] integer >= 0;
  param allowed[Jobs, Nodes] binary default 1;
  param need[Jobs] integer >= 1;
  param hours[Jobs] in h > 0;
  param held[Jobs, Nodes] integer >= 0 default 0;
  param is_held[j in Jobs] binary = if any[n in Nodes] held[j, n] > 0 then 1 else 0;
  var worker[j in Jobs, n in Nodes where allowed[j, n] == 1] integer >= 0 <= need[j];
  var runs[Jobs] binary;
  maximize started: sum[j in Jobs] runs[j];
  constraint all_or_none[j in Jobs]: sum[n in Nodes] worker[j, n] == need[j] * runs[j];
  constraint room[n in Nodes]: sum[j in Jobs] worker[j, n] <= gpus[n];
  constraint stays[STAYS]: worker[j, n] == held[j, n];
  MORE
  placement worker[j, n] { job j;  node n;  workers need[j];  uses 1 of gpus[n];  lasts hours[j]; }
}
policy Queue for Held { order j in Jobs by need[j] descending; place PLACE; }
"""
ON_HELD = "j in Jobs, n in Nodes where held[j, n] > 0"
OF_HELD = "j in Jobs, n in Nodes where is_held[j] == 1"
NOT_HERE = "j in Jobs, n in Nodes where is_held[j] == 1 or (ord(j) == 1 and gpus[n] > 1)"  # also where it does not run
ASKED = "constraint asked[n in Nodes]: sum[j in Jobs] worker[j, n] <= 1000;"  # a row that no plan breaks


def text(seed: int, stays: str, more: str, place: str) -> str:
    """A cluster on which some jobs run, rarely in parts or on a node that they may not use."""
    draw = random.Random(seed)
    nodes = [f"n{i}" for i in range(draw.randint(2, 5))]
    jobs = [f"j{i}" for i in range(draw.randint(2, 7))]
    gpus = {n: draw.randint(1, 4) for n in nodes}
    free = dict(gpus)
    lines = [f"Nodes = {{ {', '.join(nodes)} }};", f"Jobs = {{ {', '.join(jobs)} }};"]
    lines += [f'gpus["{n}"] = {gpus[n]};' for n in nodes]
    for j in jobs:
        need = draw.randint(1, 4)
        lines += [f'need["{j}"] = {need};', f'hours["{j}"] = {draw.randint(1, 5)}[h];']
        barred = {n for n in nodes if draw.random() < 0.2}
        lines += [f'allowed["{j}", "{n}"] = 0;' for n in barred]
        if draw.random() < 0.5:
            left = need
            for n in draw.sample(nodes, len(nodes)):
                here = min(left, free[n])
                if here and (n not in barred or draw.random() < 0.05):
                    lines.append(f'held["{j}", "{n}"] = {here};')
                    left, free[n] = left - here, free[n] - here
                    if draw.random() < 0.03:
                        break
    model = MODEL.replace("STAYS", stays).replace("MORE", more).replace("PLACE", place)
    return model + f"scenario S for Held {{ {' '.join(lines)} }}"


def plan(seed: int, stays: str, more: str, place: str) -> tuple[str, list[tuple[object, ...]]]:
    result: Result = gs.loads(text(seed, stays, more, place)).solve("S", "Queue")
    return str(result.status), sorted(row for row in result["worker"].rows() if row[-1])


@pytest.mark.quick(9)
@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("stays", [ON_HELD, OF_HELD, NOT_HERE], ids=["nodes", "jobs", "closed"])
def test_plans_equal_those_of_all_rows(seed: int, stays: str) -> None:
    place = ("fewest_racks, wait", "fewest_racks, postpone", "backfill")[seed % 3]
    status, workers = plan(seed, stays, "", place)
    assert workers or status == "infeasible"
    assert (status, workers) == plan(seed, stays, ASKED, place)


def test_rows_that_place_gangs_are_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else the test above would compare one road with itself."""
    placed: list[bool] = []
    real = pinned.with_pinned_gangs

    def noted(*given: object) -> object:
        found = real(*given)  # type: ignore[arg-type]
        placed.append(found is not None)
        return found

    monkeypatch.setattr(gang_run, "with_pinned_gangs", noted)
    for seed in range(40):
        plan(seed, OF_HELD, "", "backfill")
    assert placed.count(True) > 15
    assert placed.count(False) > 2
