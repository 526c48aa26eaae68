"""Random small problems with choices: sets of 0/1 columns, links between them, capacities and penalties."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from brute import By, Optimum, apply, assert_same_optimum, solved
from drafts import Affine, Draft, Row

from gpusched_dsl.compiling.passes.steps import ReformulatedProblem
from gpusched_dsl.ir.problem import Problem


def random_choices(rng: np.random.Generator, penalties: int = 3) -> Problem:
    """Choices `x[g, i]`, some under a column `z[g]`, links to columns `y`, capacities and penalties on all of these.

    Every kind of row comes in several forms: sides turned, scaled, with a second side, with coefficients that only
    nearly force anything.
    """
    draft = Draft()
    groups = [draft.columns(f"x{g}", int(rng.integers(1, 4))) for g in range(2)]
    z, y = draft.columns("z", 2), draft.columns("y", 2)
    choices = [c for g in groups for c in g]
    if rng.random() < 0.2:
        fixed = int(rng.choice(choices))
        draft.lower[fixed] = draft.upper[fixed] = float(rng.integers(0, 2))
    parts = [
        draft.columns(f"t{k}", 1, float(rng.choice([0, 0, -1, 1, -np.inf])), end(rng), integer=False)[0]
        for k in range(penalties)
    ]
    for g, x in enumerate(groups):
        at_most_one(draft, rng, f"one{g}", x, z[g])
    for number in range(int(rng.integers(1, 5))):
        link(draft, rng, f"link{number}", some_of(rng, choices), int(rng.choice([*y, *z])))
    for number in range(int(rng.integers(0, 3))):
        body = {c: float(rng.integers(1, 4)) for c in some_of(rng, choices)}
        add(draft, rng, f"room{number}", body, -np.inf, float(rng.integers(1, 5)))
    for number, t in enumerate(parts):
        some = groups[int(rng.integers(2))] if rng.random() < 0.8 else some_of(rng, [*choices, *z, *y])[:2]
        penalty(draft, rng, f"due{number}", some[:1] if rng.random() < 0.3 else some, t)
    if parts and rng.random() < 0.2:
        draft.rows("more", [(-np.inf, {parts[0]: 1, int(rng.choice(y)): 1}, 4)])
    costs: dict[int | None, float] = {c: float(rng.integers(-4, 4)) for c in [*choices, *z, *y]}
    costs |= {t: float(rng.choice([1, 2, 3, 1, -1, 0])) for t in parts}
    if rng.random() < 0.5:
        draft.minimize(costs | {None: 1.0})
    else:
        draft.maximize({c: -v for c, v in costs.items()})
    return draft.problem()


def some_of(rng: np.random.Generator, columns: Sequence[int]) -> list[int]:
    return [int(c) for c in rng.choice(columns, int(rng.integers(1, len(columns) + 1)), replace=False)]


def at_most_one(draft: Draft, rng: np.random.Generator, name: str, x: Sequence[int], z: int) -> None:
    """A row of which at most one column can be 1, nearly one, or none."""
    body = {c: float(rng.choice([1, 1, 1, 2, 1.5])) for c in x}
    match int(rng.integers(5)):
        case 0:
            add(draft, rng, name, body, -np.inf if rng.random() < 0.6 else 1, 1)
        case 1:
            add(draft, rng, name, body | {z: -1}, -np.inf if rng.random() < 0.5 else 0, 0)
        case 2:
            add(draft, rng, name, {c: float(rng.integers(1, 5)) for c in x}, -np.inf, float(rng.integers(2, 5)))


def link(draft: Draft, rng: np.random.Generator, name: str, x: Sequence[int], y: int) -> None:
    """x <= y, a row for each or one for all."""
    if rng.random() < 0.6:
        draft.rows(name, [formed(rng, {c: 1, y: -1}, -np.inf, 0) for c in x])
    else:
        add(draft, rng, name, {c: float(rng.choice([1, 2, 0.5])) for c in x} | {y: -1}, -np.inf, 0)


def penalty(draft: Draft, rng: np.random.Generator, name: str, x: Sequence[int], t: int) -> None:
    """A row that keeps t from below, at times from above too or only from there."""
    body = {c: float(rng.integers(-3, 6)) for c in x if rng.random() < 0.95}
    side = float(rng.integers(-2, 4))
    lower = -np.inf if rng.random() < 0.7 else side if rng.random() < 0.5 else side - float(rng.integers(1, 9))
    add(draft, rng, name, body | {t: float(rng.choice([-1, -1, -2, 1]))}, lower, side)


def end(rng: np.random.Generator) -> float:
    return np.inf if rng.random() < 0.6 else float(rng.integers(1, 5))


def add(draft: Draft, rng: np.random.Generator, name: str, body: Affine, lower: float, upper: float) -> None:
    draft.rows(name, [formed(rng, body, lower, upper)])


def formed(rng: np.random.Generator, body: Affine, lower: float, upper: float) -> Row:
    """A row as given, scaled, or with its sides turned."""
    assert not isinstance(body, int)
    factor = float(rng.choice([1, 1, 2, 0.5, -1, -3]))
    low, high = sorted((lower * factor, upper * factor))
    return low, {c: v * factor for c, v in body.items()}, high


def relaxed(problem: Problem) -> Optimum:
    """The optimum of the linear relaxation."""
    return solved(replace(problem, integer=np.zeros(problem.columns, dtype=np.bool_)))


def assert_no_weaker(problem: Problem, by: By, *, same: bool = False) -> ReformulatedProblem:
    """As `assert_same_optimum`, and the bound of the relaxation gets no worse (`same`: nor better)."""
    reformulated = assert_same_optimum(problem, by)
    before, after = relaxed(problem), relaxed(apply(problem, by).problem)
    if same:
        assert before.status == after.status
    if before.status == after.status == "optimal":
        slack = 1e-6 * max(1.0, abs(before.value))
        better = (after.value - before.value) * (-1.0 if problem.objectives[0].sense == "maximize" else 1.0)
        assert better >= -slack, (before.value, after.value)
        assert not same or better <= slack, (before.value, after.value)
    else:
        assert before.status != "infeasible" or after.status == "infeasible"
        assert before.status != "optimal" or after.status != "unbounded"
    return reformulated
