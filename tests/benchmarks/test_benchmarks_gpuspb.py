"""The event loop of the comparison with another implementation, on a case worked out by hand."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import linprog

from benchmarks.gpuspb.bound import bound_without_tardiness
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


def test_the_bound_is_that_of_the_linear_problem(folder: Path) -> None:
    """One greedy run is at the bound; with less time for J2, two ways share it."""
    instance = read_instance(folder)
    assert bound_without_tardiness(instance) == pytest.approx(3.5)
    tight = replace(instance, deadline=instance.submitted + np.array([6.0, 1.5, 8.0]))
    total = 0.0
    for j in range(3):
        time = tight.time[j]
        cost = time * tight.way_gpus * 0.5
        room = [tight.deadline[j] - tight.submitted[j]]
        total += linprog(cost, A_ub=[time], b_ub=room, A_eq=[np.ones(3)], b_eq=[1.0]).fun
    assert 3.5 < bound_without_tardiness(tight) == pytest.approx(total)
