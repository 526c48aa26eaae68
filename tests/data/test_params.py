"""Keys and values to parameters: units, defaults, aggregates, patches, and every kind of wrong key or value."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from binding_help import (
    ALL_JOBS,
    ALL_TYPES,
    PAIRS,
    SPARSE,
    TYPES,
    YEARS,
    csv_chunk,
    only,
    param,
    scenario_span,
    told,
)
from found_codes import message_values

from gpusched_dsl.data.chunks import ColumnChunk, FileOrigin, ValueChunk, label_chunk
from gpusched_dsl.data.params import bind_param
from gpusched_dsl.data.sources.tables import read_columns
from gpusched_dsl.ir.domains import IntervalDomain, ProductDomain, ScalarDomain, TupleDomain, Universe
from gpusched_dsl.language.checked import (
    Element,
    Numeric,
    TextType,
)
from gpusched_dsl.language.diagnostics.errors import Diagnostics


def test_values_stand_at_their_keys_in_the_declared_unit(tmp_path: Path) -> None:
    text = "type,job,x\nv2,j3,7200\nv1,j1,3600\nv2,j1,900\n"
    chunk = csv_chunk(tmp_path, text, ("job", "type"), factor=Fraction(1, 3600))
    bound = bind_param(param(), SPARSE, [chunk], None, Diagnostics())
    assert bound.sound
    assert bound.values.tolist() == [1.0, 0.25, 2.0]
    assert bound.values.dtype == np.float64
    assert [str(bound.origin.place(i)) for i in range(3)] == [
        "a.csv:3, column x",
        "a.csv:4, column x",
        "a.csv:2, column x",
    ]


def test_integer_keys_come_in_many_writings(tmp_path: Path) -> None:
    domain = ProductDomain((IntervalDomain(0, 2, 1, YEARS), IntervalDomain(1, 2)))
    text = "year,g,x\n2020,1,1\n2020,2.0,2\n2025.0,1,3\n2025,2,4\n 2030,01,5\n2030 ,+2,6\n"
    bound = bind_param(param(), domain, [csv_chunk(tmp_path, text, ("year", "g"))], None, Diagnostics())
    assert bound.sound
    assert bound.values.tolist() == [1, 2, 3, 4, 5, 6]


def test_integer_columns_find_text_labels() -> None:
    digits = Universe("Jobs", ("1", "x"))
    keys = pl.Series([1, 2])
    found = Diagnostics()
    chunk = ColumnChunk((keys,), pl.Series([5.0, 6.0]), label_chunk([], 1, scenario_span("data")).origin)
    assert not bind_param(param(), IntervalDomain(0, 1, 1, digits), [chunk], np.zeros(2), found).sound
    only(found, "GSM2103", "scenario.gsm:2:8")


def test_defaults_fill_what_is_not_given(tmp_path: Path) -> None:
    chunk = csv_chunk(tmp_path, "job,x\nj2,5\nj3,\n", ("job",))
    bound = bind_param(param(), ALL_JOBS, [chunk], np.array([1.0, 2.0, 3.0]), Diagnostics())
    assert bound.sound
    assert bound.values.tolist() == [1, 5, 3]
    assert str(bound.origin.place(0)) == "model.gsm:1:7"


def test_missing_values_are_counted_with_examples(tmp_path: Path) -> None:
    found = Diagnostics()
    text = "job,type,x\nj1,v1,1\nj2,v2,\n"
    assert not bind_param(param(), PAIRS, [csv_chunk(tmp_path, text, ("job", "type"))], None, found).sound
    message, notes = only(found, "GSM2101", "scenario.gsm:2:1")
    assert message_values(message) == ("time", "5", "6", 'time["j1", "v2"]')
    cell = '`time["j2", "v2"]` (empty: a.csv:3, column x)'
    assert notes == ('`time["j2", "v1"]`', cell, '`time["j3", "v1"]`', "… and 1 more")


def test_an_empty_cell_is_shown_where_it_is(tmp_path: Path) -> None:
    found = Diagnostics()
    chunk = csv_chunk(tmp_path, "job,x\nj1,1\nj2,\nj3,3\n", ("job",))
    assert not bind_param(param(), ALL_JOBS, [chunk], None, found).sound
    message, _ = only(found, "GSM2101", "a.csv:3, column x")
    assert message_values(message) == ('time["j2"]',)


def test_duplicate_keys_show_both_rows(tmp_path: Path) -> None:
    found = Diagnostics()
    text = "job,x\nj1,1\nj2,2\nj3,3\nj2,2\nj1,5\nj1,6\n"
    assert not bind_param(param(), ALL_JOBS, [csv_chunk(tmp_path, text, ("job",))], None, found).sound
    message, notes = only(found, "GSM2102", "a.csv:6, column x")
    assert message_values(message) == ("2", "time", 'time["j1"]')
    assert str(next(iter(found)).secondary[0].place) == "a.csv:2, column x"
    assert notes == ('`time["j2"]` (a.csv:5, column x), first a.csv:3, column x',)


def test_duplicates_across_chunks(tmp_path: Path) -> None:
    found = Diagnostics()
    first = csv_chunk(tmp_path, "job,x\nj1,1\nj2,2\nj3,3\n", ("job",))
    table = label_chunk([("j2",)], 1, scenario_span("data"))
    second = ColumnChunk(table.keys, pl.Series([7]), table.origin)
    assert not bind_param(param(), ALL_JOBS, [first, second], None, found).sound
    only(found, "GSM2102", "scenario.gsm:2:8")


def test_keys_outside(tmp_path: Path) -> None:
    found = Diagnostics()
    text = "job,type,x\nj1,v1,1\nj1,v2,2\nj3,v2,3\nj2,v2,4\nj2,v1,5\nj3,V2,6\nj4,v1,7\n"
    assert not bind_param(param(), SPARSE, [csv_chunk(tmp_path, text, ("job", "type"))], None, found).sound
    assert told(found) == [
        ("GSM2103", "a.csv:8, column job"),
        ("GSM2103", "a.csv:7, column type"),
        ("GSM2103", "a.csv:5, column job"),
    ]
    job, kind, combination = found
    assert message_values(job.message) == ("j4", "Jobs")
    assert kind.help is not None
    assert "`v2`" in kind.help
    assert message_values(combination.message) == ("2", "time", 'time["j2", "v2"]')
    assert combination.notes == ('`time["j2", "v1"]` (a.csv:6, column job)',)


def test_empty_keys(tmp_path: Path) -> None:
    found = Diagnostics()
    chunk = csv_chunk(tmp_path, "job,x\nj1,1\nj2,2\nj3,3\n,4\n", ("job",))
    assert not bind_param(param(), ALL_JOBS, [chunk], None, found).sound
    only(found, "GSM2107", "a.csv:5, column job")


def test_wrong_values_are_told_by_kind_all_at_once(tmp_path: Path) -> None:
    universe = Universe("Jobs", tuple(range(15)))
    cells = ["1", "two", "nan", "inf", "3,5", "-Infinity", "NaN", "1e999", "0x1", "1_000"]
    cells += ["1e-999", "0e-999", "-.05E-400", "0.000", "4e-320"]
    text = "job\tx\n" + "".join(f"{i}\t{c}\n" for i, c in enumerate(cells))
    (tmp_path / "a.tsv").write_text(text)
    file = read_columns(tmp_path, "a.tsv", None, ["job", "x"])
    chunk = ColumnChunk(
        (file.columns["job"],), file.columns["x"], FileOrigin(scenario_span("data"), file, ("job",), "x"), typed=False
    )
    found = Diagnostics()
    assert not bind_param(param(), IntervalDomain(0, 14, 1, universe), [chunk], None, found).sound
    assert told(found) == [
        ("GSM2104", "a.tsv:3, column x"),
        ("GSM2105", "a.tsv:4, column x"),
        ("GSM2106", "a.tsv:5, column x"),
        ("GSM1007", "a.tsv:12, column x"),
    ]
    text_, nan, infinite, small = found
    assert message_values(text_.message) == ("4", "time", "two")
    assert text_.notes[:2] == ("`3,5` (a.tsv:6, column x)", "`0x1` (a.tsv:10, column x)")
    assert nan.message.startswith("2 values")
    assert infinite.message.startswith("3 values")
    assert message_values(small.message) == ("2", "time", "0", "1e-999")
    assert small.notes == ("`-.05E-400` (a.tsv:14, column x)",)


@pytest.mark.parametrize(
    ("kind", "cell", "code"),
    [
        ("integer", "3", None),
        ("integer", "3.0", None),
        ("integer", "1e3", None),
        ("integer", "3.5", "GSM2113"),
        ("binary", "1", None),
        ("binary", "0.0", None),
        ("binary", "TRUE", None),
        ("binary", "2", "GSM2114"),
        ("binary", "yes", "GSM2104"),
        ("real", "true", "GSM2104"),
        ("integer", "true", "GSM2104"),
        ("binary", "0.5", "GSM2114"),
    ],
)
def test_kinds(tmp_path: Path, kind: str, cell: str, code: str | None) -> None:
    found = Diagnostics()
    chunk = csv_chunk(tmp_path, f"job,x\nj1,0\nj2,{cell}\nj3,1\n", ("job",))
    bound = bind_param(param(kind), ALL_JOBS, [chunk], None, found)
    if code is None:
        assert bound.sound
        assert not found
    else:
        only(found, code, "a.csv:3, column x")


def test_kind_is_judged_in_the_declared_unit(tmp_path: Path) -> None:
    chunk = csv_chunk(tmp_path, "job,x\nj1,60\nj2,120\nj3,0\n", ("job",), factor=Fraction(1, 60))
    bound = bind_param(param("integer"), ALL_JOBS, [chunk], None, Diagnostics())
    assert bound.sound
    assert bound.values.tolist() == [1, 2, 0]
    found = Diagnostics()
    half = csv_chunk(tmp_path, "job,x\nj1,60\nj2,90\nj3,0\n", ("job",), factor=Fraction(1, 60))
    assert not bind_param(param("integer"), ALL_JOBS, [half], None, found).sound
    only(found, "GSM2113", "a.csv:3, column x")


def test_symbols(tmp_path: Path) -> None:
    chunk = csv_chunk(tmp_path, "job,x\nj1,K80\nj2,12\nj3,a b\n", ("job",))
    bound = bind_param(param("symbol", TextType()), ALL_JOBS, [chunk], None, Diagnostics())
    assert bound.sound
    assert bound.values.tolist() == ["K80", "12", "a b"]
    assert bound.values.dtype == object


def test_elements_become_codes(tmp_path: Path) -> None:
    chunk = csv_chunk(tmp_path, "job,x\nj1,v2\nj2,v1\nj3,v2\n", ("job",))
    kind = param("element", Element("Types"))
    bound = bind_param(kind, ALL_JOBS, [chunk], None, Diagnostics(), ALL_TYPES)
    assert bound.sound
    assert bound.values.tolist() == [1, 0, 1]
    assert bound.values.dtype == np.int64


def test_wrong_elements(tmp_path: Path) -> None:
    chunk = csv_chunk(tmp_path, "job,x\nj1,v2\nj2,v1\nj3,v7\n", ("job",))
    found = Diagnostics()
    within = TupleDomain((TYPES,), (np.array([1]),))
    assert not bind_param(param("element", Element("Types")), ALL_JOBS, [chunk], None, found, within).sound
    assert told(found) == [("GSM2108", "a.csv:4, column x"), ("GSM2112", "a.csv:3, column x")]


def test_numbers_within_a_set(tmp_path: Path) -> None:
    chunk = csv_chunk(tmp_path, "job,x\nj1,2\nj2,2.5\nj3,9\n", ("job",))
    found = Diagnostics()
    assert not bind_param(param("element", Numeric()), ALL_JOBS, [chunk], None, found, IntervalDomain(1, 4)).sound
    message, _ = only(found, "GSM2112", "a.csv:3, column x")
    assert message.startswith("2 values")


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        ("mean", [2.0, 10.0, 4.0]),
        ("sum", [6.0, 10.0, 4.0]),
        ("min", [1.0, 10.0, 4.0]),
        ("max", [3.0, 10.0, 4.0]),
        ("count", [3.0, 1.0, 1.0]),
        ("first", [1.0, 10.0, 4.0]),
        ("last", [2.0, 10.0, 4.0]),
    ],
)
def test_aggregates(tmp_path: Path, function: str, expected: list[float]) -> None:
    text = "job,x\nj1,1\nj2,10\nj1,3\nj3,4\nj1,2\nj3,\n"
    bound = bind_param(param(), ALL_JOBS, [csv_chunk(tmp_path, text, ("job",), function=function)], None, Diagnostics())
    assert bound.sound
    assert bound.values.tolist() == expected
    assert str(bound.origin.place(0)) == ("a.csv:6, column x" if function == "last" else "a.csv:2, column x")


def test_aggregate_of_all_rows_for_a_scalar(tmp_path: Path) -> None:
    chunk = csv_chunk(tmp_path, "x\n1\n2\n6\n", (), function="mean", factor=Fraction(1, 3))
    bound = bind_param(param(), ScalarDomain(), [chunk], None, Diagnostics())
    assert bound.sound
    assert bound.values.tolist() == [1.0]


def test_scalar_from_a_file_of_several_rows_is_a_duplicate(tmp_path: Path) -> None:
    found = Diagnostics()
    assert not bind_param(param(), ScalarDomain(), [csv_chunk(tmp_path, "x\n1\n2\n", ())], None, found).sound
    message, _ = only(found, "GSM2102", "a.csv:3, column x")
    assert message == "`time` is given 2 times"


def test_aggregates_do_not_swallow_wrong_cells(tmp_path: Path) -> None:
    found = Diagnostics()
    chunk = csv_chunk(tmp_path, "job,x\nj1,1\nj1,x\nj2,nan\nj3,1\n", ("job",), function="mean")
    assert not bind_param(param(), ALL_JOBS, [chunk], None, found).sound
    assert told(found) == [("GSM2104", "a.csv:3, column x"), ("GSM2105", "a.csv:4, column x")]


def test_one_value_for_every_key_and_patches(tmp_path: Path) -> None:
    span = scenario_span("data")
    chunks = [ValueChunk(4.0, span), ValueChunk(9.0, span, ("j2",), 1), ValueChunk(8.0, span, ("j2",), 0)]
    bound = bind_param(param(), ALL_JOBS, chunks, None, Diagnostics())
    assert bound.sound
    assert bound.values.tolist() == [4, 9, 4]


def test_patches_replace_rows(tmp_path: Path) -> None:
    rows = csv_chunk(tmp_path, "job,x\nj1,1\nj2,2\nj3,3\n", ("job",))
    patch = ValueChunk(7.0, scenario_span("data"), ("j3",))
    bound = bind_param(param(), ALL_JOBS, [patch, rows], None, Diagnostics())
    assert bound.sound
    assert bound.values.tolist() == [1, 2, 7]
    assert str(bound.origin.place(2)) == "scenario.gsm:2:8"
    assert str(bound.origin.place(1)) == "a.csv:3, column x"


def test_wrong_patches(tmp_path: Path) -> None:
    found = Diagnostics()
    rows = csv_chunk(tmp_path, "job,x\nj1,1\nj2,2\nj3,3\n", ("job",))
    at = scenario_span
    chunks = [
        rows,
        ValueChunk(1.0, at("j1"), ("j1",)),
        ValueChunk(2.0, at("2"), ("j1",)),
        ValueChunk(2.0, at("data"), ("j7",)),
        ValueChunk(0.5, at("Jobs"), ("j2",)),
    ]
    assert not bind_param(param("integer"), ALL_JOBS, chunks, None, found).sound
    assert told(found) == [
        ("GSM2102", "scenario.gsm:1:14"),
        ("GSM2103", "scenario.gsm:2:8"),
        ("GSM2113", "scenario.gsm:1:1"),
    ]


def test_values_of_expressions_are_checked() -> None:
    found = Diagnostics()
    assert not bind_param(param(), ScalarDomain(), [ValueChunk(float("nan"), scenario_span("data"))], None, found).sound
    only(found, "GSM2105", "scenario.gsm:2:8")


def test_element_and_symbol_from_expressions() -> None:
    bound = bind_param(
        param("element", Element("Types")),
        ScalarDomain(),
        [ValueChunk("v2", scenario_span("data"))],
        None,
        Diagnostics(),
        ALL_TYPES,
    )
    assert bound.sound
    assert bound.values.tolist() == [1]
    text = bind_param(
        param("symbol", TextType()), ScalarDomain(), [ValueChunk("x", scenario_span("data"))], None, Diagnostics()
    )
    assert text.sound
    assert text.values.tolist() == ["x"]
