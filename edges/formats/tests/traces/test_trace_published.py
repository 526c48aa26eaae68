"""The published files themselves, where they are: rows kept and left out, counted independently."""

from __future__ import annotations

import csv

import pytest
from trace_help import SHARED, reasons, shared


@pytest.mark.quick(6)
@pytest.mark.parametrize(
    ("name", "file", "rows", "kept", "dropped"),
    [
        ("philly", "philly/jobs.csv", 62713, 62713, {}),
        ("helios", "helios/venus_sept2020_vcvGl.csv", 1452, 1452, {}),
        ("openb_pods", "alibaba_openb2023/pods_gpuspec33.csv", 8152, 6203, {"never started": 861}),
        ("openb_pods", "alibaba_openb2023/pods_default_first70pct.csv", 5706, 4365, {"never started": 520}),
        ("openb_nodes", "alibaba_openb2023/nodes.csv", 1523, 1213, {}),
        ("pai", "pai2020_gaia/jobs_first60k.csv", 60000, 60000, {}),
        ("elasticflow", "itp_elasticflow/cluster01.csv", 1595, 1595, {}),
        ("elasticflow", "itp_elasticflow/cluster04.csv", 15802, 15802, {}),
        ("elasticflow", "itp_elasticflow/testbed_195job.csv", 195, 195, {}),
        ("elasticflow_throughputs", "itp_elasticflow/throughputs_iters_per_s.csv", 178, 169, {}),
        ("chronus", "chronus/philly_deadline_mix1.csv", 30940, 30756, {"no GPUs": 184}),
        ("chronus_values", "chronus/philly_deadline_mix1.csv", 30940, 21600, {"no GPUs": 184}),
        ("gavel", "gavel/trace_msr_seed0_e13805.csv", 607, 607, {}),
        ("gavel", "gavel/trace_msr_seed0_2869ce.csv", 533, 533, {}),
        ("gavel", "gavel/artifact_evaluation_physical.raw.trace", 15, 15, {}),
        ("gavel_throughputs", "gavel/throughput_isolated.csv", 492, 489, {}),
        ("gavel_colocated", "gavel/throughput_colocated.csv", 10338, 3762, {}),
        ("shockwave", "shockwave/trace_120.csv", 120, 120, {}),
        ("shockwave", "shockwave/trace_460.csv", 460, 460, {}),
        ("sia", "sia_pollux/workloads/newtrace_workload-1.csv", 960, 960, {}),
        ("sia", "sia_pollux/workloads/scale_scale_16x_workload-1.csv", 2560, 2560, {}),
        ("sia_placements", "sia_pollux/placements.csv", 14407, 14407, {}),
        ("sia_scalability", "sia_pollux/scalability.csv", 6248, 6248, {}),
        ("tiresias", "tiresias/60_job.csv", 60, 60, {}),
        ("tiresias_nodes", "tiresias/n256g8.csv", 1, 256, {}),
        ("gpuspb_jobs", "gpuspb_reference/n100_light/Lof_Selectjobs.csv", 1000, 1000, {}),
        ("gpuspb_times", "gpuspb_reference/n100_light/SelectJobs_times.csv", 14000, 14000, {}),
        ("gpuspb_nodes", "gpuspb_reference/n100_light/tNodes.csv", 100, 100, {}),
    ],
)
def test_counts(name: str, file: str, rows: int, kept: int, dropped: dict[str, int]) -> None:
    table = shared(name, file)
    assert (table.rows, table.frame.height) == (rows, kept)
    assert {reason: count for reason, (count, _) in reasons(table.dropped).items()} == dropped


def cells(file: str) -> list[dict[str, str]]:
    if not SHARED.is_dir():
        pytest.skip("the published traces are not here")
    with open(SHARED / file, encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def test_chronus_row_by_row() -> None:
    rows = [r for r in cells("chronus/philly_deadline_mix1.csv") if int(r["num_gpu"]) > 0]
    rows.sort(key=lambda r: int(r["submit_time"]))
    zero = int(rows[0]["submit_time"])
    table = shared("chronus", "chronus/philly_deadline_mix1.csv")
    found = table.frame.select("job", "submitted", "gpus", "duration", "deadline").rows()
    assert found == [
        (
            int(r["job_id"]),
            (int(r["submit_time"]) - zero) * 60.0,
            int(r["num_gpu"]),
            int(r["duration"]) * 60.0,
            None if r["best_effort"] == "1" else (int(r["submit_time"]) - zero + int(r["expect_time_list"])) * 60.0,
        )
        for r in rows
    ]


def test_openb_pods_row_by_row() -> None:
    rows = [r for r in cells("alibaba_openb2023/pods_gpuspec33.csv") if int(r["num_gpu"]) > 0 and r["scheduled_time"]]
    rows.sort(key=lambda r: float(r["creation_time"]))
    table = shared("openb_pods", "alibaba_openb2023/pods_gpuspec33.csv")
    assert table.frame.select("job", "submitted", "gpu_share", "duration").rows() == [
        (
            r["name"],
            float(r["creation_time"]) - float(rows[0]["creation_time"]),
            int(r["gpu_milli"]) / 1000,
            float(r["deletion_time"]) - float(r["scheduled_time"]),
        )
        for r in rows
    ]


def test_gavel_is_the_same_in_all_writings() -> None:
    lines = shared("gavel", "gavel/trace_msr_seed0_e13805.raw.trace")
    assert lines.frame.equals(shared("gavel", "gavel/trace_msr_seed0_e13805.csv").frame)
    for unfit in (False, True):
        for name, file in (("gavel_throughputs", "isolated"), ("gavel_colocated", "colocated")):
            document = shared(name, "gavel/simulation_throughputs.json", unfit=unfit)
            assert document.frame.equals(shared(name, f"gavel/throughput_{file}.csv", unfit=unfit).frame)
