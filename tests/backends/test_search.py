"""Local search: every point satisfies the problem, most small optima are found, and the same seed gives the same."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from building import INF, Row, at_least, at_most, equal, maximize, minimize, problem

import gpusched_dsl as gs
from gpusched_dsl.ir.arrays import Floats
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.ir.solver_result import Status
from gpusched_dsl.ir.verify import verify
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.solving.solve import solve_problem
from gsdsl_backends.protocol import SolveOptions, SolverProgress
from gsdsl_backends.registry import backend, backend_names, proves
from gsdsl_backends.search.arrays import arrays_of, first_point, state_at
from gsdsl_backends.search.backend import SearchBackend
from gsdsl_backends.search.kernels.annealing import COLD, search
from gsdsl_backends.search.kernels.jumps import (
    ASPIRES,
    BEST,
    CHANGED,
    HAS_BEST,
    PHASE,
    TEMPERATURE,
    UNTIL,
    VIOLATED,
    WORK,
    cheap_member,
)

ROOT = Path(__file__).parents[2]
STEPS = SolveOptions(extra={"steps": 1_500})


def random_problem(seed: int) -> Problem:
    """Up to 12 columns, binaries, integers and continuous ones, with choices, knapsacks, demands and equalities."""
    rng = np.random.default_rng(seed)
    columns = int(rng.integers(4, 13))
    kinds = rng.random(columns)
    upper = np.where(kinds < 0.6, 1.0, rng.integers(2, 6, columns).astype(float))
    lower = np.where((kinds > 0.9) & (rng.random(columns) < 0.5), -2.0, 0.0)
    rows = []
    for _ in range(int(rng.integers(1, 6))):
        shape = rng.random()
        row = np.where(rng.random(columns) < 0.6, rng.integers(-3, 7, columns), 0).astype(float)
        if shape < 0.3:
            chosen = np.flatnonzero((upper == 1.0) & (lower == 0.0))[:4]
            row = np.zeros(columns)
            row[chosen] = 1.0
            rows.append(at_most(1, *row) if rng.random() < 0.5 else equal(min(1, len(chosen)), *row))
        elif shape < 0.7:
            rows.append(at_most(float(rng.integers(0, 12)), *row))
        else:
            rows.append(at_least(float(rng.integers(-3, 6)), *row))
    costs = rng.integers(-9, 10, columns).astype(float)
    goal = minimize(*costs) if rng.random() < 0.5 else maximize(*costs)
    integer = [j for j in range(columns) if kinds[j] < 0.9]
    return problem(goal, columns=columns, rows=rows, lower=list(lower), upper=list(upper), integer=integer)


def compare_with_solver(seeds: range, options: SolveOptions) -> tuple[int, int, int]:
    """Return how many problems have a point, how many of these the search found one for, and how many optima."""
    feasible = points = optima = 0
    for seed in seeds:
        one = random_problem(seed)
        exact = solve_problem(one, "highs", SolveOptions(gap=0.0))
        found = solve_problem(one, "search", options)
        assert found.status in (Status.FEASIBLE, Status.LIMIT, Status.OPTIMAL, Status.INFEASIBLE), seed
        if found.status in (Status.OPTIMAL, Status.INFEASIBLE):  # tightening left no integer to decide, or nothing
            assert found.status is exact.status, seed
        feasible += exact.status is Status.OPTIMAL
        if found.point is None:
            continue
        assert exact.status is Status.OPTIMAL, seed
        assert verify(one, found.point).feasible, seed
        sign = -1.0 if one.objectives[0].sense == "maximize" else 1.0
        assert exact.objective is not None
        assert found.objective is not None
        assert sign * found.objective >= sign * exact.objective - 1e-6, seed
        points += 1
        optima += abs(found.objective - exact.objective) < 1e-6
    return feasible, points, optima


def test_small_problems_against_a_solver() -> None:
    """Points where there are some, none that violates a row or is better than the optimum, mostly the optimum."""
    feasible, points, optima = compare_with_solver(range(30), STEPS)
    assert feasible > 15
    assert points >= 0.9 * feasible
    assert optima >= 0.8 * points


@pytest.mark.slow
def test_many_small_problems_against_a_solver() -> None:
    feasible, points, optima = compare_with_solver(range(1000, 1300), SolveOptions(extra={"steps": 20_000}))
    assert points >= 0.97 * feasible > 150
    assert optima >= 0.95 * points


def test_its_sums_follow_every_move() -> None:
    """Activities, the objective among them, the list of violated rows and the choices are those of the point."""
    for seed in range(12):
        model = arrays_of(random_problem(seed))
        state = state_at(model, first_point(model))
        search(model, state, 1_000, np.random.default_rng(seed))
        again = state_at(model, state.point)
        assert state.activity == pytest.approx(again.activity, abs=1e-6)
        assert state.counts[VIOLATED] == again.counts[VIOLATED]
        count = int(state.counts[VIOLATED])
        assert set(state.violated[:count].tolist()) == set(again.violated[:count].tolist())
        assert state.chosen.tolist() == again.chosen.tolist()
        if state.counts[HAS_BEST]:
            assert state.numbers[BEST] == pytest.approx(float(model.costs @ state.best), abs=1e-6)
            assert not state_at(model, state.best).counts[VIOLATED]


def test_a_reheated_search_goes_on_from_its_best_point() -> None:
    """Coldness warms it, at times from the best point, and the sums still follow; what moved since then is listed."""
    for seed in range(12):
        model = arrays_of(random_problem(seed))
        state = state_at(model, first_point(model))
        for _ in range(20):
            state.numbers[TEMPERATURE] = COLD
            search(model, state, 20, np.random.default_rng(seed))
            again = state_at(model, state.point)
            assert state.activity == pytest.approx(again.activity, abs=1e-6)
            assert state.chosen.tolist() == again.chosen.tolist()
            listed = set(state.changed[: state.counts[CHANGED]].tolist())
            assert listed == set(np.flatnonzero(state.is_changed).tolist())
            if state.counts[HAS_BEST]:
                assert set(np.flatnonzero(state.point != state.best).tolist()) <= listed


def test_an_aspiration_asks_for_a_better_point_and_is_given_up() -> None:
    """It is a side of the objective's row, a unit below the best; without success the search returns to the best."""
    aspired = 0
    for seed in range(12):
        model = arrays_of(random_problem(seed))
        state = state_at(model, first_point(model))
        rng = np.random.default_rng(seed)
        for _ in range(20):
            state.counts[UNTIL] = 0
            search(model, state, 20, rng)
            again = state_at(model, state.point)
            assert state.activity == pytest.approx(again.activity, abs=1e-6)
            assert state.counts[VIOLATED] == again.counts[VIOLATED]
            assert (model.row_upper[-1] < np.inf) == bool(state.counts[ASPIRES])
            if not state.counts[HAS_BEST]:
                continue
            best = float(model.costs @ state.best)
            if state.counts[ASPIRES]:
                aspired += 1
                assert state.counts[UNTIL] <= state.counts[WORK] + PHASE
                assert model.row_upper[-1] <= best - model.unit + 1e-6
            without = model._replace(row_upper=np.append(model.row_upper[:-1], np.inf))
            assert not state_at(without, state.best).counts[VIOLATED]
    assert aspired > 50


