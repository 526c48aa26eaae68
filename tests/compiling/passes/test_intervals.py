"""Conditions on intervals: their truth in plain Python, and every form of them against enumeration."""

from __future__ import annotations

import numpy as np
import pytest
from brute import Unsupported, assert_same_optimum, optimum
from drafts import Affine, Draft
from random_problems import random_problem as one_of_kinds

from gpusched_dsl.compiling.passes import interval_slots
from gpusched_dsl.compiling.passes.steps import Target
from gpusched_dsl.ir.definitions import Cumulative, NoOverlap
from gpusched_dsl.ir.json.codec import from_json, to_json
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.solving.solve import solve_problem
from gsdsl_backends.protocol import SolveOptions

EXACT = SolveOptions(gap=0.0, threads=1)


# --- the truth -------------------------------------------------------------------------------------------------------


def is_apart(intervals: list[tuple[float, float, float]]) -> bool:
    here = [(start, length) for start, length, present in intervals if present > 0.5]
    if any(length < 0 for _, length in here):
        return False
    pairs = [(a, b) for i, a in enumerate(here) for b in here[i + 1 :]]
    return all(a[0] + a[1] <= b[0] or b[0] + b[1] <= a[0] for a, b in pairs)


def fits(intervals: list[tuple[float, float, float, float]], capacity: float) -> bool:
    here = [(start, length, demand) for start, length, present, demand in intervals if present > 0.5]
    if capacity < 0 or any(length < 0 or demand < 0 for _, length, demand in here):
        return False
    times = [k / 4 for k in range(-40, 41)]
    return all(sum(d for s, p, d in here if s <= t < s + p) <= capacity for t in times)


def test_truth() -> None:
    rng = np.random.default_rng(1)
    seen = set()
    for _ in range(120):
        count = int(rng.integers(1, 5))
        draft = Draft()
        times = [float(rng.integers(-8, 9)) / 4 for _ in range(count)]
        lengths = [float(rng.integers(-1, 9)) / 4 for _ in range(count)]
        present = [float(rng.random() < 0.8) for _ in range(count)]
        demands = [float(rng.integers(-1, 12)) / 4 for _ in range(count)]
        capacity = float(rng.integers(-1, 24)) / 4
        each = list(zip(times, lengths, present, demands, strict=True))
        draft.no_overlap("apart", [[{None: v} for interval in each for v in interval[:3]], [{None: 0.0}] * 3])
        arguments: list[Affine] = [{None: v} for interval in each for v in interval]
        draft.cumulative("load", [[*arguments, {None: capacity}], [*[{None: 0.0}] * 4, {None: 0.0}]])
        problem = draft.problem()
        apart, load = (d.values(np.zeros(problem.columns)).tolist() for d in problem.definitions)
        assert apart == [is_apart([i[:3] for i in each]), True]
        assert load == [fits(each, capacity), True]
        seen.add((apart[0], load[0]))
        for definition in problem.definitions:
            constants = definition.arguments.constants
            low, high = definition.image(constants, constants)
            assert low.tolist() == high.tolist() == definition.evaluate(constants).tolist()
    assert len(seen) == 4


def test_room_of_times_is_that_of_rows() -> None:
    """Times may cross by as much as a row may be broken, but never by a step of an integer."""
    draft = Draft()
    near, far = 5 + 4e-6, 2e9 + 1
    one = [{None: v} for v in (0.0, near, 1.0, 5.0, 1.0, 1.0)]
    other = [{None: v} for v in (0.0, far, 1.0, 2e9, 1.0, 1.0)]
    draft.no_overlap("apart", [one, other])
    (definition,) = draft.problem().definitions
    assert definition.values(np.zeros(2)).tolist() == [1.0, 0.0]


def test_files() -> None:
    problem = random_problem(np.random.default_rng(4), both=True)
    kinds = {type(d) for d in problem.definitions}
    again = from_json(to_json(problem))
    assert {type(d) for d in again.definitions} == kinds == {NoOverlap, Cumulative}
    point = np.random.default_rng(5).integers(0, 3, problem.columns).astype(np.float64)
    for one, other in zip(problem.definitions, again.definitions, strict=True):
        assert np.array_equal(one.values(point), other.values(point))


# --- every form ------------------------------------------------------------------------------------------------------


