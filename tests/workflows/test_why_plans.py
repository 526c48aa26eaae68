"""Answers against cases worked out by hand, and every price against the model with that plan fixed in it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from asking_texts import DRAWN, THREE_JOBS, read
from found_codes import raises_code
from msgspec import structs

from gpusched_dsl.compiling.evaluation.limits import MemoryLimits
from gpusched_dsl.compiling.lowering.fixing import VariableValues
from gpusched_dsl.compiling.lowering.ground import ground
from gpusched_dsl.explaining.decisions.counterfactuals import CounterfactualProblem
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.online.loops.events import EventLoop
from gpusched_dsl.online.loops.inspection import job_in, moment_at
from gpusched_dsl.online.open import open_run
from gpusched_dsl.online.run_config import RunConfig
from gpusched_dsl.solving.solve import solve_problem
from gpusched_dsl.solving.variants.solver import VariantSolver
from gpusched_dsl.workflows.estimate import estimate
from gpusched_dsl.workflows.run import run_method
from gpusched_dsl.workflows.why import DecisionExplanation, why

SHARED = """
import "gsdsl:gpu_sharing/online.gsm";
import "gsdsl:gpu_sharing/tests/policies.gsm";
"""


# The type of a node is a number, its GPUs.
NUMBERED = """
import "gsdsl:trace_replay/tests/queues.gsm";
scenario Pool for TraceReplay {
  Nodes = { p, q };
  gpus["p"] = 4; gpus["q"] = 2;
  table Jobs: submitted[h] needs exec_time[h] = a 0 3 5   b 1 2 1   c 2 1 4   d 2 4 3;
}
"""


def answer(job: str, at: float, method: str = "highs", text: str = THREE_JOBS) -> DecisionExplanation:
    return why(read(text), job, at, RunConfig(method=method, online="EveryEvent"))


def change(found: DecisionExplanation, entry: str) -> dict[str, float]:
    [other] = [a for a in found.to_dict()["alternatives"] if a["entry"] == entry]
    assert other["possible"]
    return dict(other["changes"])


# --- by hand ---------------------------------------------------------------------------------------------------------


def test_a_job_that_waits_and_has_no_room() -> None:
    """At 1 h the node is of one GPU (0.5 $/h), which J2 has for 2 h.

    J3 would need a node of two: J2 costs the same there, J3 one hour of 0.5 $.
    """
    found = answer("J3", 1)
    assert not found.runs
    assert found.fixed is not None
    assert found.free is not None
    assert found.fixed.cost is None
    assert [text for text, _ in found.fixed.rows] == ["`capacity[n1,A]` by 1"]
    assert found.fixed.rows[0][1] == "run[J1,n1,A,1] + run[J2,n1,A,1] + run[J3,n1,A,1] <= hosts[n1,A]"
    told = found.to_dict()["others_free"]
    assert told["entries"] == ["run[J3,n1,B,1]"]
    assert told["changes"] == pytest.approx({"total": 0.5, "rent": 0.5})
    assert told["moved"] == ["run[J2,n1,A,1] -> run[J2,n1,B,1]"]
    lines = found.lines()
    assert "J3 at 1 h waits, by the plan of highs at 1 h" in lines
    assert "    violates " + ": ".join(found.fixed.rows[0]) in lines


def test_a_job_that_waits_though_there_is_room() -> None:
    """At 0 h J1 alone could have the small node for 4 h of 0.5 $; a node not in use is priced as 1 $ of idle GPUs."""
    found = answer("J1", 0)
    assert found.fixed is not None
    assert found.to_dict()["others_as_planned"]["changes"] == pytest.approx({"total": 1, "idle": -1, "rent": 2})
    told = "if it ran, with all other jobs as planned (run[J1,n1,A,1]): total +1 $ (idle -1 $, rent +2 $)"
    assert told in found.lines()


def test_a_job_that_runs_and_what_else_it_could_have() -> None:
    """J2 has the small node for 2 h of 0.5 $. Two GPUs for 1.2 h cost 1.2 $; one of two leaves one idle."""
    found = answer("J2", 1)
    assert found.runs
    assert found.plan.entries == ("run[J2,n1,A,1]",)
    assert [a.entry for a in found.alternatives] == ["run[J2,n1,B,2]", "run[J2,n1,B,1]", "waits"]
    assert change(found, "run[J2,n1,B,2]") == pytest.approx({"total": 0.2, "rent": 0.2})
    assert change(found, "run[J2,n1,B,1]") == pytest.approx({"total": 1, "idle": 1})


def test_the_plan_that_holds_is_the_last_one_before() -> None:
    assert answer("J2", 1.7).planned_at == 1
    assert answer("J3", 1.2, "Greedy").planned_at == 1


# --- against the model -----------------------------------------------------------------------------------------------


@pytest.mark.quick(1)
@pytest.mark.parametrize(
    ("text", "scenario", "method", "at"),
    [
        (THREE_JOBS, "CpOn", "Greedy", 1.0),
        (THREE_JOBS, "CpOn", "highs", 1.0),
        (SHARED, "TwoKinds", "STS", 0.0),
        (SHARED, "TwoKinds", "EDF", 0.0),
    ],
)
def test_prices_are_those_of_the_model(text: str, scenario: str, method: str, at: float) -> None:
    """Every plan that is priced, fixed in the model as policies' plans are, costs what was told."""
    loop = open_run(read(text), RunConfig(online="EveryEvent", scenario=scenario, method=method))
    assert isinstance(loop, EventLoop)
    moment = moment_at(loop, at)
    assert moment is not None
    compared = 0
    for code in range(len(loop.world.status)):
        job = job_in(moment, loop.jobs_root, code)
        assert job is not None
        question = CounterfactualProblem(moment, job, VariantSolver(seconds=60.0))
        plan = question.evaluate_plan()
        assert plan.cost is not None
        for way in question.configurations:
            for place in way.tolist():
                forced = question.force_running(np.array([place]), why=False)
                values = question.planned_values.copy()
                values[question.all_own_elements] = 0.0
                values[place] = 1.0
                assert price(question, values) == pytest.approx(None if forced.cost is None else forced.cost.total)
                compared += 1
        waits = question.planned_values.copy()
        waits[question.all_own_elements] = 0.0
        forced = question.force_waiting()
        assert price(question, waits) == pytest.approx(None if forced.cost is None else forced.cost.total)
        best = question.force_running(question.own_elements, others=False, why=False)
        assert best.cost is not None
        every = [question.force_running(way, why=False).cost for way in question.configurations]
        assert all(cost is None or cost.total >= best.cost.total - 1e-6 for cost in every)
    assert compared > 6


