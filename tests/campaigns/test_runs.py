"""Campaigns in one process: results, resumption, failures, the store and its errors."""

from __future__ import annotations

import json
import resource
import shutil
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path

import polars as pl
import pytest
from campaign_files import CAMPAIGN, FILES, MODEL, SCENARIOS, plan_of, results_of, run_in, write_files
from found_codes import raises_code

import gpusched_dsl as gs
from gpusched_dsl.campaigns import execute
from gpusched_dsl.campaigns.campaign import CampaignProgress, record_of
from gpusched_dsl.campaigns.lockfile import LOCKFILE, verify
from gpusched_dsl.campaigns.results import RESULTS, CampaignResults
from gpusched_dsl.campaigns.store import Store
from gpusched_dsl.engines.choose import choose_engine
from gpusched_dsl.engines.protocol import BROKEN, DIED, MEMORY, Done, Failure
from gpusched_dsl.language.blocks.campaigns.constants import Quantity
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.language.units import UNITS


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the files and a store with all results."""
    folder = tmp_path_factory.mktemp("base")
    path = write_files(folder)
    run_in(folder / "store", plan_of(path))
    return folder


@pytest.fixture
def folder(base: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    return Path(shutil.copytree(base, tmp_path / "copy"))


def test_results_are_those_of_single_solves(base: Path) -> None:
    plan = plan_of(base / "campaign.gsm")
    results = CampaignResults.read(plan, base / "store")
    table = results.table
    assert table.columns == [
        "space", "scenario", "method", "seed", "state", "status", "objective", "bound", "gap", "gain", "sold", "used",
        "seconds", "code", "diagnostic", "key",
    ]  # fmt: skip
    model = gs.load(base / "campaign.gsm")
    for space, scenario, method, gain in table.select("space", "scenario", "method", "gain").iter_rows():
        single = model.solve(scenario, method, settings={"room": f"{space}[GB]"})
        assert gain == pytest.approx(single.objective)
    assert (table["sold"] - 1 - table["gain"]).abs().max() < 1e-9
    assert table["used"].to_list() == table["space"].to_list()
    assert set(table["state"]) == {"done"}
    assert CampaignResults.of(plan, {}).units == {"space": "GB", "seconds": "s"}
    assert pl.read_parquet(base / "store" / RESULTS).equals(results.all)


def test_a_stopped_campaign_continues(tmp_path: Path) -> None:
    plan = plan_of(write_files(tmp_path))
    seen: list[CampaignProgress] = []
    first = run_in(tmp_path / "store", plan, tell=seen.append, stop=lambda: seen[-1].executed >= 5)
    assert (first.executed, first.interrupted) == (5, True)
    second = run_in(tmp_path / "store", plan)
    assert (second.executed, second.interrupted) == (7, False)
    assert {key: record for key, record in second.records.items() if key in first.records} == dict(first.records)
    third = run_in(tmp_path / "store", plan)
    assert third.executed == 0
    assert list(results_of(third)) == list(results_of(second))


def test_a_changed_input_runs_again_only_what_it_touches(folder: Path) -> None:
    write_files(folder, {"others.csv": FILES["others.csv"].replace("9,4", "8,4")})
    done = run_in(folder / "store", plan_of(folder / "campaign.gsm"))
    assert done.executed == 6
    write_files(folder)
    assert run_in(folder / "store", plan_of(folder / "campaign.gsm")).executed == 0  # earlier results are still there
    write_files(folder, {"campaign.gsm": CAMPAIGN.replace("9[GB] }", "9[GB], 11[GB] }")})
    assert run_in(folder / "store", plan_of(folder / "campaign.gsm")).executed == 4


def test_columns_of_texts_may_be_measures(folder: Path) -> None:
    text = CAMPAIGN.replace("measure gain", "measure status, seconds, bound, gain")
    plan = plan_of(write_files(folder, {"campaign.gsm": text}))
    done = run_in(folder / "store", plan)
    table = done.table
    assert set(table["status"]) == {"optimal"}
    assert done.shown == ["seconds", "bound", "gain", "sold", "used"]
    assert "ended" not in table.columns
    write_files(folder, {"campaign.gsm": CAMPAIGN.replace("measure gain", "measure ended, gain")})
    with raises_code("GSM1665"):
        plan_of(folder / "campaign.gsm")
    hidden = {"model.gsm": MODEL.replace("let used", "let gap"), "campaign.gsm": CAMPAIGN.replace("used", "gap")}
    write_files(folder, hidden)
    with raises_code("GSM1661"):
        plan_of(folder / "campaign.gsm")


def test_some_runs_only(folder: Path) -> None:
    write_files(folder, {"model.gsm": MODEL.replace("<= 9", "<= 8")})
    plan = plan_of(folder / "campaign.gsm")
    part = plan.only({"method": ["highs"], "space": ["5[GB]", "7[GB]"]})
    assert [run.run.title for run in part.runs] == [
        f"{s} with highs, space {v}[GB]" for v in (5, 7) for s in ("Small", "Other")
    ]
    assert run_in(folder / "store", part).executed == 4
    assert pl.read_parquet(folder / "store" / RESULTS)["state"].to_list().count("missing") == 8
    with raises_code("GSM5312"):
        plan.only({"size": ["5"]})
    with raises_code("GSM5312"):
        plan.only({"method": ["cvxpy"]})


def test_failed_runs_are_recorded_and_stop_nothing(tmp_path: Path) -> None:
    text = CAMPAIGN.replace("scip (gap = 0)", "highs (no_such_option = 3) as Wrong")
    plan = plan_of(write_files(tmp_path, {"campaign.gsm": text}))
    done = run_in(tmp_path / "store", plan)
    table = done.table
    states = table.group_by("method", "state").len().sort("method").rows()
    assert states == [("Wrong", "failed", 6), ("highs", "done", 6)]
    failed = table.filter(pl.col("state") == "failed")
    assert failed["code"].unique().to_list() == ["GSM4004"]
    assert "no_such_option" in failed["diagnostic"][0]
    assert failed["gain"].null_count() == 6
    assert run_in(tmp_path / "store", plan).executed == 0
    found = verify(plan, Store(tmp_path / "store", plan.name, read_only=True))
    assert (found.current, found.failed, found.missing, found.holds) == (6, 6, 0, True)
    again = run_in(tmp_path / "store", plan, retry=True)
    assert again.executed == 6
    assert list(results_of(again)) == list(results_of(done))


def test_an_infeasible_run_is_a_result(tmp_path: Path) -> None:
    model = MODEL.replace("constraint fits", "constraint some: sum[i in Items] take[i] >= 3;\n  constraint fits")
    plan = plan_of(write_files(tmp_path, {"model.gsm": model})).only({"space": ["5[GB]"], "scenario": ["Small"]})
    table = run_in(tmp_path / "store", plan).table
    assert table["status"].to_list() == ["infeasible", "infeasible"]
    assert table["state"].to_list() == ["done", "done"]
    assert table["gain"].null_count() == 2


def test_texts_without_a_file(tmp_path: Path) -> None:
    model = gs.loads(MODEL + SCENARIOS.replace('import "model.gsm";', "") + CAMPAIGN.split("\n", 2)[2], base=tmp_path)
    write_files(tmp_path)
    done = model.campaign().run(tmp_path / "store", engine="inline", only={"method": ["highs"]})
    assert done.table["gain"].to_list() == [7.0, 9.0, 10.0, 11.0, 14.0, 18.0]
    assert done.units == {"space": "GB", "gain": "$", "sold": "$", "fee": "$", "used": "GB", "objective": "$",
                          "bound": "$", "build_seconds": "s", "solve_seconds": "s", "seconds": "s"}  # fmt: skip
    assert {"build_seconds", "solve_seconds"} < set(done.all.columns)
    assert len(model.campaign()) == 12
    assert model.campaign("Sizes").results(tmp_path / "store").table.height == 12
    written = done.export(tmp_path / "results.csv")
    assert pl.read_csv(written)["gain"].to_list() == done.table["gain"].to_list()
    for only in ({"method": "highs", "space": 5}, {"method": ("highs",), "space": range(5, 7), "seed": 0}):
        part = model.campaign().run(tmp_path / "store", engine="inline", only=only)
        assert (part.executed, part.table["space"].to_list()) == (0, [5, 5])
    model.set("room", 3)
    with pytest.raises(ValueError, match="`room`"):
        model.campaign()


def test_unknown_campaigns(base: Path) -> None:
    with raises_code("GSM5311"):
        plan_of(base / "campaign.gsm", "Size")
    with raises_code("GSM5311"):
        plan_of(base / "scenarios.gsm")


# --- the store -------------------------------------------------------------------------------------------------------


def test_a_damaged_result_is_set_aside_and_repeated(folder: Path) -> None:
    plan = plan_of(folder / "campaign.gsm")
    before = run_in(folder / "store", plan)
    damaged = Store(folder / "store", plan.name, read_only=True).path_of(plan.runs[3].key)
    damaged.write_bytes(damaged.read_bytes().replace(b'"objective":', b'"objective":9'))
    cut = Store(folder / "store", plan.name, read_only=True).path_of(plan.runs[5].key)
    cut.write_bytes(cut.read_bytes()[:50])
    reader = Store(folder / "store", plan.name, read_only=True)
    assert len(reader.read_all(plan.by_key)) == 10
    assert [warning.code for warning in reader.warnings] == ["GSM5305"] * 2
    after = run_in(folder / "store", plan)
    assert after.executed == 2
    assert list(results_of(after)) == list(results_of(before))
    assert damaged.with_name(damaged.name + ".damaged").exists()


def test_stores_of_others_are_refused_and_not_touched(folder: Path, tmp_path: Path) -> None:
    plan = plan_of(folder / "campaign.gsm")
    header = folder / "store" / "store.json"
    header.write_text(json.dumps({"format": 99, "campaign": plan.name}))
    with raises_code("GSM5302"):
        run_in(folder / "store", plan)
    header.write_text(json.dumps({"format": 1, "campaign": "Others"}))
    with raises_code("GSM5303"):
        run_in(folder / "store", plan)
    header.write_text("{")
    with raises_code("GSM5301"):
        run_in(folder / "store", plan)
    header.unlink()
    assert run_in(folder / "store", plan).executed == 0  # as the help says
    with raises_code("GSM5301"):
        run_in(folder, plan)  # a folder with other files
    with raises_code("GSM5301"):
        run_in(folder / "campaign.gsm", plan)
    with raises_code("GSM5301"):
        Store(tmp_path / "nothing", plan.name, read_only=True)
    assert len(list((folder / "store" / "runs").glob("??/*.json"))) == 12


def test_two_campaigns_on_one_store(folder: Path) -> None:
    plan = plan_of(folder / "campaign.gsm")
    with Store(folder / "store", plan.name):
        with raises_code("GSM5304"):
            run_in(folder / "store", plan)
        assert len(Store(folder / "store", plan.name, read_only=True).read_all(plan.by_key)) == 12
    assert run_in(folder / "store", plan).executed == 0


@contextmanager
def full_disk() -> Iterator[None]:
    """Refuse to write more than 300 bytes to a file, as a full disk does."""
    before, handler = resource.getrlimit(resource.RLIMIT_FSIZE), signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (300, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)


def test_a_full_disk_loses_nothing(tmp_path: Path) -> None:
    plan = plan_of(write_files(tmp_path))
    seen: list[CampaignProgress] = []
    first = run_in(tmp_path / "store", plan, tell=seen.append, stop=lambda: seen[-1].executed >= 4)
    with Store(tmp_path / "store", plan.name) as store, full_disk(), raises_code("GSM5306"):
        store.put(next(iter(first.records.values())))
    assert not list((tmp_path / "store").rglob("*.part"))
    last = run_in(tmp_path / "store", plan)
    assert last.executed == 8
    assert all(last.records[key] == record for key, record in first.records.items())


def test_verification_names_what_changed(folder: Path) -> None:
    def changes() -> tuple[str, ...]:
        plan = plan_of(folder / "campaign.gsm")
        return verify(plan, Store(folder / "store", plan.name, read_only=True)).changes

    assert changes() == ()
    write_files(folder, {"items.csv": FILES["items.csv"].replace("5,3", "6,3"), "model.gsm": MODEL.replace("9", "8")})
    assert changes() == ("data `items.csv` changed", "model `Pack` changed")
    write_files(folder, {"campaign.gsm": CAMPAIGN.replace("5[GB], ", "")})
    assert changes() == ("the grid changed: 0 new runs, 4 runs gone",)
    write_files(folder)
    lock = folder / "store" / LOCKFILE
    lock.write_text(lock.read_text().replace('"version highspy": "', '"version highspy": "0.'))
    (only,) = changes()
    assert only.startswith("version `highspy` changed: 0.")
    lock.write_text("[]")
    with raises_code("GSM5307"):
        changes()


def test_inputs_that_change_during_a_campaign(folder: Path) -> None:
    shutil.rmtree(folder / "store")
    plan = plan_of(folder / "campaign.gsm")
    write_files(folder, {"items.csv": FILES["items.csv"].replace("5,3", "6,3")})
    done = run_in(folder / "store", plan)
    states = done.table.group_by("scenario", "code").len().sort("scenario").rows()
    assert states == [("Other", None, 6), ("Small", "GSM5310", 6)]
    write_files(folder, {"model.gsm": MODEL + "# text\n"})
    assert not any(r.failed for r in run_in(folder / "store1", plan.only({"scenario": ["Other"]})).records.values())
    execute._workspaces.clear()  # a worker that has not read the text yet
    assert {r.diagnostics[0].code for r in run_in(folder / "store2", plan).records.values()} == {"GSM5310"}


def test_a_run_that_kills_its_worker_is_a_failure() -> None:
    died = record_of(Done("k", Failure(DIED, "it was ended by the signal SIGSEGV"), attempts=3))
    assert (died.failed, died.diagnostics[0].code, died.attempts) == (True, "GSM5308", 3)
    assert "3 times: it was ended by the signal SIGSEGV" in died.diagnostics[0].message
    assert record_of(Done("k", Failure(MEMORY, "much"))).diagnostics[0].code == "GSM6014"
    assert record_of(Done("k", Failure(BROKEN, "ValueError: x"))).diagnostics[0].code == "GSM9999"


def test_unknown_engines() -> None:
    with raises_code("GSM5309"):
        choose_engine("spark")


@pytest.mark.parametrize("wanted", ["90", "90.0", "90[min]", "1.5[h]", "1.5 [h]", "5400[s]"])
def test_only_accepts_equal_quantities(tmp_path: Path, wanted: str) -> None:
    text = MODEL + (
        "model Time { param length in h; var x in h >= 0; minimize y in h: x; constraint c: x >= length; }\n"
        "scenario S for Time { length = 1[h]; }\n"
        'campaign T { vary len in { 30[min], 1.5[h], 2[h] }; vary word in { "a \\"b\\"", c }; '
        "length = len;  solve S; }\n"
    )
    path = tmp_path / "time.gsm"
    path.write_text(text)
    plan = plan_of(path)
    part = plan.only({"len": [wanted], "word": ['a "b"']})
    assert [run.run.factors["len"] for run in part.runs] == [Quantity(Fraction(3, 2), UNITS["h"])]
    assert [run.key for run in part.only({"len": [wanted]}).runs] == [run.key for run in part.runs]
    for other in ("91", "2", "90[GB]", "90[", "1/0", "1e-99999999", "nan", ""):
        with pytest.raises(DiagnosticError) as failure:
            plan.only({"len": [other]})
        assert failure.value.diagnostics[0].help == "`len` is `30[min]`, `1.5[h]`, `2[h]`"
