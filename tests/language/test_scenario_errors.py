"""Every way in which a scenario can be wrong: the code, and the text that is underlined."""

from __future__ import annotations

import pytest
from found_codes import message_values
from scenario_help import check, place, sound, value_of, workspace, wrong, wrong_text

from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.scenarios.assignments import LawAssignment
from gpusched_dsl.language.scenarios.scenario import check_scenario
from gpusched_dsl.language.source import Span
from gpusched_dsl.language.workspace import workspace_from_text

# --- which scenario, which model -------------------------------------------------------------------------------------


def test_unknown_scenarios() -> None:
    found = Diagnostics()
    assert check_scenario(workspace("scenario Solo for M { }"), "Sole", {}, found) is None
    [diagnostic] = found
    assert (diagnostic.code, diagnostic.help) == ("GSM1501", "did you mean `Solo`?")
    wrong_text("scenario S extends Bas { } scenario Base for M { }", "GSM1501", "Bas")


def test_circle_of_scenarios() -> None:
    found = wrong_text("scenario S extends A { } scenario A extends B { } scenario B extends A { }", "GSM1502", "B")
    assert found.notes == ("the cycle is `A` extends `B` extends `A`",)
    wrong_text("scenario S extends S { }", "GSM1502", "S")


def test_scenario_without_a_model() -> None:
    wrong_text("scenario S extends A { } scenario A { limit = 1; }", "GSM1503", "S")


def test_scenario_of_another_model() -> None:
    wrong_text("scenario A for M { } scenario S for R extends A { }", "GSM1503", "R")


def test_unknown_model() -> None:
    assert wrong_text("scenario S for Mm { }", "GSM1107", "Mm").help == "did you mean `M`?"


def test_faults_of_the_model_are_told() -> None:
    checked, found = check("model Bad { var z[Nowhere]; } scenario S for Bad { }")
    assert checked is None
    assert [d.code for d in found] == ["GSM1101"]


# --- targets ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "at", "help"),
    [
        ("wieght = 3;", "wieght", "did you mean `weight`?"),
        ("rul = hard;", "rul", "did you mean `rule`?"),
        ("strict = 2;", "strict", None),
        ("table Typs: gpus = v1 1 ;", "Typs", "did you mean `Types`?"),
        ("table Types: gpu = v1 1 ;", "gpu", "did you mean `gpus`?"),
        ('data "a.csv" { tim[j, t] = x[s]; }', "tim", "did you mean `time`?"),
    ],
)
def test_unknown_targets(body: str, at: str, help: str | None) -> None:
    found = wrong(body, "GSM1504", at)
    assert help is None or found.help == help


@pytest.mark.parametrize(
    ("body", "at"),
    [
        ("double = 3;", "double"),
        ("Pairs = { (a, b) };", "Pairs"),
        ("x = 1;", "x"),
        ("twice = 1[h];", "twice"),
        ("some = 1;", "some"),
        ("total = 1;", "total"),
        ("table Jobs: double = j1 1 ;", "double"),
        ('data "a.csv" { double[job] = d; }', "double"),
        ('data "a.csv" { x[job] = d; }', "x"),
    ],
)
def test_names_that_cannot_be_given(body: str, at: str) -> None:
    found = wrong(body, "GSM1505", at)
    assert found.secondary


def test_random_needs_a_distribution() -> None:
    assert "~" in (wrong_text("scenario S for R { length = 3[h]; }", "GSM1505", "length").help or "")
    wrong_text("scenario S for R { n ~ exponential(mean = 3); }", "GSM1516", "n")
    wrong_text("scenario S for R { length ~ exponentiel(mean = 3[h]); }", "GSM1416", "exponentiel")
    checked, found = check("scenario S for R { length ~ exponential(mean = 3[h]); }")
    assert found == []
    assert checked is not None
    [given] = checked.assignments["length"]
    assert isinstance(given, LawAssignment)
    assert [(name, expr.span.text) for name, expr in given.law.numbers] == [("mean", "3[h]")]


