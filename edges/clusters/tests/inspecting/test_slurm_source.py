"""Snapshots of Slurm from what its commands print: of release 22.05 as JSON and as text, and of 25.05."""

from __future__ import annotations

import json
import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from gpusched_dsl.data.sources.files import FileLimits, Unreadable
from gsdsl_clusters.drivers.slurm.commands import Commands
from gsdsl_clusters.inspecting.inspection import inspect
from gsdsl_clusters.inspecting.readers.slurm import read_live_slurm
from gsdsl_clusters.inspecting.readers.slurm_documents import COMMANDS, VARIABLES, script
from gsdsl_clusters.inspecting.readers.slurm_shares import shares_of
from gsdsl_clusters.inspecting.reading import read_snapshot
from gsdsl_clusters.inspecting.snapshot import ClusterSnapshot
from gsdsl_clusters.inspecting.written_model import model_folder

RECORDS = Path(__file__).parent / "records"
LIMITS = FileLimits(allow_outside=True)
NOW = 1_796_000_000.0  # of the records of 25.05


def read(name: str | Path) -> ClusterSnapshot:
    return read_snapshot(str(RECORDS / name), LIMITS)


def jobs_of(snapshot: ClusterSnapshot) -> dict[str, dict[str, Any]]:
    return {row["job"]: row for row in snapshot.jobs.iter_rows(named=True)}


def test_json_and_text_of_one_cluster_say_the_same() -> None:
    """Both were printed by one `slurmctld` of 22.05.8 at the same time."""
    json_found, text_found = read("slurm_22_05_json"), read("slurm_22_05_text")
    assert json_found.now == text_found.now == 1796053746.0
    assert json_found.reservations.equals(text_found.reservations)
    assert json_found.nodes.equals(text_found.nodes)
    one, other = (found.jobs.sort("job").drop("memory") for found in (json_found, text_found))
    assert one.columns == other.columns
    assert one.height == 111
    split = "on_gpus"  # the detail of GPUs is in the JSON only
    assert one.drop(split).equals(other.drop(split))


def test_a_cluster_of_22_05() -> None:
    found = read("slurm_22_05_json")
    jobs = jobs_of(found)
    assert found.nodes.select("node", "gpu_type", "gpus", "partitions", "cpus").row(0) == (
        "g1",
        "h200",
        4,
        ["main"],
        32,
    )
    gang = jobs["1"]
    assert (gang["state"], gang["gpus"], gang["nodes"], gang["on_nodes"]) == ("running", 4, 2, ["g1", "g2"])
    assert (gang["started"], gang["duration"], gang["limit"], gang["ended"]) == (1796053744.0, 2.0, 3600.0, None)
    assert jobs["3"]["after"] == ["1", "2_1", "2_2", "2_3", "2_4", "2_5", "2_6"]  # afterok:1, afterok:2_*
    assert [jobs[f"2_{task}"]["state"] for task in range(1, 7)] == ["running", "running", *["waiting"] * 4]
    assert {jobs[f"2_{task}"]["array_limit"] for task in range(1, 7)} == {2}
    held = [row for name, row in jobs.items() if name.startswith("5_")]
    assert (len(held), {row["state"] for row in held}) == (100, {"blocked"})
    assert (held[0]["gpus"], held[0]["nodes"]) == (3, 0)  # --gpus=3: on any number of nodes
    assert (jobs["6"]["gpus"], jobs["6"]["nodes"]) == (4, 2)  # --gpus=8 -N2
    [reservation] = found.reservations.to_dicts()
    assert (reservation["nodes"], reservation["maintenance"]) == (["g1", "g2"], True)
    assert reservation["end"] - reservation["start"] == 3600.0


