"""Short columns are read like polars series of the same cells."""

import random
from typing import Any

import numpy as np
import polars as pl
import pytest

from gpusched_dsl.data import labels
from gpusched_dsl.data.chunks import ColumnChunk, FileOrigin
from gpusched_dsl.data.short_columns import MOST_CELLS, ShortColumn, as_series
from gpusched_dsl.data.sources.delimited import _split, read_delimited
from gpusched_dsl.data.sources.files import FileColumns, FileLimits
from gpusched_dsl.data.sources.untyped import column_of, series_of
from gpusched_dsl.ir.domains import Universe
from gpusched_dsl.language.source import Source, Span

TEXTS = [
    *("0", "-0", "7", "-12", "007", "+5", "1_000", "1e3", "1E-3", "2.50", "-3.25", ".5", "5.", "1.0", "-1.0", "0x10"),
    *("true", "True", "FALSE", "nan", "NaN", "inf", "-inf", "infinity", "Infinity", "", " 1", "1 ", "１", "٣", "1,5"),
    *("9007199254740993", "123456789012345678", "1234567890123456789", "99999999999999999999", "1e400", "1e-400"),
    *("0.0", "-0.00", "0e5", "0." + "0" * 330 + "1", "4.9e-324", "2.2250738585072011e-308", "a", "job 1", "ü", "é"),
    *("0.1", "1e22", "1e23", "8.5e15", "0.000000000000000000000000000001", "179769313486231570000", "1\n", "12\n"),
]
PLAIN = [["0", "7", "-12", "1000"], ["2.50", "0.1", "0.0", "1.0"], ["a", "job 1", "7"], ["007"], ["-0"]]
UNIVERSES = [
    Universe("Text", ("a", "7", "job 1", "1.0", "ü", "0")),
    Universe("Integer", (7, 0, -12, 1000)),
    Universe("Empty", ()),
]


def drawn_number(rng: random.Random) -> str:
    digits = "".join(rng.choice("0123456789") for _ in range(rng.randint(1, 19)))
    decimals = "".join(rng.choice("0123456789") for _ in range(rng.randint(0, 25)))
    ending = rng.choice(["", "", f"e{rng.randint(-30, 30)}"])
    return rng.choice(["", "-"]) + digits + (f".{decimals}" if decimals else "") + ending


def drawn_column(rng: random.Random) -> ShortColumn:
    count = rng.randint(0, 5)
    empty = rng.choice([0.0, 0.0, 0.3])
    plain = rng.choice(
        [["0", "7", "-12", "1000"], ["2.50", "0.1", "0.0", "1.0"], ["a", "job 1", "7"], ["007"], ["-0"], TEXTS, None]
    )
    match rng.randrange(4):
        case 0:
            column = column_of(
                [None if rng.random() < empty else rng.choice([7, 0, -12, 1000, 5]) for _ in range(count)]
            )
        case 1:
            numbers = [1.0, 7.0, 2.5, -0.0, 0.1, float("nan"), float("inf"), 1e300, 2.0**53, 7]
            column = column_of([None if rng.random() < empty else rng.choice(numbers) for _ in range(count)])
        case _:
            texts = [rng.choice(plain) if plain else drawn_number(rng) for _ in range(count)]
            column = column_of([None if rng.random() < empty else text for text in texts])
    assert isinstance(column, ShortColumn)
    return column


def same_arrays(one: Any, other: Any) -> None:
    assert one.dtype == other.dtype
    assert one.tobytes() == other.tobytes()


def same_reading(column: ShortColumn | pl.Series) -> None:
    assert isinstance(column, ShortColumn)
    series = column.series()
    same_arrays(labels.has_values(column), labels.has_values(series))
    assert labels.is_text(column) == labels.is_text(series)
    for truth_values in (False, True):
        one, other = labels.numbers(column, truth_values), labels.numbers(series, truth_values)
        for name in ("has_value", "numeric", "underflows", "inexact"):
            same_arrays(getattr(one, name), getattr(other, name))
        assert np.array_equal(one.values, other.values, equal_nan=True), column.cells
        assert np.array_equal(np.signbit(one.values)[one.numeric], np.signbit(other.values)[one.numeric])
    for component in (None, *UNIVERSES):
        coded, expected = labels.encode(column, component), labels.encode(series, component)
        same_arrays(coded.is_known, expected.is_known)
        same_arrays(coded.has_value, expected.has_value)
        assert coded.codes[coded.is_known].tolist() == expected.codes[coded.is_known].tolist()
    assert as_series(labels.texts(column)).equals(as_series(labels.texts(series)), null_equal=True)


