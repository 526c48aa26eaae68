"""Which data files may be read: paths that stay inside, plain files of known kinds, sizes that fit."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import polars as pl
import pytest
from file_help import CSV, code, database, write

from gpusched_dsl.data.sources.files import FileLimits, Unreadable, locate
from gpusched_dsl.data.sources.tables import read_columns

# --- paths -----------------------------------------------------------------------------------------------------------


def test_missing_file_names_a_near_one(tmp_path: Path) -> None:
    write(tmp_path, "times.csv", CSV)
    with pytest.raises(Unreadable) as caught:
        read_columns(tmp_path, "time.csv", None, ["job"])
    assert caught.value.faults[0].code == "GSM2001"
    assert caught.value.faults[0].help == "did you mean `times.csv`?"


@pytest.mark.parametrize("path", ["../a.csv", "sub/../../a.csv", "/etc/passwd", "//etc/passwd", "/etc/hosts.csv"])
def test_paths_do_not_leave_the_folder(tmp_path: Path, path: str) -> None:
    (tmp_path / "in" / "sub").mkdir(parents=True)
    write(tmp_path, "a.csv", CSV)
    assert code(tmp_path / "in", path) == "GSM2002"


def test_links_do_not_lead_out(tmp_path: Path) -> None:
    home = tmp_path / "in"
    home.mkdir()
    write(tmp_path, "secret.csv", CSV)
    (home / "a.csv").symlink_to(tmp_path / "secret.csv")
    (home / "up").symlink_to(tmp_path)
    assert code(home, "a.csv") == "GSM2002"
    assert code(home, "up/secret.csv") == "GSM2002"


def test_links_inside_are_followed(tmp_path: Path) -> None:
    write(tmp_path, "real.csv", CSV)
    (tmp_path / "a.csv").symlink_to("real.csv")
    assert read_columns(tmp_path, "a.csv", None, ["job"]).rows == 3


def test_outside_may_be_allowed(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    write(tmp_path, "a.csv", CSV)
    open_ = FileLimits(allow_outside=True)
    assert read_columns(tmp_path / "in", "../a.csv", None, ["job"], open_).rows == 3
    assert read_columns(tmp_path / "in", str(tmp_path / "a.csv"), None, ["job"], open_).rows == 3


def test_paths_stay_inside_the_root_of_the_text(tmp_path: Path) -> None:
    home = tmp_path / "home"
    (home / "sub").mkdir(parents=True)
    write(home, "a.csv", CSV)
    write(tmp_path, "b.csv", CSV)
    assert locate(home / "sub", "../a.csv", FileLimits(), home).path == (home / "a.csv").resolve()
    for base, path, root in ((home / "sub", "../a.csv", None), (home / "sub", "../../b.csv", home)):
        with pytest.raises(Unreadable) as caught:
            locate(base, path, FileLimits(), root)
        assert caught.value.faults[0].code == "GSM2002"


@pytest.mark.parametrize(
    "path",
    [
        "",
        "  ",
        "a\0.csv",
        "a\nb.csv",
        "C:\\a.csv",
        "C:a.csv",
        "sub\\a.csv",
        "http://host/a.csv",
        "file:///a.csv",
        "s3://b/a.csv",
        "x" * 5000 + ".csv",
        "y" * 300 + ".csv",
    ],
)
def test_paths_that_are_none(tmp_path: Path, path: str) -> None:
    assert code(tmp_path, path) == "GSM2003"
    assert code(tmp_path, path, limits=FileLimits(allow_outside=True)) == "GSM2003"


def test_link_in_a_circle(tmp_path: Path) -> None:
    (tmp_path / "a.csv").symlink_to("b.csv")
    (tmp_path / "b.csv").symlink_to("a.csv")
    assert code(tmp_path, "a.csv") in ("GSM2001", "GSM2003")


@pytest.mark.parametrize("name", ["d.csv", "d.sqlite"])
def test_folder_is_no_file(tmp_path: Path, name: str) -> None:
    (tmp_path / name).mkdir()
    assert code(tmp_path, name) == "GSM2004"


@pytest.mark.parametrize("name", ["p.csv", "p.db"])
def test_pipe_is_refused_without_waiting(tmp_path: Path, name: str) -> None:
    os.mkfifo(tmp_path / name)
    assert code(tmp_path, name) == "GSM2004"


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="needs a user who may not read everything")
def test_unreadable_file(tmp_path: Path) -> None:
    write(tmp_path, "a.csv", CSV)
    (tmp_path / "a.csv").chmod(0)
    assert code(tmp_path, "a.csv") == "GSM2004"


@pytest.mark.parametrize("name", ["a.txt", "a", "a.json", "a.xls", "a.duckdb", "a.xlsx.gz", "a.gz", ".csvx"])
def test_unknown_kinds(tmp_path: Path, name: str) -> None:
    write(tmp_path, name, CSV)
    assert code(tmp_path, name) == "GSM2005"


# --- sizes -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["a.csv", "a.jsonl", "a.parquet", "a.sqlite"])
def test_large_files_are_refused(tmp_path: Path, name: str) -> None:
    write(tmp_path, name, b"x" * 101)
    assert code(tmp_path, name, limits=FileLimits(file_bytes=100)) == "GSM2006"


def test_expansion_is_capped(tmp_path: Path) -> None:
    write(tmp_path, "a.csv.gz", gzip.compress(b"a\n" + b"1\n" * 1_000_000))
    small = FileLimits(decoded_bytes=1_000_000)
    assert code(tmp_path, "a.csv.gz", ("a",), limits=small) == "GSM2007"
    assert read_columns(tmp_path, "a.csv.gz", None, ["a"]).rows == 1_000_000


def test_parquet_of_very_many_rows_is_refused(tmp_path: Path) -> None:
    pl.DataFrame({"a": pl.repeat(1, 2_000_000, eager=True)}).write_parquet(tmp_path / "a.parquet")
    assert (tmp_path / "a.parquet").stat().st_size < 100_000
    assert code(tmp_path, "a.parquet", ("a",), limits=FileLimits(decoded_bytes=1 << 20)) == "GSM2007"


def test_sqlite_view_without_end_is_stopped(tmp_path: Path) -> None:
    numbers = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n"
    database(tmp_path, f"CREATE VIEW v AS {numbers};")
    assert code(tmp_path, "a.sqlite", ("i",), "v", FileLimits(decoded_bytes=1 << 20)) == "GSM2007"
