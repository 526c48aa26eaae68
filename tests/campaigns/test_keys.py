"""The keys of runs: a changed input changes the keys of the runs that read it, and no others."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

import pytest
from campaign_files import CAMPAIGN, FILES, MODEL, SCENARIOS, plan_of, run_in, titles, write_files

import gpusched_dsl as gs

GREEDY = """
policy Own for Shop { order j in Jobs by due[j]; place best_fit; }
"""


def keys_after(tmp_path: Path, changed: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    before = titles(plan_of(write_files(tmp_path / "before"), "Sizes"))
    after = titles(plan_of(write_files(tmp_path / "after", changed), "Sizes"))
    assert len(set(before.values())) == len(before) == 12
    return before, after


@pytest.mark.parametrize(
    "changed",
    [
        {},
        {"model.gsm": "# a comment\n" + MODEL.replace("  set Items;", "\n\n  set   Items;   # another one")},
        {"campaign.gsm": CAMPAIGN.replace("measure gain, sold, used;", "measure used;")},
        {"campaign.gsm": CAMPAIGN + "campaign Second { solve Small; }"},
        {"campaign.gsm": CAMPAIGN + "test T { solve Small; expect gain > 0; }"},
        {"scenarios.gsm": SCENARIOS + "scenario Third for Pack { room = 1[GB]; }"},
        {"model.gsm": MODEL + "model Unused { var x >= 0; minimize x; }"},
    ],
)
def test_what_no_run_reads_changes_no_key(tmp_path: Path, changed: Mapping[str, str]) -> None:
    before, after = keys_after(tmp_path, changed)
    assert before == after


@pytest.mark.parametrize(
    ("changed", "touched"),
    [
        ({"model.gsm": MODEL.replace("<= 9", "<= 8")}, ""),
        ({"scenarios.gsm": SCENARIOS.replace("room = 7[GB];", "room = 8[GB];", 1)}, "Small"),
        ({"items.csv": FILES["items.csv"].replace("5,3", "6,3")}, "Small"),
        ({"others.csv": FILES["others.csv"] + "e,1,1\n"}, "Other"),
        ({"campaign.gsm": CAMPAIGN.replace("gap = 0", "gap = 0.1")}, "scip"),
    ],
)
def test_a_changed_input_changes_the_keys_of_its_runs(tmp_path: Path, changed: Mapping[str, str], touched: str) -> None:
    before, after = keys_after(tmp_path, changed)
    assert before.keys() == after.keys()
    assert {title for title in before if before[title] != after[title]} == {t for t in before if touched in t}


def test_more_values_and_other_names_keep_the_keys(tmp_path: Path) -> None:
    before = set(titles(plan_of(write_files(tmp_path / "before"))).values())
    more = CAMPAIGN.replace("9[GB] }", "9[GB], 11[GB] }").replace("space", "storage").replace("highs", "highs as Exact")
    after = titles(plan_of(write_files(tmp_path / "after", {"campaign.gsm": more})))
    assert before < set(after.values())
    assert len(after) == 16


def test_seeds_repeats_and_versions_are_in_the_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repeated = CAMPAIGN.replace("vary space", "vary seed in 1..2; vary replication in 1..2; vary space")
    path = write_files(tmp_path, {"campaign.gsm": repeated})
    before = titles(plan_of(path))
    assert len(set(before.values())) == 48
    monkeypatch.setattr("gpusched_dsl.campaigns.inputs.__version__", "9.9.9")
    assert set(before.values()).isdisjoint(titles(plan_of(path)).values())


def test_policies_are_inputs(tmp_path: Path) -> None:
    shop = """
model Shop {
  set Jobs;  set Nodes;
  param due[Jobs] in h;  param time[Jobs] in h > 0;
  var run[Jobs, Nodes] binary;
  minimize late in h: sum[j in Jobs, n in Nodes] due[j] * run[j, n];
  constraint once[j in Jobs]: sum[n in Nodes] run[j, n] == 1;
  constraint room[n in Nodes]: sum[j in Jobs] run[j, n] <= 2;
  placement run[j, n] { job j; node n; uses 1 of 2; lasts time[j]; }
}
scenario Day for Shop { Jobs = { j1, j2 };  Nodes = { n1 };  due = [1, 2][h];  time = [1, 1][h]; }
campaign C { solve Day with Own, FIFO, highs; }
"""
    path = tmp_path / "shop.gsm"
    path.write_text(shop + GREEDY)
    before = titles(plan_of(path))
    path.write_text(shop + GREEDY.replace("due[j]", "due[j] descending"))
    after = titles(plan_of(path))
    assert [before[title] == after[title] for title in before] == [False, True, True]


def test_two_traces_by_a_factor(tmp_path: Path) -> None:
    traces = """
