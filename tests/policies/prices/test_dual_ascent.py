"""Cutting planes in a box find the optimum of linear programs of choices."""

from __future__ import annotations

import pytest
from choice_programs import random_program
from priced_models import instance, opened, relaxed_optimum

from gpusched_dsl.policies.prices import values
from gpusched_dsl.policies.prices.choice_rows import choice_rows_of
from gpusched_dsl.policies.prices.dual_ascent import ascend
from gpusched_dsl.policies.prices.relaxation import relaxation_of
from gpusched_dsl.policies.prices.safe_bound import safe_bound
from gpusched_dsl.policies.prices.values import with_prices


@pytest.mark.parametrize("seed", range(60))
@pytest.mark.quick(6)
def test_the_ascent_finds_the_optimum(seed: int) -> None:
    problem = random_program(seed, "maximize" if seed % 3 == 0 else "minimize")
    choices = choice_rows_of(problem)
    assert choices is not None
    assert len(choices.rows) == problem.constraints[0].size
    duals = ascend(problem, choices)
    assert duals is not None
    optimum, bound = relaxed_optimum(problem), safe_bound(problem, duals)
    assert bound is not None
    sign = 1.0 if problem.objectives[0].sense == "minimize" else -1.0
    assert sign * bound <= sign * optimum + 1e-9
    assert bound == pytest.approx(optimum, rel=1e-5, abs=1e-5)


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.quick(3)
def test_prices_of_large_models_prove_the_same_bound(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    policy, built = opened(instance(seed))
    limits = built.permissions.limits()
    choices = choice_rows_of(relaxation_of(policy.model, built.instance.store, limits).problem)
    assert choices is not None
    assert len(choices.rows) == built.problem.constraint("once")[0].size
    by_solver = with_prices(policy, built.instance.store, limits).bound
    monkeypatch.setattr(values, "LARGE", 0)
    by_ascent = with_prices(policy, built.instance.store, limits).bound
    assert by_solver is not None
    assert by_ascent is not None
    assert by_ascent <= by_solver + 1e-9 + 1e-6 * abs(by_solver)
    assert by_ascent == pytest.approx(by_solver, rel=1e-4, abs=1e-4)


def test_rows_that_are_no_choices() -> None:
    problem = random_program(1, "minimize")
    choices, few = problem.constraints[0], problem.constraints[2]
    problem.matrix.values[problem.matrix.starts[choices.first]] = -1.0
    found = choice_rows_of(problem)
    assert found is not None
    assert found.rows.tolist() == [few.first]  # the next family whose rows share no column
    problem.matrix.values[problem.matrix.starts[few.first]] = -1.0
    assert choice_rows_of(problem) is None
