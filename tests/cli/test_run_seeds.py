"""`gsdsl run --seeds`: every method once per seed, and the means; `--figures`: the charts as files."""

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest

from gpusched_dsl.cli.starters import starter_files

Run = Callable[..., object]


@pytest.fixture
def noisy(tmp_path: Path) -> Path:
    """The starter project, with execution times that are drawn."""
    for file, text in starter_files("noisy").items():
        drawn = "stretch truncate(normal(mean = 1, deviation = 0.2), low = 0.7, high = 1.3);\n"
        line = "  replan on arrival, completion;\n"
        (tmp_path / file).write_text(text.replace(line, f"{line}  {drawn}"), encoding="utf-8")
    return tmp_path / "noisy.gsm"


def test_means_over_seeds(gsdsl: Run, noisy: Path, tmp_path: Path) -> None:
    found = tmp_path / "out.json"
    done = gsdsl("run", noisy, "--methods", "highs,scip", "--seeds", "1,2", "--json", found, "--csv", "-")
    assert done.code == 0
    rows = list(csv.DictReader(io.StringIO(done.out)))
    assert [(row["seed"], row["method"]) for row in rows] == [
        ("1", "highs"),
        ("1", "scip"),
        ("2", "highs"),
        ("2", "scip"),
    ]
    totals = [float(row["total"]) for row in rows if row["method"] == "highs"]
    assert totals[0] != totals[1]
    document = json.loads(found.read_text())
    assert document["seeds"] == [1, 2]
    assert document["methods"][0]["total_mean"] == pytest.approx(sum(totals) / 2)
    assert document["methods"][0]["total_deviation"] == pytest.approx(abs(totals[0] - totals[1]) / 2**0.5)
    alone = json.loads(gsdsl("run", noisy, "--seed", 2, "--json", "-").out)
    assert alone["metrics"]["total"] == pytest.approx(totals[1])


def test_a_method_that_is_refused_is_left_out_of_the_means(gsdsl: Run, noisy: Path) -> None:
    done = gsdsl("run", noisy, "--methods", "highs,Greedy", "--seeds", "1")
    assert done.code == 1
    assert "GSM4016" in done.err
    done = gsdsl("run", noisy, "--seeds", "3,4")
    assert (done.code, "means over seeds 3, 4" in done.out) == (0, True)
    assert "several seeds" in gsdsl("run", noisy, "--seeds", "1,2", "--journal", "x").err
    assert "`1.5` is not" in gsdsl("run", noisy, "--seeds", "1.5").err


def test_figures_are_complete_documents(gsdsl: Run, noisy: Path, tmp_path: Path) -> None:
    assert gsdsl("run", noisy, "--figures", tmp_path / "one").code == 0
    names = sorted(file.name for file in (tmp_path / "one").iterdir())
    assert {"cost-so-far-1.svg", "schedule-1.svg"} <= set(names)
    for file in (tmp_path / "one").iterdir():
        text = file.read_text()
        assert ElementTree.fromstring(text).tag == "{http://www.w3.org/2000/svg}svg"
        assert "var(" not in text
    gsdsl("run", noisy, "--seeds", "1,2", "--figures", tmp_path / "two")
    assert {f"highs-{seed}-{name}" for seed in (1, 2) for name in names} == {
        file.name for file in (tmp_path / "two").iterdir()
    }
    windows = tmp_path / "windows.gsm"
    for file, text in starter_files("windows", "windows").items():
        (tmp_path / file).write_text(text, encoding="utf-8")
    for command, other in (
        ("solve", ()),
        ("compare", ("--methods", "highs,scip")),
        ("run", ("--html", tmp_path / "p.html")),
    ):
        assert gsdsl(command, windows, *other, "--figures", tmp_path / command).code == 0
        drawn = (tmp_path / command / "schedule-1.svg").read_text()
        assert "<title>Schedule" in drawn
        assert "a colour per job" not in drawn
    (tmp_path / "file").write_text("")
    assert "GSM6008" in gsdsl("run", noisy, "--figures", tmp_path / "file").err