@pytest.mark.parametrize(
    ("body", "at"),
    [
        ("period = 1[h]; period = 2[h];", "period = 2[h];"),
        ("Jobs = { a }; Jobs = { b };", "Jobs = { b };"),
        ('Jobs = { a }; data "a.csv" { Jobs = job; }', "Jobs = job;"),
        ("weight = 1; table Jobs: weight = j1 2 ;", "weight"),
        ("rule = hard; rule = soft;", "rule"),
        ("table Types: gpus gpus = v1 1 2 ;", "gpus"),
    ],
)
def test_given_twice(body: str, at: str) -> None:
    assert wrong(body, "GSM1506", at).secondary


# --- values ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "code", "at"),
    [
        ("period = 1;", "GSM1303", "1"),
        ("period = 3[$];", "GSM1302", "3[$]"),
        ("limit = 3[h];", "GSM1302", "3[h]"),
        ("limit = 2.5;", "GSM1207", "2.5"),
        ("limit = horizon / period;", "GSM1207", "horizon / period"),
        ('limit = "three";', "GSM1204", '"three"'),
        ("limit = three;", "GSM1101", "three"),
        ("name = 3;", "GSM1206", "3"),
        ("period = 3[hh];", "GSM1301", "hh"),
        ("limit = count(x);", "GSM1106", "x"),
        ("limit = Jobs;", "GSM1106", "Jobs"),
        ("limit = { 1 };", "GSM1106", "{ 1 }"),
        ('limit = x["a"];', "GSM1211", 'x["a"]'),
        ('weight["j1"] = 2[h];', "GSM1302", "2[h]"),
    ],
)
def test_wrong_values(body: str, code: str, at: str) -> None:
    wrong(body, code, at)


def test_units_name_declaration_and_unit() -> None:
    found = wrong("period = 1;", "GSM1303", "1")
    assert [label.message for label in found.secondary] == ["`period` is declared in `h`"]
    assert found.help == "write `1[h]`"


@pytest.mark.parametrize(
    ("body", "code", "at"),
    [
        ("Jobs = 3;", "GSM1106", "3"),
        ("Jobs = limit;", "GSM1106", "limit"),
        ("Jobs = Types;", "GSM1510", "Types"),
        ("Jobs = { (a, b) };", "GSM1202", "(a, b)"),
        ("Jobs = { 1.5 };", "GSM1522", "1.5"),
        ("Fits = { a };", "GSM1202", "a"),
        ("Late = 1..floor(2.5);", "GSM1510", "1..floor(2.5)"),
        ("Slots = 1..2.5;", "GSM1207", "2.5"),
        ("Jobs = { 3[h] };", "GSM1203", "3[h]"),
    ],
)
def test_wrong_elements(body: str, code: str, at: str) -> None:
    checked, found = check(f"scenario S for M {{ {body} }}")
    assert checked is None
    assert [place(d) for d in found] == [at]
    assert found[0].code in (code, "GSM1510", "GSM1207")


@pytest.mark.parametrize(
    ("body", "code", "at"),
    [
        ('weight["a", "b"] = 3;', "GSM1507", '"a", "b"'),
        ("period[1] = 3[h];", "GSM1507", "1"),
        ("Jobs[1] = { a };", "GSM1507", "1"),
        ("rule[1] = hard;", "GSM1507", "1"),
        ("weight[2.5] = 3;", "GSM1522", "2.5"),
        ("weight[period] = 3;", None, ""),
    ],
)
def test_subscripts_of_single_values(body: str, code: str | None, at: str) -> None:
    if code is None:
        assert sound(body)  # a bare name is a label
    else:
        wrong(body, code, at)


