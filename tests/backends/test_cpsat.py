"""CP-SAT: what becomes integers and what is refused, its options, and the process that it works in."""

from __future__ import annotations

import itertools
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from building import INF, at_least, at_most, between, equal, maximize, minimize, problem

import gpusched_dsl as gs
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.language.diagnostics import extras
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.solving.relaxation import solve_relaxed
from gpusched_dsl.solving.solution import Loading
from gpusched_dsl.solving.solve import resolve, solve_problem
from gsdsl_backends.cpsat import backend as adapter
from gsdsl_backends.cpsat.finite_bounds import finite_bounds
from gsdsl_backends.cpsat.grid import grid_steps
from gsdsl_backends.cpsat.integer_form import integer_form
from gsdsl_backends.protocol import SolveOptions

EXACT = SolveOptions(gap=0.0, threads=1)


def refusal(one: Problem, options: SolveOptions = EXACT) -> Diagnostic:
    with pytest.raises(DiagnosticError) as caught:
        solve_problem(one, "cpsat", options)
    (finding,) = caught.value.diagnostics
    return finding


# --- steps of continuous columns -------------------------------------------------------------------------------------


def test_steps() -> None:
    """x and y differ by 0.5 and multiples of 0.75 k, z is twice an integer over 3; fixed columns move others."""
    one = problem(
        minimize(1, 1, 1, 0, 0), columns=5,
        rows=[at_least(0.5, 1, -1, 0, 0.75, 0), equal(0, 0, 0, 3, -2, 0), at_least(0.1, 0, 0, 1, 0, 1)],
        lower=[0, 0, 0, 0, 0.25], upper=[9, 9, 9, 4, 0.25], integer=[3],
    )  # fmt: skip
    assert grid_steps(one) == pytest.approx([0.25, 0.25, 1 / 60, 1.0, 0.25])


def test_an_earlier_objective_keeps_the_step() -> None:
    """Rows that keep an earlier objective have a little slack, which is no multiple of anything."""
    both = problem(minimize(0, 1), maximize(1, 0), columns=2, rows=[at_least(2, -1, 1)], upper=[4, 90], integer=[0])
    solved = solve_problem(both, "cpsat", EXACT)
    assert [o.value for o in solved.objectives] == [2.0, 0.0]


@pytest.mark.parametrize(
    ("rows", "integer", "words"),
    [
        ([at_most(3, 1, 1, 1)], [2], "with another continuous variable, and not as their difference"),
        ([at_most(3, 2, 1, 1), at_most(1, 1, 0, 0)], [2], "with another continuous variable"),
        ([at_most(3, 1, 1, 1)], [], "with 2 other continuous variables"),
    ],
)
def test_shares_are_refused(rows: list[object], integer: list[int], words: str) -> None:
    finding = refusal(problem(maximize(1, 1, 1), columns=3, rows=rows, upper=2, integer=integer))  # type: ignore[arg-type]
    assert finding.code == "GSM4003"
    assert "x[0]" in finding.message
    assert f"row[0]` {words}" in finding.notes[0]


def test_limits_of_the_objective_need_no_step() -> None:
    """The optimum on the steps satisfies them if any point does. Rows for other costs do not."""
    costs, rows = [1, 2, 3], [at_least(4, 1, 0, 1), at_least(3, 0, 1, 1)]
    for limit, feasible in ((12.3456789, True), (9.87654321, False)):
        one = problem(minimize(*costs), columns=3, rows=[*rows, at_most(limit, *costs)], upper=9, integer=[2])
        solved = solve_problem(one, "cpsat", EXACT)
        assert (solved.point is not None) == feasible
    for row in (at_most(12, 1, 2.5, 3), at_least(12, *costs)):
        assert refusal(problem(minimize(*costs), columns=3, rows=[*rows, row], upper=9, integer=[2])).code == "GSM4003"


def test_numbers_without_a_common_divisor_are_refused() -> None:
    finding = refusal(problem(minimize(1, 0), columns=2, rows=[at_least(np.pi, 1, np.e)], upper=9, integer=[1]))
    assert (finding.code, "common divisor" in finding.notes[0]) == ("GSM4003", True)