def price(question: CounterfactualProblem, values: np.ndarray) -> float | None:
    """The cost of a plan that is fixed in the model when it is grounded; None where it breaks it."""
    instance = question.moment.instance
    chosen = np.flatnonzero(values)
    codes = tuple(column[chosen] for column in question.family.domain.columns())
    store = structs.replace(instance.store, variables={}, point=None)
    problem = ground(
        instance.scenario.model, store, MemoryLimits(), {question.family.name: VariableValues(codes, values[chosen])}
    )
    solved = solve_problem(problem, "highs")
    solved.close()
    return None if solved.point is None else float(solved.objectives[-1].value or 0.0)


# --- policies --------------------------------------------------------------------------------------------------------


def test_the_turn_of_a_job_that_finds_no_room() -> None:
    """Greedy puts J2 and J1 first: both have one of the two GPUs when it is J3's turn."""
    found = answer("J3", 1, "Greedy").turn
    assert found is not None
    assert (found.place, found.length) == (3, 3)
    assert dict(found.keys)["`deadline[j]`".strip("`")] == "8 h"
    assert found.free == ("B: at most 0 free on a used node, 0 unused",)
    assert [(t.rule, t.placed) for t in found.attempts] == [
        ("best_fit", False), ("new_node", False), ("best_suboptimal", False),
    ]  # fmt: skip
    assert [way for way, _ in found.configurations] == ["A, g = 1", "B, g = 1", "B, g = 2"]
    assert "none of `best_fit`, `new_node`, `best_suboptimal` finds room" in found.wait_reason


def test_the_turn_of_a_job_that_is_placed() -> None:
    found = answer("J2", 1, "Greedy").turn
    assert found is not None
    assert found.place == 1
    assert [(t.rule, t.configuration, t.placed) for t in found.attempts] == [
        ("best_fit", "A, g = 1", False), ("new_node", "A, g = 1", True),
    ]  # fmt: skip
    assert found.wait_reason == ""


def test_a_queue_that_stops_and_a_job_that_is_not_in_it() -> None:
    """By `Patient` nobody gets a place after one who finds none; `Urgent` leaves out jobs of high weight."""
    text = THREE_JOBS.replace("J1 0 6 1", "J1 0 9 1").replace("J3 1 9 4", "J3 1 6 4")
    found = [answer(job, 1, "Patient", text).turn for job in ("J1", "J2", "J3")]
    assert all(turn is not None for turn in found)
    last = [turn for turn in found if turn is not None and turn.place == 3]
    assert len(last) == 1
    refused = answer("J3", 1, "Urgent").turn
    assert refused is not None
    assert (refused.place, refused.wait_reason) == (0, "it is not in the queue where `weight[j] < 3[$/h]`")


def test_a_job_that_stays_where_it_was() -> None:
    found = answer("J1", 1, "Urgent")
    assert found.runs
    assert found.turn is not None
    assert found.turn.notes == ("it keeps its node: `keep running`",)
    assert found.turn.attempts == ()


@pytest.mark.slow
def test_ways_have_the_keys_of_the_line_that_lists_them() -> None:
    """PL-1: J3 has the best profile on an A100, though one that meets its due date on a K80 does not exist."""
    found = why(read(SHARED), "J3", 0, RunConfig(method="STS", online="EveryEvent", scenario="TwoKinds")).turn
    assert found is not None
    assert [way for way, _ in found.configurations[:2]] == ["A100, g = 1, u = 20", "K80, g = 4, u = 20"]
    assert dict(found.configurations[0][1])["plan_status[j, t]"] == "0"
    assert dict(found.configurations[1][1])["plan_status[j, t]"] == "1"
    assert dict(found.configurations[0][1])["plan_cost[j, t] + weight[j] * plan_late[j, t]"] == "61.4864 $"
    assert found.attempts[-1].placed
    assert found.attempts[-1].configuration == "A100, g = 1, u = 20"