def test_an_aspiration_from_an_objective_of_0_asks_for_less() -> None:
    one = problem(
        minimize(1, -1, 0), columns=3, rows=[at_least(0, 1, -1, 0)], upper=[5, 5, 1], integer=[2]
    )  # fmt: skip
    model = arrays_of(one)
    state = state_at(model, np.zeros(3))
    for _ in range(3):
        if not state.counts[ASPIRES]:
            state.counts[UNTIL] = -1
        search(model, state, 10, np.random.default_rng(1))
    assert state.counts[ASPIRES]
    assert model.row_upper[-1] < 0.0
    assert state.counts[VIOLATED]


def test_it_ends_at_a_point_that_costs_the_least() -> None:
    """Without an objective at the first point; with one where each column is at the bound that costs least."""
    rows = [equal(2, 1, 1, 1, 0), at_most(1, 1, 1, 0, 0)]
    for goals in ((), (minimize(0, 0, -2, 3),)):
        one = problem(*goals, columns=4, rows=rows, upper=1, integer=[0, 1, 2, 3])
        session = SearchBackend().open(one)
        found = session.solve(SolveOptions(extra={"patience": 1e12}))
        assert (found.status, found.reason) == (Status.FEASIBLE, "")


def test_cheap_columns_of_a_choice_are_tried_more_often() -> None:
    costs = np.random.default_rng(3).permutation(100).astype(float)
    rows = [equal(1, *np.ones(100))]
    model = arrays_of(problem(minimize(*costs), columns=100, rows=rows, upper=1, integer=True))
    rng = np.random.default_rng(1)
    drawn = costs[[cheap_member(model, 0, rng) for _ in range(400)]]
    assert (drawn < 50).mean() > 0.7  # 0.79 expected
    assert drawn.max() > 80  # none is left out