def test_a_relaxation_is_refused_as_such() -> None:
    """Not as continuous variables that nobody declared."""
    one = problem(maximize(1, 1, 1), columns=3, rows=[at_most(3, 1, 1, 1)], upper=2, integer=True)
    with pytest.raises(DiagnosticError, match="the relaxation has no integer variables") as caught:
        solve_relaxed(one, adapter.CpsatBackend(), EXACT, None)
    assert [d.code for d in caught.value.diagnostics] == ["GSM4003"]


def test_columns_without_bounds() -> None:
    finding = refusal(problem(maximize(1, 1), columns=2, rows=[at_most(5, 1, 0)], integer=True))
    assert (finding.code, "`x[1]`" in finding.message) == ("GSM4003", True)
    assert finding.help is not None
    assert "upper bound" in finding.help


def test_a_makespan_needs_no_bound() -> None:
    """Nor does a column below which rows push another one, or one that falls without end in its own direction."""
    one = problem(
        minimize(1, 1, -1, 0), columns=4,
        rows=[at_least(3, 1, 0, 0, -1), at_least(0, -1, 1, 0, 0), at_most(7, 0, 0, 1, 1)],
        lower=[-INF, -INF, -INF, 0], upper=[INF, INF, INF, 2], integer=[3],
    )  # fmt: skip
    bounds = finite_bounds(one)
    assert bounds is not None
    assert np.isfinite(bounds).all()
    assert solve_problem(one, "cpsat", EXACT).objective == pytest.approx(-1.0)


def random_network(seed: int) -> Problem:
    """Differences of continuous columns with integers beside them, some under bounds."""
    rng = np.random.default_rng(seed)
    columns = 5
    step = float(rng.choice([1.0, 0.5, 0.1, 1 / 3]))
    rows = []
    for _ in range(5):
        row = np.zeros(columns)
        i, j = rng.choice(3, 2, replace=False)
        scale = float(rng.choice([1, 2]))
        row[i] = scale
        if rng.random() < 0.6:
            row[j] = -scale
        row[3:] = step * rng.integers(-2, 3, 2)
        rows.append(at_least(step * float(rng.integers(-4, 5)), *row))
    costs = rng.integers(-3, 6, columns).astype(float)
    return problem(minimize(*costs), columns=columns, rows=rows, lower=-2.0, upper=[6, 5, 4, 2, 2], integer=[3, 4])


def test_random_networks() -> None:
    for seed in range(15):
        one = random_network(seed)
        mine, other = (solve_problem(one, name, EXACT) for name in ("cpsat", "highs"))
        assert mine.status == other.status, seed
        if other.objective is not None:
            assert mine.objective == pytest.approx(other.objective, abs=1e-6), seed


def test_several_objectives_of_random_networks() -> None:
    """Earlier objectives over several continuous columns are kept by rows that are none of a network."""
    for seed in range(15):
        rng = np.random.default_rng(1000 + seed)
        costs = rng.integers(-3, 6, (3, 5)).astype(float)
        objectives = (minimize(*costs[0]), maximize(*costs[1]), minimize(*costs[2]))
        one = replace(random_network(seed), objectives=objectives)
        mine, other = (solve_problem(one, name, SolveOptions(threads=1)) for name in ("cpsat", "highs"))
        assert mine.status == other.status, seed
        values, expected = ([o.value for o in solved.objectives] for solved in (mine, other))
        assert values == pytest.approx(expected, abs=2e-3), seed  # the last objective may end at the gap


# --- rows and costs --------------------------------------------------------------------------------------------------


def form(one: Problem) -> object:
    bounds = finite_bounds(one)
    assert bounds is not None
    return integer_form(one, grid_steps(one), *bounds)


def test_rows_are_divided_by_their_divisor() -> None:
    one = problem(
        maximize(1, 1), columns=2, rows=[at_most(0.35, 0.1, 0.2), between(-7, 12.5, 4, 6), equal(1, 1 / 3, 2 / 3)],
        upper=9, integer=True,
    )  # fmt: skip
    rows = form(one).rows  # type: ignore[attr-defined]
    assert rows.values.tolist() == [1, 2, 2, 3, 1, 2]
    assert (rows.upper[rows.above].tolist(), rows.lower[rows.below].tolist()) == ([3, 6, 3], [-3, 3])


