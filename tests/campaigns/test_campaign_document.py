"""The JSON document of a campaign has each run as the table has it, and follows its schema."""

from __future__ import annotations

import json
import math
from pathlib import Path

import msgspec
import pytest
from campaign_files import plan_of, write_files
from campaign_records import GRID, HOSTILE, gain_of, made
from found_codes import shows
from json_schemas import complaints, published

from gpusched_dsl.campaigns.campaign import run_campaign
from gpusched_dsl.campaigns.results import CampaignResults
from gpusched_dsl.campaigns.store import Store
from gpusched_dsl.cli import main
from gpusched_dsl.engines.choose import choose_engine

SCHEMA = published("campaign.schema.json")


def test_each_run_is_in_the_document(tmp_path: Path) -> None:
    plan, records = made(tmp_path, GRID, lambda run: None if run.label == "scip" and run.seed == 1 else gain_of(run))
    first, second, third = (planned.key for planned in plan.runs[:3])
    del records[first]
    records[second] = msgspec.structs.replace(records[second], bound=math.inf, versions={"highs": "1"})
    records[third] = msgspec.structs.replace(records[third], versions={"highs": "2"})
    results = CampaignResults.of(plan, records)
    document = results.to_dict()
    assert list(complaints(document, SCHEMA)) == []
    assert set(document) == set(SCHEMA["properties"]) == set(SCHEMA["required"])
    assert (document["campaign"], document["description"]) == ("Sizes", "Rooms & <b>sizes</b>")
    assert (document["factors"], document["measures"]) == (["space", "seed"], ["gain", "used"])
    assert document["units"]["space"] == "GB"
    assert document["versions"] == {"highs": ["1", "2"]}
    for row, stored in zip(document["rows"], results.table.iter_rows(named=True), strict=True):
        assert row["factors"] == {"space": stored["space"], "seed": stored["seed"]}
        assert (row["method"], row["scenario"], row["seed"], row["key"]) == (
            stored["method"], stored["scenario"], stored["seed"], stored["key"],
        )  # fmt: skip
        for name in ("state", "objective", "seconds"):
            assert row[name] == stored[name], name
        assert row["status"] == (stored["status"] or "")
        assert [row["measures"].get(name) for name in ("gain", "used")] == [stored["gain"], stored["used"]]
        failed = [{"code": "GSM4004", "message": f"no {HOSTILE}"}] if stored["state"] == "failed" else []
        assert row["findings"] == failed
    assert [row["state"] for row in document["rows"]].count("failed") > 0
    assert document["rows"][0]["state"] == "missing"
    assert document["rows"][1]["bound"] is None
    assert list(complaints({**document, "rows": [{**document["rows"][0], "state": "lost"}]}, SCHEMA)) != []


def test_all_measures_are_in_the_document(tmp_path: Path) -> None:
    plan, records = made(tmp_path, GRID.replace("measure gain, used;", "measure gain;"), gain_of)
    document = CampaignResults.of(plan, records).to_dict()
    assert document["measures"] == ["gain"]
    assert all(set(row["measures"]) == {"gain", "used"} for row in document["rows"])


def test_a_campaign_without_factors(tmp_path: Path) -> None:
    text = GRID.replace("vary space in { 5[GB], 7[GB], 9[GB] };", "").replace("vary seed in 1..6;", "")
    plan, _ = made(tmp_path, text.replace("room = space;", ""), lambda run: 1.0)
    document = CampaignResults.of(plan, {}).to_dict()
    assert list(complaints(document, SCHEMA)) == []
    assert [row["factors"] for row in document["rows"]] == [{}] * 4


def test_the_command_writes_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    path = write_files(tmp_path)
    with choose_engine("inline") as engine, Store(tmp_path / "store", "Sizes") as store:
        done = run_campaign(plan_of(path), store, engine)
    common = [str(path), "--store", "store"]
    capsys.readouterr()
    assert main(["campaign", "show", *common, "--json", "-"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert list(complaints(shown, SCHEMA)) == []
    assert shown == json.loads(done.json_text())
    assert main(["campaign", "run", *common, "--json", "run.json"]) == 0
    assert json.loads((tmp_path / "run.json").read_text()) == shown
    assert main(["campaign", "show", *common, "--json", "-", "--html", "-"]) == 2
    assert shows(capsys.readouterr().err, "GSM6002", "--json -", "--html -")
    assert main(["campaign", "status", *common, "--json", "-"]) == 2
    assert shows(capsys.readouterr().err, "GSM6002", "--json", "campaign show")