def random_problem(
    rng: np.random.Generator, *, both: bool = False, certain: bool = False, plain: bool = False
) -> Problem:
    """Intervals over a few integer columns, of which some entries must be true, may be, or had better not be.

    `certain`: all must be true. `plain`: starts are single columns, lengths and demands data.
    """
    draft = Draft()
    count = int(rng.integers(2, 4))
    last = int(rng.integers(2, 5))
    starts = draft.columns("s", count, 0, last)
    binaries = draft.columns("x", 2)
    more = draft.columns("n", 1, -1 if rng.random() < 0.3 else 0, 2)

    def number(low: int, high: int) -> Affine:
        if plain or rng.random() < 0.6:
            return {None: float(rng.integers(low, high))}
        return {more[0]: float(rng.choice([1, 2])), None: float(rng.integers(0, 2))}

    def presence() -> Affine:
        kind = rng.random()
        if kind < 0.4:
            return {None: 1.0}
        column = int(rng.choice(binaries))
        return column if kind < 0.8 else {column: -1.0, None: 1.0}

    def start(i: int) -> Affine:
        if plain or rng.random() < 0.7:
            return starts[i]
        return {starts[i]: 1.0, None: float(rng.integers(-1, 2)), more[0]: float(rng.integers(0, 2))}

    def intervals(demands: bool) -> list[Affine]:
        found: list[Affine] = []
        for i in range(count):
            found += [start(i), number(0, 4), presence()]
            if demands:
                found.append(number(0, 4))
        return found

    results: list[int] = []
    kinds = (False, True) if both else (bool(rng.random() < 0.6),)
    for load in kinds:
        entries = [[*intervals(load), *([number(1, 6)] if load else [])] for _ in range(int(rng.integers(1, 3)))]
        results += (draft.cumulative if load else draft.no_overlap)("load" if load else "apart", entries)
    must = results if certain else [r for r in results if rng.random() < 0.5]
    if must:
        draft.rows("must", [(1, r, np.inf) for r in must])
    costs: dict[int | None, float] = {c: float(rng.integers(-3, 4)) for c in [*starts, *binaries, *more]}
    for r in results:
        if r not in must:
            costs[r] = float(rng.integers(-6, 7))
    draft.rows("some", [(int(rng.integers(0, 2)), {binaries[0]: 1.0, binaries[1]: 1.0}, np.inf)])
    draft.minimize(costs)
    return draft.problem()


def check_forms(seed: int) -> None:
    rng = np.random.default_rng(seed)
    problem = random_problem(rng, plain=bool(seed % 3 == 0))
    try:
        assert_same_optimum(problem, Target("milp"))
    except Unsupported:
        return


@pytest.mark.parametrize("most", [0, 400])
def test_forms(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interval_slots, "MOST_VALUES", most)
    for seed in range(4):
        check_forms(seed)


@pytest.mark.slow
@pytest.mark.parametrize("most", [0, 400])
@pytest.mark.parametrize("seeds", range(12))
def test_many_forms(seeds: int, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interval_slots, "MOST_VALUES", most)
    for seed in range(100 * seeds, 100 * seeds + 100):
        check_forms(seed)


def check_among_others(seed: int) -> None:
    """Conditions on intervals over results of other terms, and read by them."""
    kinds = ("no_overlap", "cumulative", "no_overlap", "cumulative", "extreme", "holds", "distinct")
    problem = one_of_kinds(np.random.default_rng(seed), kinds)
    try:
        assert_same_optimum(problem, Target("milp"))
    except Unsupported:
        return


def test_forms_among_other_terms() -> None:
    for seed in (0, 1, 2, 130, 402):  # the last two have an absent interval with a negative demand
        check_among_others(seed)


@pytest.mark.slow
@pytest.mark.parametrize("seeds", range(10))
def test_many_forms_among_other_terms(seeds: int) -> None:
    for seed in range(100 * seeds, 100 * seeds + 100):
        check_among_others(seed)


def check_natively(seed: int) -> None:
    problem = random_problem(np.random.default_rng(seed), certain=seed % 2 == 0, plain=seed % 3 == 0)
    expected = optimum(problem)
    solved = solve_problem(problem, "cpsat", EXACT)
    assert solved.status == expected.status, seed
    if expected.status == "optimal":
        assert solved.objective == pytest.approx(expected.value, abs=1e-9), seed
        assert solved.verification is not None
        assert solved.verification.feasible
        assert solved.bound == pytest.approx(expected.value, abs=1e-9)


def test_native_conditions() -> None:
    for seed in range(5):
        check_natively(seed)


@pytest.mark.slow
@pytest.mark.parametrize("seeds", range(5))
def test_many_native_conditions(seeds: int) -> None:
    for seed in range(100 * seeds, 100 * seeds + 100):
        check_natively(seed)
