"""`gsdsl campaign`: its output, exit codes and errors; the campaigns themselves are tested in tests/campaigns."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from found_codes import shows

Run = Callable[..., object]
TEXT = """
campaign Rooms "how much fits" {
  vary space in { 3[GB], 7[GB] };
  room = space;
  solve Small with highs, highs (mip_heuristic_effort = 2) as Wrong;
  measure gain;
}
"""


@pytest.fixture
def file(pack: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The small model with a campaign in which one method fails; the folder is the current one."""
    monkeypatch.chdir(pack.parent)
    pack.write_text(pack.read_text() + TEXT)
    return pack


def test_a_campaign_from_beginning_to_end(gsdsl: Run, file: Path) -> None:
    done = gsdsl("campaign", "run", file, "--dry-run")
    assert (done.code, done.out.splitlines()[0]) == (0, "Rooms: 4 runs, 4 to execute")
    assert done.out.splitlines()[1].endswith("no estimate: execute some, as with `--only method=highs`")
    assert not Path("Rooms.results").exists()
    done = gsdsl("campaign", "run", file, "--engine", "inline", "--only", "method=highs")
    assert (done.code, done.out.startswith("Rooms: 2 done of 2 runs; 2 runs executed in ")) == (0, True)
    done = gsdsl("campaign", "run", file, "--dry-run")
    assert done.out.splitlines()[0] == "Rooms: 4 runs, 2 to execute"
    assert done.out.splitlines()[1].startswith("  about ")
    done = gsdsl("campaign", "run", file, "--engine", "inline")
    assert done.code == 1
    assert done.out.startswith("Rooms: 2 done, 2 failed of 4 runs; 2 runs executed in ")
    assert "  2 runs failed: GSM4005 " in done.out
    assert gsdsl("campaign", "status", file).out.startswith("Rooms: 4 runs, 2 done, 2 failed; ")
    shown = gsdsl("campaign", "show", file).out.splitlines()
    assert shown[0] == "Rooms: how much fits"
    assert [line.split()[:4] for line in shown[4:8]] == [
        ["3", "highs", "1", "4"], ["3", "Wrong", "0", "of"], ["7", "highs", "1", "10"], ["7", "Wrong", "0", "of"],
    ]  # fmt: skip
    done = gsdsl("campaign", "show", file, "--html", "page.html")
    assert (done.code, done.out.splitlines(), "wrote page.html" in done.err) == (0, shown, True)
    assert "2 runs failed" in Path("page.html").read_text()
    done = gsdsl("campaign", "show", file, "--html", "-")
    assert (done.code, done.out) == (0, Path("page.html").read_text())
    done = gsdsl("campaign", "run", file, "--engine", "inline", "--html", "again.html")
    assert (done.code, Path("again.html").read_text()) == (1, Path("page.html").read_text())
    assert "GSM6002" in gsdsl("campaign", "run", file, "--dry-run", "--html", "page.html").err
    assert "GSM6002" in gsdsl("campaign", "status", file, "--html", "page.html").err
    assert "GSM6008" in gsdsl("campaign", "show", file, "--html", "no/such/page.html").err
    assert gsdsl("campaign", "export", file, "--out", "r.csv").code == 0
    assert (
        Path("r.csv").read_text().startswith("space,scenario,method,seed,state,status,objective,bound,gap,gain,seconds")
    )
    done = gsdsl("campaign", "verify", file)
    assert (done.code, done.out) == (0, "Rooms: 2 results of the present inputs, 2 failed runs\n")
    file.write_text(file.read_text().replace("5 3", "6 3"))
    done = gsdsl("campaign", "verify", file)
    assert (done.code, done.out) == (
        1,
        "Rooms: 0 results of the present inputs, 4 runs missing, 4 results of other inputs\n",
    )
    assert "scenario `Small` changed" in done.err


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["run", "Other"], 1, "unknown campaign `Other`"),
        (["run", "--only", "method"], 2, "does not select runs"),
        (["run", "--only", "size=3"], 1, "`size` does not vary"),
        (["run", "--engine", "spark"], 1, "unknown engine `spark`"),
        (["run", "--engine", "dask://"], 1, "unknown engine `dask://`"),
        (["run", "--out", "x.csv"], 2, "`--out` is only for `campaign export`"),
        (["show", "--retry"], 2, "`--retry` is only for `campaign run`"),
        (["verify", "--only", "seed=0"], 2, "the complete campaign"),
        (["show"], 1, "there is no store"),
        (["export", "--store", "."], 1, "is not a store"),
        (["run", "--store", "."], 1, "is not a store"),
    ],
)
def test_errors(gsdsl: Run, file: Path, arguments: list[str], code: int, words: str) -> None:
    action, *others = arguments
    done = gsdsl("campaign", action, file, *others)
    assert (done.code, words in done.err) == (code, True), done.err
    assert not Path("Rooms.results").exists()


def test_an_export_of_another_format(gsdsl: Run, file: Path) -> None:
    gsdsl("campaign", "run", file, "--engine", "inline", "--only", "method=highs")
    assert shows(gsdsl("campaign", "export", file, "--out", "r.xls").err, "GSM6008", "r.xls")


@pytest.mark.slow
def test_ctrl_c_keeps_what_is_done(file: Path) -> None:
    many = TEXT.replace("{ 3[GB], 7[GB] }", "1..400").replace("room = space", "room = space * 1[GB]")
    file.write_text(file.read_text().replace(TEXT, many.replace(", highs (mip_heuristic_effort = 2) as Wrong", "")))
    command = [sys.executable, "-m", "gpusched_dsl", "campaign", "run", str(file), "--workers", "1"]
    started = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    runs = Path("Rooms.results", "runs")
    end = time.monotonic() + 120
    while len(list(runs.glob("??/*.json"))) < 5 and time.monotonic() < end:
        time.sleep(0.05)
    os.kill(started.pid, signal.SIGINT)
    out, err = started.communicate(timeout=60)
    stored = len(list(runs.glob("??/*.json")))
    assert started.returncode == 130, err
    assert 5 <= stored < 400
    assert out.startswith(f"Rooms: {stored} done, {400 - stored} missing of 400 runs; ")
    assert "the same command continues" in err


@pytest.mark.slow
def test_a_newcomer_runs_the_experiments_of_a_paper(
    gsdsl: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One command from a shipped campaign to the page with the published results beside ours."""
    monkeypatch.chdir(tmp_path)
    done = gsdsl("campaign", "run", "gsdsl:ferrino_2024.gsm", "Tables8To12", "--only", "seed=1", "--html", "page.html")
    assert done.code == 0
    assert "Tables8To12: 45 done of 45 runs" in done.out
    page = Path("page.html").read_text()
    for words in ("Published claims", "Ferrino and Choe 2024", "Table 12, makespan", "the runs cannot tell"):
        assert words in page, words
