"""Variants of a problem allow exactly the points that their changes allow, and share one solver and one clock."""

from __future__ import annotations

import time

import numpy as np
import pytest
from building import at_least, at_most, minimize, problem

from gpusched_dsl.ir.deadline import StoppedEarly
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.ir.variants import with_bounds, with_fixed, with_row, with_sides
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.solving.lexicographic import with_cutoff
from gpusched_dsl.solving.variants.solver import Feasibility, VariantSolver
from gsdsl_backends.protocol import Backend, SolverProgress
from gsdsl_backends.registry import backend

POINTS = np.stack(np.meshgrid(*[np.arange(4)] * 3, indexing="ij"), axis=-1).reshape(-1, 3).astype(np.float64)


def small() -> Problem:
    return problem(
        minimize(3, -1, 2), columns=3, rows=[at_most(5, 1, 2, 1), at_least(1, 1, 1, 0)], upper=3, integer=True
    )


def allowed(one: Problem) -> set[tuple[float, ...]]:
    values = np.stack([one.matrix.activity(point) for point in POINTS])
    inside = ((one.lower <= POINTS) & (one.upper >= POINTS)).all(axis=1)
    inside &= ((values >= one.row_lower) & (values <= one.row_upper)).all(axis=1)
    return {tuple(point) for point in POINTS[inside].tolist()}


@pytest.mark.parametrize("seed", range(20))
def test_a_variant_has_the_points_of_its_changes(seed: int) -> None:
    rng, one = np.random.default_rng(seed), small()
    before = allowed(one)
    column, row = int(rng.integers(3)), int(rng.integers(2))
    low, high = sorted(rng.integers(0, 4, 2).tolist())
    factors = rng.integers(-2, 3, 3).astype(np.float64)
    side = float(rng.integers(-2, 6))
    mask = np.arange(2) == row
    costs = one.objectives[0].costs(3)
    expected = {
        "bounds": (with_bounds(one, [column], low, high), {p for p in before if low <= p[column] <= high}),
        "lower": (with_bounds(one, [column], lower=low), {p for p in before if low <= p[column]}),
        "fixed": (with_fixed(one, np.array([column]), float(low)), {p for p in before if p[column] == low}),
        "row": (
            with_row(one, "more", np.arange(3), factors, side),
            {p for p in before if factors @ p >= side},
        ),
        "cut-off": (with_cutoff(one, side), {p for p in before if costs @ p <= side}),
    }
    for name, (variant, points) in expected.items():
        assert allowed(variant) == points, name
    free = with_sides(one, mask, -np.inf, np.inf)
    assert allowed(with_sides(free, mask, one.row_lower[mask], one.row_upper[mask])) == before < allowed(free)
    assert allowed(one) == before  # the problem itself stays as it is


class Stops:
    """A monitor that can ask to stop."""

    stop_requested = False

    def progress(self, progress: SolverProgress) -> None:
        pass


def test_one_clock_ends_all_variants() -> None:
    scip = backend("scip")
    solver = VariantSolver(seconds=0.5)
    other = solver.of(scip)
    assert not other.over
    time.sleep(0.51)
    assert solver.over
    assert other.over
    with pytest.raises(StoppedEarly):
        other.clock.check()
    assert solver.decide(small())[0] is not Feasibility.INFEASIBLE


def test_who_stops_one_variant_stops_the_others() -> None:
    monitor = Stops()
    solver = VariantSolver(monitor=monitor)
    other = solver.of(backend("scip"))
    assert not other.over
    monitor.stop_requested = True
    assert other.over
    monitor.stop_requested = False
    assert solver.over  # a request to stop is remembered


def test_a_variant_gets_a_share_of_the_time() -> None:
    assert VariantSolver().share() is None
    share = VariantSolver(seconds=100.0).share()
    assert share is not None
    assert 29.0 < share <= 30.0
    assert VariantSolver(seconds=0.5).share() == pytest.approx(0.5, abs=0.1)  # one second, but no more than is left
    assert 99.0 < (VariantSolver(seconds=100.0, share=1.0).share() or 0.0) <= 100.0


def test_verdicts() -> None:
    solver = VariantSolver()
    verdict, point = solver.decide(small())
    assert verdict is Feasibility.FEASIBLE
    assert point is not None
    assert tuple(point.tolist()) in allowed(small())
    assert solver.decide(with_row(small(), "more", np.arange(3), 1.0, 10.0)) == (Feasibility.INFEASIBLE, None)
    wrong = with_bounds(small(), [0], lower=np.nan)
    assert solver.attempt(wrong) is None
    assert solver.decide(wrong) == (Feasibility.UNKNOWN, None)
    with pytest.raises(DiagnosticError):
        solver.decide(wrong, complete=True)


def test_a_solver_is_loaded_by_the_first_variant() -> None:
    loaded: list[int] = []

    def load() -> Backend:
        loaded.append(1)
        return backend("highs")

    solver = VariantSolver(load)
    assert not loaded
    best = [solver.solve(one).objective for one in (small(), with_bounds(small(), [0], lower=2))]
    assert best == [min(3 * a - b + 2 * c for a, b, c in allowed(small())), 3 * 2 - 1]
    assert loaded == [1]
