"""Tests and online blocks: their checked form, and every invalid name."""

from __future__ import annotations

import pytest

from gpusched_dsl.language.blocks.blocks import check_blocks
from gpusched_dsl.language.blocks.tests.test_block import CheckedExpect, CheckedTest, check_test
from gpusched_dsl.language.checked import ComparisonChain, Constant, KnownValue, Numeric, StringLiteral, TypedExpr
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.source import Span
from gpusched_dsl.language.workspace import Workspace, workspace_from_text

MODEL = """
model M {
  option rule in { soft, hard } default soft;
  set Jobs;
  set Types;
  set Slots ordered;
  set Configs = { (v, g) : v in Types, g in 1..gpus[v] };
  param gpus[Types] integer >= 1 default 2;
  param price[Types] in $/h default 1;
  param time[Jobs, Configs] in h;
  param deadline[Jobs] in h;
  param submitted[Jobs] in h default 0;
  param weight[Jobs] in $/h default 1;
  param period in h default 1[h];
  param was_on[Types] binary default 0;
  param slack[j in Jobs] in h = deadline[j] - 1[h];
  let late[j in Jobs] in h = 1[h] - deadline[j];
  var run[Jobs, Configs] binary;
  var on[Types, Slots] binary;
  var delay in h >= 0;
  minimize total in $ {
    rent: sum[j in Jobs, (v, g) in Configs] price[v] * time[j, v, g] * run[j, v, g];
    lateness: 2[$/h] * delay;
  }
  constraint some: sum[j in Jobs, (v, g) in Configs] run[j, v, g] >= 1;
  constraint lit[v in Types, h in Slots]: on[v, h] >= (on[v, h-1] else was_on[v]) - 1;
  placement run[j, v, g] { job j; node_type v; uses g of gpus[v]; lasts time[j, v, g]; }
}
scenario S for M {
  Jobs = { j1 }; Types = { v1 }; Slots = 1..3;
  time = 1[h]; deadline = 2[h];
}
model Plain { param limit default 1; var gap >= 0; minimize gap + limit; }
scenario P for Plain { }
policy Base for M { order j in Jobs by deadline[j]; choose (v, g) in Configs by time[j, v, g]; place best_fit; }
"""
METHODS = ("highs", "scip")


def read(text: str) -> Workspace:
    found = Diagnostics()
    workspace = workspace_from_text(MODEL + text, "test.gsm", found)
    assert not list(found)
    return workspace


def findings(text: str) -> list[Diagnostic]:
    found = Diagnostics()
    check_blocks(read(text), found, METHODS)
    return list(found)


def wrong(text: str, code: str, at: str) -> Diagnostic:
    """The one finding, which has this code and underlines this text."""
    found = findings(text)
    assert [(d.code, d.primary.text if isinstance(d.primary, Span) else None) for d in found] == [(code, at)]
    return found[0]


def checked_test(body: str) -> CheckedTest:
    workspace = read(f"test T {{ {body} }}")
    found = Diagnostics()
    checked = check_test(workspace, workspace.tests["T"], found, METHODS)
    assert list(found) == []
    assert checked is not None
    return checked


def expectation(condition: str, scenario: str = "S") -> CheckedExpect:
    [solve] = checked_test(f"solve {scenario}; expect {condition};").solves
    [expect] = solve.expects
    return expect


def constants(expr: TypedExpr) -> list[tuple[float, str]]:
    assert isinstance(expr, ComparisonChain)
    return [
        (o.value, o.type.unit.text) for o in expr.operands if isinstance(o, Constant) and isinstance(o.type, Numeric)
    ]


# --- tests -----------------------------------------------------------------------------------------------------------


def test_each_solve_has_its_expectations() -> None:
    checked = checked_test(
        "solve S (rule = hard, period = 30[min]) with highs, scip (gap = 0.01, time_limit = 2[min], presolve = false, "
        'mode = fast, log = "a b", bias = -1, part = 5[%]); expect total <= 3; expect status == optimal; solve P;'
    )
    first, second = checked.solves
    assert first.scenario.model.options == {"rule": "hard"}
    assert [m.name for m in first.methods] == ["highs", "scip"]
    assert first.methods[1].settings == {
        "gap": 0.01,
        "time_limit": 120.0,
        "presolve": False,
        "mode": "fast",
        "log": "a b",
        "bias": -1.0,
        "part": 0.05,
    }
    assert len(first.expects) == 2
    assert [s.name.text for s in first.settings] == ["rule", "period"]
    assert (second.scenario.name, second.methods, second.expects) == ("P", (), ())


