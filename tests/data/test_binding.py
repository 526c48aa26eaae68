"""Binding what is given to sets and parameters: values, places, and every kind of wrong key or value."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from gpusched_dsl.data.binding import (
    ColumnPiece,
    FileReader,
    ParamOrigin,
    ValuePiece,
    bind_param,
    bind_root_set,
    bind_set,
    label_piece,
    literal_piece,
    read_given,
    report_failed_check,
    report_out_of_range,
)
from gpusched_dsl.data.pieces import FileOrigin
from gpusched_dsl.data.tables import read_columns
from gpusched_dsl.ir.domains import Interval, Product, Scalars, Tuples, Universe
from gpusched_dsl.language import tree
from gpusched_dsl.language.checked import (
    CheckedBound,
    CheckedCheck,
    CheckedParam,
    CheckedSet,
    Constant,
    Element,
    IndexingCore,
    IndexVar,
    Iterator,
    Label,
    LiteralSet,
    NamedSet,
    Numeric,
    TextType,
    ValueType,
)
from gpusched_dsl.language.diagnostics import Cell, Diagnostics
from gpusched_dsl.language.given import FileGiven, TableGiven
from gpusched_dsl.language.source import Source, Span

MODEL = Source("model.gsm", "param time[Jobs, Types] in h >= 0 <= 24; set Jobs; check: time >= 0;\n")
SCENARIO = Source("scenario.gsm", "Jobs = { j1, 2 };\ntime = data;\n")


def model_span(text: str) -> Span:
    start = MODEL.text.index(text)
    return MODEL.span(start, start + len(text))


def scenario_span(text: str) -> Span:
    start = SCENARIO.text.index(text)
    return SCENARIO.span(start, start + len(text))


JOBS = Universe("Jobs", ("j1", "j2", "j3"))
TYPES = Universe("Types", ("v1", "v2"))
YEARS = Universe("Years", (2020, 2025, 2030))
ALL_JOBS = Interval(0, 2, 1, JOBS)
ALL_TYPES = Interval(0, 1, 1, TYPES)
PAIRS = Product((ALL_JOBS, ALL_TYPES))
SPARSE = Tuples((JOBS, TYPES), (np.array([0, 0, 2]), np.array([0, 1, 1])))


def param(kind: str = "real", type_: ValueType | None = None) -> CheckedParam:
    var = IndexVar("j", Element("Jobs"), model_span("Jobs"))
    domain = NamedSet(span=model_span("Jobs"), types=(Element("Jobs"),), name="Jobs")
    indexing = IndexingCore((Iterator((var,), domain, model_span("Jobs, Types")),))
    return CheckedParam("time", model_span("time"), type_ or Numeric(), kind, indexing)


def a_set(name: str = "Jobs", types: tuple[ValueType, ...] = (Element("Jobs"),)) -> CheckedSet:
    return CheckedSet(name, model_span("set Jobs"), types, name)


def csv_piece(
    tmp_path: Path, text: str, keys: tuple[str, ...], value: str | None = "x", **options: object
) -> ColumnPiece:
    (tmp_path / "a.csv").write_text(text)
    file = read_columns(tmp_path, "a.csv", None, [*keys, *([value] if value else [])])
    origin = FileOrigin(scenario_span("time = data;"), file, keys, value)
    return ColumnPiece(
        tuple(file.columns[k] for k in keys), file.columns[value] if value else None, origin, typed=False, **options
    )  # type: ignore[arg-type]


def told(diagnostics: Diagnostics) -> list[tuple[str, str]]:
    return [(d.code, str(d.primary)) for d in diagnostics]


def only(diagnostics: Diagnostics, code: str, place: str) -> tuple[str, tuple[str, ...]]:
    assert told(diagnostics) == [(code, place)]
    [found] = diagnostics
    return found.message, found.notes


# --- root sets -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cells", "labels"),
    [
        (["j2", "j1"], ("j2", "j1")),
        (["10", "9"], (10, 9)),
        (["10", "9", "x"], ("10", "9", "x")),
        (["07", "8"], ("07", "8")),
        (["1.0", "2"], ("1.0", "2")),
        (["-3", "0"], (-3, 0)),
        (["99999999999999999999", "1"], ("99999999999999999999", "1")),
        ([], ()),
    ],
)
def test_labels_of_text_files(tmp_path: Path, cells: list[str], labels: tuple[object, ...]) -> None:
    found = Diagnostics()
    piece = csv_piece(tmp_path, "\n".join(["job", *cells]), ("job",), None)
    universe = bind_root_set(a_set(), [piece], found)
    assert not found
    assert universe is not None
    assert universe.labels == labels
    assert universe.name == "Jobs"


def test_labels_from_two_pieces_keep_their_order(tmp_path: Path) -> None:
    found = Diagnostics()
    pieces = [csv_piece(tmp_path, "job\n3\n1\n", ("job",), None), label_piece([(2,)], 1, scenario_span("2"))]
    universe = bind_root_set(a_set(), pieces, found)
    assert universe is not None
    assert universe.labels == (3, 1, 2)


def test_float_columns_of_whole_numbers_are_integer_labels() -> None:
    piece = label_piece([(1,), (2,)], 1, scenario_span("2"))
    floats = ColumnPiece((piece.keys[0].cast(pl.Float64),), None, piece.origin)
    universe = bind_root_set(a_set(), [floats], Diagnostics())
    assert universe is not None
    assert universe.labels == (1, 2)


def literal(*items: Label | Constant) -> LiteralSet:
    return LiteralSet(span=scenario_span("{ j1, 2 }"), types=(Element("Jobs"),), rows=tuple((i,) for i in items))


def label(text: str) -> Label:
    return Label(span=scenario_span(text), type=Element("Jobs"), text=text)


def number(text: str) -> Constant:
    return Constant(span=scenario_span(text), type=Numeric(integer=True), value=float(text))


def test_literal_labels() -> None:
    piece = literal_piece(literal(label("j1"), label("data")), scenario_span("Jobs = { j1, 2 };"))
    assert piece is not None
    universe = bind_root_set(a_set(), [piece], Diagnostics())
    assert universe is not None
    assert universe.labels == ("j1", "data")


def test_mixed_labels_are_told_at_the_odd_one() -> None:
    found = Diagnostics()
    piece = literal_piece(literal(label("j1"), number("2")), scenario_span("Jobs"))
    assert piece is not None
    assert bind_root_set(a_set(), [piece], found) is None
    only(found, "GSM2111", "scenario.gsm:1:14")
    assert str(next(iter(found)).secondary[0].place) == "scenario.gsm:1:10"


def test_pieces_of_different_kinds_are_mixed() -> None:
    found = Diagnostics()
    pieces = [label_piece([("a",)], 1, scenario_span("j1")), label_piece([(1,)], 1, scenario_span("2"))]
    assert bind_root_set(a_set(), pieces, found) is None
    only(found, "GSM2111", "scenario.gsm:1:14")


def test_repeated_labels(tmp_path: Path) -> None:
    found = Diagnostics()
    piece = csv_piece(tmp_path, "job\na\nb\na\nb\na\n", ("job",), None)
    assert bind_root_set(a_set(), [piece], found) is None
    message, notes = only(found, "GSM2110", "a.csv:4, column job")
    assert message.startswith("3 elements of `Jobs`")
    assert notes == (
        '"b" (a.csv:5, column job), first a.csv:3, column job',
        '"a" (a.csv:6, column job), first a.csv:2, column job',
    )


def test_repeats_may_be_allowed(tmp_path: Path) -> None:
    universe = bind_root_set(
        a_set(), [csv_piece(tmp_path, "job\na\nb\na\n", ("job",), None, distinct=True)], Diagnostics()
    )
    assert universe is not None
    assert universe.labels == ("a", "b")


def test_empty_labels(tmp_path: Path) -> None:
    found = Diagnostics()
    assert bind_root_set(a_set(), [csv_piece(tmp_path, "job,y\na,1\n,2\n", ("job",), None)], found) is None
    only(found, "GSM2107", "a.csv:3, column job")


def test_nothing_given() -> None:
    found = Diagnostics()
    assert bind_root_set(a_set(), [], found) is None
    assert bind_set(a_set(), (JOBS,), [], found) is None
    assert bind_param(param(), ALL_JOBS, [], None, found) is None
    assert [d.code for d in found] == ["GSM2115", "GSM2115"]  # the two sets read alike


# --- subsets and tuple sets ------------------------------------------------------------------------------------------


def test_tuple_set(tmp_path: Path) -> None:
    piece = csv_piece(tmp_path, "job,g\nj3,2\nj1,4\n", ("job", "g"), None)
    domain = bind_set(a_set(), (JOBS, None), [piece], Diagnostics())
    assert domain is not None
    assert domain.label_columns() == [["j3", "j1"], [2, 4]]


def test_tuple_set_findings(tmp_path: Path) -> None:
    found = Diagnostics()
    text = "job,g\nj1,1\nj9,2\nj2,two\nj2,2.0\nj2,2\n,3\nj8,1\nj9,7\n"
    assert bind_set(a_set(), (JOBS, None), [csv_piece(tmp_path, text, ("job", "g"), None)], found) is None
    assert told(found) == [
        ("GSM2107", "a.csv:7, column job"),
        ("GSM2103", "a.csv:3, column job"),
        ("GSM2103", "a.csv:4, column g"),
        ("GSM2110", "a.csv:6, column job"),
    ]
    unknown = list(found)[1]
    assert unknown.message == "2 labels are no elements of `Jobs`, such as `j9`"
    assert unknown.notes == ("`j8` (a.csv:8, column job)", "3 rows are concerned")


def test_subset_within_another(tmp_path: Path) -> None:
    found = Diagnostics()
    within = Tuples((JOBS,), (np.array([0, 2]),))
    piece = csv_piece(tmp_path, "job\nj1\nj2\n", ("job",), None)
    assert bind_set(a_set("Late"), (JOBS,), [piece], found, within) is None
    only(found, "GSM2112", "a.csv:3, column job")


def test_very_wide_integer_tuples(tmp_path: Path) -> None:
    big = 10**17
    text = "a,b,c\n" + "".join(f"{i * big},{-i * big},{i}\n" for i in (1, 5, 3, 5))
    found = Diagnostics()
    assert bind_set(a_set(), (None, None, None), [csv_piece(tmp_path, text, ("a", "b", "c"), None)], found) is None
    only(found, "GSM2110", "a.csv:5, column a")


# --- parameters ------------------------------------------------------------------------------------------------------


def test_values_stand_at_their_keys_in_the_declared_unit(tmp_path: Path) -> None:
    text = "type,job,x\nv2,j3,7200\nv1,j1,3600\nv2,j1,900\n"
    piece = csv_piece(tmp_path, text, ("job", "type"), factor=Fraction(1, 3600))
    bound = bind_param(param(), SPARSE, [piece], None, Diagnostics())
    assert bound is not None
    assert bound.values.tolist() == [1.0, 0.25, 2.0]
    assert bound.values.dtype == np.float64
    assert [str(bound.origin.place(i)) for i in range(3)] == [
        "a.csv:3, column x",
        "a.csv:4, column x",
        "a.csv:2, column x",
    ]


def test_integer_keys_come_in_many_writings(tmp_path: Path) -> None:
    domain = Product((Interval(0, 2, 1, YEARS), Interval(1, 2)))
    text = "year,g,x\n2020,1,1\n2020,2.0,2\n2025.0,1,3\n2025,2,4\n 2030,01,5\n2030 ,+2,6\n"
    bound = bind_param(param(), domain, [csv_piece(tmp_path, text, ("year", "g"))], None, Diagnostics())
    assert bound is not None
    assert bound.values.tolist() == [1, 2, 3, 4, 5, 6]


def test_integer_columns_find_text_labels() -> None:
    digits = Universe("Jobs", ("1", "x"))
    keys = pl.Series([1, 2])
    found = Diagnostics()
    piece = ColumnPiece((keys,), pl.Series([5.0, 6.0]), label_piece([], 1, scenario_span("data")).origin)
    assert bind_param(param(), Interval(0, 1, 1, digits), [piece], np.zeros(2), found) is None
    only(found, "GSM2103", "scenario.gsm:2:8")


def test_defaults_fill_what_is_not_given(tmp_path: Path) -> None:
    piece = csv_piece(tmp_path, "job,x\nj2,5\nj3,\n", ("job",))
    bound = bind_param(param(), ALL_JOBS, [piece], np.array([1.0, 2.0, 3.0]), Diagnostics())
    assert bound is not None
    assert bound.values.tolist() == [1, 5, 3]
    assert str(bound.origin.place(0)) == "model.gsm:1:7"


def test_missing_values_are_counted_with_examples(tmp_path: Path) -> None:
    found = Diagnostics()
    text = "job,type,x\nj1,v1,1\nj2,v2,\n"
    assert bind_param(param(), PAIRS, [csv_piece(tmp_path, text, ("job", "type"))], None, found) is None
    message, notes = only(found, "GSM2101", "scenario.gsm:2:1")
    assert message == '`time` has no value for 5 of its 6 keys, such as `time["j1", "v2"]`'
    assert notes == ('`time["j2", "v1"]`', '`time["j2", "v2"]`', '`time["j3", "v1"]`', "… and 1 more")


def test_duplicate_keys_show_both_rows(tmp_path: Path) -> None:
    found = Diagnostics()
    text = "job,x\nj1,1\nj2,2\nj3,3\nj2,2\nj1,5\nj1,6\n"
    assert bind_param(param(), ALL_JOBS, [csv_piece(tmp_path, text, ("job",))], None, found) is None
    message, notes = only(found, "GSM2102", "a.csv:6, column x")
    assert message == '2 values of `time` are given more than once, such as `time["j1"]`'
    assert str(next(iter(found)).secondary[0].place) == "a.csv:2, column x"
    assert notes == ('`time["j2"]` (a.csv:5, column x), first a.csv:3, column x',)


def test_duplicates_across_pieces(tmp_path: Path) -> None:
    found = Diagnostics()
    first = csv_piece(tmp_path, "job,x\nj1,1\nj2,2\nj3,3\n", ("job",))
    table = label_piece([("j2",)], 1, scenario_span("data"))
    second = ColumnPiece(table.keys, pl.Series([7]), table.origin)
    assert bind_param(param(), ALL_JOBS, [first, second], None, found) is None
    only(found, "GSM2102", "scenario.gsm:2:8")


def test_keys_outside(tmp_path: Path) -> None:
    found = Diagnostics()
    text = "job,type,x\nj1,v1,1\nj1,v2,2\nj3,v2,3\nj2,v2,4\nj2,v1,5\nj3,V2,6\nj4,v1,7\n"
    assert bind_param(param(), SPARSE, [csv_piece(tmp_path, text, ("job", "type"))], None, found) is None
    assert told(found) == [
        ("GSM2103", "a.csv:8, column job"),
        ("GSM2103", "a.csv:7, column type"),
        ("GSM2103", "a.csv:5, column job"),
    ]
    job, kind, combination = found
    assert job.message == "`j4` is no element of `Jobs`"
    assert kind.help is not None
    assert "`v2`" in kind.help
    assert combination.message == '2 keys are outside the index set of `time`, such as `time["j2", "v2"]`'
    assert combination.notes == ('`time["j2", "v1"]` (a.csv:6, column job)',)


def test_empty_keys(tmp_path: Path) -> None:
    found = Diagnostics()
    piece = csv_piece(tmp_path, "job,x\nj1,1\nj2,2\nj3,3\n,4\n", ("job",))
    assert bind_param(param(), ALL_JOBS, [piece], None, found) is None
    only(found, "GSM2107", "a.csv:5, column job")


def test_wrong_values_are_told_by_kind_all_at_once(tmp_path: Path) -> None:
    universe = Universe("Jobs", tuple(range(10)))
    cells = ["1", "two", "nan", "inf", "3,5", "-Infinity", "NaN", "1e999", "0x1", "1_000"]
    text = "job\tx\n" + "".join(f"{i}\t{c}\n" for i, c in enumerate(cells))
    (tmp_path / "a.tsv").write_text(text)
    file = read_columns(tmp_path, "a.tsv", None, ["job", "x"])
    piece = ColumnPiece(
        (file.columns["job"],), file.columns["x"], FileOrigin(scenario_span("data"), file, ("job",), "x"), typed=False
    )
    found = Diagnostics()
    assert bind_param(param(), Interval(0, 9, 1, universe), [piece], None, found) is None
    assert told(found) == [
        ("GSM2104", "a.tsv:3, column x"),
        ("GSM2105", "a.tsv:4, column x"),
        ("GSM2106", "a.tsv:5, column x"),
    ]
    text_, nan, infinite = found
    assert text_.message == "4 values of `time` are not numbers, such as `two`"
    assert text_.notes[:2] == ("`3,5` (a.tsv:6, column x)", "`0x1` (a.tsv:10, column x)")
    assert nan.message.startswith("2 values")
    assert infinite.message.startswith("3 values")


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
    piece = csv_piece(tmp_path, f"job,x\nj1,0\nj2,{cell}\nj3,1\n", ("job",))
    bound = bind_param(param(kind), ALL_JOBS, [piece], None, found)
    if code is None:
        assert bound is not None
        assert not found
    else:
        only(found, code, "a.csv:3, column x")


def test_kind_is_judged_in_the_declared_unit(tmp_path: Path) -> None:
    piece = csv_piece(tmp_path, "job,x\nj1,60\nj2,120\nj3,0\n", ("job",), factor=Fraction(1, 60))
    bound = bind_param(param("integer"), ALL_JOBS, [piece], None, Diagnostics())
    assert bound is not None
    assert bound.values.tolist() == [1, 2, 0]
    found = Diagnostics()
    half = csv_piece(tmp_path, "job,x\nj1,60\nj2,90\nj3,0\n", ("job",), factor=Fraction(1, 60))
    assert bind_param(param("integer"), ALL_JOBS, [half], None, found) is None
    only(found, "GSM2113", "a.csv:3, column x")


def test_symbols(tmp_path: Path) -> None:
    piece = csv_piece(tmp_path, "job,x\nj1,K80\nj2,12\nj3,a b\n", ("job",))
    bound = bind_param(param("symbol", TextType()), ALL_JOBS, [piece], None, Diagnostics())
    assert bound is not None
    assert bound.values.tolist() == ["K80", "12", "a b"]
    assert bound.values.dtype == object


def test_elements_become_codes(tmp_path: Path) -> None:
    piece = csv_piece(tmp_path, "job,x\nj1,v2\nj2,v1\nj3,v2\n", ("job",))
    kind = param("element", Element("Types"))
    bound = bind_param(kind, ALL_JOBS, [piece], None, Diagnostics(), ALL_TYPES)
    assert bound is not None
    assert bound.values.tolist() == [1, 0, 1]
    assert bound.values.dtype == np.int64


def test_wrong_elements(tmp_path: Path) -> None:
    piece = csv_piece(tmp_path, "job,x\nj1,v2\nj2,v1\nj3,v7\n", ("job",))
    found = Diagnostics()
    within = Tuples((TYPES,), (np.array([1]),))
    assert bind_param(param("element", Element("Types")), ALL_JOBS, [piece], None, found, within) is None
    assert told(found) == [("GSM2108", "a.csv:4, column x"), ("GSM2112", "a.csv:3, column x")]


def test_numbers_within_a_set(tmp_path: Path) -> None:
    piece = csv_piece(tmp_path, "job,x\nj1,2\nj2,2.5\nj3,9\n", ("job",))
    found = Diagnostics()
    assert bind_param(param("element", Numeric()), ALL_JOBS, [piece], None, found, Interval(1, 4)) is None
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
    bound = bind_param(param(), ALL_JOBS, [csv_piece(tmp_path, text, ("job",), function=function)], None, Diagnostics())
    assert bound is not None
    assert bound.values.tolist() == expected
    assert str(bound.origin.place(0)) == ("a.csv:6, column x" if function == "last" else "a.csv:2, column x")


def test_aggregate_of_all_rows_for_a_scalar(tmp_path: Path) -> None:
    piece = csv_piece(tmp_path, "x\n1\n2\n6\n", (), function="mean", factor=Fraction(1, 3))
    bound = bind_param(param(), Scalars(), [piece], None, Diagnostics())
    assert bound is not None
    assert bound.values.tolist() == [1.0]


def test_scalar_from_a_file_of_several_rows_is_a_duplicate(tmp_path: Path) -> None:
    found = Diagnostics()
    assert bind_param(param(), Scalars(), [csv_piece(tmp_path, "x\n1\n2\n", ())], None, found) is None
    message, _ = only(found, "GSM2102", "a.csv:3, column x")
    assert message == "`time` is given 2 times"


def test_aggregates_do_not_swallow_wrong_cells(tmp_path: Path) -> None:
    found = Diagnostics()
    piece = csv_piece(tmp_path, "job,x\nj1,1\nj1,x\nj2,nan\nj3,1\n", ("job",), function="mean")
    assert bind_param(param(), ALL_JOBS, [piece], None, found) is None
    assert told(found) == [("GSM2104", "a.csv:3, column x"), ("GSM2105", "a.csv:4, column x")]


def test_one_value_for_every_key_and_patches(tmp_path: Path) -> None:
    span = scenario_span("data")
    pieces = [ValuePiece(4.0, span), ValuePiece(9.0, span, ("j2",), 1), ValuePiece(8.0, span, ("j2",), 0)]
    bound = bind_param(param(), ALL_JOBS, pieces, None, Diagnostics())
    assert bound is not None
    assert bound.values.tolist() == [4, 9, 4]


def test_patches_replace_rows(tmp_path: Path) -> None:
    rows = csv_piece(tmp_path, "job,x\nj1,1\nj2,2\nj3,3\n", ("job",))
    patch = ValuePiece(7.0, scenario_span("data"), ("j3",))
    bound = bind_param(param(), ALL_JOBS, [patch, rows], None, Diagnostics())
    assert bound is not None
    assert bound.values.tolist() == [1, 2, 7]
    assert str(bound.origin.place(2)) == "scenario.gsm:2:8"
    assert str(bound.origin.place(1)) == "a.csv:3, column x"


def test_wrong_patches(tmp_path: Path) -> None:
    found = Diagnostics()
    rows = csv_piece(tmp_path, "job,x\nj1,1\nj2,2\nj3,3\n", ("job",))
    at = scenario_span
    pieces = [
        rows,
        ValuePiece(1.0, at("j1"), ("j1",)),
        ValuePiece(2.0, at("2"), ("j1",)),
        ValuePiece(2.0, at("data"), ("j7",)),
        ValuePiece(0.5, at("Jobs"), ("j2",)),
    ]
    assert bind_param(param("integer"), ALL_JOBS, pieces, None, found) is None
    assert told(found) == [
        ("GSM2102", "scenario.gsm:1:14"),
        ("GSM2103", "scenario.gsm:2:8"),
        ("GSM2113", "scenario.gsm:1:1"),
    ]


def test_values_of_expressions_are_checked() -> None:
    found = Diagnostics()
    assert bind_param(param(), Scalars(), [ValuePiece(float("nan"), scenario_span("data"))], None, found) is None
    only(found, "GSM2105", "scenario.gsm:2:8")


def test_element_and_symbol_from_expressions() -> None:
    bound = bind_param(
        param("element", Element("Types")),
        Scalars(),
        [ValuePiece("v2", scenario_span("data"))],
        None,
        Diagnostics(),
        ALL_TYPES,
    )
    assert bound is not None
    assert bound.values.tolist() == [1]
    text = bind_param(
        param("symbol", TextType()), Scalars(), [ValuePiece("x", scenario_span("data"))], None, Diagnostics()
    )
    assert text is not None
    assert text.values.tolist() == ["x"]


# --- tables and files of a scenario ----------------------------------------------------------------------------------

TEXT = """table Types: gpus price[$/h] = v1 4 0.2 1 8 . ;
data "a.csv" { time[job, kind] = hours; Jobs = job; cost[job] = price; }
"""


def table_given(source: Source, column: int | None) -> TableGiven:
    def span(text: str, start: int = 0) -> Span:
        at = source.text.index(text, start)
        return source.span(at, at + len(text))

    body = source.text.index("=")
    cells: list[tree.TableCell] = []
    at = body + 1
    for text, value in (("v1", "v1"), ("4", 4.0), ("0.2", 0.2), ("1", 1.0), ("8", 8.0), (".", None)):
        cell = span(text, at)
        at = cell.end
        cells.append(tree.TableCell(span=cell, value=value))
    columns = tuple(
        tree.TableColumn(span=span(n), name=tree.Identifier(span=span(n), text=n)) for n in ("gpus", "price")
    )
    keys = (tree.Identifier(span=span("Types"), text="Types"),)
    table = tree.Table(span=source.span(0, body), keys=keys, columns=columns, cells=tuple(cells))
    return TableGiven(target="price", span=table.span, table=table, keys=1, column=column)


def test_table_column(tmp_path: Path) -> None:
    source = Source("s.gsm", TEXT)
    found = Diagnostics()
    piece = read_given(table_given(source, 1), FileReader(tmp_path), found)
    assert piece is not None
    assert piece.values is not None
    assert piece.values.to_list() == [0.2, None]
    assert piece.keys[0].to_list() == ["v1", "1"]
    assert str(piece.origin.place(0)) == "s.gsm:1:37"
    assert bind_root_set(a_set("Types"), [piece], found) is None
    only(found, "GSM2111", "s.gsm:1:41")


def file_given(source: Source, target: str, keys: tuple[str, ...], value: str | None, path: str = "a.csv") -> FileGiven:
    def span(text: str) -> Span:
        at = source.text.index(text)
        return source.span(at, at + len(text))

    item = tree.DataItem(
        span=span(f"{target}["),
        target=tree.Identifier(span=span(target), text=target),
        keys=tuple(tree.DataKey(span=span(k), column=k) for k in keys),
        columns=(tree.DataColumn(span=span(value), name=value),) if value else (),
    )
    data = tree.Data(span=span("data"), path=tree.Text(span=span('"a.csv"'), value=path), items=(item,))
    return FileGiven(target=target, span=item.span, data=data, item=item, keys=keys, value=value)


def test_a_file_is_read_once_for_all_its_items(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.csv").write_text("job,kind,hours,price\nj1,v1,2,3\n")
    source = Source("s.gsm", TEXT, tmp_path / "s.gsm")
    givens = [file_given(source, "time", ("job", "kind"), "hours"), file_given(source, "cost", ("job",), "price")]
    reader = FileReader(Path("/nowhere"))
    reader.expect(givens)
    calls = []
    import gpusched_dsl.data.reading as reading

    original = reading.read_located
    monkeypatch.setattr(reading, "read_located", lambda *a: calls.append(a) or original(*a))
    found = Diagnostics()
    pieces = [read_given(g, reader, found) for g in givens]
    assert len(calls) == 1
    assert not found
    assert [p.values.to_list() for p in pieces if p is not None and p.values is not None] == [["2"], ["3"]]
    assert list(reader.hashes) == ["a.csv"]


def test_columns_that_lack_are_told_and_the_others_read(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("job,hours,price\nj1,2,3\n")
    source = Source("s.gsm", TEXT, tmp_path / "s.gsm")
    givens = [file_given(source, "time", ("job", "kind"), "hours"), file_given(source, "cost", ("job",), "price")]
    reader = FileReader(Path("/nowhere"))
    reader.expect(givens)
    found = Diagnostics()
    assert read_given(givens[0], reader, found) is None
    assert read_given(givens[1], reader, found) is not None
    only(found, "GSM2011", "s.gsm:2:26")


def test_faults_inside_a_file_name_the_statement_too(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("job,kind,hours\nj1,v1\n")
    source = Source("s.gsm", TEXT)
    found = Diagnostics()
    given = file_given(source, "time", ("job", "kind"), "hours")
    reader = FileReader(tmp_path)
    assert read_given(given, reader, found) is None
    assert read_given(given, reader, found) is None
    only(found, "GSM2013", "a.csv:2")
    assert str(next(iter(found)).secondary[0].place) == "s.gsm:2:6"


def test_missing_file_is_told_at_its_path(tmp_path: Path) -> None:
    source = Source("s.gsm", TEXT)
    found = Diagnostics()
    assert read_given(file_given(source, "time", ("job", "kind"), "hours"), FileReader(tmp_path), found) is None
    only(found, "GSM2001", "s.gsm:2:6")


# --- bounds and checks -----------------------------------------------------------------------------------------------


def bound(op: str, value: float) -> CheckedBound:
    core = Constant(span=model_span("24"), type=Numeric(), value=value)
    return CheckedBound(op, core, model_span("<= 24"))


@pytest.mark.parametrize(
    ("op", "limit", "wrong"),
    [("<=", 2.0, "j3"), ("<", 3.0, "j3"), (">=", 2.0, "j1"), (">", 1.0, "j1"), ("==", 1.0, "j2")],
)
def test_bounds(tmp_path: Path, op: str, limit: float, wrong: str) -> None:
    found = Diagnostics()
    origin = ParamOrigin(
        model_span("time"), (), None, {i: scenario_span("Jobs = { j1, 2 };"[: i + 1]) for i in range(3)}
    )
    values = np.array([1.0, 2.0, 3.0])
    assert not report_out_of_range(param(), ALL_JOBS, values, limit, bound(op, limit), origin, found)
    [diagnostic] = found
    assert diagnostic.code == "GSM2109"
    assert f'`time["{wrong}"] ' in diagnostic.message.replace("` is", " ")
    assert diagnostic.secondary[0].place == model_span("<= 24")
    assert report_out_of_range(param(), ALL_JOBS, values, np.array([1.0, 2.0, 3.0]), bound("==", 0), origin, found)


def test_bounds_name_file_and_row(tmp_path: Path) -> None:
    piece = csv_piece(tmp_path, "job,x\nj1,1\nj2,25\nj3,26\n", ("job",))
    values = bind_param(param(), ALL_JOBS, [piece], None, Diagnostics())
    assert values is not None
    found = Diagnostics()
    report_out_of_range(param(), ALL_JOBS, values.values, 24.0, bound("<=", 24.0), values.origin, found)
    message, notes = only(found, "GSM2109", "a.csv:3, column x")
    assert message == '2 values of `time` are not `<= 24`; for instance `time["j2"]` is 25'
    assert notes == ('`time["j3"]` is 26 (a.csv:4, column x)',)


def test_bounds_of_derived_values_are_told_at_the_bound() -> None:
    found = Diagnostics()
    report_out_of_range(param(), ALL_JOBS, np.array([1.0, 2.0, -3.0]), 0.0, bound(">=", 0.0), None, found)
    message, _ = only(found, "GSM2109", "model.gsm:1:35")
    assert message == '`time["j3"]` is -3, but must be >= 0'


def a_check(names: tuple[str, ...], message: str | None) -> CheckedCheck:
    variables = tuple(IndexVar(n, Element("Jobs"), model_span("time")) for n in names)
    domain = NamedSet(span=model_span("Jobs"), types=(Element("Jobs"),), name="Jobs")
    indexing = IndexingCore(tuple(Iterator((v,), domain, v.span) for v in variables))
    condition = Constant(span=model_span("time >= 0"), type=Numeric(), value=0)
    return CheckedCheck(model_span("check"), indexing, condition, message)


def test_failed_check_names_the_indices() -> None:
    found = Diagnostics()
    columns = PAIRS.columns()
    holds = np.array([True, False, True, False, True, False])
    assert not report_failed_check(a_check(("j", "v"), "too late"), PAIRS.components, columns, holds, found)
    message, notes = only(found, "GSM2201", "model.gsm:1:59")
    assert message == "too late"
    assert notes == (
        "not met in 3 of 6 cases",
        'not met for j = "j1", v = "v2"',
        'nor for j = "j2", v = "v2"',
        'nor for j = "j3", v = "v2"',
    )
    assert report_failed_check(a_check(("j", "v"), None), PAIRS.components, columns, np.ones(6, bool), found)


def test_failed_check_without_indices() -> None:
    found = Diagnostics()
    assert not report_failed_check(a_check((), None), (), (), np.array([False]), found)
    assert only(found, "GSM2201", "model.gsm:1:59")[1] == ()


def test_origin_of_nothing_is_the_declaration() -> None:
    origin = ParamOrigin(model_span("time"), (), None, {})
    assert origin.place(0) == model_span("time")
    assert not isinstance(origin.place(0), Cell)