def test_a_column_that_is_fixed_at_1_stays() -> None:
    one = problem(
        minimize(1, -5, -5, -1), columns=4, rows=[at_most(1, 1, 1, 1, 0), at_most(2, 0, 1, 1, 1)],
        lower=[1, 0, 0, 0], upper=1, integer=True,
    )  # fmt: skip
    model = arrays_of(one)
    state = state_at(model, np.array([1.0, 0, 0, 0]))
    search(model, state, 200, np.random.default_rng(1))
    assert state.best.tolist() == [1, 0, 0, 1]


def queens(side: int, colours: int) -> tuple[Problem, Floats]:
    """Colours of the squares of a chess board, where those of a row, a column or a diagonal differ, and one colouring.

    It gives square v the first free one of the colours v, v + 1, ..., so that all are used.
    """
    squares = [(a, b) for a in range(side) for b in range(side)]
    columns, used = (side * side + 1) * colours, side * side * colours
    rows, given, point = [], np.zeros(side * side, dtype=int), np.zeros(columns)
    for v, (a, b) in enumerate(squares):
        rows.append(equal(1, *np.repeat(np.arange(side * side + 1) == v, colours).astype(float)))
        near = [w for w, (c, d) in enumerate(squares[:v]) if a == c or b == d or abs(a - c) == abs(b - d)]
        given[v] = next(c % colours for c in range(v, v + colours) if c % colours not in given[near])
        point[[v * colours + given[v], used + given[v]]] = 1
        for w in near:
            for colour in range(colours):
                row = np.zeros(columns)
                row[[v * colours + colour, w * colours + colour, used + colour]] = 1, 1, -1
                rows.append(at_most(0, *row))
    goal = minimize(*(np.arange(columns) >= used).astype(float))
    return problem(goal, columns=columns, rows=rows, upper=1, integer=list(range(columns))), point


def test_colours_become_free_by_aspiration() -> None:
    """Single moves lead nowhere: a colour is free only after all of its squares have others. 5 x 5 needs 5 colours."""
    one, point = queens(5, 9)
    for seed in range(3):
        model = arrays_of(one)
        state = state_at(model, point)
        assert not state.counts[VIOLATED]
        rng = np.random.default_rng(seed)
        for _ in range(6):
            if not state.counts[ASPIRES]:
                state.counts[UNTIL] = 0
            search(model, state, 50, rng)
        assert model.costs @ state.best == 5


def test_a_packing_begins_with_first_fit_decreasing() -> None:
    """Of 12 jobs of 5 and 4 GPUs on nodes of 9, six nodes do: what the largest first find at once."""
    sizes, nodes = [5, 4] * 6, 12
    columns = 13 * nodes
    once, room = np.zeros((12, columns)), np.zeros((nodes, columns))
    for j, size in enumerate(sizes):
        once[j, j * nodes : (j + 1) * nodes] = 1
        room[np.arange(nodes), j * nodes + np.arange(nodes)] = size
    room[np.arange(nodes), 12 * nodes + np.arange(nodes)] = -9
    rows = [*(equal(1, *row) for row in once), *(at_most(0, *row) for row in room)]
    goal = minimize(*[0] * (12 * nodes), *[1] * nodes)
    one = problem(goal, columns=columns, rows=rows, upper=1, integer=list(range(columns)))
    assert solve_problem(one, "search", SolveOptions(extra={"steps": 20})).objective == 6


def test_it_begins_at_the_relaxation() -> None:
    """After one step the plan is that of the relaxation, fixed with propagation; a poor start is replaced by it."""
    model = gs.load(ROOT / "models/capacity_planning/scenarios/gavel_40_jobs.gsm")
    one = {"steps": 1}
    best = model.solve(gap=1e-6).objective
    assert best is not None
    assert model.solve(backend="search", solver_options=one).objective == pytest.approx(best, rel=0.01)
    assert model.solve(backend="search", solver_options=one, warm_start="FIFO").objective == pytest.approx(
        best, rel=0.01
    )
    without = model.solve(backend="search", solver_options=one, heuristic="off").objective
    assert without is None or without > 1.01 * best


def test_the_same_seed_gives_the_same_point() -> None:
    model = gs.load(ROOT / "models/capacity_planning/scenarios/gavel_at_most.gsm")
    options = {"steps": 600}
    first, again, other = (model.solve(backend="search", seed=seed, solver_options=options) for seed in (1, 1, 2))
    assert first.objective == again.objective
    assert first.objective != other.objective