@pytest.mark.quick(6)
@pytest.mark.parametrize(
    "condition",
    [
        'run["j1", "v1", 2] == 1',
        "status == optimal",
        "optimal == status",
        "status != infeasible",
        "objective <= bound",
        "gap <= 0.01",
        "rent + lateness == total",
        "sum[j in Jobs] weight[j] <= 3",
        "count(Jobs) == 1 and total > 0",
        "not (delay > 3)",
        "1 <= delay <= 3",
        "all[j in Jobs] late[j] <= 0",
        'time["j1", "v1", 1] == 1',
        'run["j1", "v1", 2] == 1 => total >= 2',
        '"j1" in Jobs',
        "lateness == 0 or rent == 0",
    ],
)
def test_conditions_on_answers(condition: str) -> None:
    assert expectation(condition).tolerance is None


def test_status_is_compared_as_text() -> None:
    expr = expectation("status == limit").condition
    assert isinstance(expr, ComparisonChain)
    left, right = expr.operands
    assert isinstance(left, KnownValue)
    assert isinstance(right, StringLiteral)
    assert (left.name, right.text) == ("status", "limit")


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("total == 2.5", [(2.5, "$")]),
        ("2.5 == total", [(2.5, "$")]),
        ("total == 250", [(250.0, "$")]),
        ("delay <= 3", [(3.0, "h")]),
        ("delay <= 30[min]", [(0.5, "h")]),
        ("1 <= delay <= 3", [(1.0, "h"), (3.0, "h")]),
        ("delay == -1", [(-1.0, "h")]),
        ("count(Jobs) == 1", [(1.0, "1")]),
        ('price["v1"] == 2', [(2.0, "$/h")]),
    ],
)
def test_bare_numbers_are_in_the_unit_they_are_compared_in(condition: str, expected: list[tuple[float, str]]) -> None:
    assert constants(expectation(condition).condition) == expected


def test_tolerances_are_in_the_unit_of_the_first_operand() -> None:
    for text, value in (("0.5", 0.5), ("30[min]", 0.5)):
        tolerance = expectation(f"delay == 3 within {text}").tolerance
        assert isinstance(tolerance, Constant)
        assert isinstance(tolerance.type, Numeric)
        assert (tolerance.value, tolerance.type.unit.text) == (value, "h")


def test_names_of_the_model_come_before_those_of_the_answer() -> None:
    expr = expectation("gap <= limit", "P").condition
    assert isinstance(expr, ComparisonChain)
    assert [type(o).__name__ for o in expr.operands] == ["VariableRef", "ParamRef"]


@pytest.mark.quick(18)
@pytest.mark.parametrize(
    ("body", "code", "at"),
    [
        ("expect total == 1; solve S;", "GSM1601", "expect total == 1;"),
        ("solve S with hihgs;", "GSM1602", "hihgs"),
        ("solve S with highs (gap = 1 + 1);", "GSM1603", "1 + 1"),
        ("solve S with highs (gap = 3[$]);", "GSM1603", "3[$]"),
        ("solve S with highs (gap = 3[sec]);", "GSM1301", "sec"),
        ("solve S with highs (gap = 1, gap = 2);", "GSM1506", "gap"),
        ("solve S; expect status == optimum;", "GSM1604", "optimum"),
        ("solve S; expect status == optimal within 1;", "GSM1605", "1"),
        ("solve S; expect (total == 1 and delay == 2) within 1;", "GSM1605", "1"),
        ("solve S; expect total == 1 within 1[h];", "GSM1302", "1[h]"),
        ("solve S; expect total == 1 within delay;", "GSM1302", "delay"),
        ("solve S; expect delay == 1 within delay;", "GSM1211", "delay"),
        ("solve S; expect totl == 1;", "GSM1101", "totl"),
        ("solve S; expect total;", "GSM1205", "total"),
        ("solve S; expect total == 1[h];", "GSM1302", "1[h]"),
        ('solve S; expect run["j1"] == 1;', "GSM1201", '"j1"'),
        ("solve S; expect some == 1;", "GSM1106", "some"),
        ("solve Z;", "GSM1501", "Z"),
        ("solve S (rule = hart);", "GSM1405", "hart"),
        ("solve S (perod = 1[h]);", "GSM1504", "perod"),
        ("solve S (period = 1);", "GSM1303", "1"),
        ("solve S (deadline = 1[h]);", "GSM1515", "deadline"),
        ("solve S (rule = hard, rule = soft);", "GSM1506", "rule"),
    ],
)
def test_wrong_tests(body: str, code: str, at: str) -> None:
    wrong(f"test T {{ {body} }}", code, at)


