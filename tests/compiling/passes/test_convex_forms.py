"""Terms that are convex together: the same values at every point, the known optima, and what is refused."""

from __future__ import annotations

import re

import numpy as np
import pytest
from random_convex import program

import gpusched_dsl as gs
from gpusched_dsl.compiling.passes.pipeline import reformulate
from gpusched_dsl.ir.definitions import complete
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.ir.verify import verify
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.language.source import Span
from gpusched_dsl.solving.solve import solve_problem
from gsdsl_backends.protocol import SolveOptions, target_of
from gsdsl_backends.registry import backend

FREE, POSITIVE = "var x >= -10 <= 10; var y >= -10 <= 10;", "var x >= 0.01 <= 10; var y >= 0.01 <= 10;"
SHARES = "set I = 1..3; var p[I] >= 0 <= 1; constraint one: sum[i in I] p[i] == 1;"

# Declarations, objective and rows, the function that passes make of them, and the optimum.
KNOWN = {
    "quadratic": (FREE, "minimize f: x^2 + 2*x*y + 3*y^2 - 4*x;", "quadratic", -6.0),
    "quadratic as a matrix": (
        "set I = 1..3; param Q[i in I, j in I] = if i == j then 2 else 0.5; var x[I] >= -10 <= 10;",
        "minimize f: sum[i in I, j in I] Q[i, j] * x[i] * x[j] - sum[i in I] i * x[i];", "quadratic", -4 / 3,
    ),
    "quadratic row": (FREE, "maximize f: x + y; constraint c: x^2 + 2*x*y + 3*y^2 <= 6;", "quadratic", 6**0.5),
    "quadratic from below": (FREE, "maximize f: x + y; constraint c: 6 >= x*x + 2*(x*y) + 3*y^2;", "quadratic", 6**0.5),
    "concave": (FREE, "maximize f: 4*x - (x + y)*(x + y) - 2*y^2;", "quadratic", 6.0),
    "norm": (FREE, "minimize f: sqrt((x - 3)^2 + (y - 4)^2); constraint c: x + y <= 2;", "norm", 12.5**0.5),
    "norm over indices": (
        "set I = 1..2; param a[i in I] = i + 2; var x[I] >= -10 <= 10; constraint c: x[1] + x[2] <= 2;",
        "minimize f: norm[i in I] (x[i] - a[i]);", "norm", 12.5**0.5,
    ),
    "norms of pairs": (FREE, "minimize f: norm(x - 3, y, 1) + norm(x, y - 4, 1);", "norm", 29**0.5),
    "norm in a row": (FREE, "maximize f: x + 2*y; constraint c: sqrt(x^2 + y^2) <= 5;", "norm", 125**0.5),
    "square over linear": (POSITIVE, "minimize f: (x - 3)^2/y + y/4 + 2*x;", "quadratic_over_linear", 3.01),
    "delay": ("var x >= 0 <= 9;", "minimize f: x/(10 - x) - x;", "quadratic_over_linear", 2 * 10**0.5 - 11),
    "entropy": (SHARES, "minimize f: sum[i in I] p[i] * log(p[i]);", "relative_entropy", -np.log(3)),
    "entropy near 0": (SHARES, "minimize f: sum[i in I] p[i] * log(p[i]) + 1000*p[1];", "relative_entropy", -np.log(2)),
    "relative entropy": (POSITIVE, "minimize f: x*log(x/y) - 2*x + y;", "relative_entropy", -10.0),
    "perspective": (
        "var x >= 0.1 <= 10; var y >= 0 <= 10;", "minimize f: x*exp(y/x) + x - 3*y;", "exponential_perspective",
        0.1 * (4 - 3 * np.log(3)),
    ),
    "log-sum-exp": (
        "set I = 1..2; var x[I] >= -10 <= 10; constraint c: x[1] + x[2] == 0;",
        "minimize f: log(sum[i in I] exp(x[i]));", "log_sum_exp", np.log(2),
    ),
}  # fmt: skip


def ground(declarations: str, rest: str = "") -> Problem:
    return gs.loads(f"model M {{ {declarations} {rest} }} scenario S for M {{ }}").ground("S")


def made(problem: Problem, name: str) -> set[str]:
    return {d.op for d in reformulate(problem, target_of(backend(name), problem)).problem.definitions if d.size}


@pytest.mark.parametrize("name", ["cvxpy", "scip"])
@pytest.mark.parametrize("case", KNOWN)
def test_known_optima(case: str, name: str) -> None:
    declarations, rest, function, optimum = KNOWN[case]
    problem = ground(declarations, rest)
    assert function in made(problem, "cvxpy")
    solved = solve_problem(problem, name, SolveOptions(time_limit=300, gap=1e-7))
    assert solved.status == "optimal"
    assert solved.objective == pytest.approx(optimum, rel=1e-5, abs=1e-5)
    assert solved.bound == pytest.approx(optimum, rel=1e-4, abs=1e-4)


