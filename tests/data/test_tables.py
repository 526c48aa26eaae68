"""Readers of data files: their results, and every possible error of a file."""

from __future__ import annotations

import gzip
import os
import time
from pathlib import Path

import polars as pl
import pytest
from file_help import CSV, code, database, faults, listed, write

from gpusched_dsl.data.sources.files import Unreadable
from gpusched_dsl.data.sources.tables import read_columns

# --- what comes out --------------------------------------------------------------------------------------------------


def test_csv_cells_stay_text(tmp_path: Path) -> None:
    write(tmp_path, "a.csv", CSV)
    file = read_columns(tmp_path, "a.csv", None, ["hours", "job"])
    assert listed(file) == {"hours": ["3.5", "7.0", "4.0"], "job": ["j1", "j2", "j3"]}
    assert file.rows == 3
    assert [file.line(i) for i in range(3)] == [2, 3, 4]
    place = file.place(1, "hours")
    assert (place.file, place.row, place.column, place.text) == ("a.csv", 3, "hours", "7.0")


@pytest.mark.parametrize("name", ["a.csv.gz", "A.CSV.GZ"])
def test_compressed_csv_reads_the_same(tmp_path: Path, name: str) -> None:
    write(tmp_path, name, gzip.compress(CSV.encode(), mtime=0))
    assert listed(read_columns(tmp_path, name, None, ["job"])) == {"job": ["j1", "j2", "j3"]}


def test_tsv_separates_by_tabs(tmp_path: Path) -> None:
    write(tmp_path, "a.tsv", "job\tname\nj1\ta,b\n")
    assert listed(read_columns(tmp_path, "a.tsv", None, ["job", "name"])) == {"job": ["j1"], "name": ["a,b"]}


@pytest.mark.parametrize(
    ("text", "expected", "lines"),
    [
        ("a,b\r\n1,2\r\n3,4\r\n", [("1", "2"), ("3", "4")], [2, 3]),
        ("a,b\r1,2\r", [("1", "2")], [2]),
        ("\ufeffa,b\n1,2", [("1", "2")], [2]),
        ("a,b\n", [], []),
        ("a,b", [], []),
        ("a,b\n1,2\n\n3,4\n\n\n", [("1", "2"), ("3", "4")], [2, 4]),
        ("\n\na,b\n1,2\n", [("1", "2")], [4]),
        (" a , b \n 1 ,  2\n", [("1", "2")], [2]),
        ("a,b\n,2\n1,\n,\n", [(None, "2"), ("1", None), (None, None)], [2, 3, 4]),
        ('a,b\n"x,y","say ""hi"""\n', [("x,y", 'say "hi"')], [2]),
        ('a,b\n"x\ny",2\n3,4\n', [("x\ny", "2"), ("3", "4")], [2, 4]),
        ('"a","b"\n"",2\n', [(None, "2")], [2]),
        ("b,a\né,ü\n", [("ü", "é")], [2]),
        ("a,b,a b,\n1,2,3,4\n", [("1", "2")], [2]),
    ],
)
def test_csv_forms(tmp_path: Path, text: str, expected: list[tuple[str, str]], lines: list[int]) -> None:
    write(tmp_path, "a.csv", text)
    file = read_columns(tmp_path, "a.csv", None, ["a", "b"])
    got = listed(file)
    assert list(zip(got["a"], got["b"], strict=True)) == expected
    assert [file.line(i) for i in range(file.rows)] == lines


def test_one_column_csv(tmp_path: Path) -> None:
    write(tmp_path, "a.csv", "a\nx\n\ny\n")
    file = read_columns(tmp_path, "a.csv", None, ["a"])
    assert listed(file) == {"a": ["x", "y"]}
    assert file.line(1) == 4


def test_json_lines_keep_types(tmp_path: Path) -> None:
    write(
        tmp_path,
        "a.jsonl",
        '{"job": "j1", "n": 1, "x": 1, "m": 1}\n\n{"job": "j2", "n": 2, "x": 2.5, "m": "two"}\n'
        '{"job": null, "x": 3, "other": [1]}\n',
    )
    file = read_columns(tmp_path, "a.jsonl", None, ["job", "n", "x", "m"])
    assert listed(file) == {"job": ["j1", "j2", None], "n": [1, 2, None], "x": [1.0, 2.5, 3.0], "m": ["1", "two", None]}
    assert [file.line(i) for i in range(3)] == [1, 3, 4]