def test_policies_are_methods_too() -> None:
    assert findings("test T { solve S with Base, highs; }") == []
    assert wrong("test T { solve S with Bse; }", "GSM1602", "Bse").help == "did you mean `Base`?"


def test_any_method_may_stand_when_none_is_known() -> None:
    workspace = read("test T { solve S with whatever; }")
    found = Diagnostics()
    assert check_test(workspace, workspace.tests["T"], found) is not None
    assert list(found) == []


# --- online ----------------------------------------------------------------------------------------------------------


def test_sound_online_blocks() -> None:
    text = """
    online Events for M {
      arrive j in Jobs at submitted[j];
      replan on arrival, completion, every period, every 15[min];
      carry time[j, v, g] = remaining[j] * time[j, v, g];
      carry deadline[j] = deadline[j] - now;
    }
    online Windows for M {
      window h in Slots lookahead 96 commit 4;
      arrive j in Jobs at arrives[j];
      replan on every 4 slots;
      work 1;
      speed 1[h] / time[j, v, g];
      carry was_on[v] = on[v, committed];
    }
    """
    assert findings(text) == []


@pytest.mark.quick(17)
@pytest.mark.parametrize(
    ("line", "code", "at"),
    [
        ("window v in Types lookahead 9 commit 1;", "GSM1621", "Types"),
        ("window v in Typs lookahead 9 commit 1;", "GSM1101", "Typs"),
        ("window h in Slots lookahead 9[h] commit 1;", "GSM1302", "9[h]"),
        ("window h in Slots lookahead 9 commit 1.5;", "GSM1207", "1.5"),
        (
            "window h in Slots lookahead 9 commit 1; window h in Slots lookahead 9 commit 2;",
            "GSM1620",
            "window h in Slots lookahead 9 commit 2;",
        ),
        ("arrive j in Job at submitted[j];", "GSM1101", "Job"),
        ('arrive j in Jobs at run[j, "v1", 1];', "GSM1211", 'run[j, "v1", 1]'),
        ("arrive j in Jobs at submitted[k];", "GSM1101", "k"),
        ("replan on arival;", "GSM1622", "arival"),
        ("replan on every 4 hours;", "GSM1622", "hours"),
        ('replan on every price["v1"];', "GSM1302", 'price["v1"]'),
        ("replan on every 4[h] slots;", "GSM1302", "4[h]"),
        ("replan on arrival; replan on completion;", "GSM1620", "replan on completion;"),
        ("carry dedline[j] = now;", "GSM1623", "dedline"),
        ("carry slack[j] = 1[h];", "GSM1623", "slack"),
        ("carry delay = 1[h];", "GSM1623", "delay"),
        ("carry deadline[j, k] = 1[h];", "GSM1201", "j, k"),
        ("carry deadline = 1[h];", "GSM1201", "deadline"),
        ("carry time[j, j, g] = 1[h];", "GSM1105", "j"),
        ("carry deadline[j] = 3[$];", "GSM1302", "3[$]"),
        ("carry deadline[j] = deadline[k];", "GSM1101", "k"),
        ("carry deadline[j] = 1[h]; carry deadline[j] = 2[h];", "GSM1620", "carry deadline[j] = 2[h];"),
    ],
)
def test_wrong_online_blocks(line: str, code: str, at: str) -> None:
    wrong(f"online O for M {{ {line} }}", code, at)


def test_online_of_an_unknown_model() -> None:
    wrong("online O for Mn { }", "GSM1107", "Mn")


def test_names_that_could_not_be_read_are_passed_over() -> None:
    found = Diagnostics()
    text = (
        "model Q { param a in ; param b integer default 1; var x >= 0; minimize z: x; } scenario S for Q { b = 1; }"
        "test T { solve S; expect a == 1; } policy A for Q { repeat a keep best z; }"
        "online O for Q { carry a = 1; replan on every a; }"
    )
    workspace = workspace_from_text(text, "q.gsm", found)
    before = len(found)
    assert before > 0
    check_blocks(workspace, found, METHODS)
    assert len(found) == before
