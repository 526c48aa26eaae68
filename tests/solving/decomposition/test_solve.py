"""Decomposition against one mixed-integer problem: optimum, bound, plans; any duals; blocks of any shape."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from block_problems import any_blocks, by_type
from msgspec import structs

from gpusched_dsl.compiling.passes.pipeline import reformulate
from gpusched_dsl.ir.arrays import Floats
from gpusched_dsl.ir.blocks import NoBlocksError, blocks_of
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.ir.solver_result import SolverResult, Status
from gpusched_dsl.ir.verify import verify
from gpusched_dsl.solving.decomposition import column_generation
from gpusched_dsl.solving.decomposition.blocks import split_problem
from gpusched_dsl.solving.decomposition.bounds import clean_duals, lagrangian_bound, shared_bound
from gpusched_dsl.solving.decomposition.column_generation import ColumnGeneration
from gpusched_dsl.solving.decomposition.cuts import with_rounding_cuts
from gpusched_dsl.solving.decomposition.mending import mend
from gpusched_dsl.solving.decomposition.monitor import DecompositionClock
from gpusched_dsl.solving.decomposition.pricing import Pricer
from gpusched_dsl.solving.decomposition.recognition import recognise_blocks
from gpusched_dsl.solving.decomposition.solve import Techniques, solve_by_blocks
from gpusched_dsl.solving.lexicographic import with_visible_costs
from gsdsl_backends.highs.backend import HighsBackend
from gsdsl_backends.interrupt import Control
from gsdsl_backends.protocol import SolveOptions, target_of

HIGHS = HighsBackend()
EXACT = SolveOptions(gap=0.0)
SMALL = range(8)
MANY = range(8, 150)
MANY_STEP = 36


def whole(problem: Problem, relaxed: bool = False) -> SolverResult:
    """The problem at once, by HiGHS."""
    if relaxed:
        problem = replace(problem, integer=np.zeros(problem.columns, dtype=np.bool_))
    visible, factor = with_visible_costs(problem)
    session = HIGHS.open(visible)
    answer = session.solve(EXACT)
    session.close()
    return answer if answer.objective is None else structs.replace(answer, objective=answer.objective / factor)


def check(problem: Problem, root: str, where: object, recognise: bool = True) -> None:
    """The optimum where the backend may finish; else a bound below it and a plan above it that is one."""
    blocks = blocks_of(problem, root)
    best = whole(problem)
    found = solve_by_blocks(problem, blocks, HIGHS, EXACT, techniques=Techniques(recognise=recognise))
    assert found.status is best.status, where
    alone = solve_by_blocks(problem, blocks, HIGHS, EXACT, techniques=Techniques(recognise=recognise, finish=False))
    if best.status is Status.INFEASIBLE:
        assert alone.values is None, where
        return
    assert best.objective is not None
    slack = 1e-6 * max(1e-3, abs(best.objective))
    assert found.objective == pytest.approx(best.objective, abs=slack), where
    assert found.values is not None
    assert verify(problem, found.values).feasible, where
    sign = -1.0 if problem.objectives[0].sense == "maximize" else 1.0
    for answer in (found, alone):
        if answer.bound is not None:
            assert sign * answer.bound <= sign * best.objective + slack, where
    if alone.values is not None:
        assert verify(problem, alone.values).feasible, where
        assert alone.objective == pytest.approx(problem.objectives[0].value(alone.values), abs=slack), where
        assert sign * problem.objectives[0].value(alone.values) >= sign * best.objective - slack, where
    if alone.bound is not None:  # blocks are priced exactly, so the bound is at least the linear one
        linear = whole(problem, relaxed=True).objective
        assert linear is not None
        assert sign * alone.bound >= sign * linear - 2e-6 * max(1e-3, abs(linear)), where


@pytest.mark.slow
def test_price_aware_instances_reach_the_optimum(tmp_path: Path) -> None:
    for seed, problem in by_type(tmp_path, SMALL).items():
        check(problem, "Batch", seed)


@pytest.mark.slow
def test_jobs_whose_last_slot_counts_are_left_to_the_backend(tmp_path: Path) -> None:
    for seed, problem in by_type(tmp_path, range(2), mode="soft", lateness_measure="last_slot").items():
        parts = split_problem(problem, blocks_of(problem, "Batch"))
        assert not Pricer(parts, HIGHS).recognised.any()
        check(problem, "Batch", seed)


@pytest.mark.slow
@pytest.mark.parametrize("first", MANY[::MANY_STEP])
def test_many_price_aware_instances_reach_the_optimum(tmp_path: Path, first: int) -> None:
    """142 instances; seed 145 has no column of a job, so nothing to decompose, and work that nothing can do."""
    for seed, problem in by_type(tmp_path, range(first, min(first + MANY_STEP, MANY.stop))).items():
        if any(family.name == "train" and not family.size for family in problem.variables):
            with pytest.raises(NoBlocksError, match="indexed by `Batch` have no elements"):
                blocks_of(problem, "Batch")
            assert whole(problem).status is Status.INFEASIBLE, seed
            continue
        check(problem, "Batch", seed)


@pytest.mark.slow
def test_every_job_is_recognised_and_priced_as_the_backend_does(tmp_path: Path) -> None:
    startless = 0
    for seed, stated in by_type(tmp_path, range(5)).items():
        # Passes take away the start of a first slot that no job runs before, among other things.
        problem = reformulate(stated, target_of(HIGHS, stated), tighten=True).problem if seed % 2 else stated
        parts = split_problem(problem, blocks_of(problem, "Batch"))
        quick, slow = Pricer(parts, HIGHS), Pricer(parts, HIGHS, recognise=False)
        assert quick.recognised.all(), seed
        assert not slow.recognised.any()
        startless += int((recognise_blocks(parts).start < 0).sum())
        random = np.random.default_rng(seed)
        for _ in range(2):
            costs = parts.block_costs(random.normal(0, 0.01, parts.uses))
            one, other = quick.price(costs), slow.price(costs)
            assert one.status is other.status, seed
            if one.status is not Status.OPTIMAL:
                continue
            assert one.least == pytest.approx(other.least, abs=1e-7), seed
            paid = np.asarray(one.points.values @ costs)
            assert paid == pytest.approx(one.least[one.points.block], abs=1e-9)
            point = np.zeros(problem.columns)
            point[parts.own] = np.asarray(one.points.values.sum(axis=0)).reshape(-1)
            inside = np.flatnonzero(parts.blocks.row >= 0)
            activity = problem.matrix.activity(point)[inside]
            assert (activity >= problem.row_lower[inside] - 1e-9).all()
            assert (activity <= problem.row_upper[inside] + 1e-9).all()
    assert startless > 0


@pytest.mark.slow
def test_the_bound_holds_at_any_duals(tmp_path: Path) -> None:
    """Whatever the multipliers are, and with the rounding cuts as rows among the others."""
    finite = 0
    for seed, problem in by_type(tmp_path, range(7)).items():
        best = whole(problem).objective
        if best is None:
            continue
        parts = split_problem(problem, blocks_of(problem, "Batch"))
        random = np.random.default_rng(seed)
        for some in (parts, with_rounding_cuts(parts)):
            pricer = Pricer(some, HIGHS)
            for size in (0.0, 1e-4, 1e-2):
                duals = clean_duals(some, random.normal(0, size, some.rows) if size else np.zeros(some.rows))
                least = pricer.price(some.block_costs(some.prices(duals))).least
                bound = lagrangian_bound(shared_bound(some, duals), least)
                finite += bool(np.isfinite(bound))
                assert bound <= best + 1e-9, (seed, size)
    assert finite > 12


@pytest.mark.slow
def test_the_master_is_the_problem_over_mixed_points(tmp_path: Path) -> None:
    """Rows and costs of its optimum are those of the problem at the mixed point, also where rows share uses."""
    merged = 0
    for seed, problem in by_type(tmp_path, range(10), inference_sharing="independent").items():
        parts = split_problem(problem, blocks_of(problem, "Batch"))
        generation = ColumnGeneration.begin(parts, Pricer(parts, HIGHS), DecompositionClock(Control(), None))
        answer = generation.run(1e-9)
        if answer is None or generation.status is not Status.OPTIMAL or answer.slack.sum() > 1e-9:
            continue
        mixed = np.asarray(generation.pool.points.values.T @ answer.weights)
        point = parts.complete_point(answer.shared, mixed)
        assert verify(replace(problem, integer=np.zeros_like(problem.integer)), point).feasible, seed
        assert problem.objectives[0].value(point) == pytest.approx(answer.value, abs=1e-9), seed
        assert generation.bound == pytest.approx(answer.value, rel=1e-6), seed
        merged += int((parts.use_of >= 0).sum()) - parts.uses
    assert merged > 0


@pytest.mark.quick(6)
@pytest.mark.parametrize("seed", range(16))
def test_blocks_of_any_shape_reach_the_optimum(seed: int) -> None:
    check(any_blocks(seed), "Parts", seed)


def test_generation_that_ends_early_still_gives_a_valid_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the points of one round dives lack capacity more often; what they lack is mended, and the bound holds."""
    mended: list[bool] = []

    def counting(*arguments: Any) -> Floats | None:
        point = mend(*arguments)
        mended.append(point is not None)
        return point

    monkeypatch.setattr(column_generation, "MOST_ROUNDS", 1)
    monkeypatch.setattr("gpusched_dsl.solving.decomposition.plan_search.mend", counting)
    planned = 0
    for seed in range(12):
        problem = any_blocks(seed)
        best = whole(problem)
        alone = solve_by_blocks(problem, blocks_of(problem, "Parts"), HIGHS, EXACT, techniques=Techniques(finish=False))
        if best.objective is None:
            assert alone.values is None, seed
            continue
        sign = -1.0 if problem.objectives[0].sense == "maximize" else 1.0
        slack = 1e-6 * max(1e-3, abs(best.objective))
        if alone.bound is not None:
            assert sign * alone.bound <= sign * best.objective + slack, seed
        if alone.values is not None:
            planned += 1
            assert verify(problem, alone.values).feasible, seed
            assert sign * problem.objectives[0].value(alone.values) >= sign * best.objective - slack, seed
    assert planned > 4
    assert any(mended)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(16, 136))
def test_many_blocks_of_any_shape_reach_the_optimum(seed: int) -> None:
    check(any_blocks(seed), "Parts", seed)