def test_jobs_of_25_05() -> None:
    jobs = jobs_of(read("slurm_25"))
    shapes = {name: (row["gpus"], row["nodes"]) for name, row in jobs.items()}
    assert [shapes[name] for name in ("101", "103", "104", "105", "106")] == [(4, 2), (4, 2), (2, 1), (6, 0), (2, 2)]
    states = {state: [name for name, row in jobs.items() if row["state"] == state] for state in ("running", "blocked")}
    assert states["running"] == ["101", "102", "121_1", "124"]  # one that completes still occupies its nodes
    assert states["blocked"] == ["107", "108", "109", "110", "112", "113", "115"]
    assert (jobs["102"]["limit"], jobs["103"]["limit"]) == (None, 3600.0)
    assert (jobs["103"]["features"], jobs["103"]["gpu_types"]) == (["nvlink", "ib"], ["a100"])
    assert (jobs["106"]["excluded_nodes"], jobs["118"]["allowed_nodes"]) == (["g1", "g2"], ["g1"])
    assert jobs["108"]["eligible"] == NOW + 7200
    after = {name: row["after"] for name, row in jobs.items() if row["after"]}
    assert after == {"109": ["101", "121_2", "121_3", "121_4", "121_1"], "110": ["111"], "112": ["110"]}
    assert jobs["114"]["gpus"] == 2  # it takes whole nodes; the smallest has 2
    assert (jobs["124"]["on_nodes"], jobs["124"]["on_gpus"]) == (["g4"], [8])  # not understood: it occupies its node
    assert not {"117", "119", "123"} & set(jobs)  # slices, no GPUs, an unknown state
    assert (jobs["90"]["state"], jobs["90"]["started"], jobs["125"]["outcome"]) == ("ended", NOW - 80000, "COMPLETED")


def test_nodes_of_25_05() -> None:
    found = read("slurm_25")
    nodes = {row["node"]: row for row in found.nodes.iter_rows(named=True)}
    assert {name: (row["gpus"], row["gpu_type"], row["up"]) for name, row in nodes.items()} == {
        "g1": (4, "a100", True), "g2": (4, "a100", True), "g3": (8, "h100", True), "g4": (8, "h100", True),
        "g5": (8, "h100", False), "g6": (2, "a100", True), "g7": (4, "a100", False),
    }  # fmt: skip
    assert [nodes[name]["rack"] for name in ("g1", "g3", "g4")] == ["leaf1", "leaf1", "leaf2"]
    assert [name for name, row in nodes.items() if "a|b" in row["features"]] == ["g1", "g3"]
    assert nodes["g5"]["reason"] == "fan [root@2026]"


def test_limits_of_qos_partitions_and_accounts() -> None:
    found = read("slurm_25").limits.select("scope", "owner", "gpu_type", "gpus", "team", "qos", "partition").rows()
    assert found == [
        ("user", "", "", 8, "", "normal", ""),
        ("qos", "high", "", 16, "", "", ""),
        ("qos", "high", "a100", 12, "", "", ""),
        ("team", "", "", 10, "", "high", ""),
        ("partition", "gpu", "", 30, "", "", ""),
        ("team", "red", "", 20, "", "", ""),
        ("user", "ann", "", 6, "red", "", ""),
    ]  # of `part` no job, of h100 in `high` no job, and bob has no job in `long`


def test_what_is_not_read_is_said_once() -> None:
    assert list(read("slurm_25").unread) == [
        "jobs that wait in a reservation are not simulated: they are shown as blocked",
        "1 node (g6): slices of GPUs are not counted (7 here)",
        "1 node (g7): its state is unknown: SPARKLING",
        "1 node: it has no `name`",
        "1 job (116): licences are not simulated",
        "1 job (117): it requests slices of GPUs",
        "1 job (118): the features `[x*2&y*1]` are not obeyed",
        "1 job (123): its state is unknown: MARVELLOUS",
        "1 job (124): `gres/gpu:a:b:c` is not a number of GPUs",
        "1 job (113): dependencies of the kind `afternotok` are not simulated",
        "1 reservation (class): it repeats, and only the next time is known",
        "1 reservation (seats): it has no nodes, or no times",
        "1 limit (account all): limits of accounts with accounts below them are not simulated",
    ]


@pytest.mark.parametrize("missing", sorted(path.name for path in (RECORDS / "slurm_25").iterdir()))
def test_each_missing_file_leaves_the_rest(missing: str, tmp_path: Path) -> None:
    shutil.copytree(RECORDS / "slurm_25", tmp_path, dirs_exist_ok=True)
    (tmp_path / missing).unlink()
    found, whole = read(tmp_path), read("slurm_25")
    lost = {"sacct.txt": 1, "nodes.json": 1}  # without nodes it is not known what job 124 occupies
    assert found.jobs.height == (2 if missing == "jobs.json" else 24 - lost.get(missing, 0))
    assert set(found.nodes["node"]) == (
        {"g1", "g2", "g3", "g4"} if missing == "nodes.json" else set(whole.nodes["node"])
    )
    said = {"jobs.json", "nodes.json", "sacct.txt", "qos.txt", "assoc.txt", "partitions.txt", "reservations.txt"}
    assert (len(set(found.unread) - set(whole.unread)) > 0) is (missing in said)


