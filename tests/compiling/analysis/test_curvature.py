"""The class of a problem and the terms that are to blame, before any solver is loaded."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

import numpy as np
import pytest
from drafts import Draft

from gpusched_dsl.compiling.analysis.curvature import classify
from gpusched_dsl.ir.distributions import Normal

INF = np.inf


def start(integer: bool) -> tuple[Draft, list[int]]:
    draft = Draft()
    return draft, draft.columns("x", 2, 0, 5.5, integer)


def linear(draft: Draft, x: list[int]) -> None:
    draft.minimize({x[0]: 1})


def maximum(draft: Draft, x: list[int]) -> None:
    draft.minimize(draft.largest("m", [x])[0])


def square(draft: Draft, x: list[int]) -> None:
    draft.minimize(draft.power("(x - y)^2", [{x[0]: 1, x[1]: -1}], [2])[0])


def square_maximised(draft: Draft, x: list[int]) -> None:
    draft.maximize(draft.power("(x - y)^2", [{x[0]: 1, x[1]: -1}], [2])[0])


def root(draft: Draft, x: list[int]) -> None:
    r = draft.power("sqrt(x)", [x[0]], [0.5])
    draft.rows("least", [(1, {r[0]: 1, x[1]: -1}, INF)])
    draft.minimize(x[0])


def root_exactly(draft: Draft, x: list[int]) -> None:
    r = draft.power("sqrt(x)", [x[0]], [0.5])
    draft.rows("same", [(0, {r[0]: 1, x[1]: -1}, 0)])
    draft.minimize(x[0])


def product(draft: Draft, x: list[int]) -> None:
    draft.minimize(draft.product("x * y", [x])[0])


def quadratic(draft: Draft, x: list[int]) -> None:
    s, p = draft.power("x^2", [x[0], x[1]], [2, 2]), draft.product("x * y", [x])
    draft.minimize({s[0]: 1, s[1]: 1, p[0]: -2})


def saddle(draft: Draft, x: list[int]) -> None:
    s, p = draft.power("x^2", [x[0], x[1]], [2, 2]), draft.product("x * y", [x])
    draft.rows("least", [(1, {s[0]: -1, s[1]: -1, p[0]: 2.1}, INF)])
    draft.minimize(x[0])


def entropy(draft: Draft, x: list[int]) -> None:
    log = draft.unary("log(x)", "log", [{x[0]: 1, None: 1}])
    draft.minimize(draft.product("x * log(x)", [[{x[0]: 1, None: 1}, log[0]]])[0])


def exponential_of_a_square(draft: Draft, x: list[int]) -> None:
    s = draft.power("x^2", [x[0]], [2])
    draft.minimize(draft.unary("exp(x^2 - y)", "exp", [{s[0]: 1, x[1]: -1}])[0])


Build = Callable[[Draft, list[int]], None]


@pytest.mark.parametrize(
    ("build", "continuous", "whole", "shape"),
    [
        (linear, "LP", "MILP", ""),
        (maximum, "LP", "MILP", "linear"),
        (square, "QP", "MILP", "convex"),
        (square_maximised, "NLP", "MILP", "not convex"),
        (root, "convex", "MILP", "convex"),
        (root_exactly, "NLP", "MILP", "not convex"),
        (product, "NLP", "", "not convex"),
        (quadratic, "QP", "MILP", "convex"),
        (entropy, "convex", "MILP", "convex"),
        (exponential_of_a_square, "convex", "MILP", "convex"),
    ],
)
def test_classes(build: Build, continuous: str, whole: str, shape: str) -> None:
    draft, x = start(False)
    build(draft, x)
    verdict = classify(draft.problem())
    assert verdict.kind == continuous
    assert {t.shape for t in verdict.terms} == ({shape} if shape else set())
    assert verdict.convex == (shape != "not convex")
    draft, x = start(True)
    build(draft, x)
    if whole:
        assert classify(draft.problem()).kind == whole


def test_a_saddle_is_not_convex_though_its_squares_are() -> None:
    draft, x = start(False)
    saddle(draft, x)
    verdict = classify(draft.problem())
    assert verdict.kind == "NLP"
    assert [t.shape for t in verdict.terms] == ["convex", "not convex"]
    assert verdict.terms[1].why.endswith("the matrix of all quadratic terms of `least` has the eigenvalue 0.05")


def test_products_of_binaries_are_linear_and_squares_beside_them_quadratic() -> None:
    draft = Draft()
    b, y = draft.columns("b", 3), draft.columns("y", 2, 0, 9, integer=False)
    p = draft.product("b * b", [[b[0], b[1]], [b[1], b[2]]])
    q = draft.power("y^2", [y[0], {y[0]: 1, y[1]: 1}], [2, 2])
    draft.minimize({p[0]: 1, p[1]: -1, q[0]: 1, q[1]: 2})
    verdict = classify(draft.problem())
    assert verdict.kind == "MIQP"
    assert [(t.name, t.shape, t.entries) for t in verdict.terms] == [("b * b", "linear", 2), ("y^2", "convex", 2)]
    assert verdict.convex


def test_functions_of_continuous_columns_beside_whole_ones() -> None:
    draft = Draft()
    b, y = draft.columns("b"), draft.columns("y", 1, 0, 9, integer=False)
    e = draft.unary("exp(y)", "exp", [y[0]])
    draft.minimize({e[0]: 1, b[0]: -1})
    assert classify(draft.problem()).kind == "MICP"
    draft.maximize({e[0]: 1})
    assert classify(draft.problem()).kind == "MINLP"


def test_why_a_term_is_not_convex() -> None:
    draft, x = start(False)
    r = draft.unary("log(x)", "log", [{x[0]: 1, None: 1}])
    s = draft.unary("exp(y)", "exp", [x[1]])
    p = draft.product("x * y", [x])
    draft.minimize({r[0]: 1, s[0]: -1, p[0]: 1})
    assert [t.why for t in classify(draft.problem()).terms] == [
        "the function is concave, but smaller values are better",
        "the function is convex, but larger values are better",
        "smaller values of it are better, but its matrix has the eigenvalue -0.5",
    ]


@pytest.mark.slow
def test_no_solver_is_loaded() -> None:
    heavy = {"highspy", "pyscipopt", "cvxpy", "scipy"}
    code = f"import sys, gpusched_dsl.compiling.analysis.curvature; print({heavy} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


@pytest.mark.parametrize(("sign", "kind"), [(-4.0, "convex"), (4.0, "NLP")])
def test_an_expected_minimum_is_concave(sign: float, kind: str) -> None:
    draft = Draft()
    x = draft.columns("x", 1, 0, np.inf, integer=False)[0]
    sold = draft.partial_expectation("sold", [x], [0], (Normal(200.0, 30.0),))[0]
    draft.minimize({x: 1.0, sold: sign})
    found = classify(draft.problem())
    assert found.kind == kind
    assert found.terms[0].shape == ("convex" if kind == "convex" else "not convex")
