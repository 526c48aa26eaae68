"""Expectations with decisions: the grounded problem at random points against plain loops."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from random_models import instance_of

from gpusched_dsl.compiling.evaluation.limits import MemoryLimits
from gpusched_dsl.compiling.lowering.ground import ground
from gpusched_dsl.ir.definitions import PartialExpectation, complete
from gpusched_dsl.ir.distributions import Exponential
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.language.diagnostics.errors import DiagnosticError

MODEL = """set J = 1..3; param a[j in J] = 5 * j; param sign[j in J] = 2 - j;
  var x[J] >= 0 <= 30; var z[J] binary;
  random W[j in J] ~ LAW; random B ~ discrete({ (1, 0.25), (3, 0.75) });
  minimize cost: TERM;"""
FINITE = "discrete({ (4 * j, 0.5), (9, 0.3), (20, 0.2) })"
SUPPORTS = [np.array([4.0 * j, 9.0, 20.0]) for j in (1, 2, 3)]
WEIGHTS = np.array([0.5, 0.3, 0.2])

# The term in the model, the same for one outcome (w, b) and a point (x, z), and how many definitions of G it needs.
TERMS = {
    "E(sum[j in J] W[j] * x[j])": (lambda w, b, x, z: w @ x, 0),
    "E(sum[j in J] min(W[j], x[j]))": (lambda w, b, x, z: np.minimum(w, x).sum(), 3),
    "sum[j in J] E(max(W[j] - x[j], 0))": (lambda w, b, x, z: np.maximum(w - x, 0).sum(), 3),
    "sum[j in J] E(max(x[j] - W[j], 0))": (lambda w, b, x, z: np.maximum(x - w, 0).sum(), 3),
    "E(sum[j in J] max(2 * W[j] + x[j], 3 * x[j] - a[j]))": (
        lambda w, b, x, z: np.maximum(2 * w + x, 3 * x - A).sum(), 3,
    ),
    "E(sum[j in J] min(a[j] - W[j] / 2, x[j] + z[j]))": (lambda w, b, x, z: np.minimum(A - w / 2, x + z).sum(), 3),
    "E(sum[j in J] max(sign[j] * W[j], x[j] - 4))": (
        lambda w, b, x, z: np.maximum(np.array([1, 0, -1]) * w, x - 4).sum(), 2,
    ),
    "E(sum[j in J] abs(W[j] - x[j]) * 3)": (lambda w, b, x, z: 3 * np.abs(w - x).sum(), 3),
    "sum[j in J] (E(min(W[j], x[j]) given W[j] > 4) - E(min(W[j], x[j] / 2) given W[j] >= 9))": (None, 6),
}  # fmt: skip
ONLY_FINITE = {
    "E(max[j in J] (W[j] - x[j]))": lambda w, b, x, z: np.max(w - x),
    "E(max(W[1] + W[2] - x[1], B * x[3]))": lambda w, b, x, z: max(w[0] + w[1] - x[0], b * x[2]),
    "E(x[1] * min(W[1], B * x[2]))": lambda w, b, x, z: x[0] * min(w[0], b * x[1]),
    "sum[j in J] P(W[j] <= x[j])": lambda w, b, x, z: (w <= x).sum(),
    "sum[j in J] P(W[j] > x[j])": lambda w, b, x, z: (w > x).sum(),
    "E(sum[j in J] (if W[j] > 8 then W[j] * z[j] else x[j]))": lambda w, b, x, z: np.where(w > 8, w * z, x).sum(),
    "E((sum[j in J] W[j] * z[j])^2)": lambda w, b, x, z: (w @ z) ** 2,
}
A = np.array([5.0, 10.0, 15.0])


def problem_of(term: str, law: str) -> Problem:
    text = f"model M {{ {MODEL.replace('LAW', law).replace('TERM', term)} }} scenario S for M {{ }}"
    instance = instance_of(text)
    return ground(instance.scenario.model, instance.store, MemoryLimits())


def points(problem: Problem, count: int = 12) -> list[tuple[np.ndarray, np.ndarray, float]]:
    """Random values of x and z, and the objective there."""
    rng = np.random.default_rng(3)
    found = []
    for _ in range(count):
        x, z = rng.integers(0, 25, 3).astype(float), rng.integers(0, 2, 3).astype(float)
        point = np.zeros(problem.columns)
        point[problem.variable("x").slice], point[problem.variable("z").slice] = x, z
        found.append((x, z, problem.objectives[0].value(complete(problem.definitions, point))))
    return found


def definitions(problem: Problem) -> int:
    return sum(d.size for d in problem.definitions if isinstance(d, PartialExpectation))


@pytest.mark.parametrize("term", [t for t, (function, _) in TERMS.items() if function is not None])
def test_lines_and_extremes_agree_with_all_outcomes(term: str) -> None:
    function, wanted = TERMS[term]
    problem = problem_of(term, FINITE)
    assert definitions(problem) == wanted
    check_outcomes(problem, function)


@pytest.mark.parametrize("term", ONLY_FINITE)
def test_any_body_of_finite_laws_agrees_with_all_outcomes(term: str) -> None:
    check_outcomes(problem_of(term, FINITE), ONLY_FINITE[term])


def check_outcomes(problem: Problem, function) -> None:
    for x, z, value in points(problem):
        total = 0.0
        for at in product(range(3), repeat=3):
            w, weight = np.array([SUPPORTS[j][at[j]] for j in range(3)]), np.prod(WEIGHTS[list(at)])
            total += weight * sum(q * function(w, b, x, z) for b, q in ((1, 0.25), (3, 0.75)))
        assert value == pytest.approx(total, abs=1e-9)


@pytest.mark.quick(6)
@pytest.mark.parametrize("term", TERMS)
def test_continuous_laws_agree_with_samples(term: str) -> None:
    problem = problem_of(term, "exponential(mean = 2 * a[j])")
    assert definitions(problem) == TERMS[term][1]
    rng = np.random.default_rng(5)
    draws = np.column_stack([Exponential(2 * a).sample(rng, 4_000) for a in A])
    for x, z, value in points(problem, 3):
        if TERMS[term][0] is None:  # without memory: what is left after 4 (or 9) is as at the beginning
            start = np.minimum(4.0, x) + 2 * A * (1 - np.exp(-np.maximum(x - 4, 0) / (2 * A)))
            half = np.minimum(9.0, x / 2) + 2 * A * (1 - np.exp(-np.maximum(x / 2 - 9, 0) / (2 * A)))
            assert value == pytest.approx((start - half).sum())
            continue
        some = np.array([TERMS[term][0](w, 1, x, z) for w in draws[:4_000]])
        assert value == pytest.approx(some.mean(), abs=6 * some.std() / np.sqrt(len(some)) + 1e-9)


def test_a_law_of_each_row_and_one_definition_for_each_index_tuple() -> None:
    problem = problem_of("sum[j in J, k in J] E(min(W[j], x[j])) * k", "exponential(mean = 2 * a[j])")
    [definition] = [d for d in problem.definitions if isinstance(d, PartialExpectation)]
    assert definition.size == 3
    assert [law.mean for law in definition.laws] == [10.0, 20.0, 30.0]


@pytest.mark.parametrize("term", ["E(max[j in J] (W[j] - x[j]))", "P(W[1] <= x[1])", "E(min(W[1], W[2] + x[1]))"])
def test_what_needs_finite_laws_says_so(term: str) -> None:
    with pytest.raises(DiagnosticError) as error:
        problem_of(term, "exponential(mean = 3)")
    assert [d.code for d in error.value.diagnostics] == ["GSM3106"]