import "scenarios.gsm";
campaign Traces {
  vary trace in { "items.csv", "others.csv" };
  data "items.csv" = trace;
  solve Small;
}
"""
    path = write_files(tmp_path, {"campaign.gsm": traces})
    first, second = plan_of(path).runs
    assert first.task.settings == {'"items.csv"': '"items.csv"'}
    assert list(first.task.data) == ["items.csv"]
    assert list(second.task.data) == ["others.csv"]
    assert first.key != second.key


def test_policies_of_a_portfolio_are_inputs(tmp_path: Path) -> None:
    text = """
import "gsdsl:capacity_planning/online.gsm";
import "gsdsl:capacity_planning/scenarios/three_jobs.gsm";
policy Mine for CapacityPlanning extends EDF { order j in Jobs by deadline[j]; }
policy Next for CapacityPlanning extends PS { order j in Jobs by deadline[j]; }
policy Ahead for CapacityPlanning { portfolio Mine, scip;  lookahead 24[h];  continue with Next; }
policy Longer extends Ahead { lookahead 72[h]; }
campaign C { run ThreeJobs online EveryEvent with Longer, Mine, Next, FIFO; }
"""
    path = tmp_path / "ahead.gsm"
    path.write_text(text)
    plan = plan_of(path)
    before = titles(plan)
    assert "version SCIP" in plan.runs[0].pins
    for name, same in (("Mine", [False, False, True, True]), ("Next", [False, True, False, True])):
        path.write_text(text.replace(f"policy {name}", f'policy {name} "changed"', 1))
        after = titles(plan_of(path))
        assert [before[title] == after[title] for title in before] == same


def test_the_file_of_a_warm_start_is_an_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = 'import "scenarios.gsm"; campaign C { solve Small with highs (warm_start = "start.json"), highs as Cold; }'
    path = write_files(tmp_path / "files", {"campaign.gsm": text})
    start = path.with_name("start.json")
    missing = [run.key for run in plan_of(path).runs]
    gs.load(path).solve("Small", method="highs").to_json(start)
    plan = plan_of(path)
    assert [a == b.key for a, b in zip(missing, plan.runs, strict=True)] == [False, True]
    monkeypatch.chdir(tmp_path)  # the path is relative to the file, not to the current folder
    assert [record.state for record in run_in(tmp_path / "store", plan).records.values()] == ["done", "done"]
    moved = path.parent.rename(tmp_path / "moved") / path.name
    assert [run.key for run in plan_of(moved).runs] == [run.key for run in plan.runs]
    gs.load(moved).solve("Small", method="scip", gap=0.5).to_json(moved.with_name("start.json"))
    assert [a.key == b.key for a, b in zip(plan_of(moved).runs, plan.runs, strict=True)] == [False, True]


def test_the_log_of_a_database_is_an_input(tmp_path: Path) -> None:
    path = write_files(
        tmp_path,
        {
            "scenarios.gsm": SCENARIOS.replace('"items.csv"', '"items.db"'),
            "campaign.gsm": 'import "scenarios.gsm"; campaign C { solve Small; }',
        },
    )
    with closing(sqlite3.connect(tmp_path / "items.db", isolation_level=None)) as database:
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("CREATE TABLE items (item TEXT, worth REAL, size REAL)")
        database.execute("INSERT INTO items VALUES ('a', 3, 2)")
        assert (tmp_path / "items.db-wal").stat().st_size > 0
        before = plan_of(path)
        done = run_in(tmp_path / "store", before)
        assert [(record.state, record.objective) for record in done.records.values()] == [("done", 8.0)]
        database.execute("UPDATE items SET worth = 4")
        assert plan_of(path).runs[0].key != before.runs[0].key
