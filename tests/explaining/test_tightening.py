"""`explain` reports the tightening of a solve, but searches conflicts in the problem before it."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import numpy as np
import pytest
from found_codes import raises_code

import gpusched_dsl as gs
from gpusched_dsl.compiling.passes import pipeline
from gpusched_dsl.compiling.passes.steps import Analysis, Note, PassResult, Target
from gpusched_dsl.solving.solve import solve_problem
from gsdsl_backends.protocol import SolveOptions

MODEL = """
model Pack {
  set Items ordered;
  var take[Items] integer >= 0 <= 4.5;
  maximize total: sum[i in Items] take[i];
  constraint fits: sum[i in Items] take[i] <= ROOM;
  constraint some: sum[i in Items] take[i] >= 2;
}
scenario S for Pack { Items = { a, b }; }
"""


class Floor:
    """Whole columns have whole upper bounds."""

    name: ClassVar[str] = "whole_bounds"

    def accepts(self, analysis: Analysis, target: Target) -> bool:
        return True

    def apply(self, analysis: Analysis, target: Target) -> PassResult:
        problem = analysis.problem
        upper = np.where(problem.integer, np.floor(problem.upper), problem.upper)
        return PassResult(replace(problem, upper=upper), (Note(self.name, "take", "rounded down its upper bounds", 2),))


@pytest.fixture(autouse=True)
def _one_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipeline, "TIGHTENINGS", (Floor(),))


def model(room: float = 7.0) -> gs.Model:
    return gs.loads(MODEL.replace("ROOM", str(room)))


def test_what_a_pass_did_is_told_by_its_name() -> None:
    told = model().explain(why=False)
    assert told.reformulated is not None
    assert told.reformulated.problem.upper.tolist() == [4.0, 4.0]
    assert [(n.pass_name, n.effect) for n in told.notes] == [("whole_bounds", "rounded down its upper bounds")]
    text = str(told)
    assert "tightening for highs" in text
    assert "whole_bounds" in text
    assert "reformulations" not in text


@pytest.mark.parametrize("name", ["whole_bounds", "all"])
def test_a_pass_can_be_left_out(name: str) -> None:
    told = model().explain(why=False, without=[name])
    assert told.reformulated is not None
    assert told.reformulated.problem.upper.tolist() == [4.5, 4.5]
    assert told.notes == ()
    assert "tightening" not in str(told)


def test_conflicts_speak_of_the_problem_as_stated() -> None:
    told = model(room=1.0).explain()
    assert told.status == "infeasible"
    assert told.linear_form is not None
    assert told.linear_form.problem is told.problem
    assert told.linear_form.problem.upper.tolist() == [4.5, 4.5]
    assert told.conflict is not None
    assert len(told.conflict.rows) == 2
    assert told.relaxations


def test_solves_leave_it_out_too() -> None:
    problem = model().ground()
    for without, upper in ((frozenset[str](), 4.0), (frozenset({"whole_bounds"}), 4.5), (frozenset({"all"}), 4.5)):
        solved = solve_problem(problem, options=SolveOptions(without=without))
        assert solved.reformulated.problem.upper.tolist() == [upper, upper]
        assert solved.objective == 7.0
    assert model().solve(without=["all"]).solved.options.without == {"all"}


def test_an_unknown_pass_is_told_with_the_known_ones() -> None:
    for run in (model().solve, model().explain):
        with pytest.raises(gs.DiagnosticError) as caught:
            run(without=["whole_bound", "other"])
        first, second = caught.value.diagnostics
        assert (first.code, second.code) == ("GSM4011", "GSM4011")
        assert "`other`" in first.message
        known = "these passes can be skipped: `whole_bounds`, `aggregation`, `all`"
        assert first.help == known
        assert second.help == f"did you mean `whole_bounds`?; {known}"
        with raises_code("GSM4011", "without", "'whole_bounds'"):
            run(without="whole_bounds")
