"""Costs beyond the range of solvers: the error names the cost, and no feasible problem is called infeasible."""

from __future__ import annotations

import pytest
from found_codes import message_values

import gpusched_dsl as gs
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import DiagnosticError

HUGE = """model M { var x integer >= 0 <= 5; var y >= 0 <= 4; minimize f: 1e21*x + 1e-3*y; constraint c: x + y >= 4.5; }
scenario S for M { }"""
LATE = """model M { set J; param w[J]; param d[J]; var t[J] >= 0; var x[J] integer >= 0 <= 9;
  minimize late: sum[j in J] w[j]*t[j] + sum[j in J] x[j]; constraint c[j in J]: t[j] >= 5 - d[j] - x[j]; }
scenario S for M { table J: w d = a 1e15 -1e11  b 1 2; }"""


def refusal(given: str, backend: str) -> Diagnostic:
    with pytest.raises(DiagnosticError) as caught:
        gs.loads(given).solve(backend=backend)
    (finding,) = caught.value.diagnostics
    return finding


@pytest.mark.parametrize(("backend", "code"), [("scip", "GSM4006"), ("highs", "GSM4007")])
def test_the_cost_that_a_solver_cannot_take_is_named(backend: str, code: str) -> None:
    """The largest coefficient of a row, 1, was named."""
    finding = refusal(HUGE, backend)
    assert finding.code == code
    assert {"1e+21", "x"} <= set(message_values(finding.notes[-1]))


def test_a_problem_whose_points_all_cost_too_much_is_not_infeasible() -> None:
    """t[a] is 1e11 at least, so the objective is 1e26: SCIP called the problem infeasible, which HiGHS solves."""
    finding = refusal(LATE, "scip")
    assert finding.code == "GSM4006"
    assert finding.notes == ("the largest cost is 1e+15, of `t[a]` in the objective",)
    assert gs.loads(LATE).solve().objective == pytest.approx(1e26)
    none = LATE.replace("constraint", "constraint none: sum[j in J] x[j] == 19; constraint", 1)
    assert gs.loads(none).solve(backend="scip").status == "infeasible"
