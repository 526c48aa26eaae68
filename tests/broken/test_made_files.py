"""Broken files created by the tests: not text, too large, not files, damaged, or with links to other places."""

from __future__ import annotations

import gzip
import os
import sqlite3
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import makers
import pytest
from corpus import Found, found
from makers import MAIN, NOISE, ROWS, Maker, bomb, data, database, parquet, raw, sparse, text

from gpusched_dsl.cli import main
from gpusched_dsl.data.sources.files import FileLimits

LIMITS = FileLimits()
CSV = ROWS.encode()
PACKED = gzip.compress(CSV)
TABLE = "CREATE TABLE jobs (job TEXT, hours)"

# Each with the code, and where it is shown: a line of the main file, a place in a data file, or nothing.
TEXTS: dict[str, tuple[Maker, str, str]] = {
    "missing": (makers.nothing, "GSM1001", ""),
    "folder without files": (makers.folder_for_a_file, "GSM6004", ""),
    "pipe": (makers.pipe, "GSM1001", ""),
    "link in a circle": (makers.link_in_a_circle, "GSM1001", ""),
    "binary import": (makers.import_of_binary, "GSM1002", ""),
    "import through a link": (makers.import_through_a_link, "GSM1030", "main.gsm:1"),
    "UTF-16": (raw("model M { }".encode("utf-16")), "GSM1002", ""),
    "UTF-16 without a mark": (raw("model M { }".encode("utf-16-le")), "GSM1002", ""),
    "Latin-1": (raw('model M {\n  set Jobs "tâches";\n}\n'.encode("latin-1")), "GSM1002", "main.gsm:2"),
    "surrogates": (raw(b"model M { # \xed\xa0\x80\n}\n"), "GSM1002", "main.gsm:1"),
    "overlong": (raw(b"model M { # \xc0\xaf\n}\n"), "GSM1002", "main.gsm:1"),
    "noise": (raw(b"\xff" + NOISE), "GSM1002", ""),
    "picture": (raw(b"\x89PNG\r\n\x1a\n" + bytes(64)), "GSM1002", ""),
    "compressed": (raw(gzip.compress(b"model M { }")), "GSM1002", ""),
    "zero byte": (raw(b"model M {\n  set \0Jobs;\n}\n"), "GSM1002", ""),
    "too many characters": (text(makers.TOO_LONG), "GSM1003", "main.gsm:1"),
    "too many words": (text(makers.TOO_MANY_WORDS), "GSM1003", "main.gsm:2"),
    "too many bytes": (raw(makers.TOO_LARGE), "GSM1003", ""),
    "too many imports": (makers.many_imports, "GSM1033", "main.gsm:200"),
    "byte order mark, then a mistake": (raw(b"\xef\xbb\xbfmodel M {\n  set Jobs\n}\n"), "GSM1011", "main.gsm:2"),
    "two byte order marks": (raw(b"\xef\xbb\xbf\xef\xbb\xbfmodel M {\n  set ;\n}\n"), "GSM1010", "main.gsm:2"),
    "lines of Windows": (raw(b"model M {\r\n  set Jobs;\r\n  param x[Job];\r\n}\r\n"), "GSM1101", "main.gsm:3"),
    "control character": (raw(b"model M {\n  set \x07Jobs;\n}\n"), "GSM1005", "main.gsm:2"),
    "no-break space": (text("model M {\n  set\u00a0Jobs;\n}\n"), "GSM1005", "main.gsm:2"),
    "text in the other direction": (text("model M {\n  set \u202eJobs;\n}\n"), "GSM1005", "main.gsm:2"),
}

