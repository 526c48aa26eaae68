"""`gsdsl run`: its output and files, several methods, journals, and interruption."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import signal
import sys
import time
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from found_codes import shows
from json_schemas import complaints, published
from page_reader import bars_of, figures_of

from gpusched_dsl.cli.run import RunProgressMonitor
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.language.workspace import Workspace
from gpusched_dsl.online.journal import recorder as journalled
from gpusched_dsl.online.journal.journal import Journal
from gpusched_dsl.online.run_config import RunConfig
from gpusched_dsl.workflows import run as driving

Run = Callable[..., Any]
ROOT = Path(__file__).parents[2]
SCHEMA = published("run-1.json")

TEXT = """
import "gsdsl:capacity_planning/online.gsm";
scenario CpOn for CapacityPlanning {
  Nodes = { n1 };
  Jobs = { J1, J2, "<b>J3" };
  Types = { A, B };
  period = 1[h];
  table Types: gpus price[$/h] family =  A 1 0.5 k  B 2 1 k;
  table Jobs: submitted[h] deadline[h] weight[$/h] = J1 0 6 1  J2 1 3.4 2  "<b>J3" 1 9 4;
  Runnable = { (j, v, g) : j in Jobs, (v, g) in Configs };
  exec_time["J1","A",1] = 4[h]; exec_time["J1","B",1] = 4[h]; exec_time["J1","B",2] = 2.4[h];
  exec_time["J2","A",1] = 2[h]; exec_time["J2","B",1] = 2[h]; exec_time["J2","B",2] = 1.2[h];
  exec_time["<b>J3","A",1] = 1[h]; exec_time["<b>J3","B",1] = 1[h]; exec_time["<b>J3","B",2] = 0.6[h];
}
"""

FIFO = """\
CapacityPlanning, online block EveryEvent, scenario CpOn, with FIFO, else Greedy

ended        finished: all jobs are done
total        7.3 $
  execution  3.7 $
  tardiness  3.6 $
