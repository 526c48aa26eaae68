"""Solves share by share: the bound is below the optimum, the plan obeys all rows of the complete problem."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pytest
from fleets import bought, built_from, by_shares, capacity, judged

from gpusched_dsl.compiling.interchangeable.generic import Obstacle
from gpusched_dsl.ir.solver_result import Status
from gpusched_dsl.solving.solve import solve_problem
from gsdsl_backends.protocol import SolveOptions


def drawn(kind: str, seed: int) -> tuple[str, str]:
    return bought(seed) if kind == "bought" else capacity(seed, kind)


@pytest.mark.parametrize("kind", ["printed", "model", "bought"])
@pytest.mark.parametrize("first", range(0, 40, 10))
def test_bounds_and_plans_surround_the_optimum(kind: str, first: int, tmp_path: Path) -> None:
    counts: Counter[str] = Counter()
    for seed in range(first, first + 10):
        built = built_from(*drawn(kind, seed), tmp_path)
        exact = solve_problem(built.problem, "highs", SolveOptions(gap=0.0))
        jobs = random.Random(seed).choice([1, 2, 3, 100])
        try:
            solved = by_shares(built, jobs)
        except Obstacle:
            counts["infeasible" if exact.status is Status.INFEASIBLE else "refused"] += 1
            continue
        assert exact.status is Status.OPTIMAL, seed
        optimum = exact.objective
        assert optimum is not None
        assert solved.objective is not None
        assert solved.bound is not None
        sign = 1.0 if built.problem.objectives[0].sense == "minimize" else -1.0
        slack = 1e-6 * max(1.0, abs(optimum))
        assert sign * solved.bound <= sign * optimum + 1e-9 * max(1.0, abs(optimum)), seed
        assert sign * solved.objective >= sign * optimum - slack, seed
        checked = judged(built.problem, solved)
        assert checked.feasible, (seed, checked.worst)
        assert checked.objectives[0].value == pytest.approx(solved.objective, abs=slack)
        assert solved.size == built.problem.size
        counts["solved"] += 1
        counts["optimal"] += abs(solved.objective - optimum) <= slack
    assert counts["solved"] >= 5, counts
    assert not counts["refused"], counts
    assert counts["optimal"] >= counts["solved"] - 1, counts
