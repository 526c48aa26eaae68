"""Sifting finds points as good as the solver's on all columns, and bounds below the optimum."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from choice_programs import random_program

from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.ir.solver_result import SolverResult, Status, relative_gap
from gpusched_dsl.ir.verify import objective_value, verify
from gpusched_dsl.solving import sifting
from gpusched_dsl.solving.primal import start as starts
from gpusched_dsl.solving.sifting import sift
from gpusched_dsl.solving.solve import solve_problem
from gsdsl_backends.highs.backend import HighsBackend
from gsdsl_backends.protocol import Backend, SolveOptions, SolverProgress

HIGHS = HighsBackend()
GAP = 0.05


@pytest.fixture(autouse=True)
def small_problems_are_sifted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sifting, "LEAST_PER_CHOICE", 1)
    monkeypatch.setattr(sifting, "SAMPLED", 4)
    monkeypatch.setattr(sifting, "LEAST_KEPT", 1)
    monkeypatch.setattr(sifting, "KEPT", (1.2, 2.0))
    monkeypatch.setattr(starts, "LEAST_COLUMNS", 1)


def with_integers(seed: int, sense: str) -> Problem:
    """A random program of choices in which capacities, and of some seeds all columns, are integer."""
    problem = random_program(seed, sense)
    integer = np.full(problem.columns, seed % 4 == 0)
    integer[-2:] = True
    return replace(problem, integer=integer, upper=np.minimum(problem.upper, 50.0))


@pytest.mark.parametrize("first", range(0, 300, 30))
@pytest.mark.quick(2)
def test_points_and_bounds_surround_the_optimum(first: int) -> None:
    counts: Counter[str] = Counter()
    for seed in range(first, first + 30):
        sense = "maximize" if seed % 3 == 0 else "minimize"
        problem = with_integers(seed, sense)
        exact = solve_problem(problem, "highs", SolveOptions(gap=0.0, heuristic="off"))
        found = sift(problem, HIGHS, SolveOptions(gap=GAP), None, None)
        if found is None:
            counts["unsuitable"] += 1
            continue
        counts["sifted"] += 1
        if exact.status is Status.INFEASIBLE:
            assert found.point is None, seed
            continue
        optimum = exact.objective
        assert optimum is not None
        sign, near = (1.0 if sense == "minimize" else -1.0), 1e-6 * max(1.0, abs(optimum))
        if found.bound is not None:
            assert sign * found.bound <= sign * optimum + near, seed
        if found.point is None:
            continue
        assert found.objective is not None
        assert verify(problem, found.point).feasible, seed
        assert found.objective == pytest.approx(objective_value(problem.objectives[0], found.point).value)
        assert sign * found.objective >= sign * optimum - near, seed
        counts["proved"] += found.proved
        if found.proved:
            assert found.bound is not None
            assert relative_gap(found.objective, found.bound) <= GAP
            assert abs(found.objective - optimum) <= GAP * abs(found.objective) + near
    assert counts["sifted"] >= 10, counts
    assert counts["proved"] >= 3, counts


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.quick(4)
def test_what_sifting_leaves_open_the_solver_decides(seed: int) -> None:
    problem = with_integers(seed, "minimize")
    exact = solve_problem(problem, "highs", SolveOptions(gap=0.0, heuristic="off"))
    sifted = solve_problem(problem, "highs", SolveOptions(gap=0.0))
    assert sifted.status is exact.status
    assert sifted.objective == pytest.approx(exact.objective, abs=1e-7) if exact.objective is not None else True


def test_a_start_is_kept() -> None:
    """The kept columns do not have the point of the start, unless the start brings them."""
    problem = with_integers(5, "minimize")
    exact = solve_problem(problem, "highs", SolveOptions(gap=0.0, heuristic="off"))
    assert exact.point is not None
    found = sift(problem, HIGHS, SolveOptions(gap=0.0), exact.point, None)
    assert found is not None
    assert found.objective == pytest.approx(exact.objective)


class _Stopped:
    stop_requested = True

    def progress(self, progress: SolverProgress) -> None:
        pass


def test_a_stop_ends_it() -> None:
    problem = with_integers(5, "minimize")
    found = sift(problem, HIGHS, SolveOptions(), None, _Stopped())
    assert found is not None
    assert found.interrupted
    assert found.point is None


def test_other_problems_are_left_to_the_solver(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sifting, "LEAST_PER_CHOICE", 8)
    assert sift(with_integers(5, "minimize"), HIGHS, SolveOptions(), None, None) is None


@pytest.mark.parametrize("limit", [None, 50.0])
def test_parts_get_the_time_that_is_left(limit: float | None, monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[float | None] = []
    solve_part = sifting.solve_part

    def noted(backend: Backend, part: Problem, options: SolveOptions, *others: Any) -> SolverResult:
        given.append(options.time_limit)
        return solve_part(backend, part, options, *others)

    monkeypatch.setattr(sifting, "solve_part", noted)
    assert sift(with_integers(5, "minimize"), HIGHS, SolveOptions(time_limit=limit), None, None) is not None
    assert given
    assert all(left is None if limit is None else left is not None and 0 < left <= limit for left in given)
