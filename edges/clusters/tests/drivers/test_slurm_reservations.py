"""Reservations that begin later: no job is planned on their nodes that might not have ended by then."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from simulated_slurm import EPOCH
from test_slurm_demands import act, states, two_nodes
from test_slurm_json import JOBS_22, NODES_22

from gsdsl_clusters.drivers.slurm.observe import observation_of
from gsdsl_clusters.drivers.slurm.reservations import Reservation, from_text, reservations_of

PRINTED = """ReservationName=maint1 StartTime=2000 EndTime=5600 Nodes=g[1-2] Features=(null) Flags=MAINT
ReservationName=licences StartTime=2000 EndTime=5600 Duration=01:00:00 Nodes=(null) NodeCnt=0 Licenses=a:1
ReservationName=odd StartTime=tomorrow EndTime=5600 Nodes=g3
No reservations in the system
"""


def test_what_scontrol_prints() -> None:
    unread: list[str] = []
    assert list(reservations_of(from_text(PRINTED), unread)) == [
        Reservation("maint1", 2000.0, 5600.0, frozenset({"g1", "g2"}))
    ]
    assert unread == ["reservation `odd` is left out: `start_time` is 'tomorrow', which is not a number of Slurm"]


@pytest.mark.parametrize("record", [None, {"name": "x", "node_list": "g[1-"}, {"name": "x", "node_list": "g1"}])
def test_a_reservation_that_is_not_understood_is_left_out_by_itself(record: Any) -> None:
    good = {"name": "y", "node_list": "g1", "start_time": 5, "end_time": 6}
    unread: list[str] = []
    assert [known.name for known in reservations_of([record, good], unread)] == ["y"]
    assert len(unread) == 1


@pytest.mark.parametrize(
    ("start", "limit", "own", "blocked"),
    [
        (1000, 10, "", False),
        (1600, 10, "", False),
        (1599, 10, "", True),
        (1e9, 10, "", False),
        (1e9, None, "", True),
        (1e9, 4294967295, "", True),
        (1599, 10, "maint", False),
        (999, 10, "", False),
    ],
)
def test_which_jobs_a_reservation_blocks(start: float, limit: int | None, own: str, blocked: bool) -> None:
    """The time is 1000; an active reservation is seen by the states of its nodes."""
    job = {**JOBS_22[1], "required_nodes": "", "time_limit": limit, "resv_name": own}
    upcoming = (Reservation("maint", start, start + 60, frozenset({"g1"})),)
    found = observation_of([job], NODES_22, None, 1000.0, upcoming).jobs["2"]
    shown = "it might not have ended when the reservation `maint` begins"
    assert (found.misfits.get("g1") == shown) is blocked
    assert "g1" in found.lists["allowed_nodes"]


def test_long_jobs_keep_away_from_nodes_that_will_be_maintained(tmp_path: Path) -> None:
    """g1 is maintained in 30 minutes: the job of an hour takes g2, and a short one takes g1."""
    slurm = two_nodes()
    slurm.reservations = [("maint", EPOCH + 1800, EPOCH + 3600, "g1")]
    slurm.submit(gpus=4, seconds=20, minutes=60)
    slurm.submit(gpus=4, seconds=20, minutes=60)
    slurm.submit(gpus=4, seconds=20, minutes=20)
    summary, told = act(tmp_path, slurm, 24)
    assert set(states(slurm).values()) == {"COMPLETED"}, told
    assert not any("has not started" in message for message in told)
    assert [slurm.jobs[id].node for id in (1, 2, 3)] == ["g2", "g2", "g1"]
    assert slurm.jobs[3].started < max(slurm.jobs[1].started, slurm.jobs[2].started)
    assert (summary.left_out, {job.begun for job in slurm.jobs.values()}) == ({}, {1})


def test_a_job_that_fits_nowhere_before_the_maintenance_starts_after_it(tmp_path: Path) -> None:
    slurm = two_nodes()
    slurm.reservations = [("maint", EPOCH + 40, EPOCH + 60, "g[1-2]")]
    slurm.submit(gpus=4, seconds=20)
    _, told = act(tmp_path, slurm, 24)
    assert not any("has not started" in message for message in told)
    assert (slurm.jobs[1].state, slurm.jobs[1].begun) == ("COMPLETED", 1)
    assert slurm.jobs[1].started >= EPOCH + 60
