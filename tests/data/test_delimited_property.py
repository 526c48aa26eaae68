"""CSV of other programs: cells are read as they were written, each at its line."""

from __future__ import annotations

import csv
import io

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpusched_dsl.data.sources.delimited import read_delimited
from gpusched_dsl.data.sources.files import FileColumns, FileLimits, Unreadable


def attempt(data: bytes, columns: list[str]) -> FileColumns | set[str]:
    """The columns, or the codes of what is wrong."""
    try:
        return read_delimited(data, "a.csv", columns, ",", FileLimits())
    except Unreadable as error:
        return {fault.code for fault in error.faults}


CELLS = st.text(alphabet='ab",\n 1.é;', max_size=6)


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(
    st.integers(1, 4).flatmap(lambda width: st.lists(st.lists(CELLS, min_size=width, max_size=width), max_size=6)),
    st.sampled_from(["\n", "\r\n"]),
    st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
)
def test_what_is_written_is_read(rows: list[list[str]], line_end: str, quoting: int) -> None:
    names = [f"c{i}" for i in range(len(rows[0]) if rows else 2)]
    out = io.StringIO()
    writer = csv.writer(out, lineterminator=line_end, quoting=quoting)  # type: ignore[arg-type]
    writer.writerow(names)
    lines = []
    for row in rows:
        lines.append(out.getvalue().count("\n") + 1)
        writer.writerow(row)
    read = read_delimited(out.getvalue().encode(), "a.csv", names, ",", FileLimits())
    got = list(zip(*(read.columns[n].to_list() for n in names), strict=True))
    assert got == [tuple(cell.strip(" ") or None for cell in row) for row in rows]
    assert [read.line(i) for i in range(read.rows)] == lines


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=60), st.sampled_from([b"", b"a,b\n", b"a,b\n1,2\n"]))
def test_no_bytes_make_it_fail_otherwise_than_by_a_fault(data: bytes, head: bytes) -> None:
    read = attempt(head + data, ["a"])
    if isinstance(read, FileColumns):
        assert len(read.columns["a"]) == read.rows
    else:
        assert all(code.startswith("GSM20") for code in read)


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet='ab",\n\r 1', max_size=40))
def test_texts_full_of_quotes_and_commas(text: str) -> None:
    read = attempt(f"a,b\n{text}".encode(), ["a", "b"])
    if not isinstance(read, FileColumns):
        assert read <= {"GSM2013", "GSM2015"}
    else:
        plain = text.replace("\r\n", "\n").replace("\r", "\n")
        expected = [row for row in csv.reader(io.StringIO(plain, newline="")) if row]
        assert read.rows == len(expected)
        got = zip(read.columns["a"].to_list(), read.columns["b"].to_list(), strict=True)
        assert [list(row) for row in got] == [[cell.strip(" ") or None for cell in row] for row in expected]
