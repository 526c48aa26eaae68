"""The Python of the pages python, result and reports runs, block by block, with what its comments say."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

import gpusched_dsl as gs
from gpusched_dsl.language.pages import read_page

DOCS = Path(__file__).resolve().parents[2] / "docs"

CAPACITY = """
import "gsdsl:capacity_planning/scenarios/figure1.gsm";
import "gsdsl:capacity_planning/policies.gsm";
import "gsdsl:capacity_planning/online.gsm";
"""


# A scenario of its own text, as on the page of results.
ONE = CAPACITY + "scenario Own extends Figure1 { }"


def blocks(page: str, language: str = "python") -> list[str]:
    text = read_page(page)
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


# What the text around a block takes as given, by words of the block.
GIVEN = {
    "solver_options=": "earlier, watch = result, None",
    "explanation = model.explain": """
        model = gs.loads("model M { var x <= 1; minimize f: x; constraint r: x >= 2; } scenario Figure1 for M { }")
    """,
    "times.select": """
        jobs = result["deadline"].rename({"Jobs": "job", "value": "deadline"})
        times = result["exec_time"]
        times = times.rename(dict(zip(times.columns, ("job", "vm_type", "gpus", "hours"))))
    """,
    "basicConfig": """
        model = gs.loads("model Cluster { var x <= 2; maximize f: x; } scenario Today for Cluster { }")
    """,
    "speed_profiles(": """
        from numpy import array
        from gpusched_dsl.ir.distributions import Weibull
        speeds, rates = array([[1, 1.8, 2.4]]), array([[1.0, 2, 3]])
        laws, law_of = [Weibull(45, 1.5)], array([0])
        time_left, limit, done = array([60.0]), array([100.0]), array([0.0])
    """,
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """`capacity.gsm` has the scenarios of the page, `sacct.txt` a week of jobs."""
    monkeypatch.chdir(tmp_path)
    three = next(body for body in blocks("running", "gsm") if "scenario Three" in body).split(";", 1)[1]
    (tmp_path / "capacity.gsm").write_text(CAPACITY + three, encoding="utf-8")
    shutil.copy(
        Path(__file__).parents[2] / "edges" / "clusters" / "tests" / "inspecting" / "records" / "week.txt",
        tmp_path / "sacct.txt",
    )
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize("page", ["python", "python_in_detail"])
def test_the_page_runs(page: str, folder: Path) -> None:
    names: dict[str, Any] = {"__name__": "page", "gs": gs, "model": gs.load("capacity.gsm")}
    for body in blocks(page):
        for words, given in GIVEN.items():
            if words in body:
                exec(dedent(given), names)
        body = body.replace('engine="dask", workers=4', 'engine="inline"')  # a cluster takes long to start
        exec(compile(body, f"{page}.md", "exec"), names)
        names["model"] = names.setdefault("first", names["model"])


@pytest.mark.slow
def test_threads_and_processes(folder: Path) -> None:
    (program,) = (body for body in blocks("python_in_detail") if "ProcessPoolExecutor" in body)
    (folder / "plan_all.py").write_text(program, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "plan_all.py"], cwd=folder, capture_output=True, text=True, check=False, timeout=240
    )
    assert (done.stdout, done.stderr) == ("True\n", "")


@pytest.mark.slow
def test_other_pages(folder: Path) -> None:
    model = gs.load("capacity.gsm")
    names: dict[str, Any] = {"model": gs.loads(ONE, base=folder), "result": model.solve("Figure1")}
    for page in ("reports", "result"):
        for body in blocks(page):
            exec(compile(body.replace("within=0.01", "within=0.5"), f"{page}.md", "exec"), names)
    assert (folder / "page.html").exists()
    assert len(list((folder / "figures").glob("*.svg"))) >= 2
    assert names["result"].alternatives.results[1].objective >= names["result"].objective


def test_the_page_of_what_is_stable_has_all_names() -> None:
    text = (DOCS / "reference" / "stability.md").read_text(encoding="utf-8")
    table = text[text.index("## Names") : text.index("## Extensions")]
    rows = "".join(line for line in table.splitlines() if line.startswith("| "))
    assert sorted(re.findall(r"`(\w+)`", rows)) == sorted(gs.__all__)