@pytest.mark.parametrize("content", ['{"jobs": 1}', '{"jobs": [', '{"errors": ["down"]}', "[]", '{"jobs": [1, null]}'])
def test_odd_documents_leave_the_history(content: str, tmp_path: Path) -> None:
    shutil.copytree(RECORDS / "slurm_25", tmp_path, dirs_exist_ok=True)
    (tmp_path / "jobs.json").write_text(content)
    assert "90" in jobs_of(read(tmp_path))
    (tmp_path / "sacct.txt").unlink()
    if content != '{"jobs": [1, null]}':
        with pytest.raises(Unreadable) as raised:
            read(tmp_path)
        assert raised.value.faults[0].code == "GSM5603"


def test_the_clock_of_saved_dates(tmp_path: Path) -> None:
    shutil.copytree(RECORDS / "slurm_25", tmp_path, dirs_exist_ok=True)
    (tmp_path / "date.txt").write_text("1796000000 +0100\n")
    assert any("saved on a clock of +0100" in text for text in read(tmp_path).unread)
    here = read_snapshot(str(tmp_path), LIMITS, zone="Europe/Berlin")
    assert here.reservations["start"][0] == NOW + 86400 - 3600
    assert not any("clock" in text for text in here.unread)


def test_a_folder_without_outputs_says_how_to_save_them(tmp_path: Path) -> None:
    with pytest.raises(Unreadable, match="has no saved outputs of Slurm") as raised:
        read(tmp_path)
    assert "gsdsl inspect slurm --commands" in (raised.value.faults[0].help or "")


def test_without_slurm_the_error_says_what_is_missing(tmp_path: Path) -> None:
    with pytest.raises(Unreadable) as raised:
        read_live_slurm(LIMITS, commands=Commands(str(tmp_path)))
    [fault] = raised.value.faults
    assert fault.code == "GSM5603"
    assert "there is no command `squeue`" in fault.notes[0]


def stand_ins(folder: Path, source: Path) -> None:
    """Programs that print the saved documents, for the commands that have one; the others fail."""
    for program in {command.split()[0] for command in COMMANDS.values()} - {"date"}:
        lines = ["#!/bin/sh", '[ "$TZ" = UTC ] && [ "$SLURM_BITSTR_LEN" = 0 ] || exit 3', 'case "$*" in']
        for name, command in COMMANDS.items():
            if command.split()[0] == program and (source / name).is_file():
                lines.append(f"'{command.split(' ', 1)[1]}') cat '{source / name}';;")
        (folder / program).write_text("\n".join([*lines, "*) echo refused >&2; exit 1;;", "esac"]) + "\n")
        (folder / program).chmod(0o755)


