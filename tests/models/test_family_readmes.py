"""The README of each family lists the files of the family, and its command runs; the index lists the families."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gpusched_dsl.cli import main

ROOT = Path(__file__).resolve().parents[2]
MODELS = ROOT / "models"
FAMILIES = sorted(path.parent for path in MODELS.glob("*/model.gsm"))


def readme(folder: Path) -> str:
    return (folder / "README.md").read_text(encoding="utf-8")


def test_the_index_lists_every_family() -> None:
    linked = re.findall(r"^\| \[(\w+)\]\((\w+)/README\.md\)", readme(MODELS), re.MULTILINE)
    assert sorted(linked) == [(family.name, family.name) for family in FAMILIES]
    assert {path.relative_to(MODELS).parts[0] for path in MODELS.rglob("*.gsm")} == {name for name, _ in linked}


@pytest.mark.parametrize("family", FAMILIES, ids=lambda p: p.name)
def test_all_files_of_a_family_are_listed(family: Path) -> None:
    listed: set[str] = set()
    for row in re.findall(r"^\| (`[^|]*\.gsm`) \|", readme(family), re.MULTILINE):
        folder = ""
        for name in re.findall(r"`([\w/]+\.gsm)`", row):  # names after the first one are in its folder
            folder, _, file = name.rpartition("/") if "/" in name else (folder, "", name)
            listed.add(f"{folder}/{file}".lstrip("/"))
    assert listed == {path.relative_to(family).as_posix() for path in family.rglob("*.gsm")}


@pytest.mark.quick(2)
@pytest.mark.parametrize("family", FAMILIES, ids=lambda p: p.name)
def test_the_command_of_a_family_runs(
    family: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    (command,) = re.findall(r"^    gsdsl (.+)$", readme(family), re.MULTILINE)
    assert main(command.split()) == 0, capsys.readouterr().err
