"""Columns made integer only by their rows: a solver that stops between two vertices is asked for a vertex."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from building import INF, at_least, at_most, equal, maximize, minimize, problem
from found_codes import message_values
from scripted import Scripted, codes, optimal
from solvers import GENERAL

from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.ir.solver_result import SolverResult, Status
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.solving.solve import resolve, solve_problem
from gsdsl_backends.protocol import SolveOptions
from gsdsl_backends.registry import backend

# Two machines, two jobs, and it does not matter which goes where.
TIED = problem(
    minimize(1, 1, 1, 1),
    columns=4,
    rows=[equal(1, 1, 1, 0, 0), equal(1, 0, 0, 1, 1), at_most(1, 1, 0, 1, 0), at_most(1, 0, 1, 0, 1)],
    upper=1,
    integer=True,
)
# The same, and machines have to be paid for by tens: these stay whole.
PAID = problem(
    minimize(1, 1, 1, 1, 5, 5),
    columns=6,
    rows=[
        equal(1, 1, 1, 0, 0, 0, 0),
        equal(1, 0, 0, 1, 1, 0, 0),
        at_most(1, 1, 0, 1, 0, 0, 0),
        at_most(1, 0, 1, 0, 1, 0, 0),
        at_least(20, 0, 0, 0, 0, 10, 10),
    ],
    upper=[1, 1, 1, 1, 2, 2],
    integer=True,
)


class Named(Scripted):
    """Answers for the solver whose options the second solve must have."""

    name = "highs"


def test_a_point_between_two_vertices_is_moved_to_one() -> None:
    scripted = Named(optimal(0.5, 0.5, 0.5, 0.5, objective=2.0), optimal(1, 0, 0, 1, objective=2.0))
    solved = solve_problem(TIED, scripted, SolveOptions(extra={"run_crossover": "off"}))
    assert not scripted.opened[0].is_mip
    assert solved.point is not None
    assert solved.point.tolist() == [1, 0, 0, 1]
    assert solved.is_integral
    assert (solved.status, solved.objective, solved.bound) == ("optimal", 2.0, 2.0)
    assert [dict(o.extra) for o in scripted.options] == [{"run_crossover": "off"}, {"solver": "simplex"}]


def test_kept_integers_are_fixed_meanwhile() -> None:
    scripted = Scripted(
        optimal(0.5, 0.5, 0.5, 0.5, 1 - 1e-8, 1, objective=12 - 5e-8), optimal(0, 1, 1, 0, 1, 1, objective=12.0)
    )
    solved = solve_problem(PAID, scripted)
    first, second = scripted.opened
    assert first.integer.tolist() == [False] * 4 + [True] * 2
    assert not second.is_mip
    assert second.lower.tolist() == [0, 0, 0, 0, 1, 1]
    assert second.upper.tolist() == [1, 1, 1, 1, 1, 1]
    assert solved.point is not None
    assert solved.point.tolist() == [0, 1, 1, 0, 1, 1]


def test_the_best_point_at_a_limit_is_moved_too() -> None:
    stopped = SolverResult(Status.LIMIT, np.array([0.5, 0.5, 0.5, 0.5, 2, 0]), 12.0, 11.0, reason="time")
    solved = solve_problem(PAID, Scripted(stopped, optimal(0, 1, 1, 0, 2, 0, objective=12.0)))
    assert (solved.status, solved.objective, solved.bound) == ("limit", 12.0, 11.0)
    assert solved.is_integral


def test_a_solver_that_never_ends_in_a_vertex_is_helped_by_one_that_does() -> None:
    between = optimal(0.5, 0.5, 0.5, 0.5, objective=2.0)
    scripted = Scripted(between, between)
    solved = solve_problem(TIED, scripted)
    assert not scripted.answers
    assert solved.point is not None
    assert set(solved.point.tolist()) == {0.0, 1.0}
    assert solved.is_integral


def test_a_point_that_nobody_can_repair_is_refused() -> None:
    between = optimal(0.5, 0.5, 0.5, 0.5, objective=2.0)
    with pytest.raises(DiagnosticError) as caught:
        solve_problem(TIED, Named(between, between))
    assert codes(caught) == ["GSM4008"]
    assert {"0.5"} <= set(message_values(caught.value.diagnostics[0].message))


def test_a_vertex_that_is_worse_is_refused() -> None:
    one = problem(maximize(3, 2), columns=2, rows=[at_most(1, 1, 1)], upper=1, integer=True)
    with pytest.raises(DiagnosticError) as caught:
        solve_problem(one, Named(optimal(0.8, 0.2, objective=2.8), optimal(0, 1, objective=2.0)))
    assert codes(caught) == ["GSM4008"]


def test_integers_give_no_duals_even_as_a_linear_problem() -> None:
    for name in GENERAL:
        solved = solve_problem(TIED, name)
        assert not solved.reformulated.problem.is_mip
        assert solved.row_duals is None
        assert solved.reduced_costs is None
        assert solved.is_integral
        assert (solved.status, solved.objective, solved.bound, solved.gap) == ("optimal", 2.0, 2.0, 0.0)
        continuous = replace(TIED, integer=np.zeros(4, dtype=bool))
        assert solve_problem(continuous, name).row_duals is not None


def test_an_interior_point_method_without_crossover_is_repaired() -> None:
    """All four plans cost the same, and the method ends in the middle of them."""
    options = SolveOptions(extra={"solver": "ipm", "run_crossover": "off", "presolve": "off"})
    raw = backend("highs").open(replace(TIED, integer=np.zeros(4, dtype=bool))).solve(options).values
    assert raw is not None
    assert np.abs(raw - np.rint(raw)).max() > 0.1
    solved = solve_problem(TIED, "highs", options)
    assert solved.point is not None
    assert solved.is_integral
    assert set(solved.point.tolist()) == {0.0, 1.0}
    assert solved.objective == 2.0


@pytest.mark.parametrize("name", GENERAL)
def test_random_assignments_with_ties_come_back_whole(name: str) -> None:
    rng = np.random.default_rng(45)
    for _ in range(6):
        one = _assignment(rng)
        plain = solve_problem(one, name, SolveOptions(gap=0.0, tighten=False))
        solved = solve_problem(one, name, SolveOptions(gap=0.0))
        assert not solved.reformulated.problem.is_mip
        assert solved.status == plain.status
        if plain.objective is not None:
            assert solved.objective == pytest.approx(plain.objective)
            assert solved.is_integral


def test_a_re_solve_stays_whole() -> None:
    rng = np.random.default_rng(46)
    solved = solve_problem(_assignment(rng), "highs")
    for _ in range(4):
        one = _assignment(rng)
        solved = resolve(solved, one)
        assert solved.is_integral == (solved.point is not None)
        assert solved.objective == pytest.approx(solve_problem(one, "highs").objective)


def _assignment(rng: np.random.Generator, jobs: int = 6, machines: int = 4) -> Problem:
    """Jobs on machines with room for two, a total to be reached, and few different costs."""
    columns = jobs * machines
    rows = []
    for job in range(jobs):
        row = np.zeros(columns)
        row[job * machines : (job + 1) * machines] = 1
        rows.append(at_most(1, *row))
    for machine in range(machines):
        row = np.zeros(columns)
        row[machine::machines] = 1
        rows.append(at_most(2, *row))
    rows.append((float(rng.integers(2, 6)), (1.0,) * columns, INF))
    return problem(minimize(*rng.integers(1, 3, columns)), columns=columns, rows=rows, upper=1, integer=True)
