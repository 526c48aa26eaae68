"""Campaign blocks: the runs of a grid, their settings, seeds, names and repeats."""

from __future__ import annotations

import itertools
from fractions import Fraction

import pytest

from gpusched_dsl.language import tree
from gpusched_dsl.language.blocks.campaigns.campaign import CheckedCampaign, check_campaign
from gpusched_dsl.language.blocks.campaigns.constants import NotConstant, Quantity, evaluate, value_text
from gpusched_dsl.language.blocks.campaigns.grid import GridRun
from gpusched_dsl.language.blocks.campaigns.methods import options_for
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.units import UNITS
from gpusched_dsl.language.workspace import workspace_from_text
from gpusched_dsl.options.table import by_name
from gpusched_dsl.solving.decomposition.selection import AUTO, OFF, ON

MODEL = """
model M {
  option rule in { hard, soft } default hard;
  set Jobs;
  param slack in h >= 0;
  param deadline[Jobs] in h;
  param need >= 0 default 1;
  var x in h >= 0;
  minimize total in h: need * x;
  constraint enough: x >= slack;
}
scenario S for M { Jobs = { j1, j2 };  slack = 1[h];  deadline = [1, 2][h]; }
scenario T for M extends S { slack = 2[h]; }
"""


def checked(body: str) -> CheckedCampaign:
    diagnostics = Diagnostics()
    workspace = workspace_from_text(f"{MODEL}\ncampaign C {{ {body} }}", "t", diagnostics)
    found = check_campaign(workspace, workspace.campaigns["C"], diagnostics, {"highs", "scip", "Greedy"})
    assert found is not None, str([d.message for d in diagnostics])
    assert not list(diagnostics)
    return found


def runs(body: str) -> list[GridRun]:
    return list(checked(body).runs())


def test_the_grid_is_the_product_in_the_order_of_the_text() -> None:
    found = runs(
        "vary n in 1..3; vary s in { 30[min], 2[h] }; vary seed in 4..5; need = n; slack = s;"
        "solve S, T with highs, scip;"
    )
    values = [tuple(value_text(v) for v in run.factors.values()) for run in found]
    expected = itertools.product(["1", "2", "3"], ["30[min]", "2[h]"], ["4", "5"], ["S", "T"], ["highs", "scip"])
    assert [(*v, r.scenario, r.label) for v, r in zip(values, found, strict=True)] == list(expected)
    assert {r.seed for r in found} == {4, 5}
    assert found[0].settings == {"need": "1", "slack": "30[min]"}


def test_settings_are_computed_and_may_use_the_model() -> None:
    (run,) = runs(
        "vary n in { 3 }; vary s in { 1.5[h] }; vary r in { soft }; rule = r; need = 10 * n + 0.5; slack = n * s;"
        'deadline["j1"] = 2 * s;  deadline[j2] = n * count(Jobs) * 1[h]; solve S;'
    )
    assert run.settings == {
        "rule": "soft",
        "need": "30.5",
        "slack": "4.5[h]",
        'deadline["j1"]': "3[h]",
        "deadline[j2]": "(3) * count(Jobs) * 1[h]",
    }


def test_names_that_vary_together() -> None:
    found = runs("vary (n, s) in { (1, 1[h]), (2, 3[h]) }; need = n; slack = s; solve S;")
    assert [run.settings for run in found] == [{"need": "1", "slack": "1[h]"}, {"need": "2", "slack": "3[h]"}]


def test_scenarios_and_methods_may_vary() -> None:
    found = runs(
        "vary trace in { S, T }; vary solver in { highs, scip }; vary g in { 0.1 }; solve trace with solver (gap = g);"
    )
    assert [(r.scenario, r.method, dict(r.options)) for r in found] == [
        (s, m, {"gap": 0.1}) for s in ("S", "T") for m in ("highs", "scip")
    ]


def test_excluded_combinations() -> None:
    found = runs(
        "vary n in 1..4; need = n; exclude n > 2 and method == highs; exclude trace == T and n in { 1, 4 };"
        "vary trace in { S, T }; solve trace with highs, Greedy;"
    )
    assert {(r.scenario, r.label, value_text(r.factors["n"])) for r in found} == {
        (s, m, str(n))
        for s in ("S", "T")
        for m in ("highs", "Greedy")
        for n in range(1, 5)
        if not (n > 2 and m == "highs") and not (s == "T" and n in (1, 4))
    }


def test_methods_of_one_name_have_their_options_in_the_name() -> None:
    found = runs(
        "vary g in { 0.05 };solve S with highs (gap = g), highs (gap = 0, threads = 1), highs (gap = 1) as Loose, scip;"
    )
    assert [r.label for r in found] == ["highs (gap = 0.05)", "highs (gap = 0, threads = 1)", "Loose", "scip"]
    (run,) = runs("solve S with highs (time_limit = 2[min], presolve = off, seed = 7);")
    assert (run.options, run.seed) == ({"time_limit": 120.0, "presolve": "off"}, 7)


