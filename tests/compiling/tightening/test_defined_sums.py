"""Columns that one row defines as a sum: read as the sum where that is no larger, and the optimum stays."""

from __future__ import annotations

from contextlib import suppress

import numpy as np
import pytest
from as_text import as_text
from brute import Unsupported, apply, assert_same_optimum
from drafts import Draft

from gpusched_dsl.compiling.tightening.defined_sums import DefinedSums
from gpusched_dsl.ir.problem import Problem


def test_a_sum_that_only_costs_becomes_a_row_of_two_sides() -> None:
    draft = Draft()
    x, run = draft.columns("x", 4), draft.columns("run", 2)
    draft.rows("defined", [(0, {x[0]: 1, x[1]: 1, run[0]: -1}, 0), (2, {x[2]: 2, x[3]: 4, run[1]: -2}, 2)])
    draft.lower[run[1]] = -5
    draft.minimize({x[0]: 1, run[0]: -3, run[1]: 2, None: 7})
    reformulated = apply(draft.problem(), DefinedSums())
    assert (
        as_text(reformulated.problem)
        == """\
minimize -2 x[1] - 3 x[2] + 2 x[3] + 4 x[4] + 5
  defined[1]: x[1] + x[2] <= 1
  defined[2]: 2 x[3] + 4 x[4] <= 4
over
  x[1] binary
  x[2] binary
  x[3] binary
  x[4] binary
"""
    )
    assert reformulated.invert(np.array([1.0, 0.0, 1.0, 0.0])).tolist() == [1, 0, 1, 0, 1, 0]
    assert [(n.term, n.entries, n.rows, n.columns) for n in reformulated.notes] == [("run", 2, 0, -2)]


def test_a_sum_within_its_bounds_goes_with_its_row() -> None:
    draft = Draft()
    x, total = draft.columns("x", 3), draft.columns("total", 1, -1, np.inf, integer=False)
    draft.rows("defined", [(1, {x[0]: -1, x[1]: -0.5, x[2]: -2, total[0]: 1}, 1)])
    draft.rows("room", [(-np.inf, {total[0]: 2, x[1]: 1}, 5)])
    draft.maximize({total[0]: 1})
    reformulated = apply(draft.problem(), DefinedSums())
    assert (
        as_text(reformulated.problem)
        == """\
maximize x[1] + 0.5 x[2] + 2 x[3] + 1
  room[1]: 2 x[1] + 2 x[2] + 4 x[3] <= 3
over
  x[1] binary
  x[2] binary
  x[3] binary
"""
    )
    assert reformulated.rows is not None
    assert reformulated.rows.tolist() == [-1, 0]


def stays(rows: dict[str, tuple[float, dict[str, float], float]], whole: bool = True) -> bool:
    """Whether nothing is done to `z` in a problem with binary columns `a`, `b`, `c` and these rows."""
    draft = Draft()
    names = {n: draft.columns(n)[0] for n in "abc"} | {"z": draft.columns("z", 1, 0, 1, integer=whole)[0]}
    for name, (low, body, high) in rows.items():
        draft.rows(name, [(low, {names[n]: v for n, v in body.items()}, high)])
    draft.minimize(dict.fromkeys(names.values(), 1.0))
    return apply(draft.problem(), DefinedSums()).problem.columns == 4


def test_what_stays() -> None:
    copies = {"a": 1.0, "b": 1.0, "c": 1.0, "z": -1.0}
    assert not stays({"defined": (0, copies, 0)})
    assert stays({"defined": (0, copies, 1)})  # no equality
    assert stays({"defined": (1, copies | {"z": 1}, 1)})  # no sum of the others
    assert stays({"defined": (0, copies | {"b": 0.5}, 0)})  # z would not be whole by itself
    assert not stays({"defined": (0, copies | {"b": 0.5}, 0)}, whole=False)
    assert stays({"defined": (0, copies | {"b": 5000}, 0)}, whole=False)
    assert stays({"defined": (0, copies, 0), "further": (0, {"a": 1, "z": 3}, 3)})  # more entries


def random_sums(rng: np.random.Generator) -> Problem:
    """Columns `z` with rows that define them, sums of sums among them, used in none or a few other rows."""
    draft = Draft()
    x = draft.columns("x", 4, 0, int(rng.integers(1, 3)))
    y = draft.columns("y", 1, 0, 3, integer=False)
    z = [
        draft.columns(f"z{k}", 1, float(rng.integers(-1, 2)), float(rng.integers(1, 5)), bool(rng.random() < 0.6))[0]
        for k in range(3)
    ]
    for k, column in enumerate(z):
        known = [*x, *y, *z[:k]] if rng.random() < 0.5 else [*x]
        some = rng.choice(known, int(rng.integers(1, 4)), replace=False)
        scale = float(rng.choice([-2, -1, 1, 1]))
        body: dict[int | None, float] = {int(c): scale * float(rng.choice([1, 1, 1, 2, 0.5])) for c in some}
        side = scale * float(rng.choice([0, 0, 1, -1]))
        draft.rows(f"defined{k}", [(side, body | {column: -scale}, side)])
    for number in range(int(rng.integers(0, 3))):
        some = rng.choice([*x, *y, *z], int(rng.integers(1, 4)), replace=False)
        side = float(rng.integers(0, 5))
        sides = [(-np.inf, side), (side - 1, np.inf), (side - 2, side)][int(rng.integers(3))]
        draft.rows(f"r{number}", [(sides[0], {int(c): float(rng.choice([-1, 1, 2])) for c in some}, sides[1])])
    draft.minimize({c: float(rng.integers(-3, 4)) for c in [*x, *y, *z]}, str(rng.choice(["minimize", "maximize"])))
    return draft.problem()


def check(rng: np.random.Generator) -> int:
    problem = random_sums(rng)
    with suppress(Unsupported):
        reformulated = assert_same_optimum(problem, DefinedSums())
        assert reformulated.problem.matrix.nonzeros <= problem.matrix.nonzeros
        return problem.columns - reformulated.problem.columns
    return 0


@pytest.mark.slow
def test_same_optimum() -> None:
    rng = np.random.default_rng(42)
    assert sum(check(rng) for _ in range(40)) > 30


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
def test_same_optimum_many(seed: int) -> None:
    rng = np.random.default_rng(4200 + seed)
    for _ in range(150):
        check(rng)