DATA: dict[str, tuple[Maker, str, str]] = {
    "link that leads out": (makers.linked_data, "GSM2002", "main.gsm:6"),
    "folder": (data("jobs.csv", make=makers.folder_of_data), "GSM2004", "main.gsm:6"),
    "pipe": (data("jobs.csv", make=makers.pipe_of_data), "GSM2004", "main.gsm:6"),
    "too large": (data("jobs.csv", make=sparse("jobs.csv", LIMITS.file_bytes + 1)), "GSM2006", "main.gsm:6"),
    "database too large": (
        data("jobs.sqlite", make=sparse("jobs.sqlite", LIMITS.file_bytes + 1)),
        "GSM2006",
        "main.gsm:6",
    ),
    "truncated gzip": (data("jobs.csv.gz", PACKED[:-9]), "GSM2008", "main.gsm:6"),
    "gzip with a wrong sum": (data("jobs.csv.gz", PACKED[:-8] + bytes(8)), "GSM2008", "main.gsm:6"),
    "no gzip": (data("jobs.csv.gz", CSV), "GSM2008", "main.gsm:6"),
    "no Parquet": (data("jobs.parquet", NOISE), "GSM2008", "main.gsm:6"),
    "truncated Parquet": (data("jobs.parquet", parquet(job=["a"], hours=[1])[:-20]), "GSM2008", "main.gsm:6"),
    "not a database": (data("jobs.sqlite", NOISE), "GSM2008", "main.gsm:6"),
    "not JSON": (data("jobs.jsonl", b"job,hours\nj1,3\n"), "GSM2008", "jobs.jsonl:1"),
    "JSON too deep": (data("jobs.jsonl", b'{"job": ' + b"[" * 100_000 + b"}\n"), "GSM2014", "jobs.jsonl:1"),
    "number of very many digits": (
        data("jobs.jsonl", b'{"job": "a", "hours": ' + b"9" * 400 + b"}\n"),
        "GSM2106",
        "jobs.jsonl:1",
    ),
    "CSV in UTF-16": (data("jobs.csv", ROWS.encode("utf-16")), "GSM2009", "main.gsm:6"),
    "CSV in Latin-1": (data("jobs.csv", "job,hours\nâne,3\n".encode("latin-1")), "GSM2009", "jobs.csv:2"),
    "CSV with a zero byte": (data("jobs.csv", b"job,hours\nj\0,3\n"), "GSM2009", "jobs.csv:2"),
    "CSV that is a ZIP archive": (data("jobs.csv", b"PK\x03\x04" + NOISE), "GSM2009", "main.gsm:6"),
    "CSV that is noise": (data("jobs.csv", b"\xfe" + NOISE), "GSM2009", ""),
    "CSV that is gzip": (data("jobs.csv", PACKED), "GSM2009", "main.gsm:6"),
    "empty gzip": (data("jobs.csv.gz", gzip.compress(b"")), "GSM2010", "main.gsm:6"),
    "empty Parquet": (data("jobs.parquet", b""), "GSM2010", "main.gsm:6"),
    "empty database": (data("jobs.sqlite", b""), "GSM2010", "main.gsm:6"),
    "Parquet without a column": (data("jobs.parquet", parquet(job=["a"])), "GSM2011", "main.gsm:6"),
    "Parquet with lists": (data("jobs.parquet", parquet(job=["a"], hours=[[1, 2]])), "GSM2014", "main.gsm:6"),
    "bytes in a database": (
        data("jobs.sqlite", make=database(TABLE, "INSERT INTO jobs VALUES ('a', x'ff')")),
        "GSM2014",
        "main.gsm:6",
    ),
    "two tables": (data("jobs.sqlite", make=database(TABLE, "CREATE TABLE nodes (node)")), "GSM2016", "main.gsm:6"),
    "unknown table": (data("jobs.sqlite", table="job", make=database(TABLE)), "GSM2016", "main.gsm:6"),
    "NaN in Parquet": (data("jobs.parquet", parquet(job=["a"], hours=[float("nan")])), "GSM2105", "jobs.parquet:1"),
    "infinity in Parquet": (
        data("jobs.parquet", parquet(job=["a"], hours=[float("inf")])),
        "GSM2106",
        "jobs.parquet:1",
    ),
    "missing in Parquet": (data("jobs.parquet", parquet(job=["a"], hours=[None])), "GSM2101", "jobs.parquet:1"),
}


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.delenv("GSDSL_DEBUG", raising=False)
    begun = time.perf_counter()
    yield
    assert time.perf_counter() - begun < 60


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[Found]:
    """The errors of `gsdsl check main.gsm`, after its text form was looked at."""
    assert main(["check", MAIN, *arguments]) == 1
    captured = capsys.readouterr()
    shown = captured.out + captured.err
    for word in ("Traceback", "GSM9999", 'File "', "Error:", "Warning:"):
        assert word not in shown
    assert max(map(len, shown.splitlines())) < 500
    assert main(["--diagnostics", "json", "check", MAIN, *arguments]) == 1
    return found(capsys.readouterr().out, with_text=False)


