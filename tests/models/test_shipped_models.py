"""Every shipped file checks, is formatted, and passes its own tests."""

from pathlib import Path

import pytest

from gpusched_dsl.cli import main

MODELS = Path(__file__).resolve().parents[2] / "models"
FILES = sorted(MODELS.rglob("*.gsm"))


def of_name(path: Path) -> str:
    return path.relative_to(MODELS).with_suffix("").as_posix()


def test_there_are_models() -> None:
    assert len(FILES) >= 9


def test_all_files_are_formatted(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fmt", "--check", str(MODELS)]) == 0, capsys.readouterr()


@pytest.mark.quick(8)
@pytest.mark.parametrize("path", FILES, ids=of_name)
def test_file_checks(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(path)]) == 0, capsys.readouterr()


@pytest.mark.quick(8)
@pytest.mark.parametrize("path", [p for p in FILES if "\ntest " in p.read_text(encoding="utf-8")], ids=of_name)
def test_the_tests_of_a_file_pass(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["test", str(path)]) == 0, capsys.readouterr()
    assert " passed" in capsys.readouterr().out
