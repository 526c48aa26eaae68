"""Cutting planes in a box find the optimum of linear programs of choices."""

from __future__ import annotations

import numpy as np
import pytest
from priced_models import instance, opened, relaxed_optimum

from gpusched_dsl.ir.domains import IntervalDomain
from gpusched_dsl.ir.matrix import Matrix
from gpusched_dsl.ir.problem import Family, Objective, Problem, Term
from gpusched_dsl.policies.prices import values
from gpusched_dsl.policies.prices.choice_rows import choice_rows_of
from gpusched_dsl.policies.prices.dual_ascent import ascend
from gpusched_dsl.policies.prices.relaxation import relaxation_of
from gpusched_dsl.policies.prices.safe_bound import safe_bound
from gpusched_dsl.policies.prices.values import with_prices


def random_program(seed: int, sense: str) -> Problem:
    """Choices with two to four ways each, coupled by capacities that another column with a price can raise."""
    random = np.random.default_rng(seed)
    choices, kinds = int(random.integers(2, 40)), int(random.integers(1, 4))
    ways = random.integers(2, 5, choices)
    owner = np.repeat(np.arange(choices), ways)
    count = len(owner)
    kind, use = random.integers(0, kinds, count), random.integers(1, 4, count)
    dense = np.zeros((choices + kinds + 1, count + kinds))
    dense[owner, np.arange(count)] = random.integers(1, 4, count) if seed % 2 else 1.0
    dense[choices + kind, np.arange(count)] = use
    dense[choices + np.arange(kinds), count + np.arange(kinds)] = -4.0
    dense[-1, count:] = 1.0
    exact = random.random(choices) < 0.2
    rows, columns = np.nonzero(dense)
    starts = np.concatenate(([0], np.cumsum(np.bincount(rows, minlength=len(dense)))))
    sign = 1.0 if sense == "minimize" else -1.0
    costs = sign * np.concatenate((-random.random(count) * use, random.random(kinds)))
    unbounded = random.random(kinds) < 0.3
    upper = np.concatenate((np.ones(count), np.where(unbounded, np.inf, float(choices))))
    families = ((0, choices, "once"), (choices, kinds, "capacity"), (choices + kinds, 1, "few"))
    return Problem(
        "random",
        (Family("x", 0, IntervalDomain(0, count + kinds - 1)),),
        np.zeros(count + kinds),
        upper,
        np.zeros(count + kinds, dtype=np.bool_),
        tuple(Family(name, first, IntervalDomain(0, size - 1)) for first, size, name in families),
        Matrix(starts, columns.astype(np.int32), dense[rows, columns]),
        np.concatenate((np.where(exact, 1.0, -np.inf), np.full(kinds, -np.inf), [-np.inf])),
        np.concatenate((np.ones(choices), random.random(kinds) * 3, [float(choices) / 3])),
        (Objective(sense, (Term(None, np.arange(count + kinds, dtype=np.int32), costs, 2.5),)),),
    )


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
