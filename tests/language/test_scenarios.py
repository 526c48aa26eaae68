"""Scenarios against their model: what is given, what replaces what, and every way to give something wrong."""

from __future__ import annotations

from fractions import Fraction

import pytest

from gpusched_dsl.language.checked import Constant, Core, Label, LiteralSet
from gpusched_dsl.language.diagnostics import Diagnostic, Diagnostics, Severity
from gpusched_dsl.language.given import ExpressionGiven, FileGiven, Given, TableGiven
from gpusched_dsl.language.scenarios import CheckedScenario, check_scenario, missing_targets
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


def value_of(given: Given) -> float | str:
    assert isinstance(given, ExpressionGiven)
    if isinstance(given.value, Label):
        return given.value.text
    assert isinstance(given.value, Constant)
    return given.value.value


def labels(given: Given) -> list[str | float]:
    assert isinstance(given, ExpressionGiven)
    assert isinstance(given.value, LiteralSet)
    return [row[0].text if isinstance(row[0], Label) else row[0].value for row in given.value.rows]  # type: ignore


# --- what is given ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("period = 1[h];", 1.0),
        ("period = 30[min];", 0.5),
        ("period = 0;", 0.0),
        ("limit = 7;", 7.0),
        ("name = K80;", "K80"),
        ('name = "a b";', "a b"),
        ("best = v2;", "v2"),
        ('best = "v2";', "v2"),
        ("share = 50[%];", 50.0),
    ],
)
def test_scalar_values_come_in_the_declared_unit(body: str, expected: float | str) -> None:
    target = body.split()[0]
    [given] = sound(body).given[target]
    assert value_of(given) == pytest.approx(expected)
    assert given.span.text == body


def test_values_may_be_expressions_over_data() -> None:
    checked = sound("period = 2 * horizon;")
    [given] = checked.given["period"]
    assert isinstance(given, ExpressionGiven)
    assert isinstance(given.value, Core)
    order = checked.model.data_order
    assert order.index("horizon") < order.index("period")
    assert set(order) == set(sound("").model.data_order)


def test_order_is_that_of_the_model_when_nothing_else_is_read() -> None:
    assert sound("period = 2[h];").model.data_order == sound("").model.data_order


def test_order_follows_lets_and_sets() -> None:
    order = sound("limit = count(Jobs); horizon = twice;").model.data_order
    assert order.index("Jobs") < order.index("limit")
    assert order.index("period") < order.index("horizon")


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ('Jobs = { j1, "j 2", data };', ["j1", "j 2", "data"]),
        ("Slots = { 3, 1, 2 };", [3.0, 1.0, 2.0]),
        ("Jobs = {};", []),
        ("Late = { j1 };", ["j1"]),
        ("Jobs = { limit, period };", ["limit", "period"]),
    ],
)
def test_bare_names_in_braces_are_labels(body: str, expected: list[str | float]) -> None:
    [given] = sound(body).given[body.split()[0]]
    assert labels(given) == expected


@pytest.mark.parametrize(
    "body",
    [
        "Slots = 0..671;",
        "Slots = 1..limit by 2;",
        "Slots = 1..3 union { 7 };",
        "Jobs = { a } union { b };",
        "Fits = { (j1, v1), (j2, v1) };",
        "Late = Jobs diff { j1 };",
        "Fits = { (j, v) : j in Jobs, v in Types };",
    ],
)
def test_other_set_expressions(body: str) -> None:
    target = body.split()[0]
    assert isinstance(sound(body).given[target][0], ExpressionGiven)


def test_table_gives_its_set_and_its_columns() -> None:
    checked = sound("table Types: gpus price[$/h] = v1 4 0.2  v2 8 . ;")
    types, gpus, price = (checked.given[n][0] for n in ("Types", "gpus", "price"))
    assert isinstance(types, TableGiven)
    assert isinstance(gpus, TableGiven)
    assert isinstance(price, TableGiven)
    assert (types.column, gpus.column, price.column) == (None, 0, 1)
    assert (price.keys, price.width, price.factor) == (1, 3, 1)
    assert price.span.text == "price[$/h]"


def test_a_set_of_its_own_comes_before_the_keys_of_a_table() -> None:
    checked = sound("Types = { v1, v2 }; table Types: gpus = v1 4 ;")
    assert isinstance(checked.given["Types"][0], ExpressionGiven)