def test_parquet_keeps_types(tmp_path: Path) -> None:
    frame = pl.DataFrame(
        {
            "job": ["a", "b"],
            "n": pl.Series([1, 2], dtype=pl.UInt8),
            "d": [1.5, None],
            "when": ["2025-01-02", "2025-01-03"],
            "kind": pl.Series(["p", "q"], dtype=pl.Categorical),
        }
    )
    frame = frame.with_columns(pl.col("when").str.to_date())
    frame.write_parquet(tmp_path / "a.parquet")
    file = read_columns(tmp_path, "a.parquet", None, ["n", "job", "d", "when", "kind"])
    assert listed(file) == {
        "n": [1, 2],
        "job": ["a", "b"],
        "d": [1.5, None],
        "when": ["2025-01-02", "2025-01-03"],
        "kind": ["p", "q"],
    }
    assert file.place(1, "job").row == 2


JOBS = "CREATE TABLE jobs (job TEXT, hours REAL, n INTEGER); INSERT INTO jobs VALUES ('j1', 3, 1), ('j2', 7.5, NULL);"


def test_sqlite_table_and_view(tmp_path: Path) -> None:
    database(tmp_path, JOBS + "CREATE VIEW long AS SELECT job FROM jobs WHERE hours > 5;")
    file = read_columns(tmp_path, "a.sqlite", "jobs", ["n", "hours", "job"])
    assert listed(file) == {"n": [1, None], "hours": [3.0, 7.5], "job": ["j1", "j2"]}
    assert file.place(1, "job").file == "a.sqlite table jobs"
    assert listed(read_columns(tmp_path, "a.sqlite", "long", ["job"])) == {"job": ["j2"]}


def test_only_table_needs_no_name(tmp_path: Path) -> None:
    database(tmp_path, JOBS)
    assert listed(read_columns(tmp_path, "a.sqlite", None, ["job"])) == {"job": ["j1", "j2"]}


def test_sqlite_is_not_written(tmp_path: Path) -> None:
    database(tmp_path, JOBS)
    before = (tmp_path / "a.sqlite").read_bytes()
    read_columns(tmp_path, "a.sqlite", "jobs", ["job"])
    assert (tmp_path / "a.sqlite").read_bytes() == before
    assert os.listdir(tmp_path) == ["a.sqlite"]


def test_odd_names_in_sqlite(tmp_path: Path) -> None:
    database(tmp_path, 'CREATE TABLE "my ""jobs""; --" ("a ""b" TEXT); INSERT INTO "my ""jobs""; --" VALUES (\'x\');')
    assert listed(read_columns(tmp_path, "a.sqlite", 'my "jobs"; --', ['a "b'])) == {'a "b': ["x"]}


def test_hash_is_that_of_the_file_on_disk(tmp_path: Path) -> None:
    import hashlib

    packed = gzip.compress(CSV.encode(), mtime=0)
    write(tmp_path, "a.csv.gz", packed)
    database(tmp_path, JOBS)
    assert read_columns(tmp_path, "a.csv.gz", None, ["job"]).sha256 == hashlib.sha256(packed).hexdigest()
    content = (tmp_path / "a.sqlite").read_bytes()
    assert read_columns(tmp_path, "a.sqlite", "jobs", ["job"]).sha256 == hashlib.sha256(content).hexdigest()


# --- content ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz", "a.jsonl", "a.parquet", "a.sqlite", "a.tsv"])
def test_empty_files(tmp_path: Path, name: str) -> None:
    write(tmp_path, name, gzip.compress(b"", mtime=0) if name.endswith("gz") else b"")
    assert code(tmp_path, name) == "GSM2010"


def test_blank_file(tmp_path: Path) -> None:
    write(tmp_path, "a.csv", "\n  \n\n")
    assert code(tmp_path, "a.csv") == "GSM2010"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv.gz", b"\x1f\x8b" + b"garbage" * 9),
        ("a.csv.gz", gzip.compress(CSV.encode() * 100, mtime=0)[:-30]),
        ("a.csv.gz", CSV.encode()),
        ("a.parquet", b"PAR1" + b"\0" * 40 + b"PAR1"),
        ("a.parquet", CSV.encode()),
        ("a.parquet", b"PAR1"),
        ("a.sqlite", b"SQLite format 3\0" + b"\xff" * 200),
        ("a.sqlite", b"no database at all, but long enough to look at" * 20),
        ("a.jsonl", b"[1, 2]\n"),
    ],
)
def test_damaged_files(tmp_path: Path, name: str, content: bytes) -> None:
    write(tmp_path, name, content)
    assert code(tmp_path, name) == "GSM2008"


