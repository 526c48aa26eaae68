"""Scenarios against their model: their values, and replacements of values."""

from __future__ import annotations

from fractions import Fraction

import pytest
from scenario_help import check, labels, place, sound, value_of, workspace

import gpusched_dsl as gs
from gpusched_dsl.language.checked import TypedExpr
from gpusched_dsl.language.diagnostics.diagnostic import Severity
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.scenarios.assignments import ExpressionAssignment, FileAssignment, TableAssignment
from gpusched_dsl.language.scenarios.scenario import check_scenario, missing_targets

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
    [given] = sound(body).assignments[target]
    assert value_of(given) == pytest.approx(expected)
    assert given.span.text == body


def test_values_may_be_expressions_over_data() -> None:
    checked = sound("period = 2 * horizon;")
    [given] = checked.assignments["period"]
    assert isinstance(given, ExpressionAssignment)
    assert isinstance(given.value, TypedExpr)
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
    [given] = sound(body).assignments[body.split()[0]]
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
    assert isinstance(sound(body).assignments[target][0], ExpressionAssignment)


def test_table_gives_its_set_and_its_columns() -> None:
    checked = sound("table Types: gpus price[$/h] = v1 4 0.2  v2 8 . ;")
    types, gpus, price = (checked.assignments[n][0] for n in ("Types", "gpus", "price"))
    assert isinstance(types, TableAssignment)
    assert isinstance(gpus, TableAssignment)
    assert isinstance(price, TableAssignment)
    assert (types.column, gpus.column, price.column) == (None, 0, 1)
    assert (price.keys, price.width, price.factor) == (1, 3, 1)
    assert price.span.text == "price[$/h]"


def test_a_set_of_its_own_comes_before_the_keys_of_a_table() -> None:
    checked = sound("Types = { v1, v2 }; table Types: gpus = v1 4 ;")
    assert isinstance(checked.assignments["Types"][0], ExpressionAssignment)


def test_tables_with_several_keys() -> None:
    checked = sound("table Jobs, Types: time[min] = j1 v1 30 ;")
    [given] = checked.assignments["time"]
    assert isinstance(given, TableAssignment)
    assert (given.keys, given.factor) == (2, Fraction(1, 60))
    assert "Jobs" not in checked.assignments


def test_tables_keyed_by_a_tuple_set() -> None:
    [given] = sound("table Pairs: time[h] = j1 v1 30 ;").assignments["time"]
    assert isinstance(given, TableAssignment)
    assert given.keys == 2


def test_table_gives_a_subset() -> None:
    assert isinstance(sound("table Late: weight = j1 3 ;").assignments["Late"][0], TableAssignment)


def test_rows_may_share_a_line_or_go_on_over_several() -> None:
    assert sound("table Types: gpus price[$/h] = v1 4 0.2 v2 8 0.3\nv3 1 0.4 ;").assignments["gpus"]
    assert sound("table Types: gpus price[$/h] = v1 4\n 0.2\n v2\n 8 0.3 ;").assignments["gpus"]


def test_data_statements() -> None:
    checked = sound(
        'data "a.csv" { Jobs = distinct(job); Fits = (job, "the type"); time[job, type] = seconds[s]; '
        "weight[job] = mean(w); period = sum(minutes[min]); count_of[job] = count(w); name = first(n); }"
    )
    jobs, fits, time, weight, period, count, name = (
        checked.assignments[n][0] for n in ("Jobs", "Fits", "time", "weight", "period", "count_of", "name")
    )
    assert all(isinstance(g, FileAssignment) for g in (jobs, fits, time, weight, period, count, name))
    assert isinstance(jobs, FileAssignment)
    assert (jobs.keys, jobs.value, jobs.distinct) == (("job",), None, True)
    assert isinstance(fits, FileAssignment)
    assert fits.keys == ("job", "the type")
    assert isinstance(time, FileAssignment)
    assert (time.keys, time.value, time.factor, time.function) == (("job", "type"), "seconds", Fraction(1, 3600), None)
    assert isinstance(weight, FileAssignment)
    assert weight.function == "mean"
    assert isinstance(period, FileAssignment)
    assert (period.keys, period.factor) == ((), Fraction(1, 60))
    assert time.span.text == "time[job, type] = seconds[s];"


