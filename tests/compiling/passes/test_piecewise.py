"""Piecewise-linear terms: exact against enumeration, in every form, and as text."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from as_text import as_text
from brute import assert_same_optimum, optimum, solved
from drafts import Draft

from gpusched_dsl.compiling.analysis.directions import Directions
from gpusched_dsl.compiling.passes import piecewise
from gpusched_dsl.compiling.passes.piecewise import PiecewiseForms
from gpusched_dsl.compiling.passes.piecewise_forms import gray
from gpusched_dsl.compiling.passes.pipeline import reformulate
from gpusched_dsl.compiling.passes.steps import Analysis, Target
from gpusched_dsl.ir.definitions import Curves
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.language.diagnostics.errors import DiagnosticError


def curves(*of: tuple[list[float], list[float], float, float]) -> Curves:
    """Curves from (x, y, slope before, slope after)."""
    starts = np.concatenate(([0], np.cumsum([len(c[0]) for c in of])))
    x, y = (np.concatenate([np.array(c[k], dtype=float) for c in of]) for k in (0, 1))
    ends = [np.array([c[k] for c in of], dtype=float) for k in (2, 3)]
    return Curves(starts, x, y, ends[0], ends[1], np.zeros(len(of)))


def random_curves(random: np.random.Generator, count: int, kinks: int, shape: str) -> Curves:
    """Curves with whole numbers; `shape` is `convex`, `concave` or `any`."""
    made = []
    for _ in range(count):
        points = int(random.integers(1, kinks + 1))
        x = np.sort(random.choice(np.arange(-6, 7), points, replace=False)).astype(float)
        slopes = random.integers(-3, 4, points + 1).astype(float)
        if shape != "any":
            slopes = np.sort(slopes)[:: 1 if shape == "convex" else -1]
        y = float(random.integers(-4, 5)) + np.concatenate(([0.0], np.cumsum(slopes[1:-1] * np.diff(x))))
        made.append((x.tolist(), y.tolist(), float(slopes[0]), float(slopes[-1])))
    return curves(*made)


def random_problem(seed: int, shape: str = "any", continuous: bool = True, kinks: int = 4) -> Problem:
    """Three terms of two or three columns each, in the objective and in a row."""
    random = np.random.default_rng(seed)
    draft = Draft()
    x = draft.columns("x", 2, -3, 3)
    y = draft.columns("y", 1, -2, 2, integer=not continuous)
    columns = [*x, *y]
    entries = [
        {j: float(random.integers(-2, 3)) for j in columns} | {None: float(random.integers(-2, 3))} for _ in "abc"
    ]
    c = draft.piecewise("c", entries, random.integers(0, 2, 3).tolist(), random_curves(random, 2, kinks, shape))
    draft.rows("sum", [(-3.0, dict.fromkeys(columns, 1.0), 4.0)])
    draft.rows("cap", [(-np.inf, {c[0]: 1.0, c[1]: float(random.integers(-1, 2)), columns[0]: 1.0}, 5.0)])
    draft.minimize({j: float(random.integers(-3, 4)) for j in (*columns, *c)})
    return draft.problem()


FORMS = {"incremental": 10**9, "logarithmic": 2}


@pytest.mark.quick(3)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("shape", ["any", "convex", "concave"])
@pytest.mark.parametrize("seed", range(3))
def test_the_optimum_stays(seed: int, shape: str, form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(piecewise, "MANY_RUNS", FORMS[form])
    assert_same_optimum(random_problem(seed, shape, continuous=seed % 2 == 0), PiecewiseForms())


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("shape", ["any", "convex", "concave"])
@pytest.mark.parametrize("seed", range(100, 120))
def test_the_optimum_stays_on_many(seed: int, shape: str, form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(piecewise, "MANY_RUNS", FORMS[form])
    continuous = seed % 3 == 0  # then the enumeration solves an LP for every combination of pieces
    assert_same_optimum(random_problem(seed, shape, continuous, kinks=2 if continuous else 9), PiecewiseForms())


@pytest.mark.quick(6)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("sense", ["minimize", "maximize"])
@pytest.mark.parametrize("seed", range(3))
def test_one_half_is_enough_where_the_other_gains_nothing(
    seed: int, sense: str, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only the objective reads the terms: half of each is kept, and binaries only at kinks that bend the wrong way."""
    monkeypatch.setattr(piecewise, "MANY_RUNS", FORMS[form])
    random = np.random.default_rng(seed)
    draft = Draft()
    x = draft.columns("x", 1, -6, 6, integer=False)
    z = draft.columns("z", 1, -2, 2)
    c = draft.piecewise("c", [{x[0]: 1, z[0]: 1}, x[0]], [0, 1], random_curves(random, 2, 8, "any"))
    draft.rows("tie", [(-1, {x[0]: 1, z[0]: 2}, 3)])
    draft.minimize({c[0]: 1, c[1]: 2, x[0]: float(random.integers(-2, 3))}, sense)
    assert_same_optimum(draft.problem(), PiecewiseForms())


