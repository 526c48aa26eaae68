"""README.md is short, and its examples are correct: its model, its output, its picture, its Python."""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from execute import execute

from gpusched_dsl.cli import main

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def block_after(words: str, language: str = "") -> str:
    """The first fenced block of a language after some words."""
    found = re.search(rf"^```{language}\n(.*?)^```$", README[README.index(words) :], re.MULTILINE | re.DOTALL)
    assert found is not None
    return found[1]


@pytest.fixture
def example(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The text of assign.gsm, which lies in the current folder."""
    monkeypatch.chdir(tmp_path)
    text = block_after("## An example", "gsm")
    Path("assign.gsm").write_text(text, encoding="utf-8")
    return text


def test_it_is_short() -> None:
    assert len(README.splitlines()) <= 120


def test_the_example_gives_the_output_shown(example: str, tmp_path: Path) -> None:
    (solve, *_) = execute(README[: README.index("## Policies")], tmp_path)
    assert solve.command == "gsdsl solve assign.gsm"
    assert solve.agrees, solve.printed


def test_the_example_is_formatted(example: str) -> None:
    assert main(["fmt", "--check", "assign.gsm"]) == 0


def test_the_python_runs(example: str, capsys: pytest.CaptureFixture[str]) -> None:
    exec(compile(block_after("## Over time, and from Python", "python"), "README.md", "exec"), {})
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("optimal 36.95")
    assert float(lines[-1]) == pytest.approx(36.5)


def test_every_command_is_listed() -> None:
    from gpusched_dsl.cli.arguments.commands import build_parser

    page = (ROOT / "docs" / "reference" / "cli.md").read_text(encoding="utf-8")
    shown = re.findall(r"^\| `([a-z]+)[^`\n]*` \|", page.partition("\n## ")[0], re.MULTILINE)
    assert shown == re.findall(r"^    ([a-z]+) {2,}", build_parser()[0].format_help(), re.MULTILINE)


def test_the_comparison_is_the_one_shown(capsys: pytest.CaptureFixture[str]) -> None:
    """Of the methods that draw nothing; the others have the same rows wherever their kernels are compiled."""
    command = re.search(r"^\$ gsdsl (compare \S+/gavel_at_most\.gsm --methods [\w,]+)$", README, re.MULTILINE)
    assert command is not None
    *words, methods = command[1].split()
    alike = [method for method in methods.split(",") if method != "LocalSearch"]
    assert len(alike) == 3
    assert main([*words, ",".join(alike)]) == 0
    printed = capsys.readouterr()
    rows = {line.split()[0]: line.split()[1:-1] for line in printed.out.splitlines() if line.strip()}
    shown = README[README.index("gavel_at_most") :].partition("```")[0]
    for method in alike:
        (line,) = [line for line in shown.splitlines() if line.split()[:1] == [method]]
        assert line.split()[1:-1] == rows[method]
    assert "GSM" not in printed.err


def test_the_policy_shown_is_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = block_after("## Policies\n", "gsm")
    path = tmp_path / "own.gsm"
    path.write_text('import "gsdsl:capacity_planning/model.gsm";\n\n' + text, encoding="utf-8")
    assert main(["check", str(path)]) == 0, capsys.readouterr().err
    assert main(["fmt", "--check", str(path)]) == 0


def test_the_picture_shows_this_version() -> None:
    """Drawn again from the example: `python docs/images/overview.py` where this fails."""
    overview = script_of_picture("overview")
    shown = picture("overview")
    assert words_of(overview.drawn()) == words_of(shown)
    assert "GSM1203" in shown


def test_the_chart_shows_the_figures_of_the_page() -> None:
    """Drawn again from docs/reference/performance.md: `python docs/images/building.py` where this fails."""
    building = script_of_picture("building")
    assert words_of(building.draw()) == words_of(picture("building"))
    seconds = {name: figures[0] for name, figures in building.figures().items()}
    page = (ROOT / "docs" / "reference" / "performance.md").read_text(encoding="utf-8")
    assert f"gsdsl {seconds['gsdsl']:.2g} s, linopy {seconds['linopy']:.2g} s" in page


def script_of_picture(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(name, ROOT / "docs" / "images" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    return script


def picture(name: str) -> str:
    return (ROOT / "docs" / "images" / f"{name}.svg").read_text(encoding="utf-8")


def words_of(svg: str) -> list[str]:
    return re.findall(r">([^<>]+)</text>", svg)


@pytest.mark.skipif(sys.platform == "win32", reason="grep and sed")
def test_continuous_integration_finds_the_commands_on_shipped_models() -> None:
    """It executes them with an installed wheel."""
    line = re.search(r"^  commands=\$\((.*)\)$", (ROOT / ".ci" / "run").read_text(encoding="utf-8"), re.MULTILINE)
    assert line is not None
    found = subprocess.run(["bash", "-c", line[1]], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert len(found.splitlines()) >= 2
    assert all(command.startswith("gsdsl ") for command in found.splitlines())