@pytest.mark.parametrize("name", ["slurm_22_05_json", "slurm_22_05_text", "slurm_25"])
def test_live_and_saved_documents_say_the_same(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    saved = read(name)
    monkeypatch.setattr("time.time", lambda: saved.now)
    stand_ins(tmp_path, RECORDS / name)
    live = read_live_slurm(LIMITS, commands=Commands(f"{tmp_path}:/usr/bin:/bin", variables=VARIABLES))
    for table in ("nodes", "jobs", "reservations", "limits"):
        if not (table == "nodes" and name == "slurm_25"):  # its switches are a file of the configuration
            assert getattr(live, table).equals(getattr(saved, table)), table


def test_the_script_saves_what_a_folder_needs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import subprocess

    (tmp_path / "bin").mkdir()
    stand_ins(tmp_path / "bin", RECORDS / "slurm_22_05_json")
    path = f"{tmp_path / 'bin'}:/usr/bin:/bin"
    subprocess.run(["sh", "-c", script()], cwd=tmp_path, env={"PATH": path}, check=False, capture_output=True)
    assert json.loads((tmp_path / "jobs.json").read_text())["jobs"]
    assert not (tmp_path / "jobs.txt").exists()
    found = read(tmp_path)
    assert found.jobs["job"].equals(read("slurm_22_05_json").jobs["job"])
    assert found.now > 1_700_000_000


def test_groups_of_nodes_are_no_nodes(tmp_path: Path) -> None:
    """From release 23.02 on `sinfo --json` prints groups of nodes: the text of `scontrol` is read instead."""
    shutil.copytree(RECORDS / "slurm_22_05_text", tmp_path, dirs_exist_ok=True)
    (tmp_path / "sinfo.json").write_text('{"sinfo": [{"nodes": {"allocated": 1, "nodes": ["g1"]}}], "errors": []}')
    assert read(tmp_path).nodes.equals(read("slurm_22_05_text").nodes)


@pytest.mark.parametrize(
    ("state", "begin", "flags", "up"),
    [
        ("IDLE+MAINTENANCE+RESERVED", -600, "MAINT", True), ("MAINT", -600, "MAINT,SPEC_NODES", True),
        ("IDLE+MAINTENANCE", 600, "MAINT", False), ("IDLE+MAINTENANCE", -7200, "MAINT", False),
        ("IDLE+MAINTENANCE", -600, "SPEC_NODES", False), ("IDLE+DRAIN+MAINTENANCE", -600, "MAINT", False),
        ("DOWN+MAINTENANCE", -600, "MAINT", False),
    ],
)  # fmt: skip
def test_a_node_is_closed_until_the_end_of_its_maintenance(
    state: str, begin: int, flags: str, up: bool, tmp_path: Path
) -> None:
    """A node that is down for a maintenance whose end is known takes jobs after it; others are down."""
    (tmp_path / "date.txt").write_text("1700481600 +0000\n")  # 2023-11-20T12:00:00
    start, end = (1700481600 + begin + more for more in (0, 3600))
    (tmp_path / "nodes.txt").write_text(f"NodeName=v1 Gres=gpu:v100:8 State={state} Partitions=old\n")
    (tmp_path / "jobs.txt").write_text(
        "JobId=7 JobName=j UserId=x(1) Account=red Priority=1 JobState=PENDING Reason=Resources NumNodes=1 "
        "TimeLimit=01:00:00 SubmitTime=2023-11-20T11:00:00 Partition=old TresPerNode=gres/gpu:2\n"
    )
    dates = [datetime.fromtimestamp(each, UTC).strftime("%Y-%m-%dT%H:%M:%S") for each in (start, end)]
    (tmp_path / "reservations.txt").write_text(
        f"ReservationName=m StartTime={dates[0]} EndTime={dates[1]} Nodes=v1 Flags={flags} Users=root\n"
    )
    found = read(tmp_path)
    assert found.nodes["up"].to_list() == [up]
    [row] = inspect(found).starts.table.to_dicts()
    assert row["q50"] == (end - found.now if up else float("inf"))
    assert 'gpus["v1"] = 0;' in model_folder(found).files["now.gsm"]  # the model starts nothing on it now


@pytest.mark.parametrize(
    ("saved", "stated"),
    [("2026-12-01 12:00:00 +0000\n", True), ("1796000000\n", True), ("", False), ("1796000000 +0000\n", False)],
)
def test_a_saved_clock_that_cannot_be_read_is_said(saved: str, stated: bool, tmp_path: Path) -> None:
    shutil.copytree(RECORDS / "slurm_25", tmp_path / "copy")
    (tmp_path / "copy" / "date.txt").write_text(saved)
    assert any("`date.txt` is not the output of" in text for text in read(tmp_path / "copy").unread) == stated


def test_shares_of_accounts() -> None:
    """Without a hierarchy those of `sacctmgr`; else the part within the parent, times that of the parent."""

    def row(account: str, parent: str, share: str, user: str = "") -> dict[str, str]:
        return {"Account": account, "ParentName": parent, "Share": share, "User": user}

    flat = [row("root", "", "1"), row("root", "", "1", "root"), row("a", "root", "3"), row("b", "root", "1")]
    assert shares_of(flat) == {"a": 3.0, "b": 1.0}
    deep = [*flat, row("a1", "a", "1"), row("a2", "a", "parent"), row("a", "", "1", "ada")]
    found = shares_of(deep)  # of root: 3 of 5 (a user has 1), 1 of 5; of a: 1 of 2
    assert found == {
        "a": pytest.approx(0.6),
        "b": pytest.approx(0.2),
        "a1": pytest.approx(0.3),
        "a2": pytest.approx(0.6),
    }
    assert shares_of([row("x", "y", "1"), row("y", "x", "1")])  # in a circle: no error
