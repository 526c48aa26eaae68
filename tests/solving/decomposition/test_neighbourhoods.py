"""Neighbourhoods of few blocks: what stays, that points become better, and when the search around a point ends."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from block_problems import any_blocks, by_type

from gpusched_dsl.backends.highs.backend import HighsBackend
from gpusched_dsl.backends.protocol import SolveOptions
from gpusched_dsl.ir.blocks import blocks_of
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.ir.solver_result import SolverResult, Status
from gpusched_dsl.ir.verify import verify
from gpusched_dsl.solving.decomposition import neighbourhoods
from gpusched_dsl.solving.decomposition.blocks import split_problem
from gpusched_dsl.solving.decomposition.neighbourhoods import BlockNeighbourhoods
from gpusched_dsl.solving.primal.any_point import find_any_point
from gpusched_dsl.solving.primal.budget import HeuristicBudget

HIGHS = HighsBackend()
OPTIONS = SolveOptions(gap=1e-6, seed=3)


def searched(problem: Problem, root: str) -> list[float]:
    """The minimised values of any point, and of the best ones in 15 neighbourhoods one after the other."""
    parts = split_problem(problem, blocks_of(problem, root))
    budget = HeuristicBudget(60.0)
    point = find_any_point(problem, HIGHS, OPTIONS, budget)
    if point is None:
        return []
    around = BlockNeighbourhoods(parts, HIGHS, OPTIONS)
    values = [parts.sign * problem.objectives[0].value(point)]
    for _ in range(15):
        found = around.improve(point, budget)
        assert found is not None
        found = np.where(problem.integer, np.rint(found), found)
        assert verify(problem, found).feasible
        value = parts.sign * problem.objectives[0].value(found)
        assert value <= values[-1] + 1e-6 * max(1.0, abs(values[-1]))
        point = found
        values.append(value)
    return values


@pytest.mark.quick(2)
@pytest.mark.parametrize("seed", range(12))
def test_points_become_better(seed: int, tmp_path: Path) -> None:
    """In the end all blocks and all shared columns have been free, so little is left of the gap."""
    (of_scheduling,) = by_type(tmp_path, range(seed, seed + 1)).values()
    for problem, root, slack in ((any_blocks(seed), "Parts", 0.5), (of_scheduling, "Batch", 0.1)):
        values = searched(problem, root)
        if not values:
            continue
        session = HIGHS.open(problem)
        best = session.solve(SolveOptions(gap=0.0)).objective
        session.close()
        assert best is not None
        sign = -1.0 if problem.objectives[0].sense == "maximize" else 1.0
        assert values[-1] - sign * best <= slack * (values[0] - sign * best) + 1e-6


def test_blocks_that_are_not_drawn_keep_their_points(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = any_blocks(4)
    parts = split_problem(problem, blocks_of(problem, "Parts"))
    point = find_any_point(problem, HIGHS, OPTIONS, HeuristicBudget(10.0))
    assert point is not None
    around = BlockNeighbourhoods(parts, HIGHS, OPTIONS)
    free = np.zeros(parts.blocks.count, dtype=np.bool_)
    free[1] = True
    monkeypatch.setattr(around, "_draw", lambda: free)
    monkeypatch.setattr(around, "_turn", 1)
    found = around.improve(point, HeuristicBudget(10.0))
    assert found is not None
    others = parts.own[parts.block != 1]
    assert found[others].tolist() == point[others].tolist()


def test_the_same_seed_draws_the_same() -> None:
    problem = any_blocks(0)
    parts = split_problem(problem, blocks_of(problem, "Parts"))

    def draws(seed: int) -> list[list[bool]]:
        around = BlockNeighbourhoods(parts, HIGHS, SolveOptions(seed=seed))
        around._blocks = 1.0
        return [around._draw().tolist() for _ in range(8)]

    assert draws(1) == draws(1)
    assert draws(1) != draws(2)
    assert all(sum(draw) == 1 for draw in draws(1))


def test_a_neighbourhood_without_time_is_followed_by_a_smaller_one(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = any_blocks(2)
    parts = split_problem(problem, blocks_of(problem, "Parts"))
    point = find_any_point(problem, HIGHS, OPTIONS, HeuristicBudget(10.0))
    assert point is not None
    around = BlockNeighbourhoods(parts, HIGHS, OPTIONS)
    around._blocks, around._turn = 1.0, 1
    around.improve(point, HeuristicBudget(10.0))
    assert around._blocks == neighbourhoods.GROWTH
    monkeypatch.setattr(neighbourhoods, "solve_part", lambda *_: SolverResult(Status.LIMIT))
    assert around.improve(point, HeuristicBudget(10.0)) is None
    assert around._blocks == 1.0