bound        3.5 $   (each job separately, in its cheapest way or mixture of two ways)
gap          52.1 %
jobs         3 of 3 finished
tardiness    1 late (33.3 %), 0.6 h mean, 1.8 h at most
completion   4.4667 h mean, 4.2 h median, 5.1 h p95, 5.18 h p99, 5.2 h at most
makespan     6.2 h
queueing     2.4 h mean, 4.08 h p95, 4.2 h at most; waiting 2.4 h mean
use          7.4 GPU-hours of jobs, 6.2 node-hours in use, 100 % of nodes in use
changes      3 starts, 3 boots
plans        7: S mean, S p95, S at most
time         S: plans S, building S, the rest S
"""


@pytest.fixture
def three(tmp_path: Path) -> Path:
    path = tmp_path / "three.gsm"
    path.write_text(TEXT, encoding="utf-8")
    return path


def run(gsdsl: Run, path: Path, *more: object, code: int = 0) -> Any:
    done = gsdsl("run", path, "--online", "EveryEvent", *more)
    assert done.code == code, done.err
    return done


def test_what_it_prints(gsdsl: Run, three: Path) -> None:
    done = run(gsdsl, three, "--method", "FIFO")
    masked = re.sub(r"\d+\.\d+ s\b", "S", done.out)
    assert masked == FIFO
    assert done.err == "" or "compiled the heuristic kernels" in done.err


def test_json_is_as_described(gsdsl: Run, three: Path) -> None:
    done = run(gsdsl, three, "--method", "FIFO", "--seed", 3, "--set", "period=30[min]", "--json", "-")
    found = json.loads(done.out)
    assert list(complaints(found, SCHEMA)) == []
    assert found["format"] == "gsdsl-run/1"
    assert (found["method"], found["fallback"], found["ended"]) == ("FIFO", "Greedy", "finished")
    assert found["total"] == pytest.approx(7.3)
    assert found["bound"]["value"] == pytest.approx(3.5)
    assert found["settings"] == {"period": "30[min]"}
    assert found["run_options"]["seed"] == 3
    assert three.name in " ".join(found["inputs_sha256"])
    assert [job["job"] for job in found["jobs"]] == ["J1", "J2", "<b>J3"]
    assert [(row["job"], row["start"], row["end"]) for row in found["schedule"]] == [
        ("J1", 0.0, 4.0), ("J2", 4.0, pytest.approx(5.2)), ("<b>J3", pytest.approx(5.2), pytest.approx(6.2)),
    ]  # fmt: skip
    assert found["steps"][0]["why"] == ["arrival"]
    broken = {**found, "ended": "never"}
    assert list(complaints(broken, SCHEMA))  # the checker finds something


def test_files(gsdsl: Run, three: Path, tmp_path: Path) -> None:
    folder, page, out = tmp_path / "tables", tmp_path / "run.html", tmp_path / "run.json"
    done = run(gsdsl, three, "--method", "Greedy", "--csv", folder, "--html", page, "--json", out)
    assert f"wrote 5 files into {folder}" in done.err
    assert f"wrote {page}" in done.err
    tables = {path.stem: list(csv.DictReader(path.open(encoding="utf-8"))) for path in folder.iterdir()}
    assert set(tables) == {"jobs", "schedule", "steps", "node_types", "metrics"}
    assert [float(row["end"]) for row in tables["jobs"]] == [4.0, 3.0, 4.0]
    figures = {row["metric"]: row["value"] for row in tables["metrics"]}
    assert float(figures["jct_mean"]) == 3.0
    assert figures["cluster_utilisation"] == ""
    assert tables["steps"][1]["why"] == "arrival+period"
    assert json.loads(out.read_text(encoding="utf-8"))["total"] == pytest.approx(3.5)


class Tags(HTMLParser):
    """Whether tags are closed in order, and which there are."""

    EMPTY = ("meta", "line", "polyline", "br", "rect")

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[tuple[str, dict[str, str | None]]] = []
        self.wrong: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))
        self.open.append(tag)
        if tag in ("meta", "br", "input"):  # they have no end
            self.open.pop()

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.wrong.append(tag)


def test_the_page(gsdsl: Run, three: Path) -> None:
    """It is whole, names are escaped, it needs nothing from elsewhere, and bars lie within their chart."""
    page = run(gsdsl, three, "--methods", "FIFO,Greedy", "--html", "-").out
    tags = Tags()
    tags.feed(page)
    assert not tags.wrong
    assert not tags.open
    assert "<b>J3" not in page
    assert "&lt;b&gt;J3" in page
    assert not any("src" in attrs for _, attrs in tags.seen)
    assert all(str(attrs.get("href", "#")).startswith("#") for _, attrs in tags.seen)
    assert not any(tag in ("link", "img") for tag, _ in tags.seen)
    assert sum(tag == "script" for tag, _ in tags.seen) == 3  # the data, the charting library, the scripts
    schedules = figures_of(page, "schedule")
    bars = [bar for schedule in schedules for bar in bars_of(schedule)]
    assert len(bars) == 3 + 4
    for schedule in schedules:
        low, high, stays = schedule["axis"]["low"], schedule["axis"]["high"], schedule["stays"]
        assert all(low <= a < b <= high for a, b in zip(stays["start"], stays["end"], strict=True))
        assert all(a >= 0 and a + b <= 1 for a, b in zip(stays["top"], stays["height"], strict=True))
    assert sum(late for *_, late in bars) == 1
    assert sum(tag == "figure" for tag, _ in tags.seen) == len(figures_of(page))
    assert len(figures_of(page, "curves")) == 2 * 3
    assert len(figures_of(page, "bars")) >= 3
    for figure in figures_of(page, "curves"):
        for curve in figure["curves"]:
            assert curve["x"] == sorted(curve["x"])
            assert min(curve["y"]) >= 0


# --- several methods -------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_table_of_methods(gsdsl: Run, three: Path) -> None:
    done = run(gsdsl, three, "--methods", "FIFO,Greedy,highs")
    lines = done.out.splitlines()
    assert lines[0] == "CapacityPlanning, online block EveryEvent, scenario CpOn"
    assert lines[2].split()[:4] == ["method", "execution", "tardiness", "total"]
    rows = {line.split()[0]: line for line in lines[4:7]}
    assert list(rows) == ["FIFO", "Greedy", "highs"]
    assert [row.count("*") for row in rows.values()] == [0, 1, 1]
    assert rows["FIFO"].split()[4] == "52.1"
    assert "gap [%]" in lines[2]
    assert lines[-1].startswith("bound 3.5 $: each job separately")


@pytest.mark.slow
def test_methods_as_json_and_csv(gsdsl: Run, three: Path) -> None:
    found = json.loads(run(gsdsl, three, "--methods", "FIFO,Greedy", "--json", "-").out)
    assert list(complaints(found, SCHEMA)) == []
    assert [(r["method"], r["best"], r["ended"]) for r in found["rows"]] == [
        ("FIFO", False, "finished"), ("Greedy", True, "finished"),
    ]  # fmt: skip
    for row in found["rows"]:
        alone = json.loads(run(gsdsl, three, "--method", row["method"], "--json", "-").out)
        assert alone["total"] == row["result"]["total"]
        assert alone["schedule"] == row["result"]["schedule"]
    rows = list(csv.DictReader(io.StringIO(run(gsdsl, three, "--methods", "FIFO,Greedy", "--csv", "-").out)))
    assert [float(row["cost_tardiness"]) for row in rows] == [pytest.approx(3.6), 0.0]
    assert [float(row["jct_mean"]) for row in rows] == [pytest.approx(4.4667, abs=1e-3), 3.0]


def test_a_method_that_is_refused_stands_in_the_table(gsdsl: Run, three: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = driving._run_method

    def refusing(workspace: Workspace, config: RunConfig, *given: Any, **more: Any) -> Any:
        if config.method == "scip":
            raise DiagnosticError([Diagnostic("GSM4003", "scip does not take this")])
        return real(workspace, config, *given, **more)

    monkeypatch.setattr(driving, "_run_method", refusing)
    done = run(gsdsl, three, "--methods", "scip,Greedy", "--json", "-")
    found = json.loads(done.out)
    assert list(complaints(found, SCHEMA)) == []
    assert [row["ended"] for row in found["rows"]] == ["refused", "finished"]
    assert found["rows"][0]["findings"] == [{"code": "GSM4003", "message": "scip does not take this"}]
    assert "GSM4003" in done.err
    assert "refused" in run(gsdsl, three, "--methods", "scip,Greedy").out
    assert "GSM4003" in run(gsdsl, three, "--methods", "scip", code=1).err
    run(gsdsl, three, "--methods", "scip,Nobody", code=1)  # a name that there is not ends all before it begins


# --- what goes wrong -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--methods", "FIFO,Greedy", "--journal", "j.db"], "records one run"),
        (["--replay"], "only for `--journal DB`"),
        (["--json", "-", "--html", "-"], "standard output"),
        (["--csv", "-"], "name a folder"),
        (["--method", "FIFO", "--methods", "FIFO,Greedy"], "not allowed with"),
        (["--seed", "-1"], "not a nonnegative integer"),
    ],
)
def test_wrong_use(gsdsl: Run, three: Path, arguments: list[str], said: str) -> None:
    assert said in run(gsdsl, three, *arguments, code=2).err


def test_bad_input(gsdsl: Run, three: Path, tmp_path: Path) -> None:
    done = gsdsl("run", three)
    assert done.code == 1
    assert "GSM6019" in done.err  # there are several online blocks
    assert "GSM4001" in run(gsdsl, three, "--method", "Greddy", code=1).err
    assert "GSM6007" in run(gsdsl, three, "--scenario", "Cp", code=1).err
    assert "GSM6008" in run(gsdsl, three, "--json", tmp_path / "none" / "x.json", code=1).err


def test_a_run_that_is_stuck(gsdsl: Run, tmp_path: Path) -> None:
    """Jobs that wait for ever are told of, and the exit code says that the run did not come to its end."""
    path = tmp_path / "stuck.gsm"
    path.write_text(
        TEXT + "policy Lazy for CapacityPlanning extends Greedy { place postpone; }\n"
        "online Idle for CapacityPlanning extends EveryArrivalAndCompletion { }\n", encoding="utf-8",
    )  # fmt: skip
    done = gsdsl("run", path, "--online", "Idle", "--method", "Lazy", "--json", "-")
    assert done.code == 5
    assert shows(done.err.splitlines()[0], "GSM7005", severity="warning")
    found = json.loads(done.out)
    assert list(complaints(found, SCHEMA)) == []
    assert found["ended"] == "stuck"
    assert found["metrics"]["jobs_unfinished"] == 3
    assert found["metrics"]["jct_mean"] is None
    assert found["warnings"][0]["code"] == "GSM7005"
    done = gsdsl("run", path, "--online", "Idle", "--method", "Lazy", "--html", "-")
    assert "GSM7005" in done.out
    assert gsdsl("run", path, "--online", "Idle", "--method", "Lazy").out.splitlines()[2].startswith("ended ")
    page = gsdsl("run", path, "--online", "Idle", "--methods", "Lazy,Greedy,FIFO", "--html", "-").out
    bars = figures_of(page, "bars")
    assert [figure["methods"] for figure in bars] == [["Greedy", "FIFO"]] * len(bars) != []
    assert all("without unfinished runs of Lazy" in figure["note"] for figure in bars)


# --- interrupted, recorded, resumed ----------------------------------------------------------------------------------


def test_stopping_after_a_plan(gsdsl: Run, three: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def after_three_plans(watch: RunProgressMonitor) -> bool:
        return watch.reader is not None and len(watch.reader.loop.steps) >= 3

    monkeypatch.setattr(RunProgressMonitor, "wants_to_stop", after_three_plans)
    done = run(gsdsl, three, "--methods", "FIFO,Greedy", "--json", "-", code=130)
    found = json.loads(done.out)
    assert list(complaints(found, SCHEMA)) == []
    assert found["interrupted"]
    [row] = found["rows"]
    assert (row["method"], row["ended"], row["best"]) == ("FIFO", "interrupt", False)
    assert len(row["result"]["steps"]) == 3
    done = run(gsdsl, three, "--method", "FIFO", code=130)
    assert "interrupted: results until then" in done.out


def test_the_line_of_progress(gsdsl: Run, three: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines: list[str] = []
    real = RunProgressMonitor.observe

    def hear(self: RunProgressMonitor, loop: Any) -> None:
        if not lines:
            lines.append(self.line())
        real(self, loop)
        lines.append(self.line())

    monkeypatch.setattr(RunProgressMonitor, "observe", hear)
    run(gsdsl, three, "--method", "FIFO")
    assert lines[0].startswith("reading the data   ")
    shown = [re.sub(r", [\d.e+]+ per second|   [\d.]+ s$", "", line) for line in lines[1:]]
    assert shown[0] == "0 h   0 done, 0 present, 3 future   0 $   0 plans"
    assert shown[1] == "0 h   0 done, 1 present, 2 future   0 $   1 plan"
    assert shown[2] == "1 h   0 done, 3 present, 0 future   0.5 $   2 plans"
    assert shown[-1] == "5.2 h   2 done, 1 present, 0 future   6.8 $   7 plans"
    run(gsdsl, three, "--methods", "FIFO,EDF")
    assert lines[-1].startswith("EDF   5.2 h   2 done")


def long_text(jobs: int) -> str:
    names = [f"J{n}" for n in range(jobs)]
    rows = " ".join(f"{name} {n * 0.7:.1f} {n + 5} 1" for n, name in enumerate(names))
    times = " ".join(f'exec_time["{n}","A",1] = 4[h]; exec_time["{n}","B",1] = 4[h];' for n in names)
    return f"""