@pytest.mark.parametrize("seed", range(4))
def test_short_columns_are_read_like_series(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(100):
        same_reading(drawn_column(rng))


@pytest.mark.parametrize("text", TEXTS)
def test_a_cell_of_a_short_column_is_read_like_that_of_a_series(text: str) -> None:
    same_reading(column_of([text]))
    same_reading(column_of([None, text]))


def chunk(column: ShortColumn | pl.Series, typed: bool) -> ColumnChunk:
    file = FileColumns("a.csv", {"a": column}, len(column), "")
    return ColumnChunk((column,), None, FileOrigin(Span(Source("m", "x"), 0, 1), file, ("a",), None), typed=typed)


@pytest.mark.parametrize("seed", range(4))
def test_labels_of_short_columns_are_those_of_series(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(100):
        columns = [(drawn_column(rng), rng.random() < 0.5) for _ in range(rng.randint(1, 3))]
        found = labels.natural_labels([chunk(column, typed) for column, typed in columns])
        expected = labels.natural_labels([chunk(column.series(), typed) for column, typed in columns])
        for one, other in zip(found, expected, strict=True):
            assert as_series(one).equals(as_series(other), null_equal=True)
        kept = [column.filter(labels.has_values(column)) for column in found]
        every = labels.joined(kept)
        series = labels.joined([as_series(column) for column in kept])
        assert every.to_list() == series.to_list()
        same_arrays(labels.first_distinct(every), labels.first_distinct(series))


@pytest.mark.parametrize(
    "values",
    [
        [1, 2], [1, 2.5, None], [2**53, 1], [2**53 + 1, 1], [2**70, 1], [True, None], ["a", 1], ["a", None], [],
        [1.5, 2**53 + 1],
    ],
)  # fmt: skip
def test_the_type_of_a_short_column_is_that_of_the_series(values: list[Any]) -> None:
    column, series = column_of(values), series_of(values)
    assert as_series(column).dtype == series.dtype
    assert as_series(column).equals(series, null_equal=True)


def test_a_column_of_many_cells_is_a_series() -> None:
    assert isinstance(column_of(["a"] * MOST_CELLS), ShortColumn)
    assert isinstance(column_of(["a"] * (MOST_CELLS + 1)), pl.Series)


@pytest.mark.parametrize("seed", range(4))
def test_few_rows_of_csv_text_are_split_like_many(seed: int) -> None:
    rng = random.Random(seed)
    cells = ["", " ", "a", " a", "b ", "1.5", "  x y ", "\u00a0z", "#", "'", "ü", "\u2028", "-", "NA", "null", "\x0b"]
    for _ in range(100):
        separator = rng.choice(",\t")
        header = ["a", "b", "c"][: rng.randint(1, 3)]
        rows = [separator.join(rng.choice(cells) for _ in header) for _ in range(rng.randint(0, 4))]
        ending = rng.choice(["\n", "\r\n", "\r"])
        text = ending.join([separator.join(header), *rows, *rng.choice([[], [""], ["", ""]])])
        wanted = rng.sample(header, rng.randint(1, len(header)))
        few = read_delimited(text.encode(), "a.csv", wanted, separator, FileLimits())
        assert all(isinstance(column, ShortColumn) for column in few.columns.values())
        body = "\n".join(row for row in rows if row)
        many = _split("a.csv", body.encode(), header, wanted, separator, few.rows).to_dict()
        assert {name: column.to_list() for name, column in few.columns.items()} == {
            name: column.to_list() for name, column in many.items()
        }
