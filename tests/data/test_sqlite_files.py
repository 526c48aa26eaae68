"""Databases are read as they were committed, and nothing appears beside them."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from shutil import copyfile

import pytest

from gpusched_dsl.data.sources.files import DataFile, FileLimits, Unreadable
from gpusched_dsl.data.sources.sqlite import read_sqlite
from gpusched_dsl.online.journal.store import create, open_view


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "data"
    folder.mkdir()
    yield folder
    folder.chmod(0o755)


def make(path: Path, mode: str, *, checkpoint: bool) -> None:
    """A database in a mode, as a program leaves it that is killed: with its log, unless there is a checkpoint."""
    work = path.parent.parent / "work.db"
    with closing(sqlite3.connect(work, isolation_level=None)) as database:
        database.execute(f"PRAGMA journal_mode = {mode}")
        database.execute("CREATE TABLE t (n INTEGER)")
        database.execute("INSERT INTO t VALUES (1)")
        if checkpoint:
            database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        for end in ("", "-wal"):
            if (log := Path(f"{work}{end}")).exists():
                copyfile(log, f"{path}{end}")


def values(path: Path) -> list[int]:
    return list(read_sqlite(DataFile(path, path.name), "t", ["n"], FileLimits()).columns["n"])


@pytest.mark.parametrize("mode", ["DELETE", "WAL"])
@pytest.mark.parametrize("checkpoint", [True, False])
@pytest.mark.parametrize("writable", [True, False])
def test_reading_leaves_nothing(folder: Path, mode: str, checkpoint: bool, writable: bool) -> None:
    path = folder / "a.db"
    make(path, mode, checkpoint=checkpoint)
    before = {file.name: file.read_bytes() for file in folder.iterdir()}
    assert bool(before.get("a.db-wal")) == (mode == "WAL" and not checkpoint)
    folder.chmod(0o755 if writable else 0o555)
    assert values(path) == [1]
    assert {file.name: file.read_bytes() for file in folder.iterdir()} == before


def test_a_transaction_that_was_cut_off_is_undone(folder: Path) -> None:
    path = folder / "a.db"
    make(path, "DELETE", checkpoint=True)
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("PRAGMA cache_size = 1")
        database.execute("BEGIN")
        database.executemany("INSERT INTO t VALUES (?)", ((n,) for n in range(20_000)))
        work = folder.parent / "cut.db"
        for end in ("", "-journal"):
            copyfile(f"{path}{end}", f"{work}{end}")
        assert work.stat().st_size > 8192  # pages of the transaction are in the file already
    assert values(work) == [1]
    assert work.with_name("cut.db-journal").stat().st_size > 0  # still as it was


def test_the_state_while_a_program_writes(folder: Path) -> None:
    path = folder / "a.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("CREATE TABLE t (n INTEGER)")
        for n in range(3):
            database.execute("INSERT INTO t VALUES (?)", (n,))
            assert values(path) == list(range(n + 1))
        database.execute("BEGIN")
        database.execute("INSERT INTO t VALUES (9)")
        assert values(path) == [0, 1, 2]


@pytest.mark.parametrize("kind", ["pipe", "link"])
def test_a_log_that_is_no_file_is_refused(folder: Path, kind: str) -> None:
    path = folder / "a.db"
    make(path, "WAL", checkpoint=False)
    log = path.with_name("a.db-wal")
    elsewhere = log.rename(folder.parent / "elsewhere")
    if kind == "pipe":
        os.mkfifo(log)
    else:
        log.symlink_to(elsewhere)
    with pytest.raises(Unreadable) as caught:
        values(path)
    assert caught.value.faults[0].code == "GSM2004"


def test_journals_in_wal_mode_are_read_from_a_copy(folder: Path) -> None:
    path = folder / "run.db"
    create(path, {"format": 1})
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        assert database.execute("PRAGMA journal_mode = WAL").fetchone() == ("wal",)
    before = sorted(file.name for file in folder.iterdir())
    with open_view(path) as connection:
        assert connection.execute("SELECT count(*) FROM run").fetchone() == (1,)
    assert sorted(file.name for file in folder.iterdir()) == before == ["run.db"]
