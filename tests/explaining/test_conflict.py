"""Conflicts are conflicts, and minimal: against enumeration of every point."""

from __future__ import annotations

import numpy as np
import pytest
from building import at_least, at_most, between, equal, market_split, problem
from enumeration import has_point, one_left_out, parts_of, small_problem

from gpusched_dsl.explaining.conflict import Conflict, find_conflict
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.solving.variants.solver import VariantSolver

EVERYTHING = ("rows", "lower", "upper", "integer")


def found(one: Problem) -> Conflict:
    conflict = find_conflict(one)
    assert conflict is not None
    return conflict


def check(one: Problem, seed: int) -> bool:
    """Whether the problem is infeasible; then its conflict must be one, and minimal."""
    everything = {
        "rows": list(range(one.rows)), "lower": list(range(one.columns)), "upper": list(range(one.columns)),
        "integer": np.flatnonzero(one.integer).tolist(),
    }  # fmt: skip
    conflict = find_conflict(one)
    if has_point(one, **everything):
        assert conflict is None, seed
        return False
    assert conflict is not None, seed
    assert conflict.minimal, seed
    parts = parts_of(conflict)
    assert not has_point(one, **parts), seed
    for fewer in one_left_out(parts):
        assert has_point(one, **fewer), (seed, fewer)
    return True


@pytest.mark.slow
def test_random_conflicts_are_minimal() -> None:
    infeasible = sum(check(small_problem(seed), seed) for seed in range(50))
    assert 15 < infeasible < 50


@pytest.mark.slow
def test_many_random_conflicts_are_minimal() -> None:
    assert sum(check(small_problem(seed), seed) for seed in range(100, 800)) > 150


def test_bystanders_are_not_named() -> None:
    one = problem(
        columns=3,
        rows=[
            at_most(1, 1, 1, 0),
            at_most(9, 1, 1, 1),
            at_least(3, 1, 1, 1),
            at_most(0.5, 0, 0, 1),
            at_most(8, 1, 0, 1),
        ],
        upper=10.0,
    )
    conflict = found(one)
    assert parts_of(conflict) == {"rows": [0, 2, 3], "lower": [], "upper": [], "integer": []}
    assert conflict.minimal


def test_a_row_that_bounds_cannot_keep_needs_no_search() -> None:
    conflict = found(problem(columns=3, rows=[at_most(90, 1, 2, 3), at_least(40, 1, 1, 0)], upper=10.0))
    assert parts_of(conflict) == {"rows": [1], "lower": [], "upper": [0, 1], "integer": []}


def test_whole_numbers_alone() -> None:
    """The relaxation has points."""
    conflict = found(problem(columns=2, rows=[between(4, 5, 3, 6), at_most(5, 1, 1)], upper=10.0, integer=True))
    assert parts_of(conflict) == {"rows": [0], "lower": [], "upper": [], "integer": [0, 1]}
    assert conflict.minimal


def test_a_column_that_contradicts_itself() -> None:
    crossed = found(problem(columns=2, rows=[at_most(1, 1, 1)], lower=[0.0, 3.0], upper=[1.0, 2.0]))
    assert parts_of(crossed) == {"rows": [], "lower": [1], "upper": [1], "integer": []}
    hollow = found(problem(columns=2, rows=[at_most(1, 1, 1)], lower=[0.0, 0.25], upper=[1.0, 0.75], integer=True))
    assert parts_of(hollow) == {"rows": [], "lower": [1], "upper": [1], "integer": [1]}
    assert crossed.solves == hollow.solves == 0


def test_a_row_that_contradicts_itself() -> None:
    assert parts_of(found(problem(columns=1, rows=[between(3, 2, 1)]))) == {
        "rows": [0], "lower": [], "upper": [], "integer": [],
    }  # fmt: skip
    empty = found(problem(columns=1, rows=[at_most(4, 1), at_least(3, 0)]))
    assert parts_of(empty) == {"rows": [1], "lower": [], "upper": [], "integer": []}


def test_feasible_problems_have_none() -> None:
    assert find_conflict(problem(columns=2, rows=[equal(3, 1, 1)], upper=2.0, integer=True)) is None


def test_a_time_limit_is_never_a_proof() -> None:
    """A problem that no solver decides in this time: no conflict is claimed."""
    assert find_conflict(market_split(), VariantSolver(seconds=0.3)) is None


def test_the_best_conflict_is_kept_when_time_is_up() -> None:
    """It is known to be infeasible, but nothing smaller is found in no time."""
    one = problem(columns=2, rows=[at_least(3, 2, 2), at_most(2.5, 2, 2), at_most(9, 1, 1)], upper=10.0, integer=True)
    conflict = find_conflict(one, VariantSolver(seconds=0.0), known_infeasible=True)
    assert conflict is not None
    assert not conflict.complete
    assert not conflict.minimal
    assert conflict.rows.tolist() == [0, 1, 2]
