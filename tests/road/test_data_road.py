"""A scenario with data from every kind of file, against enumeration over the same Python values."""

from __future__ import annotations

import csv
import gzip
import itertools
import json
import math
import shutil
import sqlite3
from collections import defaultdict
from pathlib import Path

import polars as pl
import pytest

import gpusched_dsl as gs
from gpusched_dsl.cli import main

JOBS = [  # name, watts, owner, home
    ("bert, large", 1500, 'Ana "the boss"', "north"),
    ("gpt", 3000.5, "", "south"),
    ("=7", 250, "Ümit", "north"),
    ("42", 1e3, "nobody else", "south"),
]
TIMES = [  # job, site, seconds: several measurements of a pair, to be averaged
    ("bert, large", "north", 3600), ("bert, large", "north", 5400), ("bert, large", "south", 7200),
    ("gpt", "south", 1800), ("gpt", "north", 600.5), ("gpt", "south", 1900),
    ("=7", "north", 60), ("42", "south", 36000), ("42", "north", 3.6e4),
]  # fmt: skip
TARIFFS = {("north", 0): 80.0, ("north", 1): 35.5, ("north", 2): 60.0, ("south", 0): 20.0, ("south", 1): 90.0,
           ("south", 2): -5.0}  # fmt: skip
TASKS = [("gpt", 1, 0), ("gpt", 2, 1), ("42", 3, 0), ("=7", 4, 1), ("bert, large", 5, 0), ("bert, large", 6, 0)]
PEAKS = {"north": 2.0, "south": 3.2}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The model with its data files beside it."""
    shutil.copy(Path(__file__).parent / "models" / "data_road.gsm", tmp_path)
    with open(tmp_path / "jobs.csv", "w", encoding="utf-8-sig", newline="") as file:
        csv.writer(file).writerows([("job", "draws", "who owns it", "at"), *JOBS])
    with gzip.open(tmp_path / "times.csv.gz", "wt", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("site", "job", "seconds"), *((s, j, t) for j, s, t in TIMES)])
    rows = [{"site": s, "hour": h, "price": p} for (s, h), p in TARIFFS.items()]
    pl.DataFrame(rows).write_parquet(tmp_path / "tariffs.parquet")
    lines = [json.dumps({"job": j, "task": t, "urgent": u, "extra": None}, ensure_ascii=False) for j, t, u in TASKS]
    (tmp_path / "tasks.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    base = sqlite3.connect(tmp_path / "sites.sqlite")
    with base:
        base.execute('CREATE TABLE "sites" (id INTEGER, name TEXT, kilowatts REAL)')
        base.executemany("INSERT INTO sites VALUES (?, ?, ?)", [(i, n, k) for i, (n, k) in enumerate(PEAKS.items())])
    base.close()
    return tmp_path


def expected() -> tuple[float, dict[tuple[str, str], float]]:
    """The least cost, and the mean minutes of every pair."""
    measured = defaultdict(list)
    for job, site, seconds in TIMES:
        measured[job, site].append(seconds / 60)
    minutes = {pair: sum(v) / len(v) for pair, v in measured.items()}
    urgent = {j: max(u for k, _, u in TASKS if k == j) for j, *_ in JOBS}
    choices = []
    for job, watts, _, home in JOBS:
        choices.append(
            [
                (site, hour, watts, TARIFFS[site, hour] / 1e6 * watts * minutes[job, site] / 60 + away)
                for site, hour in TARIFFS
                if (job, site) in minutes
                for away in [10.0 if urgent[job] and site != home else 0.0]
            ]
        )
    best = math.inf
    for plan in itertools.product(*choices):
        used: dict[tuple[str, int], float] = defaultdict(float)
        for site, hour, watts, _ in plan:
            used[site, hour] += watts
        if all(total <= 1000 * PEAKS[site] for (site, _), total in used.items()):
            best = min(best, sum(cost for *_, cost in plan))
    return best, minutes


@pytest.mark.parametrize("backend", ["highs", "scip"])
def test_every_kind_of_file(folder: Path, backend: str) -> None:
    result = gs.load(folder / "data_road.gsm").solve(backend=backend, gap=0)
    best, minutes = expected()
    assert result.status == "optimal"
    assert result.objective == pytest.approx(best)
    taken = {row[:-1]: row[-1] for row in result["takes"].rows()}
    assert taken == {pair: pytest.approx(value) for pair, value in minutes.items()}
    assert dict(result["tasks"].rows()) == {"bert, large": 2, "gpt": 2, "=7": 1, "42": 1}
    assert dict(result["power"].rows()) == {j: pytest.approx(w / 1000) for j, w, *_ in JOBS}
    assert dict(result["home"].rows()) == {j: h for j, *_, h in JOBS}
    assert dict(result["owner"].rows())["=7"] == "Ümit"
    assert dict(result["peak"].rows()) == {"north": 2000.0, "south": 3200.0}
    assert dict(result["cheapest"].rows()) == {"north": pytest.approx(35.5), "south": pytest.approx(-5)}
    assert result["tariff"].rows()[0] == ("north", 0, pytest.approx(0.08))
    files = {"data_road.gsm", "jobs.csv", "times.csv.gz", "tariffs.parquet", "tasks.jsonl", "sites.sqlite"}
    assert {Path(name).name for name in result.inputs_sha256} == files


def test_what_the_command_line_writes(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, tables = folder / "out.json", folder / "tables"
    arguments = [str(folder / "data_road.gsm"), "--json", str(out), "--csv", str(tables), "--gap", "0"]
    assert main(["solve", *arguments]) == 0
    assert "status" in capsys.readouterr().out
    document = json.loads(out.read_text(encoding="utf-8"))
    assert document["objective"] == pytest.approx(expected()[0])
    runs = [tuple(entry["index"]) for entry in document["variables"]["run"]]
    assert {j for j, _, _ in runs} == {j for j, *_ in JOBS}
    with open(tables / "run.csv", encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))
    assert len(rows) == 1 + len(runs)
    assert {row[0] for row in rows[1:]} == {"bert, large", "gpt", "'=7", "42"}
