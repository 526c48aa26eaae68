"""Each option that the documentation of local search names, as a user gives it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

import gpusched_dsl as gs
from gpusched_dsl.cli import main

ROOT = Path(__file__).parents[2]
GAVEL = ROOT / "models/capacity_planning/scenarios/gavel_40_jobs.gsm"

# A knapsack of two rows, whose relaxation is far from integral, and a second goal among equal gains.
TEXT = """
model Knapsack {
  set I = 1..24;
  param w[i in I] = (i * 37) mod 23 + 3;
  param v[i in I] = (i * 17) mod 19 + 2;
  var x[I] binary;
  maximize gain: sum[i in I] ((i * 53) mod 7 + 1) * x[i];
  then minimize weight: sum[i in I] w[i] * x[i];
  constraint c: sum[i in I] w[i] * x[i] <= 90;
  constraint d: sum[i in I] v[i] * x[i] <= 70;
}
scenario S for Knapsack { }
"""


@pytest.fixture
def model() -> gs.Model:
    return gs.loads(TEXT)


def test_the_time_limit_ends_it(model: gs.Model) -> None:
    model.solve(backend="search", solver_options={"steps": 1})  # loads what takes a second the first time
    began = time.perf_counter()
    result = model.solve(backend="search", time_limit=2.0, solver_options={"patience": 1e12})
    assert (result.status, result.reason) == ("limit", "time")
    assert result.has_point
    assert 1.8 < time.perf_counter() - began < 10.0


@pytest.mark.parametrize(("options", "reason"), [({"steps": 40}, "iterations"), ({"patience": 60}, "")])
def test_steps_and_patience_end_it(model: gs.Model, options: dict[str, float], reason: str) -> None:
    result = model.solve(backend="search", solver_options=options)
    assert result.reason == reason
    assert result.has_point


def test_several_objectives_are_optimised_in_order(model: gs.Model) -> None:
    exact = model.solve(gap=0.0)
    found = model.solve(backend="search", solver_options={"steps": 1_000})
    assert [o.name for o in found.objectives] == ["gain", "weight"]
    assert found.objectives[0].value == exact.objectives[0].value
    weights = [o.value for o in (found.objectives[1], exact.objectives[1])]
    assert weights[0] is not None
    assert weights[1] is not None
    assert weights[1] <= weights[0] <= 90


def test_a_seed_with_a_number_of_steps_gives_the_same_values(model: gs.Model) -> None:
    def values(seed: int) -> str:
        result = model.solve(backend="search", seed=seed, solver_options={"steps": 300})
        return json.dumps(result.to_dict()["variables"], sort_keys=True, default=str)

    assert values(7) == values(7)


def test_a_policy_and_an_earlier_plan_are_starts() -> None:
    """No plan is worse than the one it starts from: of a policy, of a solver, of a file."""
    model, few = gs.load(GAVEL), {"steps": 20}
    greedy = model.solve(backend="Greedy").objective
    best = model.solve(gap=1e-6)
    assert greedy is not None
    assert best.objective is not None
    for heuristic in ("auto", "off"):
        by_policy = model.solve(backend="search", warm_start="Greedy", heuristic=heuristic, solver_options=few)
        earlier = model.solve(backend="search", warm_start=best, heuristic=heuristic, solver_options=few)
        assert by_policy.objective is not None
        assert by_policy.objective <= greedy + 1e-6
        assert earlier.objective == pytest.approx(best.objective, rel=1e-9)


def test_a_changed_model_starts_from_the_last_plan(model: gs.Model) -> None:
    first = model.solve(backend="search", solver_options={"steps": 500})
    again = model.resolve()
    assert first.objectives[0].value is not None
    assert again.objectives[0].value is not None
    assert again.objectives[0].value >= first.objectives[0].value


def test_together_with_a_solver_the_bound_is_proved(model: gs.Model) -> None:
    assert model.solve(backend="highs+search", time_limit=60.0, gap=0.0).status == "optimal"


def test_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "plan.json"
    few = ["--solver-option", "steps=50"]
    assert main(["solve", str(GAVEL), "--method", "search", "--seed", "7", "--warm-start", "Greedy", *few,
                 "--json", str(out)]) == 0  # fmt: skip
    assert main(["solve", str(GAVEL), "--method", "search", "--warm-start", str(out), "--bound", *few]) == 0
    shown = capsys.readouterr().out
    assert "feasible: verified by the model" in shown
    assert "bound        872.67" in shown


@pytest.mark.slow
def test_a_million_columns_take_less_than_two_gigabytes() -> None:
    code = (
        "import resource\n"
        "from benchmarks.search.cases import large\n"
        "r = large().solve('S', 'search', time_limit=60)\n"
        "print(r.status, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)\n"
    )
    environment = {name: value for name, value in os.environ.items() if name != "GSDSL_PYTHON_KERNELS"}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    status, kilobytes = done.stdout.split()
    assert status == "feasible", done.stderr
    assert int(kilobytes) < 2e6