def test_truncated_parquet_and_sqlite(tmp_path: Path) -> None:
    pl.DataFrame({"job": [f"j{i}" for i in range(5000)]}).write_parquet(tmp_path / "a.parquet")
    database(tmp_path, JOBS + "INSERT INTO jobs SELECT a.job, 1, 2 FROM jobs a" + ", jobs ".join(" bcdefghik") + ";")
    for name in ("a.parquet", "a.sqlite"):
        content = (tmp_path / name).read_bytes()
        write(tmp_path, name, content[: len(content) * 2 // 3])
        assert code(tmp_path, name, ("job",)) == "GSM2008"


@pytest.mark.parametrize("cut", range(1, 60, 7))
def test_mangled_parquet_never_crashes(tmp_path: Path, cut: int) -> None:
    pl.DataFrame({"job": [f"j{i}" for i in range(50)]}).write_parquet(tmp_path / "a.parquet")
    content = bytearray((tmp_path / "a.parquet").read_bytes())
    for i in range(cut, len(content), 60):
        content[i] ^= 0x5A
    write(tmp_path, "a.parquet", bytes(content))
    assert code(tmp_path, "a.parquet") in ("GSM2007", "GSM2008", "GSM2011", "GSM2014")


@pytest.mark.parametrize(
    ("content", "line"),
    [
        ("job,hours\nj1,1\nj2,\xff\n".encode("latin-1"), 3),
        (b"job,hours\nj1,1\nj2,\0\n", 3),
        (CSV.encode("utf-16"), None),
        (gzip.compress(CSV.encode(), mtime=0), None),
        (b"PAR1abc", None),
        (b"SQLite format 3\0", None),
        (b"PK\x03\x04abc", None),
        (bytes(range(256)), 1),
    ],
)
@pytest.mark.parametrize("name", ["a.csv", "a.jsonl"])
def test_text_that_is_none(tmp_path: Path, name: str, content: bytes, line: int | None) -> None:
    write(tmp_path, name, content)
    [(found, at)] = faults(tmp_path, name)
    assert found == "GSM2009"
    assert at == line or content == bytes(range(256))


def test_every_missing_column_is_named(tmp_path: Path) -> None:
    write(tmp_path, "a.csv", CSV)
    with pytest.raises(Unreadable) as caught:
        read_columns(tmp_path, "a.csv", None, ["job", "hour", "zebra"])
    assert [(f.code, f.column) for f in caught.value.faults] == [("GSM2011", "hour"), ("GSM2011", "zebra")]
    assert caught.value.faults[0].help == "did you mean `hours`?"
    assert "`job`, `hours`, `gpus`" in caught.value.faults[0].notes[0]


@pytest.mark.parametrize("name", ["a.jsonl", "a.parquet", "a.sqlite"])
def test_missing_column_in_other_kinds(tmp_path: Path, name: str) -> None:
    write(tmp_path, "a.jsonl", '{"job": "j1"}\n{"job": "j2", "hours": null}\n')
    pl.DataFrame({"job": ["a"], "hours": [1.0]}).write_parquet(tmp_path / "a.parquet")
    database(tmp_path, JOBS)
    assert code(tmp_path, name, ("job", "hours", "hourz")) == "GSM2011"
    assert read_columns(tmp_path, name, None, ["hours"]).columns["hours"].len() >= 1


def test_other_separator_is_recognised(tmp_path: Path) -> None:
    write(tmp_path, "a.csv", "job;hours\nj1;2\n")
    with pytest.raises(Unreadable) as caught:
        read_columns(tmp_path, "a.csv", None, ["job"])
    assert caught.value.faults[0].code == "GSM2011"
    assert "separated by `;`" in (caught.value.faults[0].help or "")


def test_repeated_column(tmp_path: Path) -> None:
    write(tmp_path, "a.csv", "job,hours,job,x,x\nj1,2,3,4,5\n")
    assert faults(tmp_path, "a.csv") == [("GSM2012", 1)]
    assert listed(read_columns(tmp_path, "a.csv", None, ["hours"])) == {"hours": ["2"]}


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a,b\n1,2\n3\n", 3),
        ("a,b\n1,2\n3,4,5\n", 3),
        ("a,b\n1,2,3\n4\n", 2),
        ("a,b\n1\n2,3,4\n", 2),
        ('a,b\n"1\n2",2\n"3,4"\n', 4),
        ("a\n1\n2,\n", 3),
        ("a,b\n\n1,2\n\n \n", 5),
    ],
)
def test_ragged_rows(tmp_path: Path, text: str, line: int) -> None:
    write(tmp_path, "a.csv", text)
    assert faults(tmp_path, "a.csv", ("a",)) == [("GSM2013", line)]


