"""From files to snapshots: records of sacct with jobs that run, wait and are arrays; traces, recognised by content."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

import gpusched_dsl as gs
from gpusched_dsl.data.sources.files import FileLimits, Unreadable
from gsdsl_clusters.inspecting.reading import read_snapshot

SACCT = Path(__file__).parent / "records" / "sacct.txt"
LIMITS = FileLimits(allow_outside=True)


def test_records_of_sacct() -> None:
    found = read_snapshot(str(SACCT), LIMITS)
    jobs = {row["job"]: row for row in found.jobs.iter_rows(named=True)}
    assert list(jobs) == ["1", "2", "3_4", "3_5", "3_6", "4", "5"]
    assert [row["state"] for row in jobs.values()] == [
        "ended", "running", "waiting", "waiting", "waiting", "ended", "blocked"
    ]  # fmt: skip
    assert found.now == jobs["2"]["started"] + 3600  # until when the running job has run
    assert (jobs["2"]["gpus"], jobs["2"]["nodes"], jobs["2"]["on_nodes"], jobs["2"]["on_gpus"]) == (
        8, 2, ["g1", "g2"], [8, 8]
    )  # fmt: skip
    assert (jobs["2"]["gpu_types"], jobs["2"]["features"]) == (["a100"], ["nvlink"])
    assert jobs["1"]["gpu_types"] == []  # any type was requested
    assert (jobs["1"]["limit"], jobs["1"]["duration"], jobs["1"]["memory"]) == (36000.0, 7200.0, 64.0)
    assert (jobs["3_5"]["array"], jobs["3_5"]["array_limit"], jobs["3_5"]["gpu_types"]) == ("3", 2, ["h100"])
    assert (jobs["4"]["outcome"], jobs["4"]["started"]) == ("CANCELLED", None)
    assert (jobs["5"]["partitions"], jobs["5"]["limit"], jobs["5"]["reason"]) == (["main", "big"], None, "Dependency")
    nodes = found.nodes.select("node", "gpu_type", "gpus").rows()
    assert nodes == [("g1", "a100", 8), ("g2", "a100", 8)]
    assert "nodes are those on which jobs ran" in found.inferred


def test_times_are_on_the_clock_of_a_zone() -> None:
    there, here = (read_snapshot(str(SACCT), LIMITS, zone=zone).now for zone in ("Europe/Berlin", "UTC"))
    assert here - there == 3600.0


def test_a_trace_is_recognised_by_its_content(tmp_path: Path) -> None:
    philly = tmp_path / "any.csv"
    philly.write_text("submit_time,duration_s,num_gpus,vc\n2017-09-07 03:58:57,3600,1,a\n2017-09-07 04:00:00,60,4,b\n")
    found = read_snapshot(str(philly), LIMITS)
    assert found.source.startswith("philly:")
    assert not found.has_starts
    assert found.nodes["gpus"].sum() == 5  # in use at once, if nobody waits
    swf = tmp_path / "log"
    swf.write_text("; MaxProcs: 16\n; UnixStartTime: 1000\n" + "1 0 10 100 4 -1 -1 4 200 -1 1 7 1 1 1 1 -1 -1\n" * 1)
    found = read_snapshot(str(swf), LIMITS)
    [job] = found.jobs.to_dicts()
    assert (job["submitted"], job["started"], job["ended"], job["limit"]) == (1000.0, 1010.0, 1110.0, 200.0)
    assert found.nodes.select("node", "gpus").rows() == [("cluster", 16)]


SAMPLES = Path(__file__).parents[3] / "formats" / "tests" / "traces" / "samples"


@pytest.mark.parametrize(
    ("file", "form", "starts"),
    [
        ("acme.csv", "acme", True), ("philly_log.json", "philly_attempts", True),
        ("spot_gpu.csv", "spot_gpu", False), ("genai_requests.csv", "genai_requests", False),
        ("helios.csv", "helios", False), ("pai.csv", "pai", False), ("shockwave.csv", "shockwave", False),
        ("elasticflow.csv", "elasticflow", False), ("chronus.csv", "chronus", False), ("swf.swf", "swf", True),
        ("openb_pods.csv", "openb_pods", False), ("philly.csv", "philly", False), ("tiresias.csv", "tiresias", False),
    ],
)  # fmt: skip
def test_published_traces_are_recognised(file: str, form: str, starts: bool) -> None:
    found = read_snapshot(str(SAMPLES / file), LIMITS)
    assert found.source.startswith(f"{form}: ")
    assert found.has_starts == starts


def test_an_unknown_form_says_what_to_state(tmp_path: Path) -> None:
    path = tmp_path / "letter.txt"
    path.write_text("Dear operator,\nour cluster is slow.\n")
    with pytest.raises(Unreadable) as raised:
        read_snapshot(str(path), LIMITS)
    assert raised.value.faults[0].code == "GSM5601"
    assert "`--as NAME`" in (raised.value.faults[0].help or "")


HEADER = "JobID|State|Submit|Start|End|ElapsedRaw|TimelimitRaw|ReqTRES|AllocTRES|NNodes|NodeList\n"


def test_records_of_waiting_jobs_alone(tmp_path: Path) -> None:
    """There is no node, which is said, and nothing else is known."""
    line = "1|PENDING|2026-11-01T10:00:00|Unknown|Unknown|0|60|gres/gpu=4,node=1||1|None assigned\n"
    (tmp_path / "sacct.txt").write_text(HEADER + line)
    found = gs.inspect(tmp_path / "sacct.txt")
    assert found.headline() == "0 of 0 GPUs are in use, 0 jobs run, 1 waits for 4 GPUs"
    assert "state the nodes by `--nodes`" in " ".join(str(found).split())
    assert found.to_dict()["types"] == []
    found.to_csv(tmp_path / "csv")
    found.to_html(tmp_path / "page.html")


def test_jobs_that_ended_at_once_have_used_their_gpus(tmp_path: Path) -> None:
    """A node has at least the GPUs of each job on it: 4 at once beside 3 that ended as they started."""
    rows = [("a", 0, 0, 3), ("b", 0, 0, 2), ("c", 1, 2, 1), ("a", 5, 6, 2), ("a", 5, 7, 2)]
    lines = "".join(
        f"{at}|COMPLETED|2026-11-01T09:00:00|2026-11-01T10:0{start}:00|2026-11-01T10:0{end}:00|{60 * (end - start)}|60|"
        f"gres/gpu={gpus},node=1|gres/gpu={gpus},node=1|1|{node}\n"
        for at, (node, start, end, gpus) in enumerate(rows)
    )
    (tmp_path / "sacct.txt").write_text(HEADER + lines)
    nodes = gs.inspect(tmp_path / "sacct.txt").snapshot.nodes
    assert dict(nodes.select("node", "gpus").iter_rows()) == {"a": 4, "b": 2, "c": 1}


def test_a_job_that_ended_before_its_start_is_left_out(tmp_path: Path) -> None:
    """Its length and its end contradict each other; jobs that ended at once or run on are used."""
    times = [("11:00:00", "10:30:00", 7200), ("10:00:00", "10:00:00", 0), ("10:00:00", "12:00:00", 7200)]
    lines = "".join(
        f"{at}|COMPLETED|2026-11-01T09:00:00|2026-11-01T{start}|2026-11-01T{end}|{length}|600|"
        f"gres/gpu=2,node=1|gres/gpu=2,node=1|1|n\n"
        for at, (start, end, length) in enumerate(times)
    )
    (tmp_path / "sacct.txt").write_text(HEADER + lines)
    found = gs.inspect(tmp_path / "sacct.txt").snapshot
    assert found.jobs["job"].to_list() == ["1", "2"]
    assert list(found.unread) == ["1: its end is before its start (first on line 2)"]


@pytest.mark.parametrize(
    ("packed", "spare", "code"), [(False, -1, "GSM2006"), (True, -1, "GSM2007"), (False, 0, None), (True, 0, None)]
)
def test_records_above_the_limits_of_files(packed: bool, spare: int, code: str | None, tmp_path: Path) -> None:
    content = SACCT.read_bytes()
    file = tmp_path / ("sacct.txt.gz" if packed else "sacct.txt")
    file.write_bytes(gzip.compress(content) if packed else content)
    size = len(content) + spare
    limits = FileLimits(allow_outside=True, **({"decoded_bytes": size} if packed else {"file_bytes": size}))
    if code is None:
        assert read_snapshot(str(file), limits).jobs.height == 7
        return
    with pytest.raises(Unreadable) as refused:
        read_snapshot(str(file), limits)
    assert [fault.code for fault in refused.value.faults] == [code]
