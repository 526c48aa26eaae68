"""The report: the costs of what the cluster did, against those of methods on the same jobs, and the bound."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from drive_files import CLUSTER, MODEL, run_driver, write_files
from simulated_cluster import EPOCH, SimulatedCluster

import gpusched_dsl
from gpusched_dsl.cli import main
from gsdsl_clusters.drivers import registry
from gsdsl_clusters.drivers.observed_jobs import Stay, read_history
from gsdsl_clusters.drivers.protocol import JobState

DUE = 'deadline = { field = "comment", match = "due=([0-9.]+)", unit = "s" }\nweight = 3600\n'
SHADOW = CLUSTER.replace("[guard]", DUE + "\n[guard]").replace('method = "FIFO"', 'method = "SJF"')
LENGTHS = (40, 38, 36, 6, 8, 10)


def shadowed(tmp_path: Path) -> tuple[SimulatedCluster, Path]:
    """A cluster that starts jobs in their order on its own; the short ones come late and wait for the long ones."""
    cluster, path = SimulatedCluster({"g1": 4, "g2": 4}, starts_by_itself=True), write_files(tmp_path, cluster=SHADOW)
    for number, length in enumerate(LENGTHS, 1):
        cluster.submit(str(number), 4, length, at=2 * number, held=False, comment=f"length={length}, due=50")
    run_driver(path, cluster, 40, acts=False)
    assert all(job.state is JobState.DONE for job in cluster.jobs.values())
    return cluster, path


def as_simulator(clusters: dict[str, SimulatedCluster], monkeypatch: pytest.MonkeyPatch) -> None:
    import drive_files

    monkeypatch.setattr(drive_files, "make_cluster", lambda settings: clusters["it"], raising=False)
    monkeypatch.setitem(registry.BUILT_IN, "simulated", "drive_files:make_cluster")


def test_the_report_has_the_costs_of_the_cluster_and_of_methods(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    cluster, path = shadowed(tmp_path)
    as_simulator({"it": cluster}, monkeypatch)
    page, document = tmp_path / "report.html", tmp_path / "report.json"
    command = ["drive", str(path), "--report", "--methods", "SJF,FIFO", "--html", str(page), "--json", str(document)]
    assert main(command) == 0
    shown = capsys.readouterr().out
    rows = {row["method"]: row["result"] for row in json.loads(document.read_text())["rows"]}
    # what the cluster did, by hand: a dollar for each second after the due time
    late = sum(max(0.0, (job.ended or 0.0) - EPOCH - 50) for job in cluster.jobs.values())
    assert rows["cluster"]["total"] == pytest.approx(late)
    # the same arrivals and lengths as a scenario of their own
    table = "\n".join(
        f"    j{n} {2 * n / 3600!r} 4 {length / 3600!r} {50 / 3600!r} 3600" for n, length in enumerate(LENGTHS, 1)
    )
    jobs = f"  table Jobs: submitted[h] needs exec_time[h] deadline[h] weight[$/h] =\n{table} ;"
    (tmp_path / "alone.gsm").write_text(MODEL.replace("  Jobs = { };", jobs))
    model = gpusched_dsl.load(tmp_path / "alone.gsm")
    for method in ("SJF", "FIFO"):
        assert rows[method]["total"] == pytest.approx(model.run(online="Live", method=method).total)
    assert rows["SJF"]["total"] < rows["cluster"]["total"]
    saved = rows["cluster"]["total"] - rows["SJF"]["total"]
    assert "compared: 6 jobs" in shown
    assert f"SJF would have saved {saved:.6g} $" in shown
    assert page.read_text().startswith("<!DOCTYPE html>")


def test_a_check_shows_the_data_of_jobs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    cluster, path = SimulatedCluster({"g1": 4, "g3": 4}), write_files(tmp_path)
    cluster.submit("7", 2, 30, comment="length=36")
    cluster.submit("8", 2, 30, comment="")
    as_simulator({"it": cluster}, monkeypatch)
    assert main(["drive", str(path), "--check"]) == 0
    shown = capsys.readouterr()
    assert "nodes: 2, 2 of them up with 8 GPUs" in shown.out
    assert re.search(r"7 +pending, held +2 +submitted = \S+, needs = 2, exec_time = 0.01", shown.out)
    assert "left out: `exec_time` has no value: `comment` is empty" in shown.out
    assert "the cluster has no node `g2`" in shown.err
    assert "the model has no node `g3`" in shown.err
    assert not (tmp_path / "shadow").exists()


def test_a_run_of_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    cluster, path = SimulatedCluster({"g1": 4, "g2": 4}), write_files(tmp_path)
    cluster.submit("7", 2, 30, comment="length=36")
    as_simulator({"it": cluster}, monkeypatch)
    path.write_text(path.read_text().replace("interval = 5", "interval = 0.01"))
    assert main(["drive", str(path), "--act", "--rounds", "2"]) == 0
    shown = capsys.readouterr()
    assert "start job 7 on g1" in shown.err
    assert shown.out.startswith("2 observations, 1 event, 1 plan; 1 change made")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--act", "--report"), "`--act` and `--report` exclude each other"),
        (("--html", "x.html"), "`--html` belongs to the report"),
        (("--check", "--rounds", "2"), "`--rounds` is only for a run"),
    ],
)
def test_contradictory_options(options: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["drive", "absent.toml", *options]) == 2
    assert message in capsys.readouterr().err


def test_without_jobs_there_is_no_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    cluster, path = SimulatedCluster({"g1": 4}), write_files(tmp_path)
    as_simulator({"it": cluster}, monkeypatch)
    assert main(["drive", str(path), "--report"]) == 1
    assert "GSM5411" in capsys.readouterr().err


def test_executions_of_a_job_are_read_from_its_history() -> None:
    """It ran, was put back, and ran again; another one started and ended between two observations."""

    def line(at: float, job: str, state: str, started: float | None = None, **more: object) -> dict[str, object]:
        nodes = {"g1": 2} if started is not None else {}
        return {"at": at, "job": job, "state": state, "nodes": nodes, "submitted": 1.0, "started": started, **more}

    history = read_history(
        [
            line(2, "1", "pending", values={"needs": 2}),
            line(5, "1", "running", 4.0),
            line(9, "1", "pending"),
            line(12, "1", "running", 11.0),
            line(20, "1", "done", 11.0, ended=19.0),
            line(20, "2", "done", 14.0, ended=16.0, values={}),
            line(21, "3", "running", 21.0, values={}),
            {"at": 25.0, "note": "x"},
        ]
    )
    assert history.jobs["1"].stays == [Stay(4.0, 9.0, {"g1": 2}), Stay(11.0, 19.0, {"g1": 2})]
    assert history.jobs["2"].stays == [Stay(14.0, 16.0, {"g1": 2})]
    assert [job.name for job in history.comparable] == ["1", "2"]
    assert (history.jobs["1"].values, history.until) == ({"needs": 2}, 25.0)


def test_the_pods_of_a_job_get_their_nodes_one_by_one() -> None:
    """All of its GPUs count from its start, also when some pods have ended before the others."""

    def stays(gpus: int, *seen: dict[str, int]) -> list[Stay]:
        running = [{"at": 5.0 + at, "job": "1", "state": "running", "started": 4.0, "nodes": nodes, "gpus": gpus}
                   for at, nodes in enumerate(seen)]  # fmt: skip
        end = {"at": 20.0, "job": "1", "state": "done", "started": 4.0, "nodes": {"g2": 8}, "ended": 19.0}
        submitted = {"at": 2.0, "job": "1", "state": "pending", "submitted": 1.0, "values": {}}
        return read_history([submitted, *running, end]).jobs["1"].stays

    whole = [Stay(4.0, 19.0, {"g1": 8, "g2": 8})]
    assert stays(16, {}, {"g1": 8}, {"g1": 8, "g2": 8}) == whole
    assert stays(16, {"g1": 8, "g2": 8}, {"g2": 8}) == whole
    assert stays(8, {"g1": 8}, {"g1": 8, "g2": 8}) == [Stay(4.0, 19.0, {"g1": 8})]  # it had what it wanted
