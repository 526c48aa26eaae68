"""Every command on every page names a command and options that exist; parts such as FILE and N may stand for others."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path

import navigation
import pytest

from gpusched_dsl.cli.arguments.parse import CommandLineError, parse
from gpusched_dsl.compiling.build import choose_scenario
from gpusched_dsl.language.diagnostics.errors import DiagnosticError, Diagnostics
from gpusched_dsl.language.source_files import library_files, library_folder
from gpusched_dsl.language.workspace import load_workspace
from gpusched_dsl.online.open import setup_of
from gpusched_dsl.online.run_config import RunConfig

ROOT = Path(__file__).resolve().parents[2]
INTENDED = ("gsdsl slove", "--gapp", "gsdsl COMMAND", "--to NAME")
LINES = re.compile(r"^(?:    |\$ |)(gsdsl [a-z][^\n#]*)", re.MULTILINE)
INLINE = re.compile(r"`(gsdsl [a-z]+ [^`\n]+)`")
BLOCK = re.compile(r"^```(?:sh|console|)\n(.*?)^```$|((?:^    gsdsl [^\n]*\n)+)", re.MULTILINE | re.DOTALL)


def commands() -> Iterator[tuple[str, str]]:
    for page in (
        ROOT / "README.md",
        ROOT / "CONTRIBUTING.md",
        ROOT / "SECURITY.md",
        *navigation.pages(),
        *sorted((ROOT / "models").glob("*/README.md")),
    ):
        text = page.read_text(encoding="utf-8")
        blocks = "\n".join(found[1] or found[2] for found in BLOCK.finditer(text))
        for line in (*LINES.findall(blocks), *INLINE.findall(text)):
            if not re.search(r"[|\[\]\\]|\.\.\.", line.replace("1..", "")) and not any(i in line for i in INTENDED):
                yield page.stem, line.strip()


def test_the_words_of_commands_exist() -> None:
    checked = list(commands())
    wrong = []
    for page, line in checked:
        words = list(takewhile(lambda word: word not in (">", ">>", "<", "&", "&&"), shlex.split(line)[1:]))
        try:
            parse(words)
        except CommandLineError as error:
            if re.search("unknown|choice|unexpected", str(error)):
                wrong.append(f"{page}: {line}: {error}")
        except SystemExit:  # --help
            pass
    assert wrong == []
    assert len(checked) > 200


def test_the_models_of_commands_exist() -> None:
    """Shipped models by name or path; the scenario that a command names, too."""
    wrong = []
    for page, line in commands():
        for word in shlex.split(line):
            if word.startswith("gsdsl:") and word[6:7].islower():
                found = [name for name in library_files(word) if name.endswith(".gsm")]
                if not found:
                    wrong.append(f"{page}: {line}")
            elif re.fullmatch(r"models/\S*", word) and not (ROOT / word).exists():
                wrong.append(f"{page}: {line}")
    assert wrong == []


def test_scenarios_of_commands_exist() -> None:
    checked = 0
    for page, line in commands():
        found = re.search(r" (gsdsl:\S+\.gsm|models/\S+\.gsm)\b.* (?:--scenario|-s) (\w+)", line)
        if found and (files := [ROOT / found[1]] if found[1].startswith("models") else library_paths(found[1])):
            workspace = load_workspace(files[0], Diagnostics())
            assert found[2] in workspace.scenarios, f"{page}: {line}"
            checked += 1
    assert checked >= 5


def library_paths(name: str) -> list[Path]:
    return [library_folder() / file for file in library_files(name) if file.endswith(".gsm")]


@pytest.mark.parametrize("command", ["solve", "explain", "compare", "export", "watch", "flexibility"])
def test_commands_that_need_a_scenario_name_it(command: str) -> None:
    """A model of the library with several scenarios: the command ends with GSM6006 if it names none."""
    checked = 0
    for page, line in commands():
        found = re.match(
            rf"gsdsl {command} (gsdsl:\S+\.gsm|models/\S+\.gsm)(?!.* (?:--scenario|-s|--policy|--to) )", line
        )
        if found and (files := [ROOT / found[1]] if found[1].startswith("models") else library_paths(found[1])):
            try:
                choose_scenario(load_workspace(files[0], Diagnostics()), data_later=True)
            except DiagnosticError as error:
                pytest.fail(f"{page}: {line}: {error}")
            checked += 1
    assert checked or command != "solve"


RUNS = [
    line
    for page in sorted((ROOT / "models").glob("*/README.md"))
    for line in LINES.findall(page.read_text(encoding="utf-8"))
    if line.startswith("gsdsl run ")
]


@pytest.mark.parametrize("line", RUNS)
def test_runs_of_models_choose_a_block_and_a_scenario(line: str) -> None:
    options = parse(shlex.split(line)[1:])
    found = Diagnostics()
    workspace = load_workspace(ROOT / options.file, found)
    for method in options.methods or (options.method,):
        setup_of(workspace, RunConfig(online=options.online, scenario=options.scenario, method=method))


@pytest.mark.parametrize("line", ["slove a.gsm", "solve a.gsm --gapp 1", "export a.gsm --to pdf"])
def test_wrong_words_are_found(line: str) -> None:
    with pytest.raises(CommandLineError, match=r"unknown|choice"):
        parse(shlex.split(line))