@pytest.mark.quick(12)
@pytest.mark.parametrize("seed", range(60))
def test_functions_have_the_values_of_the_terms(seed: int) -> None:
    """At random points: the objectives and the sides of rows that hold are the same before and after."""
    problem = gs.loads(program(seed)).ground("S")
    r = np.random.default_rng(seed)
    declared = sum(f.size for f in problem.variables)
    for name in ("cvxpy", "scip"):
        after = reformulate(problem, target_of(backend(name), problem), tighten=False)
        assert after.notes or name == "scip"
        for _ in range(3):
            point = np.zeros(problem.columns)
            point[:declared] = r.uniform(problem.lower[:declared], problem.upper[:declared])
            point = complete(problem.definitions, point)
            other = complete(after.problem.definitions, after.map_start(point))
            mine, its = problem.objectives[0], after.problem.objectives[0]
            assert its.value(other) == pytest.approx(mine.value(point), rel=1e-9, abs=1e-9)
            assert slack(after.problem, other) == pytest.approx(slack(problem, point), rel=1e-9, abs=1e-9)
            back = after.invert(other)
            assert back[:declared] == pytest.approx(point[:declared])


def slack(problem: Problem, point: np.ndarray) -> list[float]:
    """The distances to the sides of the declared rows."""
    activity = problem.matrix.activity(point)
    count = sum(f.size for f in problem.constraints if f.name == "row")
    return [*(problem.row_upper - activity)[:count], *(activity - problem.row_lower)[:count]]


@pytest.mark.quick(4)
@pytest.mark.parametrize("seed", range(100, 160))
def test_backends_agree(seed: int) -> None:
    problem = gs.loads(program(seed)).ground("S")
    cvxpy, scip = (solve_problem(problem, name, SolveOptions(time_limit=300, gap=1e-5)) for name in ("cvxpy", "scip"))
    assert cvxpy.status == scip.status == "optimal"
    assert cvxpy.objective == pytest.approx(scip.objective, rel=3e-4, abs=3e-4)


NOT_CONVEX = {
    "saddle": (FREE, "minimize f: x^2 + 4*x*y + 3*y^2;", "4*x*y", "quadratic terms of `f` has the eigenvalue -0.236"),
    "product": (POSITIVE, "minimize f: x + y; constraint c: x*y >= 4;", "x*y", "larger values of it are better"),
    "equality": (FREE, "minimize f: x; constraint c: x^2 + x*y + y^2 == 6;", "x*y", "both directions"),
    "concave entropy": (POSITIVE, "maximize f: x * log(x);", "x * log(x)", "neither convex nor concave"),
    "quotient": (POSITIVE, "minimize f: x / y;", "x / y", "neither convex nor concave"),
    "delay with an open end": ("var x >= 0 <= 12;", "minimize f: x/(10 - x);", "x/(10 - x)", "between -2 and 10"),
    "cone from above": (POSITIVE, "maximize f: sqrt(x^2 + y^2);", "x^2", "larger values"),
}


@pytest.mark.parametrize("case", NOT_CONVEX)
def test_what_is_not_convex_is_named_and_goes_to_scip(case: str) -> None:
    declarations, rest, term, why = NOT_CONVEX[case]
    problem = ground(declarations, rest)
    with pytest.raises(DiagnosticError) as refusal:
        solve_problem(problem, "cvxpy")
    found = [d for d in refusal.value.diagnostics if d.code == "GSM3203"]
    texts = [f"{d.message} {d.label}" for d in found]
    named = [re.sub(r"\s", "", d.primary.text) for d in found if isinstance(d.primary, Span)]
    assert term.replace(" ", "") in named
    assert any(why in text for text in texts), texts
    assert all(d.help is not None and "`scip`" in d.help and "`cvxpy`" not in d.help for d in found)
    reformulate(problem, target_of(backend("scip"), problem))


def test_an_entropy_is_0_at_0_but_a_quotient_is_not() -> None:
    problem = ground(SHARES, "minimize f: sum[i in I] p[i] * log(p[i]);")
    point = np.zeros(problem.columns)
    point[1:3] = 0.5
    found = verify(problem, point)
    assert found.feasible
    assert found.objectives[0].value == pytest.approx(-np.log(2))
    whole = ground("set I = 1..3; var p[I] binary; constraint one: sum[i in I] p[i] == 1;", KNOWN["entropy"][1])
    assert solve_problem(whole, "scip").objective == 0.0
    problem = ground("var x >= 0 <= 1; var y >= -1 <= 0;", "minimize f: x / y;")
    assert not verify(problem, np.array([0.0, -0.0, 0.0, 0.0])[: problem.columns]).feasible


def test_a_large_sparse_form_is_found_without_eigenvalues() -> None:
    """20,000 variables that are linked in a chain."""
    problem = ground(
        "set I = 1..20000 ordered; var x[I] >= -1 <= 1;",
        "minimize f: sum[i in I where i > 1] (x[i]^2 + x[i - 1]^2 - 1.5*x[i]*x[i - 1]) - x[1];",
    )
    assert made(problem, "highs") == {"quadratic"}


def test_dual_values_of_rows_with_convex_terms() -> None:
    """`x + y` is largest at sqrt(6), with the side 6: half of `1 / sqrt(6)` for each unit of it."""
    declarations, rest, _, _ = KNOWN["quadratic row"]
    solved = solve_problem(ground(declarations, rest), "cvxpy")
    assert solved.row_duals == pytest.approx([0.5 / 6**0.5], abs=1e-5)
    assert solved.reduced_costs is not None
    assert solved.reduced_costs[:2] == pytest.approx([0, 0], abs=1e-5)


def test_products_that_only_the_objective_reads_do_not_hinder_a_search_for_a_point() -> None:
    from dataclasses import replace

    problem = replace(ground(*KNOWN["quadratic"][:2]), objectives=())
    for name in ("highs", "cvxpy", "scip"):
        assert solve_problem(problem, name).status == "optimal"