def assert_only(findings: list[Found], code: str, place: str) -> None:
    assert [f.code for f in findings] == [code]
    here = findings[0].place
    shown = f"{here.file}:{here.line}" if here.line is not None else ""
    assert shown.endswith(place)
    if place:
        assert shown


@pytest.mark.quick(3)
@pytest.mark.parametrize("name", TEXTS)
def test_texts(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    make, code, place = TEXTS[name]
    make(tmp_path)
    assert_only(refused(capsys), code, place)


@pytest.mark.quick(17)
@pytest.mark.parametrize("name", DATA)
def test_data(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    make, code, place = DATA[name]
    make(tmp_path)
    assert_only(refused(capsys), code, place)


@pytest.mark.quick(3)
@pytest.mark.parametrize("name", makers.DEEP)
def test_deep_nesting(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text(makers.DEEP[name])(tmp_path)
    before = sys.getrecursionlimit()
    findings = refused(capsys)
    assert {f.code for f in findings} == {"GSM1004"}
    assert len(findings) == 1
    assert findings[0].place.line is not None
    assert sys.getrecursionlimit() == before


def test_mistakes_are_told_up_to_a_number(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text(makers.MISTAKES)(tmp_path)
    codes = [f.code for f in refused(capsys)]
    assert codes == ["GSM1010"] * 50 + ["GSM1019"]


def test_a_file_that_may_not_be_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text("model M { }")(tmp_path)
    (tmp_path / MAIN).chmod(0)
    if os.access(tmp_path / MAIN, os.R_OK):
        pytest.skip("this user may read everything")
    assert_only(refused(capsys), "GSM1001", "")


@pytest.mark.slow
def test_a_file_that_expands_too_far(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A bomb of a few megabytes is given up before it fills the memory."""
    data("jobs.csv.gz", make=bomb("jobs.csv.gz", LIMITS.decoded_bytes))(tmp_path)
    assert (tmp_path / "jobs.csv.gz").stat().st_size < LIMITS.decoded_bytes // 50
    assert main(["check", MAIN]) == 1
    captured = capsys.readouterr()
    assert "error[GSM2007]" in captured.out + captured.err


def test_a_database_that_is_cut_off(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    whole = tmp_path / "whole.sqlite"
    with sqlite3.connect(whole) as connection:
        connection.execute(TABLE)
        connection.executemany("INSERT INTO jobs VALUES (?, ?)", [(f"job number {i}", i) for i in range(5000)])
    content = whole.read_bytes()
    data("jobs.sqlite", content[: len(content) // 2])(tmp_path)
    assert_only(refused(capsys), "GSM2008", "main.gsm:6")


EMPTY = (b"", b"\n\n", b"# nothing but a comment", b"\xef\xbb\xbf", b"\xef\xbb\xbfmodel M { set A; }")


def test_a_database_whose_names_are_no_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with sqlite3.connect(tmp_path / "jobs.sqlite") as connection:
        connection.execute(TABLE)
    content = (tmp_path / "jobs.sqlite").read_bytes()
    data("jobs.sqlite", content.replace(b"jobs", b"\xc2\xc2\xc2\xc2"))(tmp_path)
    assert_only(refused(capsys), "GSM2008", "main.gsm:6")


@pytest.mark.parametrize("content", EMPTY)
def test_what_is_not_wrong(content: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    raw(content)(tmp_path)
    assert main(["check", MAIN]) == 0
    assert "error" not in capsys.readouterr().err
