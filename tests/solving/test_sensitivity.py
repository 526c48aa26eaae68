"""Duals, reduced costs and ranges against solves with changed numbers; relaxations against enumerated bounds."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import gpusched_dsl as gs
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.solving.sensitivity import sensitivity_of
from gpusched_dsl.solving.solve import solve_problem

PRODUCTS = """
model P {
  set Goods;  set Machines;
  param profit[Goods] in $;  param hours[Goods, Machines];  param open_hours[Machines];
  var make[Goods] >= 0 <= 40;
  var shifts[Machines] integer >= 0 <= 2;
  maximize gain in $: sum[g in Goods] profit[g] * make[g] - sum[m in Machines] 3[$] * shifts[m];
  constraint busy[m in Machines]: sum[g in Goods] hours[g, m] * make[g] <= open_hours[m] + 5 * shifts[m];
  constraint some: 1 <= sum[g in Goods] make[g] <= 1000;
}
"""


def products(seed: int) -> gs.Model:
    draws = np.random.default_rng(seed)
    goods, machines = range(4), range(3)
    rows = "  ".join(f"g{g} {draws.integers(3, 20)}" for g in goods)
    hours = "  ".join(f"g{g} m{m} {draws.integers(1, 9)}" for g in goods for m in machines)
    opened = "  ".join(f"m{m} {draws.integers(20, 60)}" for m in machines)
    return gs.loads(
        f"{PRODUCTS}\nscenario S for P {{ table Goods: profit[$] = {rows};"
        f" table Goods, Machines: hours = {hours}; table Machines: open_hours = {opened}; }}"
    )


def with_fixed_integers(problem: Problem, point: np.ndarray) -> Problem:
    at = np.rint(point)
    return replace(
        problem,
        lower=np.where(problem.integer, at, problem.lower),
        upper=np.where(problem.integer, at, problem.upper),
        integer=np.zeros_like(problem.integer),
    )


def optimum(problem: Problem) -> float:
    solved = solve_problem(problem)
    assert solved.objective is not None
    return solved.objective


@pytest.mark.parametrize("seed", range(6))
def test_duals_and_ranges_predict_changed_problems(seed: int) -> None:
    result = products(seed).solve(duals=True, gap=0)
    assert result.sensitivity is not None
    assert result.sensitivity.ranges is not None
    assert result.solved.point is not None
    problem = with_fixed_integers(result.problem, result.solved.point)
    base, ranges = optimum(problem), result.sensitivity.ranges
    assert base == pytest.approx(result.objective)
    for row in range(problem.rows):
        side = problem.row_upper[row]
        low, high = ranges.side_lower[row], ranges.side_upper[row]
        for at in (max(low, side - 3), min(high, side + 3)):
            moved = problem.row_upper.copy()
            moved[row] = at
            expected = base + result.sensitivity.row_duals[row] * (at - side)
            if not np.isclose(expected, base) or low <= side <= high:
                assert optimum(replace(problem, row_upper=moved)) == pytest.approx(expected, rel=1e-6, abs=1e-6)
    costs = problem.objectives[0].costs(problem.columns)
    for column in np.flatnonzero(~result.problem.integer):
        low, high = ranges.cost_lower[column], ranges.cost_upper[column]
        assert low - 1e-9 <= costs[column] <= high + 1e-9
        assert result.sensitivity.fixed.tolist() == result.problem.integer.tolist()


def test_tables_name_the_rows() -> None:
    result = products(1).solve(duals=True)
    assert result.duals("busy").columns == ["m", "dual"]
    assert result.duals("some").columns == ["dual"]
    slacks = result.slacks("busy")
    assert (slacks["slack"] >= -1e-6).all()
    # A row with slack has no dual (complementary slackness).
    assert np.abs(result.duals("busy")["dual"] * slacks["slack"]).max() == pytest.approx(0.0, abs=1e-6)
    assert result.cost_ranges("shifts")["lower"].is_nan().all()
    assert result.side_ranges("busy").columns == ["m", "lower", "upper"]


def test_without_duals_there_are_none_for_integers() -> None:
    with pytest.raises(DiagnosticError, match="no duals"):
        products(1).solve().duals("busy")
    with pytest.raises(DiagnosticError, match="no ranges"):
        products(1).solve().side_ranges("busy")


def test_infeasible_and_lexicographic_problems_have_no_duals() -> None:
    infeasible = gs.loads("model M { var x >= 0 <= 1; minimize c: x; constraint r: x >= 2; }\nscenario S for M {}")
    assert infeasible.solve(duals=True).sensitivity is None
    text = "model M { var x <= 1; maximize a: x; then minimize b: x; constraint r: x >= 0.5; }\nscenario S for M {}"
    with pytest.raises(DiagnosticError, match="exactly one objective"):
        sensitivity_of(gs.loads(text).solve().solved)


CONDITIONS = """
model M {
  set I = 1..3;
  var open[I] binary;  var x[I] >= 0 <= 10;  var worst >= 0 <= 10;
  minimize cost: sum[i in I] (4 * open[i] + i * x[i]) + 1.5 * worst;
  constraint need: sum[i in I] x[i] >= 12;
  constraint closed[i in I]: not open[i] => x[i] <= 0;
  constraint w: worst >= max[i in I] x[i];
  report used = count[i in I] (x[i] > 0.5);
}
scenario S for M {}
"""


@pytest.mark.parametrize("backend", ["highs", "scip"])
def test_relaxation_bounds_the_optimum(backend: str) -> None:
    model = gs.loads(CONDITIONS)
    whole = model.solve(backend=backend, gap=0)
    relaxed = model.solve(backend=backend, relax=True)
    assert whole.objective is not None
    assert relaxed.objective is not None
    assert relaxed.relaxed
    assert relaxed.status == "optimal"
    assert relaxed.objective < whole.objective - 0.1
    # Big-M 10: open[i] = x[i] / 10, so each unit costs i + 0.4; x = 6, 6, 0 makes `worst` 6.
    assert relaxed.objective == pytest.approx(6 * 1.4 + 6 * 2.4 + 9)
    assert relaxed.value("open", 1) == pytest.approx(0.6)
    assert whole.value("used") == 2


def test_aggregated_models_are_relaxed_by_element() -> None:
    text = """
model M {
  set Nodes identical;  set Jobs = 1..3;
  var run[Jobs, Nodes] binary;
  maximize done: sum[j in Jobs, n in Nodes] run[j, n];
  constraint once[j in Jobs]: sum[n in Nodes] run[j, n] <= 1;
  constraint room[n in Nodes]: sum[j in Jobs] 2 * run[j, n] <= 3;
}
scenario S for M { Nodes = { a, b }; }
"""
    model = gs.loads(text)
    assert model.solve().objective == pytest.approx(2)
    assert model.solve(relax=True).objective == pytest.approx(3)
    assert model.solve(duals=True).duals("once").height == 3
