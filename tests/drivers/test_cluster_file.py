"""Cluster files: what they declare, and diagnostics with the place of every error."""

from __future__ import annotations

from pathlib import Path

import pytest
from drive_files import CLUSTER, MODEL, mapping_for, run_driver, write_files
from simulated_cluster import EPOCH, SimulatedCluster

from gpusched_dsl.drivers.protocol import JobState, ObservedJob
from gpusched_dsl.drivers.settings import read_settings
from gpusched_dsl.drivers.value_source import NoValue
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.language.source import Span

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
        ('method = "FIFO"', 'method = "FIFOO"', "GSM4001", None, ""),
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


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(DiagnosticError, match="cannot read the cluster file"):
        read_settings(tmp_path / "absent.toml")
    path = write_files(tmp_path, MODEL, MAPPED)
    with pytest.raises(DiagnosticError, match=r"speeds\.csv"):
        read_settings(path, SimulatedCluster({}))
    (tmp_path / "speeds.csv").write_text("famly,type\n")
    with pytest.raises(DiagnosticError, match="has no column `family`"):
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
    with pytest.raises(DiagnosticError, match=r"line 1 is damaged") as refused:
        run_driver(path, SimulatedCluster({"g1": 4, "g2": 4}), 1)
    assert refused.value.diagnostics[0].code == "GSM5409"


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