def test_tables_with_several_keys() -> None:
    checked = sound("table Jobs, Types: time[min] = j1 v1 30 ;")
    [given] = checked.given["time"]
    assert isinstance(given, TableGiven)
    assert (given.keys, given.factor) == (2, Fraction(1, 60))
    assert "Jobs" not in checked.given


def test_tables_keyed_by_a_tuple_set() -> None:
    [given] = sound("table Pairs: time[h] = j1 v1 30 ;").given["time"]
    assert isinstance(given, TableGiven)
    assert given.keys == 2


def test_table_gives_a_subset() -> None:
    assert isinstance(sound("table Late: weight = j1 3 ;").given["Late"][0], TableGiven)


def test_rows_may_share_a_line_or_go_on_over_several() -> None:
    assert sound("table Types: gpus price[$/h] = v1 4 0.2 v2 8 0.3\nv3 1 0.4 ;").given["gpus"]
    assert sound("table Types: gpus price[$/h] = v1 4\n 0.2\n v2\n 8 0.3 ;").given["gpus"]


def test_data_statements() -> None:
    checked = sound(
        'data "a.csv" { Jobs = distinct(job); Fits = (job, "the type"); time[job, type] = seconds[s]; '
        "weight[job] = mean(w); period = sum(minutes[min]); count_of[job] = count(w); name = first(n); }"
    )
    jobs, fits, time, weight, period, count, name = (
        checked.given[n][0] for n in ("Jobs", "Fits", "time", "weight", "period", "count_of", "name")
    )
    assert all(isinstance(g, FileGiven) for g in (jobs, fits, time, weight, period, count, name))
    assert isinstance(jobs, FileGiven)
    assert (jobs.keys, jobs.value, jobs.distinct) == (("job",), None, True)
    assert isinstance(fits, FileGiven)
    assert fits.keys == ("job", "the type")
    assert isinstance(time, FileGiven)
    assert (time.keys, time.value, time.factor, time.function) == (("job", "type"), "seconds", Fraction(1, 3600), None)
    assert isinstance(weight, FileGiven)
    assert weight.function == "mean"
    assert isinstance(period, FileGiven)
    assert (period.keys, period.factor) == ((), Fraction(1, 60))
    assert time.span.text == "time[job, type] = seconds[s];"


def test_tables_and_files_may_share_a_parameter() -> None:
    checked = sound('table Types: gpus = v1 4 ; data "a.csv" { gpus[type] = n; }')
    assert [type(g) for g in checked.given["gpus"]] == [TableGiven, FileGiven]


def test_patches_come_after_what_they_patch() -> None:
    checked = sound('weight["j2"] = 4; table Jobs: weight = j1 1  j2 2 ; weight[j1] = 3;')
    table, *patches = checked.given["weight"]
    assert isinstance(table, TableGiven)
    assert [value_of(p) for p in patches] == [4, 3]
    assert [p.subscripts[0].text for p in patches] == ["j2", "j1"]  # type: ignore[attr-defined, union-attr]
    assert all(p.patch for p in patches)


def test_units_of_time_per_thing_are_read_as_durations_with_a_warning() -> None:
    checked, found = check("scenario S for M { table Types: latency[min/request] = v1 2 ; }")
    assert checked is not None
    assert [(d.code, d.severity, place(d)) for d in found] == [("GSM1304", Severity.WARNING, "min/request")]
    given = checked.given["latency"][0]
    assert isinstance(given, TableGiven)
    assert given.factor == 60


# --- inheritance, options, settings ----------------------------------------------------------------------------------

CHAIN = """
scenario A for M { rule = hard; Jobs = { a, b }; period = 1[h]; table Jobs: weight = a 1 b 2 ; weight["a"] = 5; }
scenario B extends A { period = 2[h]; weight["b"] = 9; }
scenario C extends B { rule = soft; weight = 4; limit = 9; }
scenario D extends C { weight["a"] = 7; }
"""


def test_later_scenarios_replace_whole_targets_and_patch_single_values() -> None:
    b, found = check(CHAIN, "B")
    assert found == []
    assert b is not None
    assert value_of(b.given["period"][0]) == 2
    assert [g.level for g in b.given["weight"]] == [0, 0, 1]
    assert b.model.options == {"rule": "hard"}
    assert "strict" in b.model.params
    d, _ = check(CHAIN, "D")
    assert d is not None
    assert [(value_of(g), g.patch, g.level) for g in d.given["weight"]] == [(4, False, 2), (7, True, 3)]
    assert d.model.options == {"rule": "soft"}
    assert labels(d.given["Jobs"][0]) == ["a", "b"]
    assert (d.name, d.model.name) == ("D", "M")


