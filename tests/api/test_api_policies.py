"""Policies from Python: plans, bounds, starts, new plans after changed values, comparisons."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import polars as pl
import pytest
from found_codes import message_values, raises_code

import gpusched_dsl as gs
from gsdsl_backends.protocol import SolverProgress

TEXT = """
import "gsdsl:capacity_planning/scenarios/figure1.gsm";
scenario Small extends Figure1Synthetic { node_rule = at_most; }
policy Drawn for CapacityPlanning {
  let cost[(j, v, g) in Runnable] in $ = g / gpus[v] * price[v] * time_left[j, v, g];
  order j in Jobs by deadline[j];
  choose (v, g) in Configs where (j, v, g) in Runnable by cost[j, v, g], g;
  place best_fit, new_node, postpone;
  randomise choose from 3 by inverse cost;
  repeat 30 keep best total;
}
policy Endless for CapacityPlanning extends Drawn { repeat 1000000000 keep best total; }
policy Lazy for CapacityPlanning extends Drawn { place postpone; }
"""
BEST = 0.92875


@pytest.fixture
def model() -> Iterator[gs.Model]:
    with gs.loads(TEXT) as model:
        yield model


def codes(error: pytest.ExceptionInfo[gs.DiagnosticError]) -> list[str]:
    return [d.code for d in error.value.diagnostics]


def test_a_plan_is_a_result(model: gs.Model) -> None:
    result = model.solve("Small", backend="Greedy")
    assert result.status == "feasible"
    assert result.status is gs.Status.FEASIBLE
    assert result.backend == "Greedy"
    assert result.has_point
    assert (result.bound, result.gap) == (None, None)
    assert result.objective == pytest.approx(sum(result.terms.values()))
    assert result["run"]["j"].to_list() == ["j1", "j2", "j3"]
    assert result.placement is not None
    assert result.placement.height == 3
    # What the placement costs is what the model charges as rent.
    assert result.placement["cost"].sum() == pytest.approx(result.terms["rent"])
    assert result.solved.statistics["price"] == pytest.approx(result.objective)


def test_a_bound_and_a_gap(model: gs.Model) -> None:
    result = model.solve("Small", backend="FIFO", bound=True, gap=0.0)
    assert result.status == "feasible"
    assert result.bound == pytest.approx(BEST)
    assert result.objective is not None
    assert result.gap == pytest.approx((result.objective - BEST) / result.objective)
    assert result.solved.statistics["bound_seconds"] >= 0
    # The tables are those of the plan, also after another problem was built for the bound.
    assert result.placement is not None
    assert result.placement["cost"].sum() == pytest.approx(result.terms["rent"])
    with raises_code("GSM6002", "bound", "highs"):
        model.solve("Small", bound=True)


def test_the_bound_of_several_objectives_is_for_the_first() -> None:
    text = """
    model Two {
      set Jobs; set Nodes;
      param worth[Jobs]; param hours[Jobs];
      var run[Jobs, Nodes] binary;
      maximize gain: sum[j in Jobs, n in Nodes] worth[j] * run[j, n];
      then minimize work: sum[j in Jobs, n in Nodes] hours[j] * run[j, n];
      constraint once[j in Jobs]: sum[n in Nodes] run[j, n] <= 1;
      constraint one[n in Nodes]: sum[j in Jobs] run[j, n] <= 1;
      placement run[j, n] { job j; node n; lasts hours[j]; }
    }
    policy Short for Two { order j in Jobs by hours[j]; choose n in Nodes by 1; place new_node, postpone; }
    scenario S for Two { Nodes = { n1 }; table Jobs: worth hours = a 1 1 b 5 9; }
    """
    result = gs.loads(text).solve(backend="Short", bound=True)
    assert [o.value for o in result.objectives] == [1.0, 1.0]
    assert result.objectives[0].bound == pytest.approx(5.0)
    # The best plan of the first objective takes 9 hours; of this one nothing is proved by that.
    assert result.objectives[1].bound is None


def test_a_plan_starts_a_solver(model: gs.Model) -> None:
    result = model.solve("Small", warm_start="Greedy", gap=0.0)
    assert result.status == "optimal"
    assert result.objective == pytest.approx(BEST)
    assert model.solve("Small", "scip", warm_start="EDF", gap=0.0).objective == pytest.approx(BEST)
    broken = model.solve("Small", warm_start="Lazy", settings={"node_rule": "force"})
    assert broken.status == "optimal"
    assert [w.code for w in broken.warnings] == ["GSM4015"]
    with pytest.raises(gs.DiagnosticError) as error:
        model.solve("Small", warm_start="no_such_policy")
    assert codes(error) == ["GSM6009"]


def test_what_runs_is_kept(model: gs.Model) -> None:
    best = model.solve("Small", gap=0.0)
    kept = model.solve("Small", backend="FIFO", warm_start=best)
    assert kept["run"].equals(best["run"])
    assert model.solve("Small", backend="FIFO").objective != pytest.approx(BEST)
    told = model.solve("Small", backend="Drawn", warm_start=best)
    assert [w.code for w in told.warnings] == ["GSM6009"]
    assert message_values(told.warnings[0].message) == ("Drawn",)


def test_resolve_plans_again_with_the_values_set(model: gs.Model) -> None:
    first = model.solve("Small", backend="Greedy")
    model.set("weight", {"j1": 50.0, "j2": 50.0, "j3": 50.0})
    model.set("deadline", {"j1": 1.0, "j2": 1.0, "j3": 1.0})
    again = model.resolve()
    assert again.backend == "Greedy"
    assert again.status == "feasible"
    assert again.rebuilt is None
    assert again.objective != pytest.approx(first.objective)
    assert again.objective == pytest.approx(model.solve("Small", backend="Greedy").objective)
    model.set("Jobs", ["j1"])
    model.set("deadline", {"j1": 1.0})
    model.set("weight", {"j1": 50.0})
    model.set("Runnable", [("j1", "v1", 1), ("j1", "v3", 8)])
    model.set("exec_time", {("j1", "v1", 1): 6.0, ("j1", "v3", 8): 0.9})
    alone = model.resolve()
    assert alone["run"]["j"].to_list() == ["j1"]
    # Solver, policy, solver: no session of one is taken for another's.
    assert model.solve("Small", gap=0.0).status == "optimal"
    assert model.resolve().status == "optimal"


def test_resolve_keeps_bound_and_judge(model: gs.Model) -> None:
    model.solve("Small", backend="FIFO", bound=True, judge="scip", gap=0.0)
    model.set("idle_penalty", 0.0)
    again = model.resolve()
    assert again.bound is not None
    assert "SCIP" in again.versions
    assert again.objective is not None
    assert again.objective >= again.bound - 1e-6


def test_a_plan_that_breaks_the_model(model: gs.Model) -> None:
    result = model.solve("Small", backend="Lazy", settings={"node_rule": "force"}, bound=True)
    assert result.status is gs.Status.BROKEN
    assert not result.has_point
    assert result.gap is None
    assert result.placement is None
    assert [w.code for w in result.warnings] == ["GSM4015"]
    assert "enough_run" in result.warnings[0].notes[0]


def test_names_that_are_none(model: gs.Model) -> None:
    with pytest.raises(gs.DiagnosticError) as error:
        model.solve("Small", backend="Gredy")
    assert codes(error) == ["GSM4001"]
    with pytest.raises(gs.DiagnosticError) as error:
        model.compare(["highs", "TimeFIFO"], "Small")
    assert codes(error) == ["GSM4016"]
    with raises_code("GSM4011", "'highs'"):
        model.compare("highs", "Small")


def test_policies_are_listed(model: gs.Model) -> None:
    found = {p.policy.name: p for p in model.policies()}
    assert {"Drawn", "Lazy", "FIFO", "LocalSearch"} <= set(found)
    assert not found["Drawn"].in_library
    assert found["FIFO"].in_library
    assert found["Lazy"].policy.extends == "Drawn"
    assert {"repetitions": "30"}.items() <= {s.name: s.text for s in found["Drawn"].policy.settings}.items()


def test_compare(model: gs.Model) -> None:
    found = model.compare(["highs", "FIFO", "Drawn", "highs"], "Small", seeds=(1, 2), gap=0.0)
    assert [(row.method, row.seed) for row in found.rows] == [
        ("highs", None), ("FIFO", None), ("Drawn", 1), ("Drawn", 2),
    ]  # fmt: skip
    assert isinstance(found, gs.Comparison)
    assert found.best == pytest.approx(BEST)
    assert found.bound == pytest.approx(BEST)
    assert found["highs"].status == "optimal"
    assert found.is_best(found["highs"])
    assert found.gap(found["highs"]) == 0.0
    table = found.table
    assert isinstance(table, pl.DataFrame)
    assert table["total"].to_list() == [row.objective for row in found.rows]
    assert "*" in str(found)
    # Each row keeps tables of its own.
    for row in found.rows:
        assert row.result is not None
        assert row.result.placement is not None
        assert row.result.placement["cost"].sum() == pytest.approx(row.result.terms["rent"])
    with pytest.raises(KeyError):
        found["scip"]


def test_values_that_were_set_are_compared(model: gs.Model) -> None:
    model.set("idle_penalty", 3.0)
    found = model.compare(["Greedy"], "Small", bound=True)
    alone = model.solve("Small", backend="Greedy")
    assert found["Greedy"].objective == pytest.approx(alone.objective)
    assert found.bound_by == "highs"


class Stopping:
    """Stops once it has heard of so many plans."""

    def __init__(self, after: int) -> None:
        self.after, self.heard = after, list[SolverProgress]()

    def progress(self, progress: SolverProgress) -> None:
        self.heard.append(progress)

    @property
    def stop_requested(self) -> bool:
        return bool(self.heard) and self.heard[-1].iterations >= self.after


def test_a_monitor_hears_of_plans_and_stops(model: gs.Model) -> None:
    monitor = Stopping(5)
    result = model.solve("Small", backend="Endless", monitor=monitor, bound=True)
    assert (result.status, result.reason) == ("feasible", "interrupt")
    counts = [p.iterations for p in monitor.heard]
    assert counts == sorted(counts)
    assert counts[-1] >= 5
    prices = [p.objective for p in monitor.heard if p.objective is not None]
    assert prices == sorted(prices, reverse=True)
    assert prices[-1] == pytest.approx(result.objective)
    assert result.bound is None  # who stops the policy does not wait for a bound


def test_a_monitor_ends_a_comparison(model: gs.Model) -> None:
    found = model.compare(["Greedy", "Endless", "FIFO"], "Small", monitor=Stopping(5))
    assert [row.method for row in found.rows] == ["Greedy", "Endless"]
    assert found.interrupted
    assert found["Endless"].remark == "stopped: interrupt"


def test_the_time_limit(model: gs.Model) -> None:
    result = model.solve("Small", backend="Endless", time_limit=0.3)
    assert (result.status, result.reason) == ("feasible", "time")
    none = model.solve("Small", backend="Endless", time_limit=0.0)
    assert none.has_point  # the first plan is always made, and judged


PROGRAM = """
import json, sys
import gpusched_dsl as gs