import "gsdsl:capacity_planning/online.gsm";
scenario Long for CapacityPlanning {{
  Nodes = {{ n1, n2 }};  Types = {{ A, B }};  Jobs = {{ {", ".join(names)} }};  period = 1[h];  node_rule = at_most;
  table Types: gpus price[$/h] family = A 1 0.5 k  B 2 1 k;
  table Jobs: submitted[h] deadline[h] weight[$/h] = {rows};
  Runnable = {{ (j, v, g) : j in Jobs, (v, g) in Configs where g == 1 }};
  {times}
}}
"""


def shown(found: dict[str, Any]) -> dict[str, Any]:
    """What a run came to, without the wall clock."""
    steps = [{k: v for k, v in step.items() if "seconds" not in k} for step in found["steps"]]
    return {"steps": steps, **{k: found[k] for k in ("total", "costs", "jobs", "schedule", "ended")}}


def test_ctrl_c_and_going_on(gsdsl: Run, tmp_path: Path, child: Callable[..., Any]) -> None:
    """A run that is interrupted tells what it has; with its journal it comes to the same end as one that was not."""
    path, journal, out = tmp_path / "long.gsm", tmp_path / "run.db", tmp_path / "out.json"
    path.write_text(long_text(30), encoding="utf-8")
    given = ["run", str(path), "--online", "EveryEvent", "--method", "Greedy", "--journal", str(journal)]
    command = [sys.executable, "-m", "gpusched_dsl", *given, "--json", str(out)]
    process = child(command, env={**os.environ, "NO_COLOR": "1"})
    until = time.monotonic() + 200
    while time.monotonic() < until and process.poll() is None:
        try:
            with Journal.read(journal) as found:
                if len(found):
                    break
        except DiagnosticError:
            pass
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    said, told = process.communicate(timeout=200)
    assert process.returncode == 130, told
    assert "stopping without the current plan" in told
    assert "interrupted: results until then" in said
    first = json.loads(out.read_text(encoding="utf-8"))
    assert list(complaints(first, SCHEMA)) == []
    assert first["ended"] == "interrupt"
    done = gsdsl(*given, "--json", "-")
    assert done.code == 0, done.err
    resumed = json.loads(done.out)
    assert f"resuming: {len(first['steps'])} plan" in done.err
    assert resumed["resumed_steps"] == len(first["steps"])
    whole = json.loads(gsdsl(*given[:-2], "--json", "-").out)
    assert shown(resumed) == shown(whole)
    again = gsdsl(*given, "--replay", "--json", "-")
    assert f"computing the {len(whole['steps'])} plans" in again.err
    assert "GSM5110" not in again.err
    assert shown(json.loads(again.out)) == shown(whole)


def test_plans_that_are_others_when_made_again(gsdsl: Run, three: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    journal = three.parent / "j.db"
    run(gsdsl, three, "--method", "Greedy", "--journal", journal)
    before = journal.read_bytes()
    real = journalled.plan_of
    changed = iter([True, *[False] * 100])
    monkeypatch.setattr(journalled, "plan_of", lambda step: (real(step), next(changed)))
    done = run(gsdsl, three, "--method", "Greedy", "--journal", journal, "--replay")
    assert "GSM5110" in done.err
    assert "1 plan differs" in done.err
    assert journal.read_bytes() == before
    assert "GSM5104" in run(gsdsl, three, "--method", "FIFO", "--journal", journal, code=1).err


def test_an_error_on_the_way_keeps_what_was_reached(gsdsl: Run, three: Path) -> None:
    """At 2 h the price of tardiness falls to 0, which the model does not allow."""
    breaking = """
    online Breaking for CapacityPlanning extends EveryEvent { carry weight[j] = weight[j] * (2 - now / 1[h]); }
    """
    three.write_text(TEXT + breaking, encoding="utf-8")
    out = three.with_name("out.json")
    options = ("--online", "Breaking", "--method", "highs", "--set", "node_rule=force", "--json", out)
    done = gsdsl("run", three, *options)
    assert done.code == 1
    assert "ended        ended by an error: results until then" in done.out
    assert "GSM2109" in done.err
    document = json.loads(out.read_text(encoding="utf-8"))
    assert document["ended"] == "error"
    assert document["costs"]["execution"] == pytest.approx(1.0)  # two hours of a VM at half a dollar
    assert list(complaints(document, SCHEMA)) == []


def test_an_error_at_the_first_plan_is_all_there_is(gsdsl: Run, three: Path) -> None:
    broken = "online Broken for CapacityPlanning extends EveryEvent { carry weight[j] = weight[j] * (now / 1[h]); }"
    three.write_text(TEXT + broken, encoding="utf-8")
    done = gsdsl("run", three, "--online", "Broken", "--method", "highs")
    assert done.code == 1
    assert "ended" not in done.out


def test_solver_options_without_a_solver_are_refused(gsdsl: Run, three: Path) -> None:
    done = run(gsdsl, three, "--method", "FIFO", "--solver-option", "time_limt=3", code=1)
    assert done.out == ""
    assert shows(done.err, "GSM4004", "FIFO", "time_limt")
    assert "did you mean `--time-limit`?" in done.err
    done = run(gsdsl, three, "--methods", "FIFO,EDF", "--solver-option", "nonsense=3", code=1)
    assert shows(done.err, "GSM4004", "FIFO", "EDF", "nonsense")
    run(gsdsl, three, "--methods", "FIFO,highs", "--solver-option", "mip_rel_gap=0.1")
