"""A model, its scenarios, and its diagnostics."""

from __future__ import annotations

from gpusched_dsl.language.checked import Constant, LiteralSet, StringLiteral
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.scenarios.assignments import Assignment, ExpressionAssignment
from gpusched_dsl.language.scenarios.scenario import CheckedScenario, check_scenario
from gpusched_dsl.language.source import Span
from gpusched_dsl.language.workspace import Workspace, workspace_from_text

MODEL = """
model M {
  option rule in { soft, hard } default soft;
  set Jobs;
  set Types;
  set Slots ordered;
  set Late within Jobs;
  set Fits within Jobs cross Types;
  set Pairs = { (j, v) : j in Jobs, v in Types };
  param gpus[Types] integer >= 1;
  param price[Types] in $/h default 1;
  param time[Jobs, Types] in h;
  param weight[Jobs];
  param rate[Types] in request/min default 1;
  param latency[Types] in s default 1[s];
  param count_of[Jobs] integer default 0;
  param period in h default 1[h];
  param horizon in h default 24[h];
  param limit integer default 3;
  param share in % default 5[%];
  param name symbol default "none";
  param family[Types] symbol default "any";
  param best within Types default "v1";
  param double[j in Jobs] = 2 * weight[j];
  when rule == hard { param strict integer default 1; }
  let twice = 2 * period;
  var x[Jobs] binary;
  minimize total: sum[j in Jobs] weight[j] * x[j];
  constraint some: sum[j in Jobs] x[j] >= 1;
}
"""
RANDOM = """
model R { param n integer default 1; random length in h; var y >= 0; minimize cost: y; }
"""


def workspace(text: str) -> Workspace:
    found = Diagnostics()
    read = workspace_from_text(MODEL + RANDOM + text, "test.gsm", found)
    assert not list(found)
    return read


def check(text: str, scenario: str = "S", /, **overrides: str) -> tuple[CheckedScenario | None, list[Diagnostic]]:
    found = Diagnostics()
    checked = check_scenario(workspace(text), scenario, overrides, found)
    return checked, list(found)


def sound(body: str, **overrides: str) -> CheckedScenario:
    checked, found = check(f"scenario S for M {{ {body} }}", **overrides)
    assert found == []
    assert checked is not None
    return checked


def place(diagnostic: Diagnostic) -> str:
    assert isinstance(diagnostic.primary, Span)
    return diagnostic.primary.text


def wrong(body: str, code: str, at: str, **overrides: str) -> Diagnostic:
    """The one finding in a scenario, which has this code and underlines this text."""
    return wrong_text(f"scenario S for M {{ {body} }}", code, at, **overrides)


def wrong_text(text: str, code: str, at: str, **overrides: str) -> Diagnostic:
    checked, found = check(text, **overrides)
    assert [(d.code, place(d)) for d in found] == [(code, at)]
    assert checked is None
    return found[0]


def value_of(given: Assignment) -> float | str:
    assert isinstance(given, ExpressionAssignment)
    if isinstance(given.value, StringLiteral):
        return given.value.text
    assert isinstance(given.value, Constant)
    return given.value.value


def labels(given: Assignment) -> list[str | float]:
    assert isinstance(given, ExpressionAssignment)
    assert isinstance(given.value, LiteralSet)
    return [row[0].text if isinstance(row[0], StringLiteral) else row[0].value for row in given.value.rows]  # type: ignore
