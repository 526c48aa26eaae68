"""Cluster files: what they declare, and diagnostics with the place of every error."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from drive_files import CLUSTER, MODEL, mapping_for, run_driver, write_files
from found_codes import raises_code, shows
from simulated_cluster import EPOCH, SimulatedCluster

from gpusched_dsl.cli import main
from gpusched_dsl.language.diagnostics.errors import DiagnosticError, Diagnostics
from gpusched_dsl.language.source import Span
from gpusched_dsl.language.workspace import load_workspace
from gsdsl_clusters.drivers.drive import parts_of, start_of_run
from gsdsl_clusters.drivers.protocol import JobState, ObservedJob
from gsdsl_clusters.drivers.settings import read_settings
from gsdsl_clusters.drivers.value_source import NoValue

CAPACITY = """import "gsdsl:capacity_planning/online.gsm";
scenario Cluster for CapacityPlanning {
  Nodes = { g1, g2 };
  table Types: gpus price[$/h] = h200 2 1.1 ;
  Jobs = { };
  Runnable = { };
}
"""
MAPPED = """driver = "simulated"
model = "cluster.gsm"
online = "EveryEvent"
method = "Greedy"
start = "2027-01-15T08:00:00Z"
[fields]
family = { field = "comment", match = "family=(\\\\w+)" }
steps = { field = "comment", match = "steps=(\\\\d+)", default = 100 }
[jobs]
Runnable = { table = "speeds.csv", where = { family = "family" }, index = ["type", "gpus"] }
exec_time = { table = "speeds.csv", where = { family = "family" }, index = ["type", "gpus"], value = "seconds", unit = "s", times = "steps" }
deadline = { field = "comment", match = "due=([0-9.]+)h", unit = "h", after = "submitted", default = 100 }
weight = { field = "comment", match = "(gold|free)", values = { gold = 4, free = 0.5 }, default = 1 }
"""  # noqa: E501
SPEEDS = "family,type,gpus,seconds\nbert,h200,1,36\nbert,h200,2,20\ncnn,h200,1,18\n"


def test_values_of_jobs(tmp_path: Path) -> None:
    """Tables, factors, units, times after a date, translated texts and defaults."""
    path = write_files(tmp_path, CAPACITY, MAPPED)
    (tmp_path / "speeds.csv").write_text(SPEEDS)
    mapping = mapping_for(path, SimulatedCluster({"g1": 2, "g2": 2}))
    assert mapping.start == EPOCH
    job = ObservedJob(
        "7", JobState.PENDING, 2, submitted=EPOCH + 1800, fields={"comment": "family=bert steps=1000 due=4h gold"}
    )
    assert mapping.values(job) == {
        "Runnable": [["h200", 1], ["h200", 2]],
        "exec_time": [["h200", 1, pytest.approx(10.0)], ["h200", 2, pytest.approx(20 / 3.6)]],
        "deadline": pytest.approx(4.5),
        "weight": 4,
    }
    other = ObservedJob("8", JobState.PENDING, 2, submitted=EPOCH, fields={"comment": "family=cnn"})
    assert mapping.values(other) == {
        "Runnable": [["h200", 1]], "exec_time": [["h200", 1, pytest.approx(0.5)]], "deadline": 100, "weight": 1,
    }  # fmt: skip
    unknown = ObservedJob("9", JobState.PENDING, 2, submitted=EPOCH, fields={"comment": "family=gpt"})
    with pytest.raises(NoValue, match=r"`speeds\.csv` has no row for family `gpt`"):
        mapping.values(unknown)


@pytest.mark.parametrize(
    ("old", "new", "code", "underlined", "message"),
    [
        ('driver = "simulated"', "driver = ", "GSM5401", "driver = ", "the cluster file is not TOML: Invalid value"),
        ("interval = 5", "intreval = 5", "GSM5402", "intreval", "unknown entry `intreval`"),
        ("interval = 5", 'interval = "5 s"', "GSM5402", '"5 s"', "`interval` must be a number"),
        ("interval = 5", "interval = -1", "GSM5402", "-1", "`interval` must be positive"),
        ('model = "cluster.gsm"\n', "", "GSM5402", 'driver = "simulated"', "the file has no `model`"),
        ("changes_per_hour = 1000", "changes = 3", "GSM5402", "changes", "unknown entry `changes` in [guard]"),
        ('needs = "gpus"', 'needs = "gpu"', "GSM5402", '"gpu"', "unknown field `gpu`"),
        ('unit = "s"', 'unit = "sec"', "GSM5402", '"sec"', "unknown unit `sec`"),
        ("length=([0-9.]+)", "length=([0-9.+)", "GSM5402", '"length=([0-9.+)"', "`match` is not a regular expression"),
        ('field = "comment"', 'feild = "comment"', "GSM5402", "feild", "unknown entry `feild` in [jobs.exec_time]"),
        ('needs = "gpus"', 'need = "gpus"', "GSM5403", '"gpus"', "`need` is not a parameter or set of the jobs"),
        ('needs = "gpus"\n', "", "GSM5403", "jobs", "no value is declared for `needs` of the jobs"),
        ('unit = "s"', 'unit = "$"', "GSM5403", None, "the unit $ does not convert to that of `exec_time`, h"),
        ('needs = "gpus"', 'needs = "submitted"', "GSM5403", '"submitted"', "but the field is a time"),
        ('method = "FIFO"', 'method = "FIFOO"', "GSM4001", None, "`FIFOO`"),
        ("interval = 5", "interval = inf", "GSM5402", "inf", "`interval` must be at most 1e+06 s"),
        ("interval = 5", "time_limit = 1e300", "GSM5402", "1e300", "`time_limit` must be at most 1e+06 s"),
        ("[guard]", "[guard]\nretry = inf", "GSM5402", "inf", "`retry` must be at most 1e+06 s"),
        ("[guard]", "[guard]\npatience = 1.5", "GSM5402", "1.5", "`patience` must be an integer"),
        ("changes_per_hour = 1000", "changes_per_hour = inf", "GSM5402", "inf", "must be an integer"),
        ("length=([0-9.]+)", "(a)length=([0-9.]+)", "GSM5402", '"(a)length=([0-9.]+)"', "`match` has 2 groups"),
        ('unit = "s" }', 'unit = "s", after = "gpus" }', "GSM5402", '"gpus"', "`gpus` is no date"),
        ('unit = "s" }', 'unit = "s", times = "submitted" }', "GSM5402", '"submitted"', "is a time, not a number"),
        (
            'needs = "gpus"',
            'needs = { field = "gpus", default = "x" }',
            "GSM5403",
            None,
            "but `x` is none",
        ),
        ('needs = "gpus"', 'needs = { field = "gpus", default = nan }', "GSM5403", None, "but `nan` is none"),
        ('needs = "gpus"', "needs = true", "GSM5403", "true", "`needs` is a number, but `true` is none"),
        (
            'needs = "gpus"',
            'needs = { field = "comment", values = { a = "four" } }',
            "GSM5403",
            None,
            "`needs` is a number, but `four` is none",
        ),
        (
            "[jobs]",
            '[fields]\ngpus = { field = "comment" }\n[jobs]',
            "GSM5402",
            None,
            "is a field of the driver",
        ),
        ("[jobs]", '[fields]\nsince = { field = "submitted" }\n[jobs]', "GSM5402", None, "`submitted` is a time"),
        (
            "[jobs]",
            '[fields]\nlong = { field = "comment", unit = "min" }\n[jobs]',
            "GSM5402",
            '"min"',
            "a further field has no `unit`",
        ),
    ],
)
def test_errors_are_underlined(
    old: str, new: str, code: str, underlined: str | None, message: str, tmp_path: Path
) -> None:
    assert old in CLUSTER
    path = write_files(tmp_path, cluster=CLUSTER.replace(old, new))
    with pytest.raises(DiagnosticError) as raised:
        run_driver(path, SimulatedCluster({"g1": 4}), 1)
    shown = [d for d in raised.value.diagnostics if d.code == code and message in d.message]
    assert shown, raised.value.diagnostics
    if underlined is not None:
        span = shown[0].primary
        assert isinstance(span, Span)
        assert span.text == underlined
        assert shown[0].help or code == "GSM5402"


@pytest.mark.parametrize("part", ['unit = "h"', 'match = "(.*)"', 'times = "gpus"', 'after = "started"', "values = {}"])
def test_dates_are_not_changed(part: str, tmp_path: Path) -> None:
    path = write_files(tmp_path, cluster=CLUSTER.replace('"submitted"', f'{{ field = "submitted", {part} }}', 1))
    with pytest.raises(DiagnosticError, match=r"`submitted` is a (time|date), which has"):
        read_settings(path, SimulatedCluster({}))


def test_time_limits_have_their_unit(tmp_path: Path) -> None:
    """A time limit of 60 minutes is one hour, never 60 hours."""
    text = CLUSTER.replace("simulated", "slurm").replace("5\n", '5\n[slurm]\npartition = "main"\n', 1)
    old = 'exec_time = { field = "comment", match = "length=([0-9.]+)", unit = "s" }'
    path = write_files(tmp_path, cluster=text.replace(old, 'exec_time = { field = "time_limit", unit = "min" }'))
    with raises_code("GSM5402", "time_limit", at='"min"'):
        read_settings(path)


@pytest.mark.parametrize(
    ("calendar", "start", "expected"),
    [('calendar from "2026-10-25 02:30+01:00" in "Europe/Berlin";', "", "2026-10-25T01:30:00+00:00"),
     ('calendar from "2026-03-01 00:00" in "Asia/Tokyo";', 'start = "2026-03-02 09:00"', "2026-03-02T00:00:00+00:00"),
     ('calendar from "2026-03-01 00:00" in "Asia/Tokyo";', 'start = "2026-03-02T09:00Z"', "2026-03-02T09:00:00+00:00"),
     ("", "", "2027-01-15T08:00:00+00:00")],
)  # fmt: skip
def test_time_0_is_that_of_the_calendar(calendar: str, start: str, expected: str, tmp_path: Path) -> None:
    """A start without an offset is on the clock of the calendar; without both, the run starts now."""
    model = MODEL.replace("Nodes = {", f"{calendar} Nodes = {{")
    path = write_files(tmp_path, model, f"{start}\n{CLUSTER}")
    settings, workspace = (
        read_settings(path, SimulatedCluster({}))[0],
        load_workspace(tmp_path / "cluster.gsm", Diagnostics()),
    )
    for _ in range(2):  # the second one reads the folder
        found = start_of_run(workspace, settings, lambda: 1800000000.0)
        assert found.astimezone(UTC).isoformat() == expected
        parts = parts_of(workspace, settings, found)
        of_data = parts.setup.base.store.calendar
        assert (of_data is not None) is bool(calendar)
        assert datetime.fromisoformat(parts.clock.date(0.0) or "") == found
        assert of_data is None or of_data.date(0.0) == found


def test_a_calendar_in_the_future_is_refused(tmp_path: Path) -> None:
    model = MODEL.replace("Nodes = {", 'calendar from "2036-01-01" in "UTC"; Nodes = {')
    path = write_files(tmp_path, model)
    workspace = load_workspace(tmp_path / "cluster.gsm", Diagnostics())
    with pytest.raises(DiagnosticError, match=r"the start of the calendar is 2036.*in the future"):
        start_of_run(workspace, read_settings(path, SimulatedCluster({}))[0], lambda: 1800000000.0)


@pytest.mark.parametrize(
    ("start", "why"), [("2036-01-01T00:00Z", "future"), ("9999-12-31", "future"), ("0001-01-01", "ago")]
)
def test_starts_at_which_no_time_passes(start: str, why: str, tmp_path: Path) -> None:
    path = write_files(tmp_path, cluster=f'start = "{start}"\n{CLUSTER}')
    with pytest.raises(DiagnosticError, match=rf"`start` is {start}, .*{why}"):
        run_driver(path, SimulatedCluster({"g1": 4}), 1)
    assert not (tmp_path / "shadow").exists()


def test_constants_after_a_date(tmp_path: Path) -> None:
    """A constant is treated like a field: in its unit or that of the parameter, after a date, times a field."""
    deadline = 'deadline = { value = 4, after = "submitted" }'
    needs = 'needs = { value = 2, times = "gpus" }'
    text = CLUSTER.replace('needs = "gpus"', f"{needs}\n{deadline}")
    mapping = mapping_for(write_files(tmp_path, cluster=text), SimulatedCluster({"g1": 4, "g2": 4}))
    job = ObservedJob("7", JobState.PENDING, 2, submitted=mapping.start + 1800, fields={"comment": "length=36"})
    assert mapping.values(job) == {"submitted": 0.5, "needs": 4, "exec_time": pytest.approx(0.01), "deadline": 4.5}


@pytest.mark.parametrize(
    ("rows", "named"),
    [
        ("bert,h200,1,36\nbert,h200,1,37\n", ["2", "3", "bert", "h200", "1"]),
        ("bert,h200,1\n", ["2", "3"]),
        ("bert,h200,1,36\n\nbert,h200,2,36,9\n", ["4", "5"]),
    ],
)
def test_tables_that_say_two_things(rows: str, named: list[str], tmp_path: Path) -> None:
    path = write_files(tmp_path, CAPACITY, MAPPED)
    (tmp_path / "speeds.csv").write_text("family,type,gpus,seconds\n" + rows)
    with raises_code("GSM5402", "speeds.csv", *named, at='"speeds.csv"'):
        read_settings(path, SimulatedCluster({}))


def test_a_table_of_a_spreadsheet(tmp_path: Path) -> None:
    """A byte order mark does not belong to the first column."""
    path = write_files(tmp_path, CAPACITY, MAPPED)
    (tmp_path / "speeds.csv").write_text(SPEEDS, encoding="utf-8-sig")
    job = ObservedJob("8", JobState.PENDING, 2, submitted=EPOCH, fields={"comment": "family=cnn"})
    assert mapping_for(path, SimulatedCluster({"g1": 2})).values(job)["Runnable"] == [["h200", 1]]


def test_methods_of_reports_are_known_before_the_day_ends(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = CLUSTER.replace("simulated", "slurm").replace("[jobs]", '[report]\ndaily = true\nmethods = ["Nope"]\n[jobs]')
    path = write_files(tmp_path, cluster=text)
    for options in ([], ["--check"]):
        assert main(["drive", str(path), *options]) == 1
        assert shows(capsys.readouterr().err, "GSM4001", "Nope")


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with raises_code("GSM5401", str(tmp_path / "absent.toml")):
        read_settings(tmp_path / "absent.toml")
    path = write_files(tmp_path, MODEL, MAPPED)
    with raises_code("GSM5402", str(tmp_path / "speeds.csv"), at='"speeds.csv"'):
        read_settings(path, SimulatedCluster({}))
    (tmp_path / "speeds.csv").write_text("famly,type\n")
    with raises_code("GSM5402", "speeds.csv", "family", at='"speeds.csv"'):
        read_settings(path, SimulatedCluster({}))


def test_unknown_drivers(tmp_path: Path) -> None:
    path = write_files(tmp_path, cluster=CLUSTER.replace("simulated", "slrum"))
    with pytest.raises(DiagnosticError) as raised:
        read_settings(path)
    found = raised.value.diagnostics[0]
    assert (found.code, found.help) == ("GSM5404", "did you mean `slurm`?")
    assert isinstance(found.primary, Span)
    assert found.primary.text == '"slrum"'


def test_settings_of_the_driver_are_checked(tmp_path: Path) -> None:
    text = CLUSTER.replace("simulated", "slurm") + "\n[slurm]\npartition = 3\n"
    with pytest.raises(DiagnosticError) as raised:
        read_settings(write_files(tmp_path, cluster=text))
    found = raised.value.diagnostics[0]
    assert found.code == "GSM5402"
    assert isinstance(found.primary, Span)
    assert (found.primary.text, found.message) == ("3", "`partition` must be a text")


def test_records_of_others_are_refused(tmp_path: Path) -> None:
    path = write_files(tmp_path)
    (tmp_path / "shadow").mkdir()
    (tmp_path / "shadow" / "actions.jsonl").write_text('{"n": 1, "job": "1"\n')
    with raises_code("GSM5409", str(tmp_path / "shadow" / "actions.jsonl"), "1"):
        run_driver(path, SimulatedCluster({"g1": 4, "g2": 4}), 1)


def test_the_files_of_a_driver_are_found_from_the_cluster_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("kubernetes", reason="the extra `kubernetes` is not installed")
    text = CLUSTER.replace('"simulated"', '"kueue"').replace("comment", "job_name")
    path = write_files(tmp_path, cluster=text + '\n[kueue]\nkubeconfig = "keys/config"\n')
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    with pytest.raises(DiagnosticError) as raised:
        read_settings(path)
    (found,) = raised.value.diagnostics
    assert found.message == f"`kubeconfig` names no file: `{tmp_path / 'keys' / 'config'}`"
    assert isinstance(found.primary, Span)
    assert found.primary.text == '"keys/config"'
    (tmp_path / "keys").mkdir()
    (tmp_path / "keys" / "config").write_text(
        '{"apiVersion": "v1", "kind": "Config", "current-context": "a",'
        ' "clusters": [{"name": "a", "cluster": {"server": "https://127.0.0.1:1"}}],'
        ' "users": [{"name": "a", "user": {}}], "contexts": [{"name": "a", "context": {"cluster": "a", "user": "a"}}]}'
    )
    assert read_settings(path)[0].driver == "kueue"
