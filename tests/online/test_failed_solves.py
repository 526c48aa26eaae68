"""A solver that fails at a plan does not end a run: the fallback plans, or running jobs continue; warnings count it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest
from found_codes import message_values
from online_texts import driver, machines

import gpusched_dsl as gs
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.online.planners.protocol import Planner, PlanningRequest
from gpusched_dsl.policies.plan import Plan

JOBS = machines(1, [(0.0, 2.0), (0.5, 1.0), (2.5, 0.5)])
# Two jobs at once on one node; HiGHS has no answer to the first one's numbers, each of which is in range.
EXTREME = """
import "gsdsl:capacity_planning/online.gsm";
scenario Cluster for CapacityPlanning {
  Nodes = { n1 };  period = 9[h];  idle_penalty = 0.01[$];
  table Types: gpus price[$/h] = small 1 1.1;
  table Jobs: deadline[h] weight[$/h] = first DEADLINE WEIGHT  second 4 0.5;
  table Runnable: exec_time[h] = first small 1 4  second small 1 2;
}
online NoFallback for CapacityPlanning {
  arrive j in Jobs at submitted[j];
  carry remaining[j] = remaining[j];
  carry deadline[j] = deadline[j] - now;
}
"""
IDLE = """
import "gsdsl:capacity_planning/online.gsm";
scenario Cluster for CapacityPlanning {
  node_rule = at_most;
  Nodes = { n1 };
  table Types: gpus price[$/h] family = small 1 0.56 k;
  table Jobs: deadline[h] weight[$/h] = a 100 1;
  table Runnable: exec_time[h] = a small 1 10;
}
online NoFallback for CapacityPlanning {
  arrive j in Jobs at submitted[j];
  carry remaining[j] = remaining[j];
  carry deadline[j] = deadline[j] - now;
}
"""


def cluster(deadline: str, weight: str) -> gs.Model:
    return gs.loads(EXTREME.replace("DEADLINE", deadline).replace("WEIGHT", weight))


@dataclass(eq=False)
class Failing:
    """A planner that raises an error of the code at the plans of these numbers, counted from 0, and at all if None."""

    planner: Planner
    code: str
    numbers: set[int] | None = None
    asked: list[int] = field(default_factory=list)

    @property
    def name(self) -> str:
        return self.planner.name

    def plan(self, request: PlanningRequest) -> Plan | None:
        self.asked.append(request.number)
        if self.numbers is None or request.number in self.numbers:
            raise DiagnosticError([Diagnostic(self.code, "this went wrong", help="hope")])
        return self.planner.plan(request)

    def fresh(self) -> Failing:
        return self

    def close(self) -> None:
        self.planner.close()


def failing(code: str, numbers: set[int] | None, **more: Any) -> Any:
    loop = driver(JOBS, method="FIFO", **more)
    loop.fast_replay, loop.planner = None, Failing(loop.planner, code, numbers)
    return loop


def test_the_fallback_plans_what_the_solver_cannot() -> None:
    model = cluster("-1e11", "1e15")
    by_policy = model.run(online="EveryEvent", method="Greedy")
    result = model.run(online="EveryEvent", method="highs")
    assert (result.ended, result.total) == ("finished", by_policy.total)
    assert [step.method for step in result.outcome.steps] == ["Greedy", "highs"], "alone the second job can be planned"
    [warning] = [w for w in result.warnings if w.code == "GSM4009"]
    assert warning.severity == "warning"
    assert message_values(warning.notes[-1]) == ("1", "highs", "0")
    assert (warning.help or "").startswith("`Greedy` planned instead; ")


def test_the_fallback_plans_where_a_policy_runs_nothing() -> None:
    """A job with much time costs nothing while it waits, but the model requires that one job runs."""
    model = gs.loads(IDLE)
    result = model.run(online="EveryArrivalAndCompletion", method="ReducedCost")
    assert (result.ended, [step.method for step in result.outcome.steps]) == ("finished", ["Greedy"])
    [warning] = result.warnings
    assert (warning.code, warning.severity, warning.help) == ("GSM4015", "warning", "`Greedy` planned instead")
    assert "`enough_run` is 0, at least 1" in warning.message
    assert warning.primary is not None
    assert model.run(online="NoFallback", method="ReducedCost").ended == "stuck", "no other method is there"
    model = gs.loads(IDLE.replace("at_most", "paper"))  # the rows permit that nothing runs
    assert model.run(online="EveryArrivalAndCompletion", method="ReducedCost").ended == "stuck"


def test_a_job_is_not_refused_because_a_policy_leaves_it_waiting() -> None:
    loop: Any = gs.loads(IDLE).live(online="EveryEvent", method="ReducedCost")._loop
    loop.on_event({"kind": "tick", "time": 0.0})
    job = {"deadline": 200, "weight": 1, "Runnable": [["small", 1]], "exec_time": {"small,1": 10}}
    loop.on_event({"kind": "completion", "time": 10.0, "job": "a"})
    [decided] = loop.on_event({"kind": "arrival", "id": "b", "time": 11.0, "job": "b", "values": job})
    assert decided.method == "Greedy"


def test_a_run_in_which_nothing_could_be_planned_is_an_error() -> None:
    with pytest.raises(DiagnosticError, match="GSM4009"):
        cluster("-1e11", "1e15").run(online="NoFallback", method="highs")
    assert cluster("5", "1").run(online="NoFallback", method="highs").ended == "finished"


@pytest.mark.parametrize("code", ["GSM4006", "GSM4007", "GSM4008", "GSM4009"])
def test_what_runs_goes_on_without_a_fallback(code: str) -> None:
    """The plan at 0.5, when the second job comes, fails: the first one runs on until 2."""
    outcome = failing(code, {1}).run()
    assert [step.method for step in outcome.steps] == ["FIFO", "as before", "FIFO", "FIFO", "FIFO"]
    assert outcome.world.end.tolist() == [2.0, 3.0, 3.5]
    [warning] = outcome.warnings
    assert (warning.code, warning.notes) == (code, ("1 plan of `FIFO` failed like this, the first at 0.5 h",))
    assert warning.help == "running jobs continued; hope"


@pytest.mark.parametrize("code", ["GSM3004", "GSM4003", "GSM4004", "GSM4012", "GSM4014"])
def test_errors_of_data_and_options_stay_errors(code: str) -> None:
    with pytest.raises(DiagnosticError, match=code):
        failing(code, {1}, fallback="SRPT").run()


def test_a_fallback_that_fails_too_leaves_what_runs() -> None:
    loop = failing("GSM4007", {1}, fallback="SRPT")
    loop.fallback = Failing(loop.fallback, "GSM4008", {1})
    outcome = loop.run()
    assert outcome.steps[1].method == "as before"
    assert [w.code for w in outcome.warnings] == ["GSM4007", "GSM4008"]
    assert loop.fallback.asked == [1]


def test_live_facts_are_taken_and_arrivals_are_refused() -> None:
    """The event with which the solver begins to fail is refused if it can be; a completion has happened anyway."""
    loop: Any = cluster("5", "1").live(online="EveryEvent", method="highs")._loop
    loop.on_event({"kind": "tick", "time": 0.0})
    working = loop.planner
    loop.planner = Failing(working, "GSM4008")
    job = {"deadline": 9, "weight": 1, "Runnable": [["small", 1]], "exec_time": {"small,1": 1}}
    new = {"kind": "arrival", "id": "new", "time": 1.0, "job": "third", "values": job}
    with pytest.raises(DiagnosticError, match="GSM4008"):
        loop.on_event(new)
    assert (len(loop.steps), len(loop.world.status)) == (1, 2)
    [decided] = loop.on_event({"kind": "completion", "time": 2.0, "job": "first"})
    assert decided.method == "Greedy"
    # The solver fails without the new job too, which is not to blame now.
    [decided] = loop.on_event({**new, "time": 3.0})
    assert decided.method == "Greedy"
    assert [f.count for f in loop.diagnostics.failures.values()] == [2]
