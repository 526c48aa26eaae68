"""`gsdsl run --seeds`: every method once per seed, and the means; `--figures`: the charts as files."""

import csv
import io
import json
import re
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest
from found_codes import raises_code, shows
from json_schemas import complaints, published

import gpusched_dsl as gs
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
    assert list(complaints(document, published("run-1.json"))) == []
    assert list(complaints({**document, "metric": 1}, published("run-1.json"))) != []
    assert [method["verdict"] for method in document["paired"]["methods"]] == [None, "equal"]
    assert [row["verdict"] for row in rows] == ["", "equal"] * 2
    in_python = gs.load(noisy).run(method=["highs", "scip"], seeds=[1, 2])
    assert (in_python.metric, in_python.unit) == ("total", "$")
    assert in_python.to_dict()["paired"] == document["paired"]
    assert in_python[2]["highs"].total == pytest.approx(totals[1])
    assert "scip: equal to highs at every seed" in str(in_python)
    alone = json.loads(gsdsl("run", noisy, "--seed", 2, "--json", "-").out)
    assert alone["metrics"]["total"] == pytest.approx(totals[1])


def test_a_method_that_is_refused_is_left_out_of_the_means(gsdsl: Run, noisy: Path) -> None:
    done = gsdsl("run", noisy, "--methods", "highs,Greedy", "--seeds", "1..2")
    assert done.code == 1
    assert "GSM4016" in done.err
    found = gs.load(noisy).run(method=["highs", "Greedy"], seeds=[1, 2])
    assert found.footer() == ["means over seeds 1, 2", "Greedy finished at no seed"]
    assert (found.finished, len(found.values("highs", "total")), found.paired) == (("highs",), 2, None)
    assert found.grid().columns[1].texts[1].strip() == "-"
    done = gsdsl("run", noisy, "--seeds", "3,4")
    assert (done.code, "means over seeds 3, 4" in done.out) == (0, True)
    assert shows(gsdsl("run", noisy, "--seeds", "1,2", "--journal", "x").err, "GSM6002", "--journal", "--seeds")
    for wrong, words in (
        ("1.5", "`1.5` is not"),
        ("5..3", "the last one is smaller"),
        ("1..1000000", "more than 100000 seeds"),
    ):
        assert words in gsdsl("run", noisy, "--seeds", wrong).err
    assert "not allowed with" in gsdsl("run", noisy, "--seed", 4, "--seeds", "1..3").err


def test_runs_without_charges_are_ranked_by_completion_times(gsdsl: Run, noisy: Path) -> None:
    text = noisy.read_text()
    free = re.sub(r"price\[n\]", "0 * price[n]", text)
    assert free != text
    noisy.write_text(free)
    found = gs.load(noisy).run(method=["highs"], seeds=range(1, 3))
    assert found.metric == "jct_mean"
    assert "nothing is charged: the best method has the smallest mean completion time" in found.footer()
    assert found.grid().columns[1].header.split() == ["mean", "completion", "[h]"]


def test_wrong_seeds_in_python(noisy: Path) -> None:
    model = gs.load(noisy)
    for seeds, words in (([], "at least one"), (3, "write `seeds=[3]`"), ([1, 2.5], "the seed must"), ("12", "a list")):
        with pytest.raises(gs.DiagnosticError, match="GSM4011") as caught:
            model.run(seeds=seeds)
        assert words in str(caught.value)
    with raises_code("GSM6002", "journal", "seeds"):
        model.run(seeds=[1, 2], journal=noisy.with_suffix(".db"))


@pytest.mark.slow
def test_figures_are_complete_documents(gsdsl: Run, noisy: Path, tmp_path: Path) -> None:
    assert gsdsl("run", noisy, "--figures", tmp_path / "one").code == 0
    names = sorted(file.name for file in (tmp_path / "one").iterdir())
    assert {"cost-so-far-1.svg", "cost-so-far-1.png", "schedule-1.svg", "schedule-1.png"} <= set(names)
    for file in (tmp_path / "one").glob("*.svg"):
        text = file.read_text()
        assert ElementTree.fromstring(text).tag == "{http://www.w3.org/2000/svg}svg"
        assert "var(" not in text
    (tmp_path / "file").write_text("")
    assert "GSM6008" in gsdsl("run", noisy, "--figures", tmp_path / "file").err


@pytest.mark.slow
def test_commands_write_the_figures_of_all_results(gsdsl: Run, noisy: Path, tmp_path: Path) -> None:
    gsdsl("run", noisy, "--figures", tmp_path / "one")
    names = [file.name for file in (tmp_path / "one").iterdir()]
    gsdsl("run", noisy, "--seeds", "1,2", "--figures", tmp_path / "two")
    assert {f"highs-{seed}-{name}" for seed in (1, 2) for name in names} == {
        file.name for file in (tmp_path / "two").iterdir()
    }
    windows = tmp_path / "windows.gsm"
    for file, text in starter_files("windows", "windows").items():
        (tmp_path / file).write_text(text, encoding="utf-8")
    for command, other, first in (
        ("solve", (), "schedule-1.svg"),
        ("compare", ("--methods", "highs,scip"), "highs-schedule-1.svg"),
        ("run", ("--html", tmp_path / "p.html"), "schedule-1.svg"),
    ):
        assert gsdsl(command, windows, *other, "--figures", tmp_path / command).code == 0
        drawn = (tmp_path / command / first).read_text()
        assert "<dc:title>Schedule" in drawn
    assert len(list((tmp_path / "compare").glob("comparison-*.svg"))) >= 1
