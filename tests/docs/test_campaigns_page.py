"""The examples of docs/campaigns.md are correct: its campaign, the table that it prints, its Python."""

import re
from pathlib import Path

import pytest

from gpusched_dsl.cli import main
from gpusched_dsl.cli.arguments.commands import build_parser

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "campaigns.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def without_seconds(text: str) -> list[str]:
    """The lines of a table without its last column, the measured times."""
    return [re.sub(r"  +(\S+ \[s\]|-+|[0-9.]+)$", "", line) for line in text.strip().splitlines()]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("campaigns")
    (path / "sizes.gsm").write_text(blocks("gsm")[0], encoding="utf-8")
    return path


def test_the_commands_print_what_the_page_shows(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    assert main(["fmt", "--check", "sizes.gsm"]) == 0
    dry, run, show, export = (line.split()[1:] for line in blocks("sh")[0].strip().splitlines())
    capsys.readouterr()
    assert main(dry) == 0
    assert capsys.readouterr().out.startswith("Sizes: 12 runs, 12 to execute")
    assert main([*run, "--engine", "inline"]) == 0
    assert capsys.readouterr().out.startswith("Sizes: 12 done of 12 runs; 12 runs executed in ")
    assert main(show) == 0
    assert without_seconds(capsys.readouterr().out) == without_seconds(blocks("text")[0])
    assert main(export) == 0
    assert Path("sizes.csv").read_text().splitlines()[0] == (
        "size,scenario,method,seed,state,status,objective,bound,gap,total,rent,lateness,seconds,code,diagnostic,key"
    )
    program = blocks("python")[0].replace("workers=2", 'engine="inline"')
    exec(compile(program, "campaigns.md", "exec"), names := {})
    assert names["done"].executed == 0
    assert names["means"].height == 4


def test_every_statement_of_the_table_parses(folder: Path) -> None:
    from gpusched_dsl.language.diagnostics.errors import Diagnostics
    from gpusched_dsl.language.workspace import workspace_from_text

    rows = re.findall(r"^\| (`.*?) \| ", PAGE, re.MULTILINE)
    statements = [text for row in rows for text in re.findall(r"`([^`]*;)`", row)]
    assert len(statements) >= 10
    found = Diagnostics()
    workspace = workspace_from_text("campaign C {\n" + "\n".join(statements) + "\n}", "t", found)
    assert not list(found)
    assert len(workspace.campaigns["C"].statements) == len(statements)


def test_every_option_is_on_the_page_of_commands() -> None:
    text = (Path(__file__).resolve().parents[2] / "docs" / "reference" / "cli.md").read_text(encoding="utf-8")
    section = text[text.index("\n## campaign\n") :].split("\n## ", 2)[1]
    own = {option for action in build_parser()[1]["campaign"]._actions for option in action.option_strings}
    common = {"-h", "--help", "--diagnostics", "--color", "-q", "--quiet", "--profile", "--debug"}
    assert {option for option in own - common if option not in section} == set()
