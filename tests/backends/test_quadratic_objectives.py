"""Convex quadratic objectives: the optimality conditions with the solver's own dual values, and changed problems."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from building import INF, objective
from defining import nonlinear, of, power, product

import gpusched_dsl as gs
from gpusched_dsl.ir.arrays import Floats
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.solving.solve import resolve, solve_problem
from gsdsl_backends.protocol import SolveOptions

NEAR = 1e-5


@dataclass
class Quadratic:
    """`x' matrix x / 2 + costs x`, minimised, or its opposite maximised."""

    problem: Problem
    matrix: Floats
    costs: Floats
    sign: float

    def breach(self, values: Floats, row_duals: Floats, reduced_costs: Floats) -> float:
        """How far the optimality conditions are from satisfied; they suffice, as the problem is convex."""
        n, problem = len(self.costs), self.problem
        x, rows = values[:n], problem.matrix.activity(values)
        y, d = self.sign * row_duals, self.sign * reduced_costs[:n]
        dense = np.zeros((problem.rows, problem.columns))
        dense[problem.matrix.row_of, problem.matrix.columns] = problem.matrix.values
        gradient = self.matrix @ x + self.costs
        parts = [np.abs(gradient - dense[:, :n].T @ y - d)]
        for value, dual, low, high in (
            (rows, y, problem.row_lower, problem.row_upper),
            (x, d, problem.lower[:n], problem.upper[:n]),
        ):
            parts += [np.maximum(low - value, value - high)]
            parts += [np.where(np.isfinite(low), np.maximum(dual, 0) * np.minimum(value - low, 1), np.maximum(dual, 0))]
            parts += [
                np.where(np.isfinite(high), np.maximum(-dual, 0) * np.minimum(high - value, 1), np.maximum(-dual, 0))
            ]
        return float(max(np.max(p, initial=0.0) for p in parts))


def random_quadratic(seed: int) -> Quadratic:
    """Often singular, with free variables, equations, and no point in some."""
    r = np.random.default_rng(seed)
    n, m = int(r.integers(1, 7)), int(r.integers(0, 6))
    root = r.integers(-3, 4, size=(int(r.integers(1, n + 1)), n)) * (r.random() < 0.9)
    root = root * (r.random(root.shape) < 0.7)
    half = (root.T @ root).astype(float)
    unit = np.eye(n)
    terms, sizes = [power(of(*unit[0], plus=1.0), 2)], [0.5]
    for i, j in zip(*np.nonzero(np.triu(half)), strict=True):
        terms.append(power(of(*unit[i]), 2) if i == j else product(of(*unit[i]), of(*unit[j])))
        sizes.append(half[i, j] * (1 if i == j else 2))
    costs = r.integers(-5, 6, size=n).astype(float)
    matrix = 2 * half
    matrix[0, 0] += 1.0  # (x + 1)^2 / 2
    rows = r.integers(-3, 4, size=(m, n)) * (r.random((m, n)) < 0.6).astype(float)
    at = rows @ r.integers(-3, 4, size=n)
    kind = r.integers(0, 4, size=m)
    low = np.where(kind == 1, -INF, at - np.where(kind == 3, 0, r.integers(0, 3, size=m)))
    high = np.where(kind == 0, INF, at + np.where(kind == 3, 0, r.integers(0, 3, size=m)))
    if m and r.random() < 0.15:
        low[0], high[0] = at[0] + 50, INF
    sign = 1.0 if r.random() < 0.5 else -1.0
    problem = nonlinear(
        objective("minimize" if sign > 0 else "maximize", (*(sign * costs), *(sign * np.array(sizes)))),
        columns=n, terms=terms,
        rows=[(low[i], list(rows[i]), high[i]) for i in range(m)],
        lower=list(np.where(r.random(n) < 0.6, -4.0, -INF)), upper=list(np.where(r.random(n) < 0.6, 4.0, INF)),
    )  # fmt: skip
    costs[0] += 1.0
    return Quadratic(problem, matrix, costs, sign)


@pytest.mark.quick(12)
@pytest.mark.parametrize("seed", range(200))
def test_optimality_conditions(seed: int) -> None:
    case = random_quadratic(seed)
    highs, cvxpy = (solve_problem(case.problem, name) for name in ("highs", "cvxpy"))
    assert highs.status == cvxpy.status
    if highs.status == "optimal":
        assert highs.objective == pytest.approx(cvxpy.objective, rel=2e-6, abs=2e-6)
        assert highs.bound == pytest.approx(highs.objective, rel=1e-6, abs=1e-6)
        for solved in (highs, cvxpy):
            assert solved.point is not None
            assert solved.row_duals is not None
            assert solved.reduced_costs is not None
            breach = case.breach(solved.point, solved.row_duals, solved.reduced_costs)
            assert breach <= NEAR * max(1.0, float(np.abs(case.matrix).max()) * 10)
    for solved in (highs, cvxpy):
        solved.close()


@pytest.mark.quick(4)
@pytest.mark.parametrize("seed", range(0, 120, 2))
@pytest.mark.parametrize("name", ["highs", "cvxpy"])
def test_changed_problems(seed: int, name: str) -> None:
    """Another problem in the session of the first: costs, matrix, rows and sizes differ."""
    first = solve_problem(random_quadratic(seed).problem, name)
    other = random_quadratic(seed + 1).problem
    again = resolve(first, other)
    fresh = solve_problem(other, name)
    assert again.status == fresh.status
    if fresh.status == "optimal":
        assert again.objective == pytest.approx(fresh.objective, rel=2e-6, abs=2e-6)
    again.close()
    fresh.close()


MODEL = """
model Spread {
  set Sites;
  param risk[Sites, Sites];
  param gain[Sites];
  param budget default 10;
  var x[Sites] >= 0 <= 6;
  minimize cost: sum[i in Sites, j in Sites] risk[i, j] * x[i] * x[j] - sum[i in Sites] gain[i] * x[i];
  constraint total: sum[i in Sites] x[i] == budget;
}
scenario S for Spread {
  Sites = { a, b, c };
  table risk[Sites, Sites]: a b c = a 1 0.4 0  b 0.4 1 -0.3  c 0 -0.3 1;
  table Sites: gain = a 4  b 3  c 5;
}
"""


@pytest.mark.parametrize("name", ["highs", "cvxpy"])
def test_a_model_that_is_resolved_with_other_data(name: str) -> None:
    with gs.loads(MODEL) as model, gs.loads(MODEL) as other:
        assert model.solve("S", backend=name).objective == pytest.approx(-8.4632035)
        for parameter, value in (
            ("budget", 7.0),
            ("gain", {"a": 0.0, "b": 30.0, "c": 5.0}),
            ("budget", 19.0),
            ("budget", 4.0),
        ):
            for one in (model, other):
                one.set(parameter, value)
            again, fresh = model.resolve(), other.solve("S", backend="cvxpy")
            assert again.status == fresh.status == ("infeasible" if value == 19.0 else "optimal")
            if fresh.status == "optimal":
                assert again.objective == pytest.approx(fresh.objective, rel=1e-6)


def test_a_matrix_that_is_0_leaves_a_linear_problem_and_comes_back() -> None:
    def of_size(size: float) -> Problem:
        return nonlinear(objective("minimize", (-1.0, size)), columns=1, terms=[power(of(1), 2)], upper=5)

    solved = solve_problem(of_size(1.0), "highs")
    for size, value in ((0.0, -5.0), (0.5, -0.5), (0.0, -5.0), (0.1, -2.5)):
        solved = resolve(solved, of_size(size))
        assert solved.objective == pytest.approx(value)


WITH_INTEGERS = """
model Split {
  set Nodes;
  param fixed[Nodes] default -1;
  var x[i in Nodes] KIND >= (if fixed[i] >= 0 then fixed[i] else 0) <= (if fixed[i] >= 0 then fixed[i] else 3);
  var y[Nodes] >= 0 <= 4;
  minimize f: sum[n in Nodes] (x[n] * x[n] + 2 * y[n]^2 - x[n] * y[n]) + norm(y["a"] - x["b"], 1);
  constraint c: sum[n in Nodes] (x[n] + y[n]) >= 7.3;
}
scenario S for Split { Nodes = { a, b }; }
"""


def test_integers_are_enumerated_by_convex_problems() -> None:
    """SCIP against the best of the problems of CVXPY with all integers fixed."""
    with gs.loads(WITH_INTEGERS.replace("KIND", "integer")) as model:
        integer = model.solve("S", backend="scip", gap=1e-9)
    best = np.inf
    with gs.loads(WITH_INTEGERS.replace("KIND", "")) as model:
        for a in range(4):
            for b in range(4):
                model.set("fixed", {"a": float(a), "b": float(b)})
                found = model.solve("S", backend="cvxpy")
                best = min(best, found.objective if found.objective is not None else np.inf)
    assert integer.objective == pytest.approx(best, rel=1e-6)


def test_limits_leave_a_point_with_its_value() -> None:
    r = np.random.default_rng(1)
    count = 60
    root = r.normal(size=(count, count))
    terms = [power((row.tolist(), 1.0), 2) for row in root]
    problem = nonlinear(objective("minimize", (*[0.0] * count, *[1.0] * count)), columns=count, terms=terms, lower=-1)
    whole = solve_problem(problem, "highs")
    assert whole.status == "optimal"
    cut = solve_problem(problem, "highs", SolveOptions(time_limit=1e-3))
    assert cut.status in ("optimal", "limit")
    if cut.point is not None and cut.objective is not None and whole.objective is not None:
        assert cut.objective >= whole.objective - 1e-6


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("var x >= 0 <= 9; var n >= 0 <= 9 integer; minimize f: x^2 - n;", "with integer variables such as `n`"),
        ("var x >= 0 <= 9; maximize f: x; constraint c: x^2 <= 4;", "in the last objective only"),
        ("var x >= 0 <= 9; minimize f: x^2; then minimize g: x;", "in the last objective only"),
        ("var x >= 0 <= 9; var y >= 0 <= 9; minimize f: x^2 - 3*x*y + y^2;", "has the eigenvalue -0.5"),
        ("var x >= 0 <= 9; maximize f: x^2;", "larger values of it are better"),
    ],
)
def test_what_highs_does_not_support(text: str, why: str) -> None:
    problem = gs.loads(f"model M {{ {text} }} scenario S for M {{ }}").ground("S")
    with pytest.raises(DiagnosticError) as refusal:
        solve_problem(problem, "highs")
    [found] = refusal.value.diagnostics
    assert found.code == "GSM3201"
    assert why in " ".join((found.message, found.label, *found.notes))
