"""Decisions of runs against those read off the schedule in plain Python, also of gangs."""

from __future__ import annotations

import polars as pl
import pytest
from run_texts import THREE_JOBS, ran, random_text

from gpusched_dsl.online.history import Stretches
from gpusched_dsl.reporting.runs.decisions import decisions_table
from gpusched_dsl.reporting.runs.result import RunResult


def expected(result: RunResult) -> list[tuple[float, str, str]]:
    """Time, job and decision of every change between the stays of each job."""
    stays: dict[str, dict[tuple[float, float], set[tuple[str, str, float]]]] = {}
    for row in result.schedule.iter_rows(named=True):
        one = stays.setdefault(row["job"], {}).setdefault((row["start"], row["end"]), set())
        one.add((row["node"], row["node_type"], row["gpus"]))
    ends = dict(result.jobs.select("job", "end").rows())
    found = []
    for job, times in stays.items():
        ordered = sorted(times)
        for at, (start, end) in enumerate(ordered):
            if at == 0:
                found.append((start, job, "starts"))
            elif ordered[at - 1][1] < start - 1e-9:
                found.append((start, job, "resumes"))
            else:
                before, now = times[ordered[at - 1]], times[ordered[at]]
                if {place[:2] for place in before} != {place[:2] for place in now}:
                    found.append((start, job, "moves"))
                elif before != now:
                    found.append((start, job, "changes its GPUs"))
            follows = at + 1 < len(ordered) and ordered[at + 1][0] <= end + 1e-9
            if not follows and ends[job] is not None and abs(ends[job] - end) < 1e-9:
                found.append((end, job, "finishes"))
            elif not follows and end < result.outcome.world.now - 1e-9:
                found.append((end, job, "is halted"))
    return sorted(found)


@pytest.mark.quick(2)
@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("online", ["EveryEvent", "Changing"])
def test_decisions_of_random_runs(seed: int, online: str) -> None:
    result = ran(random_text(seed), online, seed=seed)[0]
    table, count = decisions_table(result.history, 10_000)
    assert table.height == count
    found = [(time, job, words) for time, job, words in table.select("time", "job", "decision").rows()]
    wanted = expected(result)
    assert sorted((job, words) for _, job, words in found) == sorted((job, words) for _, job, words in wanted)
    assert sorted(time for time, *_ in found) == pytest.approx(sorted(time for time, *_ in wanted))
    assert table["time"].is_sorted()
    assert decisions_table(result.history, 3)[0].equals(table.head(3))


def test_reasons() -> None:
    """FIFO: J1 from 0 to 4 on A, J2 from 4 to 5.2, due at 3.4, J3 from 5.2 to 6.2."""
    result = ran(THREE_JOBS, method="FIFO")[0]
    table, _ = decisions_table(result.history, 100)
    rows = {(row["job"], row["decision"]): row for row in table.iter_rows(named=True)}
    assert rows["J1", "starts"]["why"] == "plan 0 of FIFO: a job arrives"
    assert rows["J2", "starts"]["why"].endswith("of FIFO: a job finishes and the period is over")
    assert rows["J2", "starts"]["waited"] == pytest.approx(3)
    assert rows["J2", "finishes"]["why"] == "its work is done, 1.8 h late"
    assert rows["J3", "finishes"]["why"] == "its work is done, in time"
    assert (rows["J2", "starts"]["node"], rows["J2", "starts"]["gpus"]) == ("n1", 2)
    assert rows["J2", "finishes"]["gpus"] is None


def test_gangs_are_one_decision() -> None:
    """A job on two nodes that moves one worker is one move; with another GPU on the same nodes it is resized."""
    from types import SimpleNamespace

    import numpy as np

    stints = [
        (0, [0, 1], [1, 1], 0.0, 1.0), (0, [0, 2], [1, 1], 1.0, 2.0), (0, [0, 2], [1, 2], 2.0, 3.0),
        (0, [2], [3], 3.0, 4.0), (1, [4, 5, 6, 7, 8], [1] * 5, 0.5, 3.5),
    ]  # fmt: skip
    rows = [(j, p, 0, float(u), a, b) for j, places, uses, a, b in stints for p, u in zip(places, uses, strict=True)]
    rows.sort(key=lambda row: (row[4], row[0], row[1]))
    columns = [np.array(column) for column in zip(*rows, strict=True)]
    history = SimpleNamespace(
        stretches=Stretches(*columns), places_root="Nodes", kinds_root="", jobs_root="Jobs",
        labels=lambda root, codes: [f"{root[0].lower()}{code}" for code in codes],
        placement=SimpleNamespace(root=lambda role: "Nodes"),
        outcome=SimpleNamespace(
            unit="h", steps=(),
            world=SimpleNamespace(now=4.0, arrival=np.zeros(2), end=np.array([4.0, np.nan]), due=np.full(2, np.inf)),
        ),
    )  # fmt: skip
    table, count = decisions_table(history, 100)  # type: ignore[arg-type]
    assert count == 7
    assert table.select("time", "job", "decision", "node", "gpus").rows() == [
        (0.0, "j0", "starts", "n0, n1", 2.0),
        (0.5, "j1", "starts", "n4 and 4 more", 5.0),
        (1.0, "j0", "moves", "n0, n2", 2.0),
        (2.0, "j0", "changes its GPUs", "n0, n2", 3.0),
        (3.0, "j0", "moves", "n2", 3.0),
        (3.5, "j1", "is halted", "n4 and 4 more", 5.0),
        (4.0, "j0", "finishes", "n2", None),
    ]
    assert isinstance(table, pl.DataFrame)