def test_a_start_is_not_lost() -> None:
    """From the optimum of a solver the search ends at the optimum, whatever it tries."""
    for seed in range(20):
        one = random_problem(seed)
        exact = solve_problem(one, "highs", SolveOptions(gap=0.0))
        if exact.point is None or not one.integer.all():
            continue
        found = solve_problem(one, "search", SolveOptions(extra={"steps": 200}), exact.point)
        assert found.objective == pytest.approx(exact.objective)


def test_several_objectives() -> None:
    one = problem(
        maximize(1, 1, 0), minimize(0, 1, 1), columns=3, rows=[at_most(3, 1, 1, 1), at_least(2, 0, 1, 1)],
        upper=[3, 3, 3], integer=[0, 1, 2],
    )  # fmt: skip
    found = solve_problem(one, "search", STEPS)
    exact = solve_problem(one, "highs", SolveOptions(gap=0.0))
    assert [o.value for o in found.objectives] == [o.value for o in exact.objectives]


def test_columns_without_bounds() -> None:
    one = problem(
        minimize(1, 1), columns=2, rows=[at_least(7, 1, -1), equal(0, 1, 1)], lower=[-INF, -INF], upper=[INF, INF],
        integer=[0, 1],
    )  # fmt: skip
    found = solve_problem(one, "search", STEPS)
    assert found.point is not None
    assert found.objective == 0.0


def test_only_continuous_columns_are_a_linear_problem() -> None:
    one = problem(minimize(1, 2), columns=2, rows=[at_least(1.5, 1, 1)], upper=[1, 9])
    assert solve_problem(one, "search").objective == pytest.approx(2.0)


def test_integers_without_a_choice_left_are_a_linear_problem() -> None:
    one = problem(
        minimize(1, 2), columns=2, rows=[at_least(1.5, 1, 1)], lower=[0.7, 0], upper=[1.2, 9], integer=[0]
    )  # fmt: skip
    found = solve_problem(one, "search")
    assert (found.status, found.objective, found.bound) == (Status.OPTIMAL, 2.0, 2.0)


@pytest.mark.parametrize(("rows", "upper", "status"), [
    ([at_least(3, 1, 1)], [1, 1], Status.INFEASIBLE), ([at_least(3, 1, 1)], [1, INF], Status.UNBOUNDED),
    ([at_most(3, 1, 1)], [1, INF], Status.OPTIMAL),
])  # fmt: skip
def test_linear_problems_have_the_status_of_their_solver(rows: list[Row], upper: list[float], status: Status) -> None:
    one = problem(maximize(1, 1), columns=2, rows=rows, upper=upper)
    found, exact = solve_problem(one, "search"), solve_problem(one, "highs")
    assert found.status is exact.status is status
    assert found.bound == exact.bound


def test_nothing_satisfies_the_rows() -> None:
    """It proves nothing, so that it says that it ended before any solution."""
    one = problem(minimize(1), columns=1, rows=[at_least(0.4, 1), at_most(0.6, 1)], upper=[1], integer=[0])
    found = solve_problem(one, "search", STEPS)
    assert (found.status, found.point) == (Status.LIMIT, None)


def test_it_ends_by_itself_without_any_point() -> None:
    """It cannot find out that a problem has no point, and would search for ever."""
    below = [at_most(0, *(float(i == j) for i in range(3)), -1) for j in range(3)]
    rows = [equal(1, 1, 1, 1, 0), *below, at_most(1, 1, 1, 1, 1)]
    one = problem(minimize(0, 0, 0, 1), columns=4, rows=rows, upper=[1] * 4, integer=True)
    found = solve_problem(one, "search", SolveOptions(extra={"patience": 50}))
    assert (found.status, found.point, found.reason) == (Status.LIMIT, None, "iterations")
    assert 500 < found.statistics["iterations"] < 60_000


@pytest.mark.parametrize(
    ("name", "value", "code"), [("step", 5, "GSM4004"), ("steps", -1, "GSM4005"), ("patience", True, "GSM4005")]
)
def test_wrong_options(name: str, value: float, code: str) -> None:
    with pytest.raises(DiagnosticError) as caught:
        solve_problem(random_problem(1), "search", SolveOptions(extra={name: value}))
    assert [finding.code for finding in caught.value.diagnostics] == [code]


