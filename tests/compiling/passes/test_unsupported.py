"""Refusals name the term, the backend, the reason, and backends that support it."""

from __future__ import annotations

import numpy as np
import pytest
from drafts import Draft
from found_codes import message_values

from gpusched_dsl.compiling.passes.pipeline import reformulate
from gpusched_dsl.compiling.passes.steps import INTEGERS, Target
from gpusched_dsl.compiling.passes.unsupported import KNOWN
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import DiagnosticError

MILP = Target("highs")
SCIP, CONVEX = KNOWN


def refusal(problem: Problem, target: Target) -> Diagnostic:
    with pytest.raises(DiagnosticError) as raised:
        reformulate(problem, target)
    (found,) = raised.value.diagnostics
    return found


def test_a_product_of_continuous_columns() -> None:
    draft = Draft()
    x, y = draft.columns("rate", 2, 0, 5, integer=False), draft.columns("share", 2, 0, 5, integer=False)
    p = draft.product("rate[k] * share[k]", [[x[0], y[0]], [x[1], y[1]]])
    draft.minimize({p[0]: 1, p[1]: -1, x[0]: -1})
    found = refusal(draft.problem(), MILP)
    assert found.code == "GSM3201"
    assert message_values(found.message) == ("highs", "rate[k] * share[k]", "rate", "share")
    assert found.label == "a product becomes linear only if a factor is 0/1, integer or data"
    assert found.notes == ("for example at `1`",)
    assert found.help == "choose `scip`: it supports this directly"
    assert reformulate(draft.problem(), SCIP).problem.definitions
    found = refusal(draft.problem(), CONVEX)
    assert found.code == "GSM3203"
    assert message_values(found.label) == ("objective", "-0.5")
    assert found.help == "choose `scip`: it supports this directly"


def test_a_power_is_taken_where_it_is_convex() -> None:
    draft = Draft()
    x = draft.columns("x", 2, 0, 5, integer=False)
    s = draft.power("x[k]^2", [x[0], x[1]], [2, 2])
    draft.minimize({s[0]: 1, s[1]: 2})
    assert reformulate(draft.problem(), CONVEX).problem.definitions
    assert refusal(draft.problem(), MILP).help == "choose `scip` or `cvxpy`: it supports this directly"
    draft.objectives.clear()
    draft.minimize({s[0]: 1, s[1]: -2})
    found = refusal(draft.problem(), CONVEX)
    assert found.code == "GSM3203"
    assert message_values(found.message) == ("x[k]^2", "cvxpy")
    assert found.label == "it is convex, but larger values of it are better"
    assert found.notes == ("for example at `2`",)
    assert found.help == "choose `scip`: it supports this directly"


def test_a_value_that_must_be_met() -> None:
    draft = Draft()
    x = draft.columns("x", 2, 0, 5, integer=False)
    e = draft.unary("exp(x)", "exp", [x[0]])
    draft.rows("same", [(2, {e[0]: 1, x[1]: 1}, 2)])
    draft.minimize(x[1])
    label = "it is convex, but it occurs as an equality: both directions are needed"
    assert refusal(draft.problem(), CONVEX).label == label


def test_what_would_need_whole_columns() -> None:
    draft = Draft()
    x = draft.columns("x", 2, 0, 5, integer=False)
    m = draft.largest("max(x, y)", [x])
    draft.maximize(m[0])
    found = refusal(draft.problem(), Target("simplex", frozenset()))
    assert (found.code, found.label) == ("GSM3201", "linear rows need integer variables for it")
    assert found.help == "choose a backend that supports integer variables, such as `highs` or `scip`"
    draft.objectives.clear()
    draft.minimize(m[0])
    assert not reformulate(draft.problem(), Target("simplex", frozenset())).problem.definitions


@pytest.mark.parametrize("target", [MILP, SCIP, CONVEX])
def test_a_function_without_a_value(target: Target) -> None:
    draft = Draft()
    x = draft.columns("x", 1, 0, 5, integer=False)
    r = draft.power("sqrt(x - 7)", [{x[0]: 1, None: -7}], [0.5])
    draft.maximize(r[0])
    found = refusal(draft.problem(), target)
    assert found.code == "GSM3206"
    assert message_values(found.message) == ("sqrt(x - 7)", "0")
    assert message_values(found.label) == ("-7", "-2")


def test_a_whole_argument_without_a_value_somewhere() -> None:
    draft = Draft()
    n = draft.columns("n", 1, 0, 5)
    r = draft.unary("log(n)", "log", [n[0]])
    draft.maximize({r[0]: 1, n[0]: -1})
    found = refusal(draft.problem(), MILP)
    assert (found.code, found.label) == ("GSM3206", "the argument is between 0 and 5")
    assert found.help == "bound its variables so that the argument is above 0"
    assert reformulate(draft.problem(), Target("scip", frozenset({INTEGERS, "log"}))).problem.definitions


def test_bounds_that_leave_nothing_are_no_matter_of_the_author() -> None:
    draft = Draft()
    x = draft.columns("x", 1, 0, np.inf)
    b = draft.columns("b")
    draft.rows("row", [(3, {x[0]: 1}, np.inf), (-np.inf, {x[0]: 1}, 2)])
    p = draft.product("b * x", [[b[0], x[0]]])
    draft.minimize({p[0]: -1})
    assert reformulate(draft.problem(), MILP).problem.is_linear