class _Half(Analysis):
    """An analysis in which only smaller results gain."""

    @property
    def directions(self) -> Directions:  # type: ignore[override]
        every = np.ones(self.problem.columns, dtype=bool)
        return Directions(every, ~every)


def half_step(problem: Problem) -> Problem:
    return PiecewiseForms().apply(_Half(problem), Target("test")).problem


def rows_of(problem: Problem) -> str:
    """The text without the columns, whose bounds may follow from more than these tests are about."""
    return as_text(problem).split("over\n")[0]


def one_term(curve: Curves, low: float, high: float) -> Problem:
    draft = Draft()
    x = draft.columns("x", 1, low, high, integer=False)
    c = draft.piecewise("c", [{x[0]: 2, None: 1}], [0], curve)
    draft.minimize(c[0])
    return draft.problem()


def test_a_convex_function_from_below_needs_no_binary() -> None:
    convex = curves(([0.0, 2.0, 5.0], [0.0, 2.0, 8.0], 0.0, 3.0))
    assert (
        rows_of(half_step(one_term(convex, -np.inf, np.inf)))
        == """\
minimize c[1]
  c.pieces[1,1]: 0 <= c[1]
  c.pieces[1,2]: 1 <= - 2 x[1] + c[1]
  c.pieces[1,3]: 0 <= - 4 x[1] + c[1]
  c.pieces[1,4]: -4 <= - 6 x[1] + c[1]
""".replace("<= - ", "<= -")
    )


def test_pieces_outside_the_range_go() -> None:
    convex = curves(([0.0, 2.0, 5.0], [0.0, 2.0, 8.0], 0.0, 3.0))
    text = rows_of(half_step(one_term(convex, 0.0, 1.0)))  # the argument is between 1 and 3
    assert "c.pieces[1,2]: 0 <= -4 x[1] + c[1]" in text
    assert "c.pieces[1,3]" not in text


def test_binaries_stand_only_at_kinks_that_bend_the_wrong_way() -> None:
    """Slopes 0, 1, 2, 0.5, 3: from below only the kink from 2 to 0.5 needs one."""
    bent = curves(([0.0, 1.0, 2.0, 4.0], [0.0, 1.0, 3.0, 4.0], 0.0, 3.0))
    made = half_step(one_term(bent, -1.0, 2.0))
    assert made.integer.sum() == 1
    assert (
        rows_of(made)
        == """\
minimize c[1]
  c.argument[1]: 2 x[1] - c.filled[1,1] - c.filled[1,2] - c.filled[1,3] - 2 c.filled[1,4] - c.filled[1,5] = -2
  c.result[1]: 0 <= c[1] - c.filled[1,2] - 2 c.filled[1,3] - c.filled[1,4] - 3 c.filled[1,5]
  c.full[1,1]: 0 <= c.filled[1,1] - c.passed[1,1]
  c.full[1,2]: 0 <= c.filled[1,2] - c.passed[1,1]
  c.full[1,3]: 0 <= c.filled[1,3] - c.passed[1,1]
  c.empty[1,1]: 0 <= -c.filled[1,4] + c.passed[1,1]
  c.empty[1,2]: 0 <= -c.filled[1,5] + c.passed[1,1]
"""
    )