def test_settings_come_last() -> None:
    checked, found = check(CHAIN, "D", rule="hard", period="90[min]", name="x", strict="2")
    assert found == []
    assert checked is not None
    assert checked.model.options == {"rule": "hard"}
    assert value_of(checked.given["period"][0]) == 1.5
    assert value_of(checked.given["name"][0]) == "x"
    assert value_of(checked.given["strict"][0]) == 2


def test_settings_may_be_expressions() -> None:
    checked = sound("", period="2 * horizon")
    assert checked.model.data_order.index("horizon") < checked.model.data_order.index("period")


def test_scenario_of_an_extending_model() -> None:
    text = "model N extends M { param more integer default 1; } scenario A for M { limit = 1; }"
    checked, found = check(text + "scenario S for N extends A { more = 2; }")
    assert found == []
    assert checked is not None
    assert checked.model.name == "N"


def test_missing_targets() -> None:
    assert missing_targets(sound("")) == ["Jobs", "Types", "Slots", "Late", "Fits", "gpus", "time", "weight"]
    assert "Types" not in missing_targets(sound("table Types: gpus = v1 1 ;"))


def test_settings_of_a_solve_are_trees() -> None:
    text = "scenario S for M { } test T { solve S (rule = hard, period = 30[min]); }"
    read = workspace(text)
    solve = read.tests["T"].statements[0]
    found = Diagnostics()
    checked = check_scenario(read, "S", {}, found, settings=solve.settings)  # type: ignore[attr-defined]
    assert list(found) == []
    assert checked is not None
    assert checked.model.options == {"rule": "hard"}
    assert value_of(checked.given["period"][0]) == 0.5


def test_models_are_checked_once_when_a_cache_is_given() -> None:
    read = workspace("scenario S for M { rule = hard; } scenario T extends S { limit = 1; }")
    models: dict = {}
    for name in ("S", "T"):
        assert check_scenario(read, name, {}, Diagnostics(), models=models) is not None
    assert list(models) == [("M", frozenset({("rule", "hard")}))]


# --- which scenario, which model -------------------------------------------------------------------------------------


def test_unknown_scenarios() -> None:
    found = Diagnostics()
    assert check_scenario(workspace("scenario Solo for M { }"), "Sole", {}, found) is None
    [diagnostic] = found
    assert (diagnostic.code, diagnostic.help) == ("GSM1501", "did you mean `Solo`?")
    wrong_text("scenario S extends Bas { } scenario Base for M { }", "GSM1501", "Bas")


def test_circle_of_scenarios() -> None:
    found = wrong_text("scenario S extends A { } scenario A extends B { } scenario B extends A { }", "GSM1502", "B")
    assert found.notes == ("the circle is `A` extends `B` extends `A`",)
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
    assert [what for what, _ in checked.not_yet] == ["`random length`", "`length ~ ...`"]


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
        ("Jobs = { 1.5 };", "GSM1203", "1.5"),
        ("Fits = { a };", "GSM1202", "a"),
        ("Late = 1..3;", "GSM1510", "1..3"),
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
        ("weight[2.5] = 3;", "GSM1508", "2.5"),
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
    assert found.message == "this line of the table has 2 cells, but a row has 3: `Types`, `gpus`, `price`"


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
    assert found.message == "column `price` needs a unit: `price` is declared in `$/h`"
    assert found.help == "write `price[$/h]` if it is in `$/h`"


# --- data statements -------------------------------------------------------------------------------------------------


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
    ],
)
def test_wrong_items(item: str, code: str, at: str) -> None:
    wrong(f'data "a.csv" {{ {item} }}', code, at)


def test_slots_of_times_are_for_a_later_version() -> None:
    checked = sound('data "a.csv" { weight[slot(time, 15[min])] = mean(w); }')
    assert [(what, span.text) for what, span in checked.not_yet] == [("`slot(time, 15[min])`", "slot(time, 15[min])")]
    assert "weight" not in checked.given


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
        ('weight["a"]', "1", "GSM1513", 'weight["a"]=1'),
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
    assert value_of(sound("", limit="3 # three").given["limit"][0]) == 3


# --- circles ---------------------------------------------------------------------------------------------------------


def test_values_given_by_each_other() -> None:
    found = wrong("period = 2 * horizon; horizon = 2 * period;", "GSM1517", "period = 2 * horizon;")
    assert found.notes == ("the circle is `period` -> `horizon` -> `period`",)
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
