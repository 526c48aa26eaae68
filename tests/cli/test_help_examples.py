"""The examples of `--help`: every command has some, they are valid, and those with shipped models run."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from gpusched_dsl.cli import main
from gpusched_dsl.cli.arguments.commands import COMMANDS
from gpusched_dsl.cli.arguments.examples import EXAMPLES
from gpusched_dsl.cli.arguments.parse import parse
from gpusched_dsl.language.source_files import library_files

LINES = [(command, line) for command, examples in EXAMPLES.items() for line, _ in examples]
WITHOUT_FILES = ("policies", "show", "grammar", "new", "explain")
RUN = [line for command, line in LINES if "gsdsl:" in line or (command in WITHOUT_FILES and "plan.gsm" not in line)]


def words(line: str) -> list[str]:
    first, *rest = shlex.split(line.removeprefix('eval "$(').removesuffix(')"'))
    assert first == "gsdsl"
    return rest


def test_every_command_has_an_example() -> None:
    assert EXAMPLES.keys() == COMMANDS.keys()


@pytest.mark.parametrize(("command", "line"), LINES)
def test_examples_are_valid_command_lines(command: str, line: str) -> None:
    assert parse(words(line)).command == command
    for word in words(line):
        if word.startswith("gsdsl:"):
            assert len(library_files(word)) == 1, word


def test_help_shows_the_examples(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["fmt", "--help"])
    shown = capsys.readouterr().out
    assert all(f"  {line}\n" in shown for command, line in LINES if command == "fmt")


@pytest.mark.slow
@pytest.mark.parametrize("line", RUN)
def test_examples_with_shipped_models_run(line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(words(line)) == 0
