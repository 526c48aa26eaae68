"""The examples of flexibility.md are correct: its command prints what the page shows, and its Python runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gpusched_dsl.cli import main
from gpusched_dsl.cli.arguments.commands import build_parser

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGE = (DOCS / "reference" / "flexibility.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def test_the_command_prints_what_the_page_shows(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("afternoon.gsm").write_text(blocks("gsm")[0], encoding="utf-8")
    assert main(["fmt", "--check", "afternoon.gsm"]) == 0
    capsys.readouterr()
    assert main(blocks("sh")[0].split()[1:]) == 0
    assert capsys.readouterr().out.strip() == blocks("text")[0].strip()
    exec(compile(blocks("python")[0], "flexibility.md", "exec"), names := {})
    found = names["found"]
    assert [day.label for day in found.days] == ["Monday", "Tuesday", "Wednesday with less load"]
    assert found.guaranteed == pytest.approx(2.2)
    assert found.table["offer"].to_list() == [0.5, 1.0]
    assert found.moves.height > 0


@pytest.mark.slow
def test_the_shipped_days_can_shed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(blocks("sh")[1].split()[1:]) == 0
    shown = capsys.readouterr().out
    assert " of 6 days (proved: at most " in shown
    assert "jobs move" in shown or "1 job moves" in shown


def test_every_option_is_on_the_page_of_commands() -> None:
    text = (DOCS / "reference" / "cli.md").read_text(encoding="utf-8")
    section = text[text.index("\n## flexibility\n") :].split("\n## ", 2)[1]
    own = {option for action in build_parser()[1]["flexibility"]._actions for option in action.option_strings}
    common = {"-h", "--help", "--diagnostics", "--color", "-q", "--quiet", "--profile", "--debug"}
    short = {"-s", "-D", "-m", "--backend", "-g", "-t"}
    assert {option for option in own - common - short if option not in section} == set()
