"""Rows that no role states, with gangs over time: runs of every policy, gangs that run already, and why gangs wait."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

import gpusched_dsl as gs
from gpusched_dsl.compiling.lowering.fixing import VariableValues
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.workspace import workspace_from_text
from gpusched_dsl.online.history import stretches_of
from gpusched_dsl.online.open import loop_of, setup_of
from gpusched_dsl.online.planners.protocol import PlanningRequest
from gpusched_dsl.online.planners.verification import PlanCheck
from gpusched_dsl.online.run_config import RunConfig
from gpusched_dsl.policies.plan import Plan

MODEL = """
model Racks {
  set Jobs;  set Nodes;  set Racks;  set Teams;
  param rack[Nodes] within Racks;
  param gpus[Nodes] integer >= 1;
  param workers[Jobs] integer >= 1;
  param team[Jobs] within Teams;
  param length[Jobs] in h > 0;
  param remaining[Jobs] >= 0 default 1;
  param submitted[Jobs] in h default 0;
  param cap[Racks] >= 0;
  param held[Jobs, Nodes] integer >= 0 default 0;
  var worker[j in Jobs, n in Nodes] integer >= 0 <= gpus[n];
  var runs[Jobs] binary;
  maximize running: sum[j in Jobs] workers[j] * runs[j];
  constraint all_or_none[j in Jobs]: sum[n in Nodes] worker[j, n] == workers[j] * runs[j];
  constraint room[n in Nodes]: sum[j in Jobs] worker[j, n] <= gpus[n];
  constraint rack_cap[r in Racks]: sum[j in Jobs, n in Nodes where rack[n] == r] worker[j, n] <= cap[r];
  STAYS
  placement worker[j, n] {
    job j;  node n;  rack rack[n];  workers workers[j];  uses 1 of gpus[n];  lasts remaining[j] * length[j];
    user team[j];
  }
}
policy Packed for Racks { order j in Jobs by workers[j];  choose by length[j];  place fewest_racks, postpone;
  keep running; }
scenario S for Racks {
  Racks = { r1, r2 };  Teams = { red, blue };
  table Racks: cap = r1 5 r2 3;
  table Nodes: rack gpus = n1 r1 4  n2 r1 4  n3 r2 4  n4 r2 4;
  table Jobs: workers team length[h] submitted[h] =
    a 4 red 4 0  b 3 red 1 0  c 2 blue 2 0.5  d 1 blue 1 0.5  e 5 blue 2 1  f 1 red 0.5 1.5  g 6 red 1 2;
}
online Loop for Racks {
  arrive j in Jobs at submitted[j];
  replan on arrival, completion;
  carry remaining[j] = remaining[j];
  carry held[j, n] = worker[j, n];
}
"""
STAYS = "constraint stays[j in Jobs, n in Nodes where sum[k in Nodes] held[j, k] > 0]: worker[j, n] == held[j, n];"
POLICIES = ("FIFO", "SJF", "SRTF", "LAS", "EASY", "Conservative", "FairShare", "MaxMin", "Packed")
RACK = {"n1": "r1", "n2": "r1", "n3": "r2", "n4": "r2"}
CAP = {"r1": 5, "r2": 3}


def text_with(stays: bool) -> str:
    return MODEL.replace("STAYS", STAYS if stays else "")


def run(policy: str, *, stays: bool = False, text: str = "") -> list[tuple[int, str, float, float, int]]:
    """The job, node, start, end and workers of each stretch of a run without a broken plan."""
    found = Diagnostics()
    workspace = workspace_from_text(text or text_with(stays), "racks.gsm", found)
    found.raise_if_errors()
    outcome = loop_of(setup_of(workspace, RunConfig(method=policy, verify="full", most_events=500))).run()
    assert [w.message for w in outcome.warnings if w.code != "GSM7005"] == []
    parts = stretches_of(outcome.world)
    rows = zip(parts.job, parts.place, parts.start, parts.end, parts.uses, strict=True)
    return [(int(j), sorted(RACK)[int(n)], float(s), float(e), round(float(u))) for j, n, s, e, u in rows]


@pytest.mark.parametrize("policy", POLICIES)
def test_no_rack_is_ever_above_its_cap(policy: str) -> None:
    stretches = run(policy, stays=False)
    for now in {start for _, _, start, _, _ in stretches}:
        used: Counter[str] = Counter()
        for _, node, start, end, workers in stretches:
            if start <= now + 1e-9 < end - 1e-9:
                used[RACK[node]] += workers
        assert all(used[r] <= CAP[r] for r in CAP)
    assert {job for job, *_ in stretches} == set(range(7))


@pytest.mark.parametrize("policy", ["LAS", "SRTF"])
def test_policies_that_halt_jobs_obey_rows_that_keep_them(policy: str) -> None:
    """A policy that would give the GPUs of a running gang to another one may not where a row fixes its workers."""
    halted = run(policy, stays=False)
    assert len({(job, start) for job, _, start, _, _ in halted}) > 7
    kept = run(policy, stays=True)
    assert len({(job, start) for job, _, start, _, _ in kept}) == 7


def test_gangs_that_a_row_fixes_run_first() -> None:
    """A queue without `keep running` stops at its head; the 70 gangs behind it stay, as the model says."""
    jobs = " ".join(f"h{i} 1 red 2" for i in range(70))
    held = " ".join(f"h{i} m{i % 20} 1" for i in range(70))
    text = (
        text_with(True).split("scenario")[0]
        + f"""
