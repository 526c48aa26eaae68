"""Every registered backend solves every problem of the list, checked here without the package's own evaluator."""

from __future__ import annotations

import numpy as np
import pytest
from building import dense_rows
from msgspec import structs
from nonlinear_problems import NONLINEAR, NOT_CONVEX, NonlinearCase
from problems import CASES, Case

from gpusched_dsl.ir.arrays import Floats
from gpusched_dsl.solving.solution import Solution
from gpusched_dsl.solving.solve import solve_problem
from gsdsl_backends.protocol import Backend, Capabilities
from gsdsl_backends.registry import backend, backend_names

CLOSE = 1e-6


@pytest.fixture(params=backend_names(), scope="module")
def solver(request: pytest.FixtureRequest) -> Backend:
    return backend(request.param)


def test_the_list_is_long_and_its_names_differ() -> None:
    names = [case.name for case in [*CASES, *NONLINEAR]]
    assert len(names) >= 120
    assert len(set(names)) == len(names)


def has(able: Capabilities, need: str) -> bool:
    if need == NOT_CONVEX:
        return not able.convex
    return need in able.accepts or bool(getattr(able, need, False))


@pytest.mark.parametrize("case", [*CASES, *NONLINEAR], ids=lambda case: case.name)
def test_backend(solver: Backend, case: Case) -> None:
    lacking = sorted(need for need in case.needs if not has(solver.capabilities, need))
    if lacking:
        pytest.skip(f"{solver.name} does not have: {', '.join(lacking)}")
    start = None if case.start is None else np.array(case.start, dtype=np.float64)
    if not solver.capabilities.proves:
        check_search(case, solver, start)
        return
    solved = solve_problem(case.problem, solver, case.options, start)
    assert solved.status == case.status
    assert solved.reason == case.reason
    if case.status == "optimal":
        assert solved.point is not None
        check_optimum(case, solved)
    elif case.status == "limit":
        assert case.incumbent is None or (solved.point is not None) == case.incumbent
    else:
        assert solved.point is None
        assert solved.objective is None
    if solved.point is not None:
        check_point(case, solved)
    if solved.row_duals is not None and case.problem.is_linear:
        check_duals(case, solved)
    solved.close()


def check_search(case: Case, solver: Backend, start: Floats | None) -> None:
    """A backend that proves nothing: its point satisfies the problem, if there is one, and beats no optimum."""
    solved = solve_problem(case.problem, solver, structs.replace(case.options, extra={"steps": 2000}), start)
    exact = solved.status == case.status  # without integers, or where nothing is left to decide
    if case.status == "optimal":
        assert exact or solved.status in ("feasible", "limit")
        if exact:
            check_optimum(case, solved)
        elif solved.objective is not None and case.objective is not None:
            found, best = solved.objective, case.objective
            slack = CLOSE * max(1.0, abs(best))
            is_minimum = case.problem.objectives[0].sense == "minimize"
            assert found >= best - slack if is_minimum else found <= best + slack
    elif case.status != "limit":
        assert solved.point is None or case.status != "infeasible"
    if solved.point is not None:
        check_point(case, solved)
    solved.close()


def check_optimum(case: Case, solved: Solution) -> None:
    if case.objective is not None:
        assert solved.objective == pytest.approx(case.objective, rel=CLOSE, abs=1e-12)
    if case.objectives is not None:
        assert [o.value for o in solved.objectives] == pytest.approx(case.objectives, rel=CLOSE, abs=CLOSE)
    if case.point is not None:
        assert solved.point == pytest.approx(case.point, abs=CLOSE)
    for result in solved.objectives:
        assert result.gap is not None
        assert result.gap <= case.options.gap + CLOSE
    linear = case.problem.is_linear and not case.problem.is_mip and len(case.problem.objectives) == 1
    if solved.backend.capabilities.duals and case.problem.is_linear:
        assert (solved.row_duals is not None) == linear
        assert (solved.reduced_costs is not None) == linear
    if case.row_duals is not None:
        assert solved.row_duals == pytest.approx(case.row_duals, rel=CLOSE, abs=1e-12)
    if case.reduced_costs is not None:
        assert solved.reduced_costs == pytest.approx(case.reduced_costs, rel=CLOSE, abs=1e-12)


def check_point(case: Case, solved: Solution) -> None:
    one, point = case.problem, solved.point
    assert point is not None
    size = CLOSE * np.maximum(1, np.abs(point))
    assert (point >= one.lower - size).all()
    assert (point <= one.upper + size).all()
    assert np.array_equal(point[one.integer], np.rint(point[one.integer]))
    rows = dense_rows(one)
    activity = rows @ point
    size = CLOSE * np.maximum(1, np.abs(rows) @ np.abs(point))
    must_hold = np.ones(one.rows, dtype=bool)
    for row, column, value in zip(one.conditions.rows, one.conditions.columns, one.conditions.values, strict=True):
        must_hold[row] = point[column] == value
    assert (activity >= one.row_lower - size)[must_hold].all()
    assert (activity <= one.row_upper + size)[must_hold].all()
    if isinstance(case, NonlinearCase):
        declared = one.variables[-1].stop
        assert point[declared:] == pytest.approx(case.terms(point[:declared].tolist()), rel=1e-9, abs=1e-12)
    assert solved.verification is not None
    assert solved.verification.feasible
    for stated, result in zip(one.objectives, solved.objectives, strict=True):
        value = stated.offset + stated.costs(one.columns) @ point
        assert result.value == pytest.approx(value, rel=1e-9, abs=1e-12)
        if result.bound is not None:
            # of the result's own value: `value` is summed in another order
            assert result.bound <= result.value if stated.sense == "minimize" else result.bound >= result.value


def check_duals(case: Case, solved: Solution) -> None:
    """Stationarity, signs and complementarity: together with feasibility they prove the optimum."""
    one, point, duals, reduced = case.problem, solved.point, solved.row_duals, solved.reduced_costs
    assert point is not None
    assert duals is not None
    assert reduced is not None
    costs, rows = one.objectives[0].costs(one.columns), dense_rows(one)
    scale = max(1e-9, float(np.abs(costs).max(initial=0.0)))
    assert reduced / scale == pytest.approx((costs - rows.T @ duals) / scale, abs=CLOSE)
    sign = 1 if one.objectives[0].sense == "minimize" else -1
    sides = [(duals, rows @ point, one.row_lower, one.row_upper), (reduced, point, one.lower, one.upper)]
    for multipliers, values, lower, upper in sides:
        pressing = sign * multipliers / scale
        from_below = np.abs(values - lower) <= CLOSE * np.maximum(1, np.abs(values))
        from_above = np.abs(values - upper) <= CLOSE * np.maximum(1, np.abs(values))
        assert from_below[pressing > CLOSE].all()
        assert from_above[pressing < -CLOSE].all()
