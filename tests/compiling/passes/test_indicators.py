"""A bound that the form of a condition lacks is asked of the variable that has none."""

from __future__ import annotations

import pytest

import gpusched_dsl as gs
from gpusched_dsl.language.diagnostics.errors import DiagnosticError


def test_a_bound_that_is_missing_behind_a_maximum_is_asked_of_the_variable() -> None:
    text = """
    model M {
      set A;
      var speed[A] >= 0;
      var load[A] >= 0;
      var on binary;
      maximize goal: on;
      constraint c: on == 1 => CONDITION;
    }
    scenario S for M { A = { a, b }; }
    """
    for condition, side in (
        ("max[a in A] max(speed[a], 1) <= 4", "upper"),
        ("min[a in A] -speed[a] >= -4", "upper"),
        ("max[a in A] (abs(speed[a] - 1) - load[a]) <= 4", "upper"),
    ):
        with gs.loads(text.replace("CONDITION", condition)) as model, pytest.raises(DiagnosticError) as e:
            model.solve("S", "cvxpy", without=["all"])
        for found in e.value.diagnostics:
            assert found.code == "GSM3202"
            assert "`speed` has an " + side in found.message, found.message
            assert "declaration of `speed`" in (found.help or "")
