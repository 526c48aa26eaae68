"""LP and MPS files of convex quadratic objectives: HiGHS reads them back with the optimum of the problem."""

from __future__ import annotations

from pathlib import Path

import highspy
import pytest

import gpusched_dsl as gs
from gpusched_dsl.language.diagnostics.errors import DiagnosticError

TEXT = """model M {{ set A = 1..3; var x[A] >= -5 <= 5; var y >= 0; {more}
  {goal}
  constraint c: sum[a in A] a * x[a] + y >= 4; }} scenario S for M {{ }}"""
GOALS = {
    "minimize t: sum[a in A] (x[a] - a)^2 + x[1] * x[2] + 3 * y + 7;": True,
    "maximize t: 2 * y - (x[1] + 2 * x[2] - 1)^2 - 0.5 * y^2 - x[3] - 1;": True,
    "minimize t: (x[1] + y - 3)^2;": True,
    "minimize t: abs(x[1]) + y;": False,
}


@pytest.mark.parametrize("form", ["lp", "mps"])
@pytest.mark.parametrize("goal", GOALS)
def test_read_back(form: str, goal: str, tmp_path: Path) -> None:
    path = tmp_path / f"m.{form}"
    with gs.loads(TEXT.format(goal=goal, more="")) as model:
        model.export(path, to=form)
        expected = model.solve(gap=0).objective
    highs = highspy.Highs()
    highs.silent()
    assert highs.readModel(str(path)) == highspy.HighsStatus.kOk
    assert bool(highs.getModel().hessian_.dim_) == GOALS[goal]
    assert highs.getNumCol() == 4 + (not GOALS[goal])
    highs.run()
    assert highs.getObjectiveValue() == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("form", ["lp", "mps"])
def test_what_no_file_has_is_refused(form: str, tmp_path: Path) -> None:
    for goal in ("minimize t: -x[1]^2;", "minimize t: exp(x[1]) + x[2]^2;"):
        with pytest.raises(DiagnosticError) as caught, gs.loads(TEXT.format(goal=goal, more="")) as model:
            model.export(tmp_path / f"m.{form}", to=form)
        assert {d.code for d in caught.value.diagnostics} == {"GSM3201"}
