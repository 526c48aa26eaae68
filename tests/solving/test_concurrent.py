"""Several solvers at once: shared points and bounds, ends, contradictions, refusals and crashes."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from building import Draws, at_least, at_most, equal, many_knapsacks, maximize, minimize, problem
from crashing_package import package
from defining import function, nonlinear, of
from msgspec import structs
from problems import CASES, Case
from scripted import codes

import gpusched_dsl as gs
from gpusched_dsl.ir.arrays import Floats
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.ir.solver_result import SolverResult, Status
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.solving.concurrent.backend import ConcurrentBackend
from gpusched_dsl.solving.solution import Solution
from gpusched_dsl.solving.solve import resolve, solve_problem
from gsdsl_backends.isolation import backend as isolation
from gsdsl_backends.protocol import Capabilities, Exchange, Monitor, SolveOptions, SolverProgress
from gsdsl_backends.registry import backend

__all__ = ["package"]
EXACT = SolveOptions(gap=0.0)
SMALL = problem(minimize(1, 2), columns=2, rows=[at_least(1, 1, 1)], upper=5, integer=True)
Work = Callable[[Problem, Exchange], SolverResult]


class Acting:
    """A solver that does what it is told, with the monitor that a real one has."""

    capabilities = Capabilities()

    def __init__(self, name: str, work: Work) -> None:
        self.name, self.work = name, work

    def versions(self) -> dict[str, str]:
        return {self.name: "1"}

    def open(self, problem: Problem) -> Session:
        return Session(problem, self.work)


class Session:
    def __init__(self, problem: Problem, work: Work) -> None:
        self.problem, self.work = problem, work

    def solve(self, options: SolveOptions, start: Floats | None = None, monitor: Monitor | None = None) -> SolverResult:
        assert isinstance(monitor, Exchange)
        return self.work(self.problem, monitor)

    def close(self) -> None:
        pass


def at_once(**works: Work) -> ConcurrentBackend:
    made = {name: Acting(name, work) for name, work in works.items()}
    return ConcurrentBackend("+".join(works), tuple(works), made.__getitem__)


def here(*names: str) -> ConcurrentBackend:
    """Real solvers in this process, which starts no others."""
    return ConcurrentBackend("+".join(names), names, backend)


def found_by(solved: Solution) -> tuple[str, str]:
    point, bound = ([m.solver for m in solved.members if given(m)] for given in (_gave_point, _gave_bound))
    return "".join(point), "".join(bound)


def _gave_point(member: object) -> bool:
    return bool(member.gave_point)  # type: ignore[attr-defined]


def _gave_bound(member: object) -> bool:
    return bool(member.gave_bound)  # type: ignore[attr-defined]


def wait(monitor: Monitor) -> SolverResult:
    until = time.monotonic() + 60
    while not monitor.stop_requested and time.monotonic() < until:
        time.sleep(0.002)
    return SolverResult(Status.LIMIT, reason="interrupt")


def ends_with(result: SolverResult) -> Work:
    return lambda problem, monitor: result


def optimum(*values: float, objective: float, bound: float | None = None) -> SolverResult:
    return SolverResult(Status.OPTIMAL, np.array(values), objective, objective if bound is None else bound)


# --- what is shared --------------------------------------------------------------------------------------------------


def test_the_point_of_one_and_the_bound_of_another_end_the_solve() -> None:
    def finds(one: Problem, monitor: Exchange) -> SolverResult:
        monitor.take_improvement(np.array([1.0, 0.0]))
        return wait(monitor)

    def bounds(one: Problem, monitor: Exchange) -> SolverResult:
        monitor.progress(SolverProgress(0.0, None, 1.0))
        return wait(monitor)

    solved = solve_problem(SMALL, at_once(finder=finds, bounder=bounds), EXACT)
    assert (solved.status, solved.objective, solved.bound) == ("optimal", 1.0, 1.0)
    assert found_by(solved) == ("finder", "bounder")


def test_points_are_offered_to_others_and_never_to_their_finder() -> None:
    offers: dict[str, list[float]] = {"a": [], "b": []}

    def work(name: str, values: list[float], wait_for: int) -> Work:
        def act(one: Problem, monitor: Exchange) -> SolverResult:
            monitor.take_improvement(np.array(values))
            until = time.monotonic() + 5
            while len(offers[name]) < wait_for and time.monotonic() < until:
                offer = monitor.next_offer()
                if offer is not None:
                    offers[name].append(float(offer @ np.array([1.0, 2.0])))
                time.sleep(0.002)
            return SolverResult(Status.LIMIT, reason="nodes")

        return act

    solved = solve_problem(SMALL, at_once(a=work("a", [0.0, 2.0], 1), b=work("b", [2.0, 0.0], 0)), EXACT)
    assert (solved.status, solved.reason, solved.objective) == ("limit", "nodes", 2.0)
    assert found_by(solved) == ("b", "")
    assert offers == {"a": [2.0], "b": []}


@pytest.mark.parametrize("values", [[0.5, 0.5], [0.0, 0.0], [9.0, 0.0]])
def test_points_are_verified_before_anyone_gets_them(values: list[float]) -> None:
    def act(one: Problem, monitor: Exchange) -> SolverResult:
        monitor.take_improvement(np.array(values))
        return SolverResult(Status.LIMIT, reason="nodes")

    assert solve_problem(SMALL, at_once(a=act), EXACT).point is None


class Watch:
    """Takes points, and offers one once."""

    stop_requested = False

    def __init__(self, offer: Floats | None) -> None:
        self.points: list[Floats] = []
        self.offer = offer

    def progress(self, progress: SolverProgress) -> None:
        pass

    def take_improvement(self, values: Floats) -> None:
        self.points.append(values)

    def next_offer(self) -> Floats | None:
        offer, self.offer = self.offer, None
        return offer


@pytest.mark.parametrize("name", ["highs", "scip"])
def test_solvers_take_points_that_they_do_not_find(name: str) -> None:
    """Equations whose one known solution is drawn first: no solver finds it within a few nodes."""
    draws = Draws(5)
    planted = np.array([float(draws.integer(0, 2)) for _ in range(40)])
    weights = [[float(draws.integer(0, 200)) for _ in range(40)] for _ in range(4)]
    rows = [equal(float(np.dot(w, planted)), *w) for w in weights]
    one = problem(minimize(*[1.0] * 40), columns=40, rows=rows, upper=1.0, integer=True)
    limit = {"highs": "mip_max_nodes", "scip": "limits/totalnodes"}[name]
    options = SolveOptions(gap=0.0, extra={limit: 100}, heuristic="off")
    assert solve_problem(one, name, options, monitor=Watch(None)).point is None
    watch = Watch(planted)
    solved = solve_problem(one, name, options, monitor=watch)
    assert solved.objective == planted.sum()
    solved.close()


@pytest.mark.parametrize("name", ["highs", "scip"])
def test_solvers_give_the_points_that_they_find(name: str) -> None:
    one, watch = many_knapsacks(40, 6), Watch(None)
    options = SolveOptions(gap=0.0, extra={"mip_max_nodes" if name == "highs" else "limits/totalnodes": 20})
    solved = solve_problem(one, name, options, monitor=watch)
    assert watch.points
    for values in watch.points:
        assert (one.matrix.activity(values) <= one.row_upper + 1e-6).all()
    solved.close()


# --- ends ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [Status.INFEASIBLE, Status.UNBOUNDED, Status.INFEASIBLE_OR_UNBOUNDED])
def test_one_proof_ends_the_others(status: Status) -> None:
    solved = solve_problem(SMALL, at_once(prover=ends_with(SolverResult(status)), other=lambda p, m: wait(m)), EXACT)
    assert (solved.status, solved.point, solved.contradictions) == (status, None, ())


def test_time_limits_and_monitors_end_all() -> None:
    solved = solve_problem(SMALL, at_once(a=lambda p, m: wait(m)), SolveOptions(time_limit=0.0))
    assert (solved.status, solved.reason) == ("limit", "time")

    class Stop:
        def progress(self, progress: SolverProgress) -> None:
            pass

        stop_requested = False

    stop = Stop()

    def act(one: Problem, monitor: Exchange) -> SolverResult:
        monitor.take_improvement(np.array([1.0, 1.0]))
        stop.stop_requested = True
        return wait(monitor)

    solved = solve_problem(SMALL, at_once(a=act, b=lambda p, m: wait(m)), EXACT, monitor=stop)
    assert (solved.status, solved.reason, solved.objective) == ("limit", "interrupt", 3.0)


def test_a_failing_monitor_stops_all_and_is_raised() -> None:
    class Failing:
        stop_requested = False

        def progress(self, progress: SolverProgress) -> None:
            raise RuntimeError("the screen is gone")

    with pytest.raises(RuntimeError, match="the screen is gone"):
        solve_problem(SMALL, at_once(a=lambda p, m: wait(m)), EXACT, monitor=Failing())


# --- contradictions --------------------------------------------------------------------------------------------------


def in_turn(first: SolverResult, second: SolverResult) -> ConcurrentBackend:
    """Two solvers at work, of which the second has just ended too when the first one asks it to stop."""
    began = threading.Event()

    def ends_first(one: Problem, monitor: Exchange) -> SolverResult:
        began.wait(60)
        return first

    def ends_second(one: Problem, monitor: Exchange) -> SolverResult:
        began.set()
        wait(monitor)
        return second

    return at_once(a=ends_first, b=ends_second)


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """However busy the machine is, the second solver has the time to end."""
    monkeypatch.setattr("gpusched_dsl.solving.concurrent.session.END_SECONDS", 30.0)


@pytest.mark.parametrize(
    ("first", "second", "status", "words"),
    [
        (optimum(1, 0, objective=1.0), SolverResult(Status.INFEASIBLE), "optimal", "no point is feasible"),
        (SolverResult(Status.INFEASIBLE), optimum(1, 0, objective=1.0), "optimal", "no point is feasible"),
        (
            optimum(0, 2, objective=4.0), SolverResult(Status.LIMIT, np.array([1.0, 0.0]), 1.0, None, reason="time"),
            "limit", "no point is better than 4, but that of `b` has 1",
        ),
        (SolverResult(Status.UNBOUNDED), SolverResult(Status.INFEASIBLE), "limit", "unbounded, `b` that it is infeas"),
        (SolverResult(Status.UNBOUNDED), optimum(1, 0, objective=1.0), "limit", "unbounded, but `b` has a bound"),
    ],
)  # fmt: skip
@pytest.mark.usefixtures("patient")
def test_contradictions_are_told(first: SolverResult, second: SolverResult, status: str, words: str) -> None:
    solved = solve_problem(SMALL, in_turn(first, second), EXACT)
    assert solved.status == status
    assert [d.code for d in solved.contradictions] == ["GSM9002"]
    assert words in solved.contradictions[0].message


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (optimum(1, 0, objective=1.0), optimum(1, 0, objective=1.0 + 1e-9)),
        (optimum(1, 0, objective=1.0), SolverResult(Status.LIMIT, np.array([2.0, 0.0]), 2.0, 0.5, reason="time")),
        (SolverResult(Status.INFEASIBLE), SolverResult(Status.INFEASIBLE_OR_UNBOUNDED)),
    ],
)
@pytest.mark.usefixtures("patient")
def test_what_agrees_is_no_contradiction(first: SolverResult, second: SolverResult) -> None:
    solved = solve_problem(SMALL, in_turn(first, second), EXACT)
    assert solved.contradictions == ()
    assert solved.status == first.status


# --- refusals and names ----------------------------------------------------------------------------------------------


def refusing(one: Problem, monitor: Exchange) -> SolverResult:
    raise DiagnosticError([Diagnostic("GSM4003", "not this one")])


def test_a_solver_that_refuses_the_problem_leaves_it_to_the_others() -> None:
    refused = threading.Event()

    def refuses(one: Problem, monitor: Exchange) -> SolverResult:
        refused.set()
        return refusing(one, monitor)

    def solves_then(one: Problem, monitor: Exchange) -> SolverResult:
        assert refused.wait(60)
        time.sleep(0.2)  # until the refusal is known: a solver that is stopped earlier has no error
        return optimum(1, 0, objective=1.0)

    solved = solve_problem(SMALL, at_once(a=refuses, b=solves_then), EXACT)
    assert (solved.status, [m.error for m in solved.members]) == ("optimal", ["not this one", ""])
    with pytest.raises(DiagnosticError) as caught:
        solve_problem(SMALL, at_once(a=refusing, b=refusing), EXACT)
    assert codes(caught) == ["GSM4003"]


def test_a_defect_is_raised() -> None:
    def broken(one: Problem, monitor: Exchange) -> SolverResult:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        solve_problem(SMALL, at_once(a=broken, b=lambda p, m: wait(m)), EXACT)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("highs+scib", "scip"),
        ("highs+highs", "twice"),
        ("highs+", "write `highs`, or name solvers, as in `highs+scip`"),
    ],
)
def test_wrong_names(name: str, words: str) -> None:
    with pytest.raises(DiagnosticError) as caught:
        backend(name)
    assert codes(caught) == ["GSM4001"]
    (finding,) = caught.value.diagnostics
    assert words in f"{finding.message} {finding.help}"


def test_options_name_their_solver() -> None:
    chosen = here("highs", "scip")
    with pytest.raises(DiagnosticError) as caught:
        solve_problem(SMALL, chosen, structs.replace(EXACT, extra={"presolve": "off", "hihgs:presolve": "off"}))
    assert codes(caught) == ["GSM4004", "GSM4004"]
    assert "highs:presolve" in str(caught.value.diagnostics[0].help)
    members = chosen.members(SMALL, structs.replace(EXACT, threads=5, extra={"scip:limits/nodes": 3}))
    assert [(m.name, m.options.threads, dict(m.options.extra)) for m in members] == [
        ("highs", 2, {}), ("scip", 2, {"limits/nodes": 3})
    ]  # fmt: skip


# --- real solvers ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
def test_optima_are_those_of_brute_force(seed: int) -> None:
    draws = Draws(seed)
    costs = [draws.integer(-9, 10) for _ in range(4)]
    rows = [at_most(draws.integer(3, 12), *(draws.integer(-3, 8) for _ in range(4))) for _ in range(3)]
    stated = problem(maximize(*costs), columns=4, rows=rows, upper=2, integer=True)
    best = max(
        float(np.dot(costs, point))
        for point in product(range(3), repeat=4)
        if all(np.dot(row[1], point) <= row[2] for row in rows)
    )
    solved = solve_problem(stated, here("highs", "scip"), EXACT)
    assert (solved.status, solved.objective) == ("optimal", pytest.approx(best))
    assert solved.contradictions == ()


def test_several_objectives_starts_and_changes() -> None:
    stated = problem(minimize(1, 1, name="f"), maximize(1, 0, name="g"), columns=2, rows=[at_least(3, 1, 1)], upper=2)
    solved = solve_problem(replace(stated, integer=np.array([True, True])), here("highs", "scip"), EXACT)
    assert [o.value for o in solved.objectives] == [3.0, 2.0]
    assert [(m.solver, m.goal) for m in solved.members] == [(s, g) for g in ("f", "g") for s in ("highs", "scip")]
    start = np.array([np.nan, 1.0])
    first = solve_problem(SMALL, here("highs", "scip"), EXACT, start)
    second = resolve(first, problem(minimize(3, 2), columns=2, rows=[at_least(1, 1, 1)], upper=5, integer=True))
    assert (first.objective, second.objective, second.loading.value) == (1.0, 2.0, "backend_cannot_update")


def test_duals_belong_to_the_point() -> None:
    stated = problem(minimize(2, 3), columns=2, rows=[at_least(4, 1, 1), at_least(6, 1, 3)])
    solved = solve_problem(stated, here("highs", "scip"))
    assert solved.objective == pytest.approx(9.0)
    assert solved.row_duals == pytest.approx([1.5, 0.5])


def test_terms_that_one_solver_reformulates_and_one_does_not() -> None:
    stated = nonlinear(minimize(-3.0, 1.0), columns=1, terms=[function("exp", of(1.0))], lower=-5.0, upper=5.0)
    solved = solve_problem(stated, here("highs", "scip"))
    assert solved.objective == pytest.approx(3 - 3 * 1.0986122886681098, abs=1e-6)
    assert [bool(m.error) for m in solved.members] == [True, False]


MODEL = """
model M { var x binary; var y binary; maximize f: 2 * x + y; constraint one: x + y <= 1; }
scenario S for M { }
"""


def test_results_tell_who_found_them(tmp_path: Path) -> None:
    (tmp_path / "m.gsm").write_text(MODEL)
    result = gs.load(tmp_path / "m.gsm").solve(backend="highs+scip")
    assert (result.status, result.objective, result.backend) == ("optimal", 2.0, "highs+scip")
    rows = result.to_dict()["members"]
    assert {row["solver"] for row in rows} == {"highs", "scip"}
    assert sum(row["gave_point"] for row in rows) == sum(row["gave_bound"] for row in rows) == 1
    assert result.members["solver"].to_list() == ["highs", "scip"]


# --- processes -------------------------------------------------------------------------------------------------------

PROVED = [case for case in CASES if not case.options.extra and case.status != "limit"]
needs_processes = pytest.mark.skipif(not isolation.is_supported(), reason="pipes are handed over as POSIX does")


@pytest.fixture
def fast_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpusched_dsl.solving.concurrent.session.END_SECONDS", 0.3)


@needs_processes
@pytest.mark.slow
@pytest.mark.parametrize("crash", ["exit", "abort"])
def test_a_killed_child_leaves_the_work_to_the_others(
    crash: str, package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CRASH", crash)
    solved = solve_problem(SMALL, backend("crashing+scip"), EXACT)
    assert (solved.status, solved.objective) == ("optimal", 1.0)
    (crashed, other) = solved.members
    assert other.gave_point
    if crashed.error:  # it had begun before the other one ended
        assert "crashed" in crashed.error
        assert [d.code for d in solved.warnings] == ["GSM4017"]


@needs_processes
@pytest.mark.slow
@pytest.mark.usefixtures("fast_end")
def test_a_child_that_does_not_hear_is_ended(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CRASH", "endless")
    chosen = backend("crashing+highs")
    began = time.monotonic()
    solved = solve_problem(many_knapsacks(), chosen, SolveOptions(gap=0.0, time_limit=10.0))
    assert time.monotonic() - began < 30
    assert (solved.status, solved.reason, found_by(solved)) == ("limit", "time", ("highs", "highs"))
    monkeypatch.delenv("CRASH")
    assert solve_problem(SMALL, chosen, EXACT).objective == 1.0


@needs_processes
@pytest.mark.slow
@pytest.mark.parametrize("case", PROVED, ids=lambda case: case.name)
def test_conformance(case: Case) -> None:
    """By those that are installed, in processes of their own."""
    start = None if case.start is None else np.array(case.start, dtype=np.float64)
    solved = solve_problem(case.problem, "concurrent", case.options, start)
    assert solved.status == case.status
    assert solved.contradictions == ()
    if case.objective is not None and case.status == "optimal":
        assert solved.objective == pytest.approx(case.objective, rel=1e-6, abs=1e-9)
