"""Partial expectations as curves, exponentials and squares: exact, or within the error that is stated."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from brute import apply, assert_same_optimum, optimum, solved
from drafts import Draft
from laws import random_law

from gpusched_dsl.compiling.passes.expectation_curves import curve_of
from gpusched_dsl.compiling.passes.partial_expectations import PartialExpectations
from gpusched_dsl.compiling.passes.pipeline import reformulate
from gpusched_dsl.compiling.passes.steps import INTEGERS, ReformulatedProblem, Target
from gpusched_dsl.ir.definitions import Curves, Piecewise, complete
from gpusched_dsl.ir.distributions import (
    Distribution,
    Exponential,
    LogNormal,
    Weibull,
    discrete,
    mixture,
    survival_points,
    uniform,
)
from gpusched_dsl.ir.problem import Problem

INF = np.inf
MILP = Target("milp")
SMOOTH = Target("smooth", frozenset({INTEGERS, "exp", "power"}))
CONVEX = Target("convex", frozenset({"exp", "power"}), convex=True)
FEW = [*range(6), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(6, 200))]
EXPONENTIAL = {
    "plain": Exponential(40.0),
    "truncated": Exponential(40.0).truncate(high=100.0),
    "censored": Exponential(40.0).censor(100.0),
    "given": Exponential(40.0).censor(100.0).condition_above(12.0),
    "mixed": mixture([Exponential(40.0), Exponential(10.0)], np.array([0.3, 0.7])),
}
LINEAR = {
    "uniform": uniform(20.0, 100.0),
    "points": survival_points(np.array([0.0, 30.0, 100.0]), np.array([1.0, 0.4, 0.1])),
    "mixed": mixture([uniform(0.0, 50.0), discrete(np.array([10.0, 60.0]))], np.array([0.5, 0.5])),
}


# --- curves ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("above", [False, True], ids=["chords", "tangents"])
@pytest.mark.parametrize("seed", FEW)
def test_a_curve_stays_on_its_side_and_within_its_error(seed: int, above: bool) -> None:
    rng = np.random.default_rng(seed)
    law = random_law(rng)
    low, high = np.sort(law.inv_lo(rng.uniform(0.001, 0.999, 2)))
    high = high if low < high else low + 3.0
    low, high = low - rng.choice([0.0, 5.0, INF]), high + rng.choice([0.0, 5.0, INF])
    curve = curve_of(law, low, high, 1e-4 * max(1.0, abs(law.mean)), 100, above)
    curves = Curves(
        np.array([0, len(curve.x)]),
        curve.x,
        curve.y,
        *(np.array([v]) for v in (curve.before, curve.after, curve.error)),
    )
    ends = max(low, float(law.inv_lo(np.array(1 - 1e-9))) - 50), min(high, float(law.inv_hi(np.array(1e-9))) + 50)
    kinks = law.kinks[(law.kinks >= ends[0]) & (law.kinks <= ends[1])]
    x = np.concatenate((rng.uniform(*ends, 2000), kinks))
    gap = law.partial_expectation(x) - curves.values(np.zeros(len(x), dtype=np.int64), x)
    gap = -gap if above else gap
    rounding = 1e-12 * max(1.0, float(np.abs(x).max()))
    assert gap.min() >= -rounding
    assert gap.max() <= curve.error + rounding
    assert np.all(np.diff(curve.x) > 0)
    if law.atoms is not None:
        assert curve.error == 0


@pytest.mark.parametrize(
    ("law", "cells"),
    [(Weibull(45.0, 1.5).censor(100.0), (15, 48, 149)), (LogNormal(np.exp(3.5), 0.5).censor(100.0), (14, 44, 137))],
)
def test_no_more_cells_than_the_literature_needs(law: Distribution, cells: tuple[int, ...]) -> None:
    """Greedy knots with h (f_l - f_{l+1}) = 4 eps; the error of a chord is in fact about half of that bound."""
    for error, most in zip((0.1, 0.01, 0.001), cells, strict=True):
        curve = curve_of(law, 0.0, 100.0, error, 1000, above=False)
        assert curve.error <= error
        assert len(curve.x) - 1 <= most


def test_many_atoms_are_approximated() -> None:
    law = discrete(np.random.default_rng(0).gamma(3.0, 20.0, 5000))
    curve = curve_of(law, 0.0, 400.0, 3e-3, 200, above=False)
    assert 0 < curve.error <= 3e-3
    assert len(curve.x) <= 201


# --- the pass with rows only -----------------------------------------------------------------------------------------


def problem_of(
    law: Distribution, low: float, high: float, sense: str, coefficients: tuple[float, ...] = (1.0,)
) -> Draft:
    """`sense` the sum of E[min(W, a x + 1)] over some a, with x whole in low .. high."""
    draft = Draft()
    (x,) = draft.columns("x", 1, low, high)
    entries = [{x: a, None: 1.0} for a in coefficients]
    results = draft.partial_expectation("g", entries, [0] * len(entries), [law])
    draft.minimize({r: float(i + 1) for i, r in enumerate(results)}, sense)
    return draft


@pytest.mark.quick(3)
@pytest.mark.parametrize("sense", ["minimize", "maximize"])
@pytest.mark.parametrize("seed", FEW)
def test_fixed_arguments_give_the_truth_within_the_error(seed: int, sense: str) -> None:
    rng = np.random.default_rng(seed)
    law = random_law(rng)
    low = float(np.floor(law.inv_lo(np.array(0.95)))) - float(rng.integers(0, 4))
    high = low + float(rng.integers(3, 40))
    problem = problem_of(law, low, high, sense, (1.0, 0.5)).problem()
    reformulated = reformulate(problem, MILP)
    assert reformulated.problem.is_linear
    sign = 1.0 if sense == "minimize" else -1.0
    for x in np.unique(rng.integers(low, high + 1, 4)).astype(float):
        one = replace(
            reformulated.problem,
            lower=np.concatenate(([x], reformulated.problem.lower[1:])),
            upper=np.concatenate(([x], reformulated.problem.upper[1:])),
        )
        truth = problem.objectives[0].value(complete(problem.definitions, np.array([x, 0.0, 0.0])))
        found = solved(one)
        assert found.status == "optimal"
        rounding = 1e-6 * max(1.0, abs(truth))
        # Never better than the truth, and worse by no more than is stated.
        assert sign * (found.value - truth) >= -rounding
        assert sign * (found.value - truth) <= reformulated.bound_error + rounding


@pytest.mark.parametrize("sense", ["minimize", "maximize"])
@pytest.mark.parametrize("seed", FEW)
def test_finite_laws_have_the_same_optimum(seed: int, sense: str) -> None:
    rng = np.random.default_rng(seed)
    draft = Draft()
    x = draft.columns("x", 2, 0, 6)
    laws = [discrete(rng.integers(0, 8, 3).astype(float), rng.uniform(0.1, 1.0, 3)) for _ in range(2)]
    entries = [{c: float(rng.choice([-1, 1, 2])), None: 1.0} for c in (x[0], x[1], x[0])]
    g = draft.partial_expectation("g", entries, [0, 1, int(rng.integers(0, 2))], laws)
    draft.rows("together", [(-INF, {x[0]: 1, x[1]: 1}, 8), (float(rng.integers(-3, 2)), g[2], INF)])
    draft.minimize({g[0]: float(rng.normal()), g[1]: float(rng.normal()), x[0]: 0.1}, sense)
    problem = draft.problem()
    reformulated = assert_same_optimum(problem, PartialExpectations(), MILP)
    assert reformulated.bound_error == 0
    whole = reformulate(problem, MILP)
    assert solved(whole.problem).value == pytest.approx(optimum(problem).value, abs=1e-6, nan_ok=True)


def test_only_the_half_that_is_needed_and_no_binaries_for_it() -> None:
    draft = Draft()
    x = draft.columns("x", 2, 0, 100, integer=False)
    g = draft.partial_expectation("g", [x[0], x[1]], [0, 0], [Exponential(40.0)])
    draft.rows("time", [(-INF, {x[0]: 1, x[1]: 2}, 120)])
    draft.maximize({g[0]: 1, g[1]: 1})
    reformulated = reformulate(draft.problem(), MILP)
    assert not reformulated.problem.is_mip
    found = solved(reformulated.problem)
    # Slopes must agree: exp(-a / 40) = exp(-b / 40) / 2 with a + 2 b = 120.
    b = (120 - 40 * np.log(2)) / 3
    truth = 40 * (2 - np.exp(-(120 - 2 * b) / 40) - np.exp(-b / 40))
    assert truth - reformulated.bound_error <= found.value <= truth
    assert 0 < reformulated.bound_error <= 3e-5 * truth


def test_the_error_of_what_a_row_reads_has_no_bound() -> None:
    draft = Draft()
    (x,) = draft.columns("x", 1, 0, 100, integer=False)
    (g,) = draft.partial_expectation("g", [x], [0], [Exponential(40.0)])
    draft.rows("enough", [(20.0, g, INF)])
    draft.minimize(x)
    reformulated = reformulate(draft.problem(), MILP)
    assert reformulated.bound_error == INF
    found = solved(reformulated.problem).value
    truth = 40 * np.log(2)
    assert truth <= found <= truth + 1e-2  # chords: what is found keeps the row


# --- exponentials and squares ----------------------------------------------------------------------------------------


def lifted(reformulated: ReformulatedProblem, x: float) -> np.ndarray:
    original = reformulated.original
    point = complete(original.definitions, np.concatenate(([x], np.zeros(original.columns - 1))))
    return reformulated.map_start(point)


def breach(problem: Problem, point: np.ndarray) -> float:
    """By how much a point breaks rows, bounds or definitions."""
    activity = problem.matrix.activity(point)
    parts = [problem.row_lower - activity, activity - problem.row_upper, problem.lower - point, point - problem.upper]
    filled = complete(problem.definitions, point)
    return max(*(float(p.max(initial=0.0)) for p in parts), float(np.abs(filled - point).max()))


@pytest.mark.parametrize("sense", ["minimize", "maximize"])
@pytest.mark.parametrize("name", [*(f"exp {n}" for n in EXPONENTIAL), *(f"square {n}" for n in LINEAR)])
def test_smooth_forms_hold_at_the_truth_and_nowhere_beyond(name: str, sense: str) -> None:
    kind, law_name = name.split()
    law = (EXPONENTIAL if kind == "exp" else LINEAR)[law_name]
    for low, high in ((30.0, 90.0), (21.0, 29.0), (-20.0, 150.0)):
        problem = problem_of(law, low - 1, high - 1, sense).problem()
        reformulated = apply(problem, PartialExpectations(), SMOOTH)
        pieces = any(isinstance(d, Piecewise) for d in reformulated.problem.definitions)
        if sense == "maximize":
            assert not pieces
            assert reformulated.bound_error == 0
        for x in np.linspace(low - 1, high - 1, 7):
            point = lifted(reformulated, x)
            if not pieces:
                assert breach(reformulated.problem, point) <= 1e-9 * 150
            if sense == "maximize":
                better = point.copy()
                better[1] += 1e-3
                assert breach(reformulated.problem, better) > 1e-4


@pytest.mark.parametrize("name", [*EXPONENTIAL, *LINEAR])
def test_no_other_split_of_the_argument_promises_more(name: str) -> None:
    law = {**EXPONENTIAL, **LINEAR}[name]
    problem = problem_of(law, -20.0, 150.0, "maximize").problem()
    after = apply(problem, PartialExpectations(), CONVEX).problem
    [split] = [f for f in after.constraints if f.name.endswith(".split")]
    [value] = [f for f in after.constraints if f.name.endswith(".value")]
    row = after.matrix.take(np.array([split.first]))
    parts = row.columns[row.columns > 0]
    rng = np.random.default_rng(0)
    bound = after.matrix.take(np.array([value.first]))
    for _ in range(200):
        x = float(rng.uniform(-20.0, 150.0))
        point = np.zeros(after.columns)
        point[0] = x
        upper = np.minimum(after.upper[parts], 60.0)
        lower = np.maximum(after.lower[parts], -60.0)
        point[parts] = rng.uniform(lower, upper)
        point[parts[0]] += x + 1 - point[parts].sum()  # the part before the first knot takes the rest
        if point[parts[0]] > after.upper[parts[0]]:
            continue
        point = complete(after.definitions, point)
        promised = float(after.row_upper[value.first] - (bound.activity(point)[0] - point[1]))
        assert promised <= float(law.partial_expectation(np.array(x + 1))) + 1e-9