policy Stopping for Racks {{ order j in Jobs by length[j];  place fewest_racks, wait; }}
scenario S for Racks {{
  Racks = {{ r1 }};  Teams = {{ red }};  table Racks: cap = r1 100;
  table Nodes: rack gpus = {" ".join(f"m{n} r1 4" for n in range(20))};
  table Jobs: workers team length[h] = head 80 red 1  {jobs};
  table Jobs, Nodes: held = {held};
}}
"""
    )
    result = gs.loads(text).solve(backend="Stopping")
    assert result.status == "feasible"
    assert placed(result) == {(f"h{i}", f"m{i % 20}"): 1 for i in range(70)}


@pytest.mark.parametrize("policy", ["EASY", "Conservative"])
def test_a_gang_that_a_row_refuses_reserves_no_nodes_for_now(policy: str) -> None:
    """The share of its team lets b start once a has ended; c may have the free node until then."""
    text = text_with(False)
    cap = "constraint rack_cap[r in Racks]: sum[j in Jobs, n in Nodes where rack[n] == r] worker[j, n] <= cap[r];"
    share = "constraint share[t in Teams]: sum[j in Jobs, n in Nodes where team[j] == t] worker[j, n] <= 4;"
    jobs = text[text.index("    a 4 red 4 0") : text.index("\n}\nonline")]
    text = text.replace(cap, share).replace(jobs, "    a 4 red 4 0  b 4 red 1 0  c 4 blue 1 0;")
    text = text.replace("  n3 r2 4  n4 r2 4;", ";")
    assert cap not in text
    starts = {job: start for job, _, start, _, _ in run(policy, text=text)}
    assert starts == {0: 0.0, 1: 4.0, 2: 0.0}


def placed(result: gs.Result) -> dict[tuple[str, str], int]:
    return {(str(j), str(n)): round(count) for j, n, count in result["worker"].rows() if count > 0.5}


def test_running_gangs_stay_where_a_cap_was_lowered() -> None:
    """Seven workers run where five may: they stay, nothing joins them, and the other rack is used."""
    model = gs.loads(text_with(False))
    running = {"worker": {("a", "n1"): 4.0, ("b", "n2"): 3.0}}
    result = model.solve(backend="Packed", warm_start=running)
    found = placed(result)
    assert {("a", "n1"), ("b", "n2")} <= set(found)
    assert {(j, RACK[n]) for j, n in found if j not in "ab"} == {("d", "r2"), ("f", "r2")}
    assert result.status == "broken"


def test_why_names_the_row() -> None:
    model = gs.loads(text_with(False))
    text = "\n".join(model.why("g", 2.0, online="Loop", method="Packed").lines())
    assert (
        "it waits: no room for its 6 workers at once that the constraints of the model allow: `rack_cap[r1]` is" in text
    )
    assert "of at most 5, and each of its 6 workers adds 1" in text


def first_plan(text: str) -> tuple[PlanningRequest, Plan]:
    """The first plan of a run, as the loop gets it."""
    found = Diagnostics()
    workspace = workspace_from_text(text, "racks.gsm", found)
    found.raise_if_errors()
    loop = loop_of(setup_of(workspace, RunConfig(method="Packed", most_events=1)))
    plans: list[tuple[PlanningRequest, Plan]] = []
    plan_of = loop.planner.plan

    def record(request: PlanningRequest) -> Plan | None:
        plan = plan_of(request)
        assert plan is not None
        plans.append((request, plan))
        return plan

    loop.planner.plan = record  # type: ignore[method-assign]
    loop.run()
    return plans[0]


def test_runs_check_the_rows_of_a_plan_once() -> None:
    """Of plans that their policy has evaluated only a sample is evaluated again; a full check evaluates them all."""
    request, plan = first_plan(text_with(False))
    broken = {"worker": VariableValues((np.array([0, 1]), np.array([0, 1])), np.array([4.0, 3.0]))}
    for obeys_rows in (False, True):
        one = replace(plan, values=broken, obeys_rows=obeys_rows)
        checked = [number for number in range(10) if PlanCheck()(request.instance, one, number) is not None]
        assert checked == ([0, 1, 2, 4, 8] if obeys_rows else list(range(10)))
        assert PlanCheck(full=True)(request.instance, one, 3) is not None


@pytest.mark.parametrize("caps", ["r1 5 r2 3", "r1 8 r2 8"])
def test_policies_evaluate_the_rows_of_their_plan(caps: str) -> None:
    """Where the plan without rows breaks one, so that they are asked, and where it breaks none."""
    assert first_plan(text_with(False).replace("cap = r1 5 r2 3", f"cap = {caps}"))[1].obeys_rows