# --- tables ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "at"),
    [
        ("table Types: gpus price[$/h] = v1 4 0.2 v2 8 ;", "v2 8"),
        ("table Types: gpus price[$/h] =\n v1 4 0.2\n v2 8\n v3 1 0.1 ;", "v2 8"),
        ("table Types: gpus price[$/h] =\n v1 4 0.2\n v2 8\n v3 1 0.1\n v4 1 0.1 2;", "v2 8"),
        ("table Types: gpus price[$/h] =\n v1 4 0.2 7\n v2 8\n v3 1 0.1 ;", "v1 4 0.2 7"),
        ("table Types: gpus price[$/h] =\n v1 4 0.2\n v2 8 0.1 9;", "v2 8 0.1 9"),
        ("table Types: gpus price[$/h] =\n v1 4 0.2\n v2 8 ;", "v2 8"),
        ("table Pairs: time[h] =\n j1 v1 1\n j1 2\n j2 v1 3\n ;", "j1 2"),
    ],
)
def test_cells_that_make_no_rows(body: str, at: str) -> None:
    wrong(body, "GSM1509", at)


def test_rows_that_are_off_are_told_even_if_the_count_fits() -> None:
    found = wrong("table Types: gpus price[$/h] =\n v1 4\n v2 8 0.1 0.2\n ;", "GSM1509", "v1 4")
    assert message_values(found.message) == ("2", "3", "Types", "gpus", "price")


@pytest.mark.parametrize(
    ("body", "code", "at"),
    [
        ("table Types: price = v1 1 ;", "GSM1303", "price"),
        ("table Types: price[h] = v1 1 ;", "GSM1302", "h"),
        ("table Types: gpus[h] = v1 1 ;", "GSM1302", "h"),
        ("table Types: family[h] = v1 k ;", "GSM1307", "h"),
        ("table Types: price[dollar] = v1 1 ;", "GSM1301", "dollar"),
        ("table Jobs: gpus = j1 1 ;", "GSM1508", "gpus"),
        ("table Jobs: time[h] = j1 1 ;", "GSM1507", "time"),
        ("table Types, Jobs: time[h] = v1 j1 1 ;", "GSM1508", "time"),
        ("table Types: period[h] = v1 1 ;", "GSM1507", "period"),
        ("table weight: gpus = v1 1 ;", "GSM1510", "weight"),
        ("table Types: Jobs = v1 1 ;", "GSM1510", "Jobs"),
    ],
)
def test_wrong_columns(body: str, code: str, at: str) -> None:
    wrong(body, code, at)


def test_missing_unit_of_a_column_says_which() -> None:
    found = wrong("table Types: price = v1 1 ;", "GSM1303", "price")
    assert message_values(found.message) == ("price", "price", "$/h")
    assert found.help == "write `price[$/h]` if it is in `$/h`"


# --- data statements -------------------------------------------------------------------------------------------------


@pytest.mark.quick(17)
@pytest.mark.parametrize(
    ("item", "code", "at"),
    [
        ("Jobs[x] = job;", "GSM1507", "x"),
        ("Jobs = (a, b);", "GSM1507", "a, b"),
        ("Fits = a;", "GSM1507", "a"),
        ("Jobs = mean(a);", "GSM1511", "mean"),
        ("Jobs = a[h];", "GSM1307", "h"),
        ("time[job] = s[s];", "GSM1507", "job"),
        ("time = s[s];", "GSM1507", "time"),
        ("period[job] = s[s];", "GSM1507", "job"),
        ("time[job, type] = (a, b);", "GSM1510", "a, b"),
        ("weight[job] = distinct(a);", "GSM1510", "a"),
        ("time[job, type] = s;", "GSM1303", "s"),
        ("time[job, type] = s[$];", "GSM1302", "$"),
        ("family[type] = s[h];", "GSM1307", "h"),
        ("weight[job] = men(a);", "GSM1511", "men"),
        ("family[type] = mean(a);", "GSM1511", "mean"),
        ("count_of[job] = count(a[h]);", "GSM1307", "h"),
        ("period = count(a);", "GSM1302", "a"),
        ("weight[slat(time, 15[min])] = a;", "GSM1511", "slat"),
        ("weight[slot(time, 15)] = a;", "GSM1521", "15"),
        ("weight[slot(time, 0[min])] = a;", "GSM1521", "0[min]"),
        ("weight[slot(time, 15[W])] = a;", "GSM1521", "15[W]"),
        ("weight[slot(time, 15[min], 1[W])] = a;", "GSM1521", "1[W]"),
        ('weight[slot(time, 15[min], "a", "b")] = a;', "GSM1521", 'slot(time, 15[min], "a", "b")'),
    ],
)
def test_wrong_items(item: str, code: str, at: str) -> None:
    wrong(f'data "a.csv" {{ {item} }}', code, at)


