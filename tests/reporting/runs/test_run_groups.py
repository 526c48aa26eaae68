"""Slowdown, fairness and tables by owner, against values computed by hand and job by job."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from run_texts import THREE_JOBS, ran, random_text

from gpusched_dsl.reporting.runs.fairness import bounded_slowdowns, finish_time_fairness, jain
from gpusched_dsl.reporting.runs.groups import LEGEND
from gpusched_dsl.reporting.runs.summary import tables_by_attribute

OWNED = """
import "gsdsl:capacity_planning/scenarios/three_jobs.gsm";
model Owned extends CapacityPlanning { set Owners; param owner[Jobs] within Owners; }
scenario CpOn for Owned extends ThreeJobs { Owners = { ann, bob, "-" }; table Jobs: owner = J1 ann  J2 bob  J3 "-"; }
"""


def test_slowdown_and_fairness_of_the_worked_example() -> None:
    """FIFO: J1 runs from 0 to 4 on one GPU, J2 comes at 1 and runs from 4 to 5.2, J3 from 5.2 to 6.2."""
    result, _ = ran(THREE_JOBS, method="FIFO")
    jobs = result.jobs
    slowdown = [4 / jobs["running"][0], 4.2 / 1.2, 5.2 / jobs["running"][2]]
    assert jobs["slowdown"].to_list() == pytest.approx(slowdown)
    assert result.metrics["slowdown_max"] == pytest.approx(max(slowdown))
    assert result.metrics["bounded_slowdown_mean"] == pytest.approx(np.mean(slowdown))
    assert result.metrics["slowdown_jain"] == pytest.approx(sum(slowdown) ** 2 / 3 / sum(s * s for s in slowdown))
    # Shorter runs than 5 h count as 5 h.
    bounded = bounded_slowdowns(result.history, 5 * 3600.0)
    assert bounded == pytest.approx([1, 1, 1.04])


@pytest.mark.parametrize("seed", range(2))
def test_finish_time_fairness_job_by_job(seed: int) -> None:
    result, _ = ran(random_text(seed), method="FIFO")
    assert result.metrics["rho_mean"] is None  # nodes are rented: the number of GPUs is not known
    history = result.history
    history.__dict__["nodes"] = np.array([1.0, 0.0, 0.5])
    gpus, rows = float((history.nodes * history.gpus).sum()), result.jobs.to_dicts()
    found = finish_time_fairness(history)[history.came]
    assert len(rows) == len(found) > 5
    for row, rho in zip(rows, found, strict=True):
        span = row["end"] - row["arrival"]
        shared = sum(max(0.0, min(row["end"], o["end"]) - max(row["arrival"], o["arrival"])) for o in rows)
        assert rho == pytest.approx(span / max(row["running"], row["gpu_time"] * shared / span / gpus))


def test_tables_by_owner(tmp_path: Path) -> None:
    result, _ = ran(OWNED, method="FIFO")
    assert result.attributes == ("owner",)
    assert result.jobs["owner"].to_list() == ["ann", "bob", "-"]
    table = result.by("owner")
    assert table["owner"].to_list() == ["-", "ann", "bob"]
    assert table["jobs"].to_list() == [1, 1, 1]
    assert table["jobs_late"].to_list() == [0, 0, 1]
    assert table["jct_mean"].to_list() == pytest.approx([5.2, 4, 4.2])
    assert table["gpu_hours"].sum() == pytest.approx(result.metrics["gpu_hours"])
    assert table["cost"].sum() == pytest.approx(result.total)
    shares = table["gpu_hours"].to_numpy()
    assert result.fairness_by("owner")["jain_gpu_hours"] == pytest.approx(shares.sum() ** 2 / 3 / (shares**2).sum())
    lines = tables_by_attribute(result)
    assert lines[1].split()[:4] == ["owner", "jobs", "completion", "[h]"]
    assert lines[-5].startswith("Jain's index: ")
    assert tuple(lines[-3:]) == LEGEND
    assert all(len(line) <= 80 for line in LEGEND)
    assert all(len(line) <= 100 for line in lines)
    assert "... and 2 more" in tables_by_attribute(result, most=1)
    document = json.loads(result.json_text())
    assert [row["owner"] for row in document["groups"]["owner"]["rows"]] == ["-", "ann", "bob"]
    assert (tmp_path / "by_owner.csv") in result.to_csv(tmp_path)
    result.to_html(tmp_path / "page.html")
    assert "By owner" in (tmp_path / "page.html").read_text()
    with pytest.raises(KeyError):
        result.by("team")


def test_tables_by_text() -> None:
    """A parameter with texts is an attribute too; a text that differs for all of many jobs is none."""
    text = OWNED.replace("set Owners; param owner[Jobs] within Owners;", "param owner[Jobs] symbol;")
    text = text.replace('Owners = { ann, bob, "-" };', "").replace('J3 "-"', "J3 ann")
    result, _ = ran(text, method="FIFO")
    assert result.attributes == ("owner",)
    assert result.jobs["owner"].to_list() == ["ann", "bob", "ann"]
    table = result.by("owner")
    assert table.select("owner", "jobs").rows() == [("ann", 2), ("bob", 1)]
    assert table["jct_mean"].to_list() == pytest.approx([(4 + 5.2) / 2, 4.2])
    assert table["cost"].sum() == pytest.approx(result.total)
    assert tables_by_attribute(result)[3].split()[:2] == ["ann", "2"]


def test_jain() -> None:
    assert jain(np.array([2.0, 2.0, np.nan])) == pytest.approx(1)
    assert jain(np.array([4.0, 0.0])) == pytest.approx(0.5)
    assert jain(np.array([np.nan])) is None
