"""Path (a): an operator with tables of nodes, jobs and prices plans a day, asks what if, compares, and runs it."""

from __future__ import annotations

import json
import re
import shutil
from html.parser import HTMLParser
from pathlib import Path

import pytest

from gpusched_dsl.cli import main

HERE = Path(__file__).with_name("operator")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the operator's folder, which is the current one."""
    shutil.copytree(HERE, tmp_path / "plan")
    monkeypatch.chdir(tmp_path / "plan")
    monkeypatch.setenv("GSDSL_PYTHON_KERNELS", "1")
    return tmp_path / "plan"


def said(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> str:
    assert main(list(arguments)) == code, capsys.readouterr()
    done = capsys.readouterr()
    return done.out + done.err


@pytest.mark.usefixtures("folder")
def test_the_plan_of_now(capsys: pytest.CaptureFixture[str]) -> None:
    assert "ok: 2 models, 2 scenarios" in said(capsys, "check", "--strict", "cluster.gsm")
    text = said(capsys, "solve", "cluster.gsm", "--scenario", "Monday", "--html", "plan.html", "--json", "plan.json")
    assert "optimal" in text
    assert "jobs placed" in text
    assert "no room: `capacity[" in text
    found = json.loads(Path("plan.json").read_text())
    assert len({row["job"] for row in found["placement"]}) + len(found["waiting"]) == 60
    page = Path("plan.html").read_text()
    assert all(f"n{k:02d}" in page for k in range(1, 31))  # idle nodes, too
    HTMLParser().feed(page)


@pytest.mark.usefixtures("folder")
def test_what_is_impossible_is_explained_and_repaired(capsys: pytest.CaptureFixture[str]) -> None:
    assert "infeasible" in said(capsys, "solve", "cluster.gsm", "--scenario", "MondayAtOnce", code=3)
    text = said(capsys, "explain", "cluster.gsm", "--scenario", "MondayAtOnce", code=3)
    assert "minimal: without any one of these there is a solution" in text
    advice = re.search(r"there is a solution with (\d+) instead of \d+ in `capacity\[(n\d\d)\]`", text)
    assert advice is not None
    gpus, node = advice.groups()
    again = ("solve", "cluster.gsm", "--scenario", "MondayAtOnce")
    assert "optimal" in said(capsys, *again, "--set", f"gpus[{node}]={gpus}")
    Path("bigger.csv").write_text(f"name,value\ngpus[{node}],{gpus}\n")
    assert "optimal" in said(capsys, *again, "--set-file", "bigger.csv")


@pytest.mark.slow
@pytest.mark.usefixtures("folder")
def test_queues_are_compared_over_the_day(capsys: pytest.CaptureFixture[str]) -> None:
    assert "EDF: earliest due date first" in said(capsys, "policies", "cluster.gsm")
    text = said(
        capsys, "run", "cluster.gsm", "--scenario", "Monday", "--methods", "FIFO,EDF,EASY", "--csv", "table.csv"
    )
    best = next(line for line in text.splitlines() if "*" in line)
    assert best.split()[0] == "EDF"
    assert len(Path("table.csv").read_text().splitlines()) == 4


@pytest.mark.slow
def test_a_run_is_recorded_resumed_and_looked_at(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = ("run", "cluster.gsm", "--scenario", "Monday", "--method", "EDF", "--journal", "run.db")
    text = said(capsys, *run, "--html", "run.html", "--json", "run.json")
    assert "60 of 60 finished" in text
    assert "Jain's index" in text
    assert all(owner in text for owner in ("ana", "bo", "chen", "dara", "eli"))
    first = json.loads((folder / "run.json").read_text())
    said(capsys, *run, "--json", "again.json")  # all of it is in the journal
    again = json.loads((folder / "again.json").read_text())
    assert again["total"] == first["total"]
    assert again["jobs"] == first["jobs"]
    page = (folder / "run.html").read_text()
    assert "<figure" in page
    assert "job60" in page
    why = said(capsys, "why", "cluster.gsm", "--job", "job01", "--scenario", "Monday", "--method", "EDF", "--at", "7h")
    assert "it keeps its node: `keep running`" in why