def test_the_logarithmic_form(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(piecewise, "MANY_RUNS", 2)
    bent = curves(([0.0, 1.0, 2.0], [0.0, 2.0, 1.0], 1.0, 3.0))
    draft = Draft()
    x = draft.columns("x", 1, -1, 3, integer=False)
    c = draft.piecewise("c", [x[0]], [0], bent)
    draft.rows("r", [(-1, c[0], 4)])
    draft.minimize(c[0])
    step = PiecewiseForms().apply(Analysis(draft.problem()), Target("test"))
    # Slopes 1, 2, -1, 3 make four runs with the codes 00, 01, 11, 10; bit 1 is the last digit.
    assert [n.columns for n in step.notes] == [7]
    assert (
        rows_of(step.problem)
        == """\
minimize c[1]
  r[1]: -1 <= c[1] <= 4
  c.weights[1]: c.weight[1,1] + c.weight[1,2] + c.weight[1,3] + c.weight[1,4] + c.weight[1,5] = 1
  c.argument[1]: x[1] + c.weight[1,1] - c.weight[1,3] - 2 c.weight[1,4] - 3 c.weight[1,5] = 0
  c.result[1]: c[1] + c.weight[1,1] - 2 c.weight[1,3] - c.weight[1,4] - 4 c.weight[1,5] = 0
  c.set[1,1]: c.weight[1,3] - c.bit[1,1] <= 0
  c.set[1,2]: c.weight[1,4] + c.weight[1,5] - c.bit[1,2] <= 0
  c.unset[1,1]: c.weight[1,1] + c.weight[1,5] + c.bit[1,1] <= 1
  c.unset[1,2]: c.weight[1,1] + c.weight[1,2] + c.bit[1,2] <= 1
"""
    )


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("seed", range(2))
def test_the_relaxation_is_the_convex_hull(seed: int, form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """For any direction, the linear relaxation of one term has the value of its best point."""
    monkeypatch.setattr(piecewise, "MANY_RUNS", FORMS[form])
    random = np.random.default_rng(seed)
    curve = random_curves(random, 1, 9, "any")
    for tilt in random.normal(size=4):
        draft = Draft()
        x = draft.columns("x", 1, -7, 7, integer=False)
        c = draft.piecewise("c", [x[0]], [0], curve)
        draft.rows("both", [(-100, c[0], 100)])
        draft.minimize({x[0]: float(tilt), c[0]: 1.0})
        problem = draft.problem()
        made = PiecewiseForms().apply(Analysis(problem), Target("test")).problem
        relaxed = solved(replace(made, integer=np.zeros_like(made.integer)))
        assert relaxed.value == pytest.approx(optimum(problem).value, abs=1e-6)


def test_an_argument_without_bounds_is_named() -> None:
    bent = curves(([0.0, 1.0], [0.0, 1.0], 0.0, 0.0))
    for low, high, side in ((-np.inf, 2.0, "lower"), (-1.0, np.inf, "upper")):
        with pytest.raises(DiagnosticError) as error:
            PiecewiseForms().apply(Analysis(one_term(bent, low, high)), Target("test"))
        (found,) = error.value.diagnostics
        assert found.code == "GSM3202"
        assert f"{side} bound in the declaration of `x`" in str(found.help)


def test_a_target_without_whole_variables_refuses_what_is_not_convex() -> None:
    bent = curves(([0.0, 1.0], [0.0, 1.0], 0.0, 0.0))
    straight = curves(([0.0, 1.0], [0.0, 1.0], 1.0, 2.0))
    with pytest.raises(DiagnosticError) as error:
        reformulate(one_term(bent, -2, 2), Target("conic", frozenset(), convex=True))
    assert error.value.diagnostics[0].code == "GSM3201"
    assert reformulate(one_term(straight, -2, 2), Target("conic", frozenset(), convex=True)).problem.is_linear


def test_rounding_makes_no_kinks() -> None:
    """A straight line through points that were rounded stays one piece."""
    x = np.linspace(0, 1, 50)
    line = curves((x.tolist(), (0.1 + 0.3 * x).tolist(), 0.3, 0.3))
    made = PiecewiseForms().apply(Analysis(one_term(line, -1, 1)), Target("test")).problem
    assert not made.integer.any()
    assert made.rows <= 2


def test_neighbouring_codes_differ_in_one_bit() -> None:
    codes = gray(np.arange(64))
    assert len(set(codes.tolist())) == 64
    assert {bin(b).count("1") for b in (codes[1:] ^ codes[:-1]).tolist()} == {1}
