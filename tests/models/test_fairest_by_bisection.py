"""The exact form of PA-MBT against the usual one: bisection over the performance, a feasibility problem for each."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

import gpusched_dsl as gs

FILE = Path(__file__).parents[2] / "models" / "price_aware" / "tests" / "exact_forms.gsm"
WINDOWS = {"T1": (0, 3), "T2": (0, 5), "T3": (1, 5)}  # first and last slot of the jobs of `Baselines`
STEPS = 12


def is_feasible(model: gs.Model, performance: float, bound: float) -> bool:
    """Whether the hard problem has a plan in which every job and service has this performance."""
    settings = {
        f'due["{job}"]': str(math.floor(last - performance * (last - first + 1) + 1e-9))
        for job, (first, last) in WINDOWS.items()
    }
    settings['latency_bound["I1"]'] = f"{(1 - performance) * bound!r}[s]"
    result = model.solve("Baselines", "highs", settings=settings)
    assert result.status.value in ("optimal", "infeasible")
    return result.status.value == "optimal"


def by_bisection(model: gs.Model, bound: float) -> tuple[float, float]:
    """Return performances between which the largest one is: a feasible one and an infeasible one."""
    low, high = 0.0, 1.0
    assert is_feasible(model, low, bound)
    for _ in range(STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if is_feasible(model, middle, bound) else (low, middle)
    return low, high


@pytest.mark.slow
@pytest.mark.parametrize(("bound", "decided_by"), [(0.2, "jobs"), (0.13, "services")])
def test_the_convex_problem_has_the_optimum_of_bisection(bound: float, decided_by: str) -> None:
    pytest.importorskip("pyscipopt", reason="the package pyscipopt is not installed")
    model = gs.load(FILE)
    exact = model.solve("Fairest", "scip", settings={'latency_bound["I1"]': f"{bound}[s]"}, gap=0.0)
    assert exact.objective is not None
    low, high = by_bisection(model, bound)
    assert low - 1e-5 <= exact.objective <= high + 1e-5
    assert (exact.objective == pytest.approx(0.5)) == (decided_by == "jobs")