def test_tables_and_files_may_share_a_parameter() -> None:
    checked = sound('table Types: gpus = v1 4 ; data "a.csv" { gpus[type] = n; }')
    assert [type(g) for g in checked.assignments["gpus"]] == [TableAssignment, FileAssignment]


def test_patches_come_after_what_they_patch() -> None:
    checked = sound('weight["j2"] = 4; table Jobs: weight = j1 1  j2 2 ; weight[j1] = 3;')
    table, *patches = checked.assignments["weight"]
    assert isinstance(table, TableAssignment)
    assert [value_of(p) for p in patches] == [4, 3]
    assert [p.subscripts[0].text for p in patches] == ["j2", "j1"]  # type: ignore[attr-defined, union-attr]
    assert all(p.patch for p in patches)


def test_units_of_time_per_thing_are_read_as_durations_with_a_warning() -> None:
    checked, found = check("scenario S for M { table Types: latency[min/request] = v1 2 ; }")
    assert checked is not None
    assert [(d.code, d.severity, place(d)) for d in found] == [("GSM1304", Severity.WARNING, "min/request")]
    given = checked.assignments["latency"][0]
    assert isinstance(given, TableAssignment)
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
    assert value_of(b.assignments["period"][0]) == 2
    assert [g.level for g in b.assignments["weight"]] == [0, 0, 1]
    assert b.model.options == {"rule": "hard"}
    assert "strict" in b.model.params
    d, _ = check(CHAIN, "D")
    assert d is not None
    assert [(value_of(g), g.patch, g.level) for g in d.assignments["weight"]] == [(4, False, 2), (7, True, 3)]
    assert d.model.options == {"rule": "soft"}
    assert labels(d.assignments["Jobs"][0]) == ["a", "b"]
    assert (d.name, d.model.name) == ("D", "M")


def test_settings_come_last() -> None:
    checked, found = check(CHAIN, "D", rule="hard", period="90[min]", name="x", strict="2")
    assert found == []
    assert checked is not None
    assert checked.model.options == {"rule": "hard"}
    assert value_of(checked.assignments["period"][0]) == 1.5
    assert value_of(checked.assignments["name"][0]) == "x"
    assert value_of(checked.assignments["strict"][0]) == 2


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
    assert value_of(checked.assignments["period"][0]) == 0.5


def test_a_model_is_checked_once_for_each_choice_of_options() -> None:
    read = workspace("scenario S for M { rule = hard; } scenario T extends S { limit = 1; }")
    first, second = (check_scenario(read, name, {}, Diagnostics()) for name in ("S", "T"))
    assert first is not None
    assert second is not None
    assert first.model.constraints is second.model.constraints
    assert list(read.checked) == [("M", (("rule", "hard"),))]


@pytest.mark.parametrize(
    ("given", "total"), [("2..4", 9), ("1..8 by 3", 12), ("{ 2, 4 }", 6), ("2..3 union { 8 }", 13)]
)
def test_labels_that_are_numbers_may_be_ranges(given: str, total: float) -> None:
    """A subset of a set with numbers as labels takes a range, like its set; also at an index."""
    text = (
        "model M { set Slots; set Peak within Slots; set Own[Slots] within Slots; param v[Slots]; var x >= 0; "
        "minimize c: x + sum[s in Peak] v[s] + sum[s in Own[2]] 0; }"
        f"scenario S for M {{ Slots = 1..8; Peak = {given}; Own[s in Slots] = 1..2; v = [1, 2, 3, 4, 5, 6, 7, 8]; }}"
    )
    assert gs.loads(text).solve("S").objective == total