def test_rounded_rows_lose_no_point() -> None:
    """Coefficients without a common divisor: every point of a small grid is judged as by the row itself."""
    rng = np.random.default_rng(3)
    for _ in range(20):
        coefficients = rng.normal(size=3) * 10.0 ** rng.integers(-2, 3)
        point = rng.integers(0, 5, 3)
        side = float(coefficients @ point)  # the point lies on the side
        one = problem(maximize(*coefficients), columns=3, rows=[at_most(side, *coefficients)], upper=4, integer=True)
        solved = solve_problem(one, "cpsat", EXACT)
        values = [float(coefficients @ p) for p in itertools.product(range(5), repeat=3)]
        best = max(v for v in values if v <= side + 1e-9 * max(1.0, abs(side)))
        assert solved.objective == pytest.approx(best, rel=1e-9)
        assert solved.bound is not None
        assert solved.bound >= solved.objective


def test_numbers_beyond_64_bits_are_refused() -> None:
    finding = refusal(problem(maximize(1, 1), columns=2, rows=[at_most(1e12, 1, 1e-9)], upper=1e15, integer=True))
    assert finding.code == "GSM4006"


def test_times_beyond_64_bits_are_refused() -> None:
    """They have a common unit, and that is not what is reported."""
    text = """
    model Long { set J = 1..2;  var s[J] integer >= 0 <= 1000000000000;
      interval t[j in J] start s[j] length 1 + 4000000000 * (j - 1);
      minimize s[1] + s[2];  constraint n: no_overlap[j in J] t[j]; }
    """
    with pytest.raises(DiagnosticError) as caught:
        gs.loads(text).solve(backend="cpsat")
    [finding] = caught.value.diagnostics
    assert (finding.code, "4e+09 times the common unit" in finding.notes[0]) == ("GSM4006", True)


# --- solves ----------------------------------------------------------------------------------------------------------

KNAPSACK = problem(maximize(60, 100, 120), columns=3, rows=[at_most(50, 10, 20, 30)], upper=1, integer=True)


def test_options() -> None:
    finding = refusal(KNAPSACK, SolveOptions(extra={"num_worker": 1}))
    assert (finding.code, finding.help) == ("GSM4004", "did you mean `num_workers`?")
    for name, value in (("num_workers", 1.5), ("log_search_progress", "perhaps"), ("cp_model_probing_level", "high")):
        assert refusal(KNAPSACK, SolveOptions(extra={name: value})).code == "GSM4005"
    first = solve_problem(
        KNAPSACK, "cpsat", SolveOptions(gap=0.0, threads=1, extra={"stop_after_first_solution": True})
    )
    assert first.point is not None
    assert solve_problem(KNAPSACK, "cpsat", SolveOptions(extra={"num_workers": 1})).objective == 220


def test_re_solving_loads_again() -> None:
    solved = solve_problem(KNAPSACK, "cpsat", EXACT)
    other = problem(maximize(60, 100, 120), columns=3, rows=[at_most(30, 10, 20, 30)], upper=1, integer=True)
    again = resolve(solved, other)
    assert (again.objective, again.loading) == (160.0, Loading.BACKEND_CANNOT_UPDATE)
    again.close()


def test_the_package_is_loaded_in_another_process_only() -> None:
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); from test_cpsat import KNAPSACK, EXACT\n"
        "from gpusched_dsl.solving.solve import solve_problem\n"
        "print([solve_problem(KNAPSACK, name, EXACT).objective for name in ('highs', 'cpsat', 'highs')])\n"
        "print([m for m in sys.modules if m.startswith('ortools')])"
    )
    folder = __file__.rpartition("/")[0]
    conformance = folder.replace("backends", "conformance")
    code = f"import sys; sys.path.insert(0, {conformance!r}); {code}"
    done = subprocess.run([sys.executable, "-c", code, folder], capture_output=True, text=True, check=True)
    assert done.stdout.split("\n")[:2] == ["[220.0, 220.0, 220.0]", "[]"]


def test_without_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extras, "find_spec", lambda name: None)
    with pytest.raises(DiagnosticError) as caught:
        adapter.CpsatBackend()
    (finding,) = caught.value.diagnostics
    assert finding.code == "GSM4002"
    assert "needs the package ortools, which is not installed" in finding.message
    assert finding.help == "`pip install '.[cpsat]'` in the folder of gsdsl, or choose another backend"


def test_versions() -> None:
    result = gs.loads("model m { var x integer >= 0 <= 3; maximize o: x; } scenario s for m { }").solve(backend="cpsat")
    assert result.objective == 3
    assert set(result.versions) >= {"OR-Tools"}
