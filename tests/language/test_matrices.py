"""Matrices in scenarios: their values are those of the long table; faults name the row, the column or the set."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from gpusched_dsl.compiling.data.instance import build_instance
from gpusched_dsl.compiling.evaluation.store import ValueStore
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import DiagnosticError, Diagnostics
from gpusched_dsl.language.formatting.formatter import format_text
from gpusched_dsl.language.scenarios.scenario import check_scenario
from gpusched_dsl.language.source import Span
from gpusched_dsl.language.workspace import workspace_from_text

MODEL = """
model M {
  set Jobs; set Machines; set Shifts; set Hours = 0..2; set Fits within Jobs cross Machines;
  param time[Jobs, Machines] in h default 9[h];
  param cost[Jobs, Machines, Shifts] default 0;
  param load[Fits, Hours] default 0;
  param best[Jobs, Shifts] within Machines default "m1";
  var x >= 0;
  minimize x;
}
"""
SETS = "Jobs = { a, b, c }; Machines = { m1, m2 }; Shifts = { day, night }; Fits = { (a, m1), (b, m2) };"


def store(given: str, sets: str = SETS) -> ValueStore:
    found = Diagnostics()
    text = f"{MODEL}scenario S for M {{ {sets}\n{given} }}"
    scenario = check_scenario(workspace_from_text(text, "test", found), "S", {}, found)
    found.raise_if_errors()
    assert scenario is not None
    return build_instance(scenario, folder=Path()).store


def wrong(given: str) -> list[tuple[str, str, str]]:
    with pytest.raises(DiagnosticError) as caught:
        store(given)
    return [(d.code, _text(d), d.message) for d in caught.value.diagnostics]


def _text(diagnostic: Diagnostic) -> str:
    assert isinstance(diagnostic.primary, Span)
    return diagnostic.primary.text


def test_matrices_and_slices_give_the_values_of_the_long_table() -> None:
    draw = random.Random(3)
    for _ in range(2):
        values = {(j, m, s): draw.choice([".", ".5", "-2", "7e2"]) for j in "abc" for m in ("m1", "m2") for s in "dn"}
        long = " ".join(f"{j} {m} {_SHIFT[s]} {v}" for (j, m, s), v in values.items())
        cells = {s: " ".join(f"{j} {values[j, 'm1', s]} {values[j, 'm2', s]}" for j in "abc") for s in "dn"}
        by_shift = "".join(f'table cost[Jobs, Machines, "{_SHIFT[s]}"]: m1 m2 = {cells[s]}; ' for s in "dn")
        last = " ".join(f"{j} {m} {values[j, m, 'n']} {values[j, m, 'd']}" for j in "abc" for m in ("m1", "m2"))
        rows = "".join(
            f'table cost["{j}", "{m}", Shifts]: day night = {values[j, m, "d"]} {values[j, m, "n"]}; '
            for j in "abc"
            for m in ("m1", "m2")
        )
        expected = store(f"table Jobs, Machines, Shifts: cost = {long};").params["cost"].values
        for text in (by_shift, f"table cost[Jobs, Machines, Shifts]: night day = {last};", rows):
            assert store(text).params["cost"].values.tolist() == expected.tolist()
            assert store(format_text(f"scenario T for M {{ {text} }}")[18:-2]).params["cost"].values.tolist() == (
                expected.tolist()
            )


_SHIFT = {"d": "day", "n": "night"}


def test_units_elements_and_tuples() -> None:
    made = store(
        "table time[Jobs, Machines] in min: m2 m1 = c 30 .  a 1e2 90;\n"
        "table load[Fits, Hours]: 0 1 2 = b m2 1 2 3;\n"
        "table best[Jobs, Shifts]: day night = a m2 m1  b m2 .;"
    )
    assert made.params["time"].values.tolist() == pytest.approx([1.5, 100 / 60, 9, 9, 9, 0.5])
    assert made.params["load"].values.tolist() == [0, 0, 0, 1, 2, 3]
    assert made.params["best"].values.tolist() == [1, 0, 1, 0, 0, 0]


def test_rows_and_columns_list_their_sets_unless_these_are_given() -> None:
    made = store("table time[Jobs, Machines] in h: m1 z = 4 1 2;", "Shifts = {day}; Fits = {};")
    assert made.universes["Jobs"].labels == (4,)
    assert made.universes["Machines"].labels == ("m1", "z")


@pytest.mark.parametrize(
    ("given", "code", "at", "message"),
    [
        (
            "table time[Jobs, Machines] in h: m1 m2 =\n a 1 2\n b 3\n c 4 5;",
            "GSM1509",
            "b 3",
            "row `b` has 1 value, but",
        ),
        ("table time[Jobs, Machines] in h: m1 m2 =\n a 1 2 3;", "GSM1509", "a 1 2 3", "row `a` has 3 values, but"),
        ("table time[Jobs, Machines] in h: m1 m2 =;", "GSM1509", "time", "the matrix has no rows"),
        ('table time["a", Machines] in h: m1 m2 = 1 2 3;', "GSM1509", "1 2 3", "the only row has 3 values"),
        ("table time[Jobs, Machines] in h: m1 m1 = a 1 2;", "GSM1506", "m1", "column `m1` is given twice"),
        ('table time[Jobs, Machines] in h: m1 = a 1 "a" 2;', "GSM1506", '"a"', 'row `"a"` is given twice'),
        ("table time[Jobs, Machins] in h: m1 = a 1;", "GSM1504", "Machins", "unknown set `Machins`"),
        ("table time[Jobs] in h: m1 = 1;", "GSM1507", "Jobs", "`time` has 2 subscripts, 1 given"),
        ('table time["a", "m1"] in h: m1 = 1;', "GSM1507", '"a", "m1"', "no set runs over the columns"),
        ("table time[Jobs, Jobs] in h: m1 = a 1;", "GSM1508", "Jobs", "subscript 2 of `time` must be"),
        ('table load[Fits, "x"]: m1 = a 1;', "GSM1508", '"x"', "subscript 3 of `load` must be an integer"),
        ("table time[Jobs, Machines]: m1 = a 1;", "GSM1303", "time", "matrix `time` needs a unit"),
        ("table time[Jobs, Machines] in $: m1 = a 1;", "GSM1302", "$", "units do not agree"),
        ("table Jobs[Jobs]: m1 = a;", "GSM1510", "Jobs", "`Jobs` is a set, but a matrix gives"),
        ("table time[Jobs, Machines] in h: m1 m3 = a 1 2;", "GSM2103", "m3", "`m3` is not an element of `Machines`"),
        ('table time["d", Machines] in h: m1 = 1;', "GSM2103", '"d"', "`d` is not an element of `Jobs`"),
        ("table time[Jobs, Machines] in h: m1 m2 = a 1 x;", "GSM2104", "x", "`x`, a value of `time`, is not a number"),
        ("table load[Fits, Hours]: 0 1 = a m2 1 2;", "GSM2103", "a", "2 keys are outside the index set"),
    ],
)
def test_faults_name_the_row_the_column_or_the_set(given: str, code: str, at: str, message: str) -> None:
    [(found, text, told)] = wrong(given)
    assert (found, text) == (code, at)
    assert told.startswith(message)


def test_a_value_in_two_slices_is_refused() -> None:
    twice = 'table cost[Jobs, Machines, "day"]: m1 = a 1; table cost["a", "m1", Shifts]: day = 2;'
    [(code, at, message)] = wrong(twice)
    assert (code, at, message) == ("GSM2102", "2", '`cost["a", "m1", "day"]` is given 2 times')
