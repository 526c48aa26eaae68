"""Estimates of starts: the order of the queue is recognised, and quantiles hold on cases that they have not seen."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from made_history import made_history

from gsdsl_clusters.inspecting import starts
from gsdsl_clusters.inspecting.lengths import length_law
from gsdsl_clusters.inspecting.past_state import state_at
from gsdsl_clusters.inspecting.queue_simulation import QueueRule
from gsdsl_clusters.inspecting.snapshot import JOB_COLUMNS, frame
from gsdsl_clusters.inspecting.starts import estimate_starts


@pytest.mark.parametrize("rule", [QueueRule.EASY, QueueRule.STRICT])
def test_a_known_queue_is_recognised(rule: QueueRule) -> None:
    estimates = estimate_starts(made_history(1, rule=rule, jobs=200, nodes=3), past_times=5)
    assert estimates.order.rule == rule
    assert estimates.cases >= 10
    low, middle, high = estimates.coverage or ()
    assert low <= middle <= high
    waits = estimates.table.select("q10", "q50", "q90").to_numpy()
    assert (np.diff(waits, axis=1) >= 0).all()
    assert (waits >= 0).all()


@pytest.mark.slow
@pytest.mark.parametrize("rule", [QueueRule.EASY, QueueRule.STRICT])
def test_quantiles_hold_on_histories_with_a_known_queue(rule: QueueRule) -> None:
    """Jobs that wait at one time are alike: twelve times with ten jobs each are few independent cases."""
    found = [estimate_starts(made_history(seed, rule=rule, jobs=400, nodes=3), past_times=12) for seed in (1, 2, 3)]
    assert {estimates.order.rule for estimates in found} == {rule}
    assert sum(estimates.cases for estimates in found) > 300
    coverage = [estimates.coverage for estimates in found if estimates.coverage is not None]
    assert len(coverage) == len(found)
    low, middle, high = np.mean(coverage, axis=0)
    assert low <= 0.2
    assert 0.35 <= middle <= 0.65
    assert high >= 0.82
    for estimates in found:
        waits = estimates.table.select("q10", "q50", "q90").to_numpy()
        assert (np.diff(waits, axis=1) >= 0).all()
        assert (waits >= 0).all()


@pytest.mark.slow
def test_quantiles_hold_over_many_histories() -> None:
    histories = [made_history(seed, jobs=900, nodes=5) for seed in range(10, 22)]
    estimates = [estimate_starts(history, past_times=16) for history in histories]
    found = [e.coverage for e in estimates if e.coverage is not None]
    low, middle, high = np.mean(found, axis=0)
    assert len(found) > 6
    assert 0.05 <= low <= 0.17
    assert 0.42 <= middle <= 0.6
    assert 0.86 <= high <= 0.95


def test_a_seed_gives_the_same_estimates_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(starts, "MOST_DRAWS", 5)
    history = made_history(2, jobs=150, nodes=2)
    once, again, other = (estimate_starts(history, seed=seed, past_times=2).table for seed in (5, 5, 6))
    assert once.equals(again)
    assert not once.equals(other)


def test_a_past_state_knows_nothing_of_what_came_later() -> None:
    history = made_history(1, jobs=300, nodes=3)
    time = float(history.jobs["submitted"].quantile(0.5) or 0.0)
    then = state_at(history, time)
    assert then.jobs["submitted"].max() <= time  # type: ignore[operator]
    assert then.jobs["ended"].drop_nulls().max() <= time  # type: ignore[operator]
    assert then.jobs["started"].drop_nulls().max() <= time  # type: ignore[operator]
    running = then.jobs.filter(pl.col("state") == "running")
    assert running["duration"].to_list() == pytest.approx((time - running["started"]).to_list())
    real = history.jobs.filter((pl.col("started") <= time) & (pl.col("ended").fill_null(np.inf) > time))
    assert sorted(real["job"]) == sorted(running["job"])
    assert state_at(state_at(history, time + 1000.0), time).jobs.equals(then.jobs)


def test_nodes_that_are_down_now_were_up_until_their_last_start() -> None:
    history = made_history(1, jobs=300, nodes=4)
    down = pl.col("node") != history.nodes["node"][0]
    history = replace(history, nodes=history.nodes.with_columns(down.alias("up"), pl.lit("broken").alias("reason")))
    times = np.linspace(float(history.jobs["submitted"].min()), history.now, 12)  # type: ignore[arg-type]
    found = []
    for time in times.tolist():
        then = state_at(history, time).nodes
        for row in then.iter_rows(named=True):
            mine = [start for start, on in history.jobs.select("started", "on_nodes").rows() if row["node"] in on]
            expected = row["node"] != history.nodes["node"][0] or any(start > time for start in mine)
            assert row["up"] == expected
            assert row["reason"] == ("" if expected else "broken")
        found.append(bool(then["up"].all()))
    assert found[0]
    assert not found[-1]


def test_lengths_are_drawn_from_the_own_user_and_beyond_what_has_run() -> None:
    rows = [
        {"job": f"{user}{at}", "state": "ended", "user": user, "name": "x", "gpus": 1, "limit": 100.0, "ended": at,
         "duration": (10.0 if user == "a" else 60.0) + at}
        for user in ("a", "b") for at in range(20)
    ]  # fmt: skip
    wanted = frame(
        [
            {"job": "1", "state": "waiting", "user": "a", "name": "x", "gpus": 1, "limit": 1000.0},
            {"job": "2", "state": "running", "user": "b", "name": "y", "gpus": 1, "limit": 100.0},
            {"job": "3", "state": "waiting", "user": "new", "name": "y", "gpus": 1, "limit": 100.0},
            {"job": "4", "state": "running", "user": "b", "name": "x", "gpus": 1, "limit": 100.0},
        ],
        JOB_COLUMNS,
    )
    law = length_law(frame(rows, JOB_COLUMNS), wanted)
    random = np.random.default_rng(1)
    drawn = np.array([law.draw(np.array([0.0, 70.5, 0.0, 90.0]), random) for _ in range(400)])
    assert set(np.rint(drawn[:, 0])) == {100.0 + 10 * at for at in range(20)}
    assert set(np.rint(drawn[:, 1])) == {float(at) for at in range(71, 80)}
    assert drawn[:, 2].min() < 30
    late = np.array([law.draw(np.array([0.0, 120.0, 0.0, 90.0]), random)[1] for _ in range(400)])
    assert (late > 120.0).all()
    assert 40.0 < late.mean() - 120.0 < 80.0  # past its limit it ends within about a minute, not at once
    assert drawn[:, 2].max() > 59
    assert (drawn[:, 3] > 90.0).all()
    assert (drawn[:, 3] <= 100.0).all()