def test_interrupt_keeps_the_best_point(tmp_path: Path) -> None:
    code = (
        "import os, signal, threading, gpusched_dsl as gs\n"
        "m = gs.load('models/capacity_planning/scenarios/gavel_at_most.gsm')\n"
        "m.solve(backend='search', solver_options={'steps': 10})\n"
        "threading.Timer(2.0, os.kill, (os.getpid(), signal.SIGINT)).start()\n"
        "r = m.solve(backend='search', solver_options={'patience': 1e12})\n"
        "print(r.status, r.objective < 1e5)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.stdout.split() == ["feasible", "True"], done.stderr
    assert done.returncode not in (-signal.SIGINT, 130)


KNAPSACK = """
model K {
  set I = 1..30;
  param w[i in I] = (i * 37) mod 23 + 3;
  var x[I] binary;
  maximize gain: sum[i in I] ((i * 53) mod 29 + 5) * x[i];
  constraint c: sum[i in I] w[i] * x[i] <= 150;
}
scenario S for K { }
"""


def test_a_bound_is_a_solvers() -> None:
    """Asked for, a solver proves it beside the point; the options of the search are not its own."""
    model, few = gs.loads(KNAPSACK), {"steps": 300}
    best = model.solve(gap=0.0).objective
    assert best is not None
    found = model.solve(backend="search", solver_options=few, bound=True, gap=0.0)
    assert found.status == "feasible"
    assert found.objective is not None
    assert found.objective <= best == pytest.approx(found.bound)
    assert found.gap == pytest.approx((best - found.objective) / found.objective)
    assert model.solve(backend="search", solver_options=few).bound is None
    compared = model.compare(["search"], time_limit=0.2, bound=True, gap=0.0)
    assert compared.bound == pytest.approx(best)
    assert compared.bound_by == "highs"


class Stopping:
    """A monitor that stops a solve at the n-th time that it is asked."""

    def __init__(self, after: int) -> None:
        self.left = after
        self.bounds: list[float | None] = []

    def progress(self, progress: SolverProgress) -> None:
        self.bounds.append(progress.bound)

    @property
    def stop_requested(self) -> bool:
        self.left -= 1
        return self.left < 0


@pytest.mark.quick(12)
@pytest.mark.parametrize("after", [*range(0, 30, 3), 1_000_000])
@pytest.mark.parametrize("heuristic", ["auto", "on", "off"])
def test_no_bound_unless_asked(after: int, heuristic: str) -> None:
    """Wherever it ends, neither its result nor its progress shows the bound of the relaxation."""
    weights = np.array([(i * 37) % 23 + 3 for i in range(30)], dtype=float)
    gains = [float((i * 53) % 29 + 5) for i in range(30)]
    one = problem(maximize(*gains), columns=30, rows=[at_most(151, *weights)], upper=1, integer=True)
    monitor = Stopping(after)
    found = solve_problem(one, "search", SolveOptions(heuristic=heuristic, extra={"steps": 300}), None, monitor)
    assert [o.bound for o in found.objectives] == [None]
    assert not [bound for bound in monitor.bounds if bound is not None]
    assert found.status in (Status.FEASIBLE, Status.LIMIT)
    if after == 1_000_000:
        assert found.status is Status.FEASIBLE
        assert monitor.bounds


@pytest.mark.parametrize("asked", [{"alternatives": 2}, {"judge": "search", "backend": "highs"}, {"options_of": "J1"}])
def test_what_needs_proofs_refuses_it(asked: dict[str, Any]) -> None:
    with pytest.raises(DiagnosticError) as caught:
        gs.loads(KNAPSACK).solve(**{"backend": "search", **asked})
    assert [finding.code for finding in caught.value.diagnostics] == ["GSM6002"]


def test_blocks_are_not_solved_without_proofs() -> None:
    """A bound of column generation adds up those of the blocks."""
    text = """
    model M { set I; set T = 1..3; param a[I] integer >= 1; var x[I, T] binary;
              minimize cost: sum[i in I, t in T] ((a[i] * t * 7) mod 5 + 1) * x[i, t];
              constraint once[i in I]: sum[t in T] x[i, t] == 1;
              constraint few[t in T]: sum[i in I] a[i] * x[i, t] <= 5;
              decompose by I; }
    scenario S for M { table I: a = p 1  q 2  r 3  s 4; }
    """
    with pytest.raises(DiagnosticError) as caught:
        gs.loads(text).solve(backend="search", decompose="on")
    assert "does not prove that the plan of a block" in str(caught.value)
    assert gs.loads(text).solve(decompose="on").status == "optimal"


def test_backends_without_proofs_are_known_by_name() -> None:
    for name in backend_names():
        assert proves(name) is backend(name).capabilities.proves
    assert proves("highs+search")
