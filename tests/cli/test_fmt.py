import io
from collections.abc import Callable
from pathlib import Path

import pytest

Run = Callable[..., object]
UGLY = "# kept\nmodel   M{var x>=0;\n minimize x;}\n"


@pytest.fixture
def ugly(tmp_path: Path) -> Path:
    path = tmp_path / "ugly.gsm"
    path.write_text(UGLY)
    return path


def test_files_are_rewritten_once(gsdsl: Run, ugly: Path) -> None:
    done = gsdsl("fmt", ugly)
    assert (done.code, done.out) == (0, f"reformatted {ugly}\n1 file reformatted\n")
    text = ugly.read_text()
    assert text.startswith("# kept\nmodel M {")
    done = gsdsl("fmt", ugly)
    assert (done.code, done.out) == (0, "1 file is already formatted\n")
    assert ugly.read_text() == text


def test_check_changes_nothing(gsdsl: Run, ugly: Path) -> None:
    done = gsdsl("fmt", "--check", ugly)
    assert (done.code, done.out) == (1, f"would reformat {ugly}\n1 file would be reformatted\n")
    assert ugly.read_text() == UGLY
    gsdsl("fmt", ugly)
    assert gsdsl("fmt", "--check", ugly).code == 0


def test_diff_changes_nothing(gsdsl: Run, ugly: Path) -> None:
    done = gsdsl("fmt", "--diff", ugly)
    assert done.code == 0
    assert "-model   M{var x>=0;\n" in done.out
    assert "+model M {" in done.out
    assert ugly.read_text() == UGLY
    assert gsdsl("fmt", "--diff", "--check", ugly).code == 1


def test_standard_input(gsdsl: Run, ugly: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gsdsl("fmt", ugly)

    def given(text: str) -> None:
        monkeypatch.setattr("sys.stdin", io.StringIO(text))

    given(UGLY)
    done = gsdsl("fmt", "-")
    assert (done.code, done.out) == (0, ugly.read_text())
    given(UGLY)
    assert gsdsl("fmt", "-", "--check").code == 1
    given("model {")
    done = gsdsl("fmt", "-")
    assert done.code == 1
    assert "<stdin>:1:7" in done.err


def test_input_that_is_not_utf8(gsdsl: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"model \xff")))
    done = gsdsl("fmt", "-")
    assert done.code == 1
    assert "error[GSM1002]" in done.err


def test_a_file_with_errors_is_left_alone(gsdsl: Run, ugly: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken.gsm"
    broken.write_text("model M { var x >= ; }")
    done = gsdsl("fmt", tmp_path)
    assert done.code == 1
    assert "1 file reformatted, 1 file could not be formatted" in done.out
    assert broken.read_text() == "model M { var x >= ; }"


def test_a_file_that_cannot_be_written(gsdsl: Run, ugly: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path, target: Path) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "replace", refuse)
    done = gsdsl("fmt", ugly)
    assert done.code == 1
    assert "error[GSM6008]" in done.err
    assert ugly.read_text() == UGLY


def test_windows_lines_become_plain(gsdsl: Run, tmp_path: Path) -> None:
    path = tmp_path / "windows.gsm"
    path.write_bytes(b"model M {\r\n  var x >= 0;\r\n  minimize x;\r\n}\r\n")
    gsdsl("fmt", path)
    assert b"\r" not in path.read_bytes()