# --- journals, and what cannot be asked ------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["highs", "Greedy"])
def test_a_journal_gives_the_plans_that_it_has(tmp_path: Path, method: str) -> None:
    journal = tmp_path / "run.db"
    run_method(read(THREE_JOBS), RunConfig(method=method, online="EveryEvent", journal=journal))
    before = journal.read_bytes()
    asked = [
        why(read(THREE_JOBS), "J3", 1, RunConfig(method=method, online="EveryEvent", journal=given)).lines()
        for given in (None, journal)
    ]
    assert asked[0] == asked[1]
    assert journal.read_bytes() == before


@pytest.mark.parametrize("change", ["method", "seed", "scenario", "settings", "text"])
def test_a_journal_of_another_run_explains_nothing(tmp_path: Path, change: str) -> None:
    """Its plans are those of other inputs, or of another method."""
    config = RunConfig(method="Greedy", online="EveryEvent", scenario="ThreeJobs", journal=tmp_path / "run.db")
    run_method(read(THREE_JOBS), config)
    others: dict[str, Any] = {"method": "highs", "seed": 2, "scenario": "CpOn", "settings": {"weight[J1]": "5[$/h]"}}
    text = THREE_JOBS + "\n# changed\n" if change == "text" else THREE_JOBS
    asked = replace(config, **{change: others[change]}) if change in others else config
    with pytest.raises(DiagnosticError) as raised:
        why(read(text), "J3", 1, asked)
    [found] = raised.value.diagnostics
    assert (found.code, change if change != "text" else "inputs_sha256") == ("GSM5104", found.notes[0].split("`")[1])


@pytest.mark.parametrize(("job", "at", "code"), [("J7", 1, "GSM6021"), ("J3", 0.5, "GSM6022"), ("J2", 40, "GSM6022")])
def test_what_cannot_be_asked(job: str, at: float, code: str) -> None:
    with pytest.raises(DiagnosticError) as raised:
        answer(job, at)
    assert [d.code for d in raised.value.diagnostics] == [code]


def test_the_end_of_the_last_job() -> None:
    """No plan follows it: `why` must not explain the plan before, and agrees with `estimate` on the state."""
    config = RunConfig(method="Greedy", online="EveryArrivalAndCompletion")
    ends = run_method(read(THREE_JOBS), config).jobs.sort("end")
    job, end = ends["job"].to_list()[-1], ends["end"].to_list()[-1]
    with raises_code("GSM6022", "4", job):
        why(read(THREE_JOBS), job, end, config)
    with raises_code("GSM6022", job, "4"):
        estimate(read(THREE_JOBS), job, config, at=end)
    assert why(read(THREE_JOBS), job, end - 0.01, config).runs


def test_a_job_of_a_drawn_length() -> None:
    found = answer("j1", 10, "Greedy", DRAWN)
    assert found.runs
    assert found.plan.entries == ("run[j1,n1,1,20]",)


def test_in_windows_the_slot_of_the_time_is_asked_about() -> None:
    """T1 trains in the cheap hours 1 and 3. A plan from 0 on costs 0.0234 $, the optimum: no other one costs less."""
    text = """
import "gsdsl:price_aware/tests/model.gsm";
online Rolling for PriceAware {
  window h in Slots lookahead 100 commit 2;
  arrive b in Batch at 0;
  replan on every 2 slots;
  work epochs[b];
  speed 1 / epoch_time[b, node_type[k]];
  carry epochs[b] = epochs[b] - done[b];
  carry started[b] = if done[b] > 0 then 1 else 0;
  carry was_on[k] = on[k, committed];
  carry was_training[b, k] = train[b, k, committed];
}
"""
    asked = [why(read(text), "T1", at, RunConfig(online="Rolling", scenario="ValleysByNode")) for at in (0, 1, 2, 3)]
    assert [found.runs for found in asked] == [False, True, False, True]
    assert [found.planned_at for found in asked] == [0, 0, 2, 2]
    assert asked[0].plan.cost is not None
    assert asked[0].plan.cost.total == pytest.approx(0.0234)
    assert asked[0].free is not None
    assert asked[0].free.entries == ("train[T1,n1,0]",)
    assert asked[0].free.cost is not None
    assert asked[0].free.cost.total > 0.0234
    assert [a.entry for a in asked[1].alternatives] == ["train[T1,n2,1]", "waits"]
    assert all(a.forced.cost is not None and a.forced.cost.total > 0.0234 for a in asked[1].alternatives)


def test_types_of_nodes_that_are_numbers() -> None:
    found = why(read(NUMBERED), "d", 2, RunConfig(method="FIFO")).turn
    assert found is not None
    assert found.free == (
        "gpus[n] = 4: at most 0 free on a used node, 0 unused",
        "gpus[n] = 2: no used node, 1 unused",
    )
