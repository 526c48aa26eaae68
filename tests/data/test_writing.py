import os
import stat
from pathlib import Path

import pytest

from gpusched_dsl.data.sources import writing as files
from gpusched_dsl.data.sources.writing import check_writable, make_folder, replace_file, write_text
from gpusched_dsl.language.diagnostics.errors import DiagnosticError


def codes(error: pytest.ExceptionInfo[DiagnosticError]) -> list[str]:
    return [d.code for d in error.value.diagnostics]


def test_a_file_is_replaced_and_nothing_else_is_left(tmp_path: Path) -> None:
    target = tmp_path / "out.json"
    target.write_text("old")
    write_text(target, "new ü\n")
    assert target.read_text(encoding="utf-8") == "new ü\n"
    assert [p.name for p in tmp_path.iterdir()] == ["out.json"]


def test_permissions_of_a_replaced_file_stay(tmp_path: Path) -> None:
    target = tmp_path / "out.json"
    target.write_text("old")
    target.chmod(0o640)
    write_text(target, "new")
    assert stat.S_IMODE(target.stat().st_mode) == 0o640


def test_a_failed_write_keeps_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "out.json"
    target.write_text("old")

    def full(number: int) -> None:
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(files.os, "fsync", full)
    with pytest.raises(DiagnosticError, match="No space left") as error:
        write_text(target, "new")
    assert codes(error) == ["GSM6008"]
    assert target.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["out.json"]


def test_a_symbolic_link_stays_one(tmp_path: Path) -> None:
    target, link = tmp_path / "real.json", tmp_path / "link.json"
    target.write_text("old")
    link.symlink_to(target)
    write_text(link, "new")
    assert link.is_symlink()
    assert target.read_text() == "new"


@pytest.mark.parametrize("place", ["folder", "missing/out.json", "file/out.json", "nul\0l"])
def test_places_that_cannot_be_written(tmp_path: Path, place: str) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("")
    with pytest.raises(DiagnosticError) as error:
        write_text(tmp_path / place, "text")
    assert codes(error) == ["GSM6008"]
    with pytest.raises(DiagnosticError):
        check_writable(tmp_path / place)


def test_a_folder_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for attempt in (lambda: make_folder(tmp_path / "file"), lambda: check_writable(tmp_path / "file", folder=True)):
        with pytest.raises(DiagnosticError) as error:
            attempt()
        assert codes(error) == ["GSM6008"]


def test_checking_writes_nothing(tmp_path: Path) -> None:
    check_writable(tmp_path / "out.json")
    check_writable(tmp_path / "deep" / "folder", folder=True)
    assert list(tmp_path.iterdir()) == []


def test_a_pipe_is_written_directly_and_stays_one(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reading = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        write_text(pipe, "text")
        with replace_file(pipe) as place:
            place.write_text(" and more")
        assert os.read(reading, 100) == b"text and more"
    finally:
        os.close(reading)
    assert pipe.is_fifo()
    assert [p.name for p in tmp_path.iterdir()] == ["pipe"]