class Telling:
    told = False
    stop_requested = False
    def progress(self, progress):
        if progress.iterations and not self.told:
            self.told = True
            print("plans", flush=True)

result = gs.loads(sys.stdin.read()).solve("Small", backend="Endless", monitor=Telling())
print(json.dumps([result.status, result.reason, result.objective]), flush=True)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_ctrl_c_keeps_the_best_plan(child: Callable[..., Any]) -> None:
    environment = {**os.environ, "GSDSL_PYTHON_KERNELS": "1"}
    process = child([sys.executable, "-c", PROGRAM], env=environment, stdin=subprocess.PIPE)
    process.stdin.write(TEXT)
    process.stdin.close()
    assert process.stdout.readline().strip() == "plans"
    process.send_signal(signal.SIGINT)
    status, reason, objective = json.loads(process.stdout.readline())
    assert process.wait(timeout=30) == 0
    assert "Traceback" not in process.stderr.read()
    assert (status, reason) == ("feasible", "interrupt")
    assert objective >= BEST - 1e-9


def test_a_judge_that_runs_out_of_time_is_told(model: gs.Model, monkeypatch: pytest.MonkeyPatch) -> None:
    from dataclasses import replace

    from gpusched_dsl.workflows import solve_by_policy as planning

    real = planning.solve_problem

    def late(*arguments: object) -> object:
        return replace(real(*arguments), status=gs.Status.LIMIT, reason="time")  # type: ignore[arg-type]

    monkeypatch.setattr(planning, "solve_problem", late)
    result = model.solve("Small", backend="Greedy")
    assert (result.status, result.reason) == ("feasible", "time")
