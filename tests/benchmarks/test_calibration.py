"""The benchmark of calibration: its replay is the run, it asks with what is known, and it counts right."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy.signal import lfilter

import gpusched_dsl as gs
from benchmarks.calibration.replay import Calibration, Forecast, LiveReplay, TraceJob
from benchmarks.calibration.snapshots import history_of, measure
from gpusched_dsl.workflows.estimate import estimate_live

JOBS = [
    TraceJob(f"j{n}", 0.5 * n + 0.01 * (n % 3), (1, 2, 4, 1)[n % 4], (1.0, 3.0, 2.0, 0.5)[n % 4]) for n in range(24)
]
TEXT = """import "gsdsl:trace_replay/policies.gsm";
scenario S for TraceReplay {{
  Nodes = {{ n0 }};
  gpus[n in Nodes] = 4;
  table Jobs: submitted[h] needs exec_time[h] =
{rows} ;
}}
"""


def replay(folder: Path, method: str, known: bool, arrivals: bool, samples: int = 3) -> LiveReplay:
    return LiveReplay(JOBS, 8, 1, 4, method, known, folder, arrivals, samples)


def test_shares_are_counted() -> None:
    never = (0.0, np.inf, np.inf, 9.0)
    rows = [(0.0, 2.0, 4.0, 1.0), (0.0, 2.0, 4.0, 2.0), (0.0, 2.0, 4.0, 3.0), (1.0, 2.0, 4.0, 5.0), never]
    found = Calibration.of([Forecast(*row) for row in rows])
    assert (found.count, found.median, found.high) == (5, pytest.approx(3 / 5), pytest.approx(4 / 5))
    assert (found.waited, found.expected) == (pytest.approx(19 / 5), pytest.approx(7 / 4))
    assert "nan" not in found.row()


def test_nobody_waits_on_a_large_cluster(tmp_path: Path) -> None:
    """The benchmark says so, without shares of no cases."""
    forecasts = list(LiveReplay(JOBS, 8, 9, 4, "FIFO", True, tmp_path, False, 3).forecasts())
    assert forecasts == []
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert Calibration.of(forecasts).row().split() == ["0", "nobody", "waits"]


def test_the_replay_of_a_snapshot_counts_and_says_that_nobody_waits() -> None:
    """On a loaded cluster there are cases; on an empty one none, also without a warning."""
    random = np.random.default_rng(1)
    jobs = pl.DataFrame(
        {
            "submitted": np.cumsum(random.exponential(600.0, 300)),
            "gpus": pl.Series(random.choice([1, 2, 4, 8], 300), dtype=pl.Int32),
            "duration": random.lognormal(8.0, 1.0, 300),
            "user": ["u"] * 300,
        }
    )
    found = measure(history_of(jobs, 0.9), 12)
    assert found.calibration.cases > 30
    assert found.raw is not None
    assert found.row("made").count("%") == 6
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert "nobody waits" in measure(history_of(jobs, 0.01), 12).row("made")


@pytest.mark.slow
def test_futures_differ_enough_where_jobs_that_come_together_are_alike() -> None:
    """Lengths that are drawn independently average out: the 90 % quantile then covers 63 % in place of 75 %."""
    high = []
    for seed in (1, 2, 3):
        random = np.random.default_rng(seed)
        common = lfilter([1.0], [1.0, -0.95], np.sqrt(1 - 0.95**2) * random.standard_normal(500))
        scores = np.sqrt(0.8) * common + np.sqrt(0.2) * random.standard_normal(500)
        jobs = pl.DataFrame(
            {
                "submitted": np.cumsum(random.exponential(600.0, 500)),
                "gpus": pl.Series(random.choice([1, 2, 4, 8], 500), dtype=pl.Int32),
                "duration": np.exp(8.0 + scores),
                "user": ["u"] * 500,
            }
        )
        raw = measure(history_of(jobs, 0.8), 16).raw
        assert raw is not None
        high.append(raw[2])
    assert np.mean(high) >= 0.7


@pytest.mark.quick(1)
@pytest.mark.parametrize("method", ["FIFO", "Backfilling"])
def test_the_replay_is_the_run(tmp_path: Path, method: str) -> None:
    """With known lengths the real starts are those of a run, and a strict queue is forecast exactly."""
    rows = "\n".join(f"    {job.name} {job.submitted!r} {job.gpus} {job.hours!r}" for job in JOBS)
    run = gs.loads(TEXT.format(rows=rows)).run("S", online="Replay", method=method, verify="none")
    starts = dict(zip([job.submitted for job in JOBS], run.jobs["start"], strict=True))
    found = list(replay(tmp_path, method, True, False).forecasts())
    assert found
    assert all(one.start == pytest.approx(starts[one.submitted]) for one in found)
    assert all(one.submitted >= JOBS[8].submitted for one in found)
    if method == "FIFO":
        assert all(one.median == one.high == pytest.approx(one.start) for one in found)
    else:
        assert any(one.start > one.high + 0.1 for one in found)  # later jobs overtake


@pytest.mark.quick(1)
@pytest.mark.parametrize("arrivals", [False, True])
def test_futures_are_those_of_estimates(tmp_path: Path, arrivals: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """By lengths that are unknown."""
    one = replay(tmp_path, "Backfilling", False, arrivals)
    monkeypatch.setattr(one, "jobs", JOBS[:16])
    seen: list[tuple[list[float], list[float]]] = []
    starts = LiveReplay.starts

    def both(self: LiveReplay, loop: object, code: int) -> object:
        mine = starts(self, loop, code)  # type: ignore[arg-type]
        label = loop.base.store.universes["Jobs"].labels[code]  # type: ignore[attr-defined]
        theirs = estimate_live(loop, label, samples=3, arrivals=arrivals)  # type: ignore[arg-type]
        seen.append((mine.tolist(), theirs.start.tolist()))
        return mine

    monkeypatch.setattr(LiveReplay, "starts", both)
    list(one.forecasts(every=3))
    assert [mine for mine, _ in seen] == [pytest.approx(theirs) for _, theirs in seen]
    assert any(len(set(mine)) > 1 for mine, _ in seen)
