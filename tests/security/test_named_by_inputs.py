"""What texts, data, problems, results, settings and stores name: nothing of it is opened, started or imported."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from campaign_files import plan_of, run_in
from hostile_values import TOKEN, VALUES, hostile, nothing_reached
from test_cluster_objects import leaves

import gpusched_dsl as gs
from gpusched_dsl.campaigns.lockfile import read_lock
from gpusched_dsl.campaigns.results import CampaignResults
from gpusched_dsl.campaigns.store import Store, _digest
from gpusched_dsl.campaigns.tasks import RunRecord, encode
from gpusched_dsl.compiling.build import Permissions
from gpusched_dsl.data.sources.settings_file import read_settings
from gpusched_dsl.language.diagnostics.errors import DiagnosticError, Diagnostics
from gpusched_dsl.language.diagnostics.render import render_text
from gpusched_dsl.language.workspace import load_workspace
from gpusched_dsl.solving.starts import entries_of_file
from gpusched_dsl.workflows.check import check_all

MODEL = """
model M { set S; param w[S] in $ >= 0; var x[s in S] integer >= 0 <= 3; maximize f: sum[s in S] w[s] * x[s]; }
scenario V for M { data "jobs.csv" { S = job;  w[job] = worth[$]; } }
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    home = tmp_path / "home"
    home.mkdir()
    (home / "jobs.csv").write_text("job,worth\na,1\n", encoding="utf-8")
    (tmp_path / "secret.csv").write_text("job,worth\nb,2\n", encoding="utf-8")
    (home / "m.gsm").write_text(MODEL, encoding="utf-8")
    return home


def codes(path: Path) -> set[str]:
    found = Diagnostics()
    check_all(load_workspace(path, found), found, Permissions())
    render_text(found)
    return {diagnostic.code for diagnostic in found}


def forged(document: Any, every: int) -> Iterator[Any]:
    """Documents with a hostile text in place of one text, in all places; of the values, each in some places."""
    for number, at in enumerate(leaves(document)):
        for text in VALUES[number % every :: every]:
            made = deepcopy(document)
            inner = made
            for key in at[:-1]:
                inner = inner[key]
            inner[at[-1]] = text
            yield made


def test_formats_generators_distributions_and_rules(folder: Path) -> None:
    statements = {
        f'data "jobs.csv" as {TOKEN} {{ S = job; w[job] = worth[$]; }}': "scenario",
        f"generate {TOKEN} (jobs = 1) {{ S = job; w[job] = worth[$]; }}": "scenario",
        f"random r ~ {TOKEN}(1);": "model",
        f"let r = {TOKEN}(1);": "model",
        f"order j in Jobs by 1; place {TOKEN};": "policy",
    }
    for number, (statement, block) in enumerate(statements.items()):
        path = folder / f"{number}.gsm"
        heads = {"model": "model N extends M", "scenario": "scenario W for M", "policy": "policy P for M"}
        path.write_text(f'import "m.gsm"; {heads[block]} {{ {statement} }}', encoding="utf-8")
        with nothing_reached():
            assert codes(path)


@pytest.mark.parametrize("there", ["../secret.csv", "link.csv", "$/secret.csv"])
def test_data_files_that_settings_put_in_place(folder: Path, there: str) -> None:
    (folder / "link.csv").symlink_to(folder.parent / "secret.csv")
    there = there.replace("$", str(folder.parent))
    model = gs.load(folder / "m.gsm")
    with pytest.raises(DiagnosticError, match="GSM2002"):
        model.solve("V", settings={'"jobs.csv"': f'"{there}"'})
    campaign = folder / "c.gsm"
    for statement in (f'data "jobs.csv" = "{there}";', f'vary file in {{ "{there}" }}; data "jobs.csv" = file;'):
        campaign.write_text(f'import "m.gsm"; campaign C {{ {statement} solve V; }}', encoding="utf-8")
        plan = plan_of(campaign)
        assert {digest for run in plan.runs for digest in run.task.data.values()} == {"missing"}
        (record,) = run_in(folder.parent / f"store{len(statement)}", plan).records.values()
        assert [diagnostic.code for diagnostic in record.diagnostics] == ["GSM2002"]


def test_labels_of_data(folder: Path) -> None:
    rows = "".join(json.dumps({"job": value, "worth": 1}) + "\n" for value in VALUES)
    (folder / "jobs.jsonl").write_text(rows, encoding="utf-8")
    (folder / "j.gsm").write_text(MODEL.replace("jobs.csv", "jobs.jsonl"), encoding="utf-8")
    with nothing_reached(), suppress(DiagnosticError):
        str(gs.load(folder / "j.gsm").solve("V"))
    assert not list(folder.parent.rglob(f"*{TOKEN}*"))


def test_problems(folder: Path) -> None:
    text = "model D { var x >= 0 <= 9; random W ~ normal(mean = 3, deviation = 1); maximize f: E(min(W, x)) - x / 2; }"
    for problem in (gs.load(folder / "m.gsm").ground("V"), gs.loads(text + " scenario S for D { }").ground("S")):
        document = json.loads(gs.problem_to_json(problem))
        for made in forged(document, 5):
            with nothing_reached(), suppress(DiagnosticError):
                read = gs.problem_from_json(json.dumps(made))
                str(read)


def test_results_as_warm_starts_and_settings(folder: Path) -> None:
    result = gs.load(folder / "m.gsm").solve("V")
    file = folder / "result.json"
    for made in forged(json.loads(result.json_text()), 8):
        file.write_text(json.dumps(made), encoding="utf-8")
        with nothing_reached(), suppress(DiagnosticError):
            entries_of_file(file)
    settings = folder / "settings.json"
    for value in VALUES:
        settings.write_text(json.dumps({value: value, "w": value}), encoding="utf-8")
        with nothing_reached(), suppress(DiagnosticError):
            read_settings(settings)


def test_stores(folder: Path) -> None:
    """Records and the lock file of a store: they are shown, and nothing of them is opened."""
    campaign = folder / "c.gsm"
    campaign.write_text('import "m.gsm"; campaign C { solve V; }', encoding="utf-8")
    plan = plan_of(campaign)
    where = folder.parent / "store"
    done = run_in(where, plan)
    (record,) = done.records.values()
    (file,) = (where / "runs").rglob("*.json")
    original = json.loads(encode(record))
    for made in [*forged(original, 6), *list(hostile(RunRecord))[::9]]:
        data = json.dumps({**made, "key": made["key"] if made["key"].startswith(TOKEN) else record.key}).encode()
        file.write_bytes(data + b"\n" + _digest(data) + b"\n")  # whoever writes it knows the digest
        with Store(where, "C") as store, nothing_reached(), suppress(DiagnosticError):
            found = store.read(record.key)
            _ = CampaignResults.of(plan, {} if found is None else {record.key: found}).table
    lock = where / "gsdsl.lock"
    for made in forged(json.loads(lock.read_bytes()), 6):
        lock.write_text(json.dumps(made), encoding="utf-8")
        with Store(where, "C") as store, nothing_reached(), suppress(DiagnosticError):
            read_lock(store)
    assert not list(folder.parent.rglob(f"*{TOKEN}*"))