# --- options and settings --------------------------------------------------------------------------------------------


def test_options() -> None:
    wrong("rule = hart;", "GSM1405", "hart")
    wrong("rule = 3;", "GSM1514", "3")
    assert sound('rule = "hard";').model.options == {"rule": "hard"}


@pytest.mark.parametrize(
    ("name", "text", "code", "at"),
    [
        ("period", "30", "GSM1303", "30"),
        ("period", "30[mni]", "GSM1301", "mni"),
        ("period", "30[min", "GSM1513", "period=30[min"),
        ("period", "", "GSM1513", "period="),
        ("period", "1[h]; limit = 3", "GSM1513", "period=1[h]; limit = 3"),
        ("period", "1[h]; } scenario T for M {", "GSM1513", "period=1[h]; } scenario T for M {"),
        ("a b", "1", "GSM1513", "a b=1"),
        ('weight["a"', "1", "GSM1513", 'weight["a"=1'),
        ('weight["a", "b"]', "1", "GSM1507", '"a", "b"'),
        ("wieght[a]", "1", "GSM1504", "wieght"),
        ("weight[a + 0.5]", "1", "GSM1101", "a"),
        ("generator.seed", "1", "GSM1518", "generator.seed"),
        ("wieght", "3", "GSM1504", "wieght"),
        ("weight", "3", "GSM1515", "weight"),
        ("Jobs", "{ a }", "GSM1515", "Jobs"),
        ("x", "1", "GSM1505", "x"),
        ("double", "1", "GSM1505", "double"),
        ("rule", "hart", "GSM1405", "hart"),
        ("rule", "1", "GSM1514", "1"),
    ],
)
def test_wrong_settings(name: str, text: str, code: str, at: str) -> None:
    found = wrong("", code, at, **{name: text})
    assert isinstance(found.primary, Span)
    assert found.primary.source.name == "--set"
    assert found.primary.source.text == f"{name}={text}"


def test_comment_in_a_setting_does_not_swallow_its_end() -> None:
    assert value_of(sound("", limit="3 # three").assignments["limit"][0]) == 3


# --- circles ---------------------------------------------------------------------------------------------------------


def test_values_given_by_each_other() -> None:
    found = wrong("period = 2 * horizon; horizon = 2 * period;", "GSM1517", "period = 2 * horizon;")
    assert found.notes == ("the cycle is `period` -> `horizon` -> `period`",)
    wrong("period = 2 * period;", "GSM1517", "period = 2 * period;")
    wrong("limit = count(Pairs); Jobs = { a } ; Types = 1..limit;", "GSM1517", "limit = count(Pairs);")


def test_many_findings_at_once() -> None:
    _, found = check(
        'scenario S for M { period = 1; wieght = 2; limit = 2.5; table Types: price = v1 1 ; data "a" { double = x; } }'
    )
    assert sorted(d.code for d in found) == ["GSM1207", "GSM1303", "GSM1303", "GSM1504", "GSM1505"]


def test_names_that_could_not_be_read_are_passed_over() -> None:
    found = Diagnostics()
    text = "model Q { param a in ; param b integer default 1; var x >= 0; minimize z: x; }"
    text += "scenario S for Q { a = 3; b = 1; }"
    read = workspace_from_text(text, "q.gsm", found)
    before = len(found)
    assert before > 0
    check_scenario(read, "S", {}, found)
    assert len(found) == before
