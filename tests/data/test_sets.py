"""Labels to sets: roots, subsets, tuple sets, and the errors of their elements."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from binding_help import (
    ALL_JOBS,
    JOBS,
    a_set,
    csv_chunk,
    only,
    param,
    scenario_span,
    told,
)
from found_codes import message_values

from gpusched_dsl.data.chunks import ColumnChunk, label_chunk, literal_chunk
from gpusched_dsl.data.params import bind_param
from gpusched_dsl.data.sets import bind_root_set, bind_set
from gpusched_dsl.data.short_columns import as_series
from gpusched_dsl.ir.domains import TupleDomain
from gpusched_dsl.language.checked import (
    Constant,
    Element,
    LiteralSet,
    Numeric,
    StringLiteral,
)
from gpusched_dsl.language.diagnostics.errors import Diagnostics


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
    chunk = csv_chunk(tmp_path, "\n".join(["job", *cells]), ("job",), None)
    universe = bind_root_set(a_set(), [chunk], found)
    assert not found
    assert universe is not None
    assert universe.labels == labels
    assert universe.name == "Jobs"


def test_labels_from_two_pieces_keep_their_order(tmp_path: Path) -> None:
    found = Diagnostics()
    chunks = [csv_chunk(tmp_path, "job\n3\n1\n", ("job",), None), label_chunk([(2,)], 1, scenario_span("2"))]
    universe = bind_root_set(a_set(), chunks, found)
    assert universe is not None
    assert universe.labels == (3, 1, 2)


def test_float_columns_of_whole_numbers_are_integer_labels() -> None:
    chunk = label_chunk([(1,), (2,)], 1, scenario_span("2"))
    floats = ColumnChunk((as_series(chunk.keys[0]).cast(pl.Float64),), None, chunk.origin)
    universe = bind_root_set(a_set(), [floats], Diagnostics())
    assert universe is not None
    assert universe.labels == (1, 2)


def literal(*items: StringLiteral | Constant) -> LiteralSet:
    return LiteralSet(span=scenario_span("{ j1, 2 }"), types=(Element("Jobs"),), rows=tuple((i,) for i in items))


def label(text: str) -> StringLiteral:
    return StringLiteral(span=scenario_span(text), type=Element("Jobs"), text=text)


def number(text: str) -> Constant:
    return Constant(span=scenario_span(text), type=Numeric(integer=True), value=float(text))


def test_literal_labels() -> None:
    chunk = literal_chunk(literal(label("j1"), label("data")), scenario_span("Jobs = { j1, 2 };"))
    assert chunk is not None
    universe = bind_root_set(a_set(), [chunk], Diagnostics())
    assert universe is not None
    assert universe.labels == ("j1", "data")


def test_mixed_labels_are_told_at_the_odd_one() -> None:
    found = Diagnostics()
    chunk = literal_chunk(literal(label("j1"), number("2")), scenario_span("Jobs"))
    assert chunk is not None
    assert bind_root_set(a_set(), [chunk], found) is None
    only(found, "GSM2111", "scenario.gsm:1:14")
    assert str(next(iter(found)).secondary[0].place) == "scenario.gsm:1:10"


def test_pieces_of_different_kinds_are_mixed() -> None:
    found = Diagnostics()
    chunks = [label_chunk([("a",)], 1, scenario_span("j1")), label_chunk([(1,)], 1, scenario_span("2"))]
    assert bind_root_set(a_set(), chunks, found) is None
    only(found, "GSM2111", "scenario.gsm:1:14")


def test_repeated_labels(tmp_path: Path) -> None:
    found = Diagnostics()
    chunk = csv_chunk(tmp_path, "job\na\nb\na\nb\na\n", ("job",), None)
    assert bind_root_set(a_set(), [chunk], found) is None
    message, notes = only(found, "GSM2110", "a.csv:4, column job")
    assert message.startswith("3 elements of `Jobs`")
    assert notes == (
        '`"b"` (a.csv:5, column job), first a.csv:3, column job',
        '`"a"` (a.csv:6, column job), first a.csv:2, column job',
    )


def test_repeats_may_be_allowed(tmp_path: Path) -> None:
    universe = bind_root_set(
        a_set(), [csv_chunk(tmp_path, "job\na\nb\na\n", ("job",), None, distinct=True)], Diagnostics()
    )
    assert universe is not None
    assert universe.labels == ("a", "b")


def test_empty_labels(tmp_path: Path) -> None:
    found = Diagnostics()
    assert bind_root_set(a_set(), [csv_chunk(tmp_path, "job,y\na,1\n,2\n", ("job",), None)], found) is None
    only(found, "GSM2107", "a.csv:3, column job")


def test_nothing_given() -> None:
    found = Diagnostics()
    assert bind_root_set(a_set(), [], found) is None
    assert bind_set(a_set(), (JOBS,), [], found) is None
    assert not bind_param(param(), ALL_JOBS, [], None, found).sound
    assert [d.code for d in found] == ["GSM2115", "GSM2115"]  # the two sets read alike


# --- subsets and tuple sets ------------------------------------------------------------------------------------------


def test_tuple_set(tmp_path: Path) -> None:
    chunk = csv_chunk(tmp_path, "job,g\nj3,2\nj1,4\n", ("job", "g"), None)
    domain = bind_set(a_set(), (JOBS, None), [chunk], Diagnostics())
    assert domain is not None
    assert domain.label_columns() == [["j3", "j1"], [2, 4]]


def test_tuple_set_findings(tmp_path: Path) -> None:
    found = Diagnostics()
    text = "job,g\nj1,1\nj9,2\nj2,two\nj2,2.0\nj2,2\n,3\nj8,1\nj9,7\n"
    assert bind_set(a_set(), (JOBS, None), [csv_chunk(tmp_path, text, ("job", "g"), None)], found) is None
    assert told(found) == [
        ("GSM2107", "a.csv:7, column job"),
        ("GSM2103", "a.csv:3, column job"),
        ("GSM2103", "a.csv:4, column g"),
        ("GSM2110", "a.csv:6, column job"),
    ]
    unknown = list(found)[1]
    assert message_values(unknown.message) == ("2", "Jobs", "j9")
    assert unknown.notes == ("`j8` (a.csv:8, column job)", "3 rows are affected")


def test_subset_within_another(tmp_path: Path) -> None:
    found = Diagnostics()
    within = TupleDomain((JOBS,), (np.array([0, 2]),))
    chunk = csv_chunk(tmp_path, "job\nj1\nj2\n", ("job",), None)
    assert bind_set(a_set("Late"), (JOBS,), [chunk], found, within) is None
    only(found, "GSM2112", "a.csv:3, column job")


def test_very_wide_integer_tuples(tmp_path: Path) -> None:
    big = 10**17
    text = "a,b,c\n" + "".join(f"{i * big},{-i * big},{i}\n" for i in (1, 5, 3, 5))
    found = Diagnostics()
    assert bind_set(a_set(), (None, None, None), [csv_chunk(tmp_path, text, ("a", "b", "c"), None)], found) is None
    only(found, "GSM2110", "a.csv:5, column a")