def test_repeated_runs_are_told_apart() -> None:
    found = runs("vary replication in 1..2; solve S;")
    assert [r.repeated for r in found] == [{"replication": "1"}, {"replication": "2"}]
    assert len({r.content for r in found}) == 2
    assert runs("vary n in { 1 }; need = n; solve S;")[0].repeated == {}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2 + 3 * 4", "14"),
        ("30[min] + 1[h]", "90[min]"),
        ("0.1 * 3", "0.3"),
        ("7 div 2", "3"),
        ("-7 mod 4", "1"),
        ("2 ^ 10", "1024"),
        ("if 1 < 2 then soft else hard", "soft"),
        ("max(1[h], 90[min])", "1.5[h]"),
        ("ceil(2.1) + floor(2.9) + round(2.5)", "8"),
        ("floor(90[min] / 1[h]) + ceil(90[min] / 1[h]) + round(80[min] / 1[h])", "4"),
        ("floor(90.5[min])", "90[min]"),
        ("sqrt(16)", "4"),
        ("not (1 == 2)", "true"),
        ("6[$] / 2[h]", "3[$/h]"),
        ('"a b"', '"a b"'),
    ],
)
def test_constants(text: str, expected: str) -> None:
    assert value_text(evaluate(_expr(text), {})) == expected


@pytest.mark.parametrize(
    "text", ["1 / 0", "1[h] + 1[$]", "a + 1", "count(Jobs)", "1 < a", "0 ^ -1", "sqrt(-1)", "7 mod 0"]
)
def test_no_constants(text: str) -> None:
    with pytest.raises(NotConstant):
        evaluate(_expr(text), {})


def test_numbers_are_exact() -> None:
    assert evaluate(_expr("0.1 + 0.2"), {}) == Quantity(Fraction(3, 10))
    assert evaluate(_expr("n / 3 * 3"), {"n": Quantity(Fraction(1), UNITS["h"])}) == Quantity(Fraction(1), UNITS["h"])


def _expr(text: str) -> tree.Expr:
    diagnostics = Diagnostics()
    workspace = workspace_from_text(f"scenario S for M {{ v = {text}; }}", "t", diagnostics)
    assert not list(diagnostics)
    statement = workspace.scenarios["S"].statements[0]
    assert isinstance(statement, tree.Assign)
    return statement.value


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        ("gap = 0.1", "gap = 0", None),
        ("gap = 0.1", "gap = 5[%]", None),
        ("gap = 0.1", "gap = -0.1", "GSM1603"),
        ("gap = 0.1", "gap = 1[s]", "GSM1603"),
        ("gap = 0.1", "time_limit = 30", None),
        ("gap = 0.1", "time_limit = 1[GB]", "GSM1603"),
        ("gap = 0.1", "threads = 0", "GSM1603"),
        ("gap = 0.1", "bound = 1", "GSM1603"),
        ("gap = 0.1", "decompose = on", None),
        ("gap = 0.1", "decompose = always", "GSM1603"),
        ("gap = 0.1", "judge = scip", None),
        ("gap = 0.1", "judge = scipp", "GSM1602"),
        ("gap = 0.1", "own_option = 3[s]", None),
        ("vary n", "vary seed in { -1, 2 }; vary n", "GSM1603"),
        ("gap = 0.1", "gap = n / 2", "GSM1603"),
        ("{ 0, -2 }", "{ 0, 2 }", None),
    ],
)
def test_options_of_methods(old: str, new: str, code: str | None) -> None:
    text = "vary n in { 0, -2 }; need = n ^ 2; solve S with highs (gap = 0.1);"
    diagnostics = Diagnostics()
    workspace = workspace_from_text(f"{MODEL}\ncampaign C {{ {text.replace(old, new)} }}", "t", diagnostics)
    check_campaign(workspace, workspace.campaigns["C"], diagnostics, {"highs", "scip"})
    assert [diagnostic.code for diagnostic in diagnostics] == ([] if code is None else [code])


def test_an_error_in_a_scenario_is_the_only_one() -> None:
    diagnostics = Diagnostics()
    workspace = workspace_from_text(f"{MODEL}\ncampaign C {{ slak = 1[h]; solve S; measure total; }}", "t", diagnostics)
    check_campaign(workspace, workspace.campaigns["C"], diagnostics)
    assert [diagnostic.code for diagnostic in diagnostics] == ["GSM1504"]


def test_options_are_those_of_the_solve() -> None:
    own = (*by_name("solve", "campaign").values(), *by_name("run", "campaign").values())
    assert all(option.kind.stated for option in own)
    assert options_for("solve")["decompose"].kind.choices == (AUTO, ON, OFF)