def test_ragged_rows_are_counted(tmp_path: Path) -> None:
    write(tmp_path, "a.csv", "a,b\n" + "1,2\n1\n" * 20)
    with pytest.raises(Unreadable) as caught:
        read_columns(tmp_path, "a.csv", None, ["a"])
    assert caught.value.faults[0].notes == ("line 5 has 1", "line 7 has 1", "line 9 has 1", "… and 16 more")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('a,b\n1,"2\n3,4\n', 2),
        ('a,b\n1,2\n3,5" disk\n', 3),
        ('a,b\n"x"y,2\n', 2),
        ('a,b\n1, "2"\n', 2),
        ('a,b\n1,"""\n', 2),
    ],
)
def test_stray_quotes(tmp_path: Path, text: str, line: int) -> None:
    write(tmp_path, "a.csv", text)
    assert faults(tmp_path, "a.csv", ("a",)) == [("GSM2015", line)]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('{"a": 1}\n{"a": }\n', ("GSM2008", 2)),
        ('{"a": 1}\n\n{"a": NaN}\n', ("GSM2008", 3)),
        ('{"a": 1}\n"x"\n', ("GSM2008", 2)),
        ('{"a": 1}\n{"a": [1]}\n', ("GSM2014", 2)),
        ('{"a": 1}\n{"a": {"b": 1}}\n', ("GSM2014", 2)),
        ('{"a": 1}{"a": 2}\n', ("GSM2008", 1)),
        ('{"a": 1}\n{"a": ' + "[" * 100_000 + "\n", ("GSM2014", 2)),
    ],
)
def test_broken_json_lines(tmp_path: Path, text: str, found: tuple[str, int]) -> None:
    write(tmp_path, "a.jsonl", text)
    assert faults(tmp_path, "a.jsonl", ("a",)) == [found]


def test_columns_that_hold_no_values(tmp_path: Path) -> None:
    pl.DataFrame({"a": [[1], [2]], "b": [b"x", b"y"]}).write_parquet(tmp_path / "a.parquet")
    database(tmp_path, "CREATE TABLE t (a BLOB); INSERT INTO t VALUES (x'00ff');")
    assert code(tmp_path, "a.parquet", ("a",)) == "GSM2014"
    assert code(tmp_path, "a.parquet", ("b",)) == "GSM2014"
    assert code(tmp_path, "a.sqlite", ("a",), "t") == "GSM2014"


@pytest.mark.parametrize(("name", "table"), [("a.csv", "jobs"), ("a.sqlite", "job"), ("a.sqlite", None)])
def test_tables_of_databases(tmp_path: Path, name: str, table: str | None) -> None:
    write(tmp_path, "a.csv", CSV)
    database(tmp_path, JOBS + "CREATE TABLE other (x);")
    assert code(tmp_path, name, ("job",), table) == "GSM2016"


# --- speed -----------------------------------------------------------------------------------------------------------


def test_a_million_rows_are_read_and_bound_at_once(tmp_path: Path) -> None:
    rows = 1_000_000
    frame = pl.select(
        job=pl.format("j{}", pl.int_range(rows) % 1000),
        type=pl.format("v{}", pl.int_range(rows) // 1000),
        seconds=pl.int_range(rows) / 7,
    )
    frame.write_csv(tmp_path / "a.csv")
    start = time.process_time()
    file = read_columns(tmp_path, "a.csv", None, ["job", "type", "seconds"])
    assert file.rows == rows
    assert time.process_time() - start < 5, "about a second of CPU on a slow machine"
