"""The event loop of the comparison with another implementation, on a case worked out by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.gpuspb.instance import read_instance
from benchmarks.gpuspb.loop import simulate
from benchmarks.gpuspb.methods import METHODS

BASE = {"J1": (0, 4, 6, 1), "J2": (1, 2, 3.4, 2), "J3": (1, 1, 9, 4)}  # submitted, time on one GPU, deadline, weight


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One node, kinds of one and two GPUs at half a dollar each; two GPUs take 0.6 of the time. Hours are seconds."""
    folder = tmp_path_factory.mktemp("gpuspb")
    jobs = ["UniqueJobsID,SubmissionTime,Deadline,Tardinessweight"]
    times = ["UniqueJobsID,VMtype,GPUtype,nGPUs,max_nGPUs,cost,ExecutionTime"]
    for name, (submitted, base, deadline, weight) in BASE.items():
        jobs.append(f"{name},{submitted},{deadline},{weight}")
        for kind, gpus, most, part in (("A", 1, 1, 1.0), ("B", 1, 2, 1.0), ("B", 2, 2, 0.6)):
            times.append(f"{name},{kind},k,{gpus},{most},{1800 * most},{part * base}")
    (folder / "Lof_Selectjobs.csv").write_text("\n".join(jobs))
    (folder / "SelectJobs_times.csv").write_text("\n".join(times))
    (folder / "tNodes.csv").write_text("Nodes\nn1\n")
    return folder


@pytest.mark.parametrize(
    ("name", "rent", "tardiness", "decisions"),
    [("FIFO", 3.7, 3.6, 4), ("EDF", 3.7, 3.6, 4), ("Priority", 3.7, 5.6, 4), ("Greedy", 3.5, 0.0, 3)],
)
def test_bills_of_three_jobs(folder: Path, name: str, rent: float, tardiness: float, decisions: int) -> None:
    method = next(m for m in METHODS if m.name == name)
    bill = simulate(read_instance(folder), method)
    assert (bill.rent, bill.tardiness) == pytest.approx((rent, tardiness), abs=1e-6)
    assert bill.events == decisions
