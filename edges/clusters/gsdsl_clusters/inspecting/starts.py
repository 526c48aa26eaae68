"""When waiting jobs will start: quantiles over drawn futures, corrected by how often they held in the own past.

Futures have drawn lengths of jobs (alike for jobs that come together: `dependence.py`) and drawn arrivals: what was
submitted after a random time of the recent past. The quantiles are those of the futures, times a factor that makes them
hold on past cases of the same cluster
(`online/rollouts/calibration.py`). The coverage is measured on cases that come after those behind the factor.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from gpusched_dsl.ir.arrays import Floats, Ints
from gpusched_dsl.online.rollouts.calibration import (
    SHARES,
    SMALL,
    PastForecast,
    calibrate,
    corrected_waits,
    drift_text,
)
from gsdsl_clusters.inspecting.dependence import length_dependence
from gsdsl_clusters.inspecting.lengths import length_law
from gsdsl_clusters.inspecting.past_state import real_future, state_at, times_to_ask
from gsdsl_clusters.inspecting.queue_simulation import QueueData, QueueRule, present_state, ready_at, simulate
from gsdsl_clusters.inspecting.snapshot import ClusterSnapshot, SnapshotState
from gsdsl_clusters.inspecting.together import WHOLE_JOB

SPAN = 7 * 86400.0  # s, for which later jobs are drawn
# The cost of a simulation is about that of its jobs, and twice as much on 1,000 nodes. At most so much is spent on the
# futures of now, on those of all past times together, and on each order of the queue that is tried.
WORK, PAST_WORK, ORDER_WORK = 300_000, 400_000, 100_000
MOST_COPIES = 20_000  # of past jobs that later ones are copied from
MOST_DRAWS, LEAST_DRAWS, LEAST_TIMES, MOST_ORDER_TIMES = 40, 4, 3, 4


@dataclass(frozen=True)
class QueueOrder:
    """How the cluster seems to order its jobs: by priority or submission, and what follows from a job without place."""

    by_priority: bool
    rule: QueueRule

    @property
    def text(self) -> str:
        what = "by priority" if self.by_priority else "by submission"
        overtaking = {
            QueueRule.STRICT: "nothing overtakes",
            QueueRule.SKIP: "whatever fits starts",
            QueueRule.EASY: "backfilling with a reservation",
        }
        return f"{what}, {overtaking[self.rule]}"


ORDERS = tuple(QueueOrder(by, rule) for by in (True, False) for rule in QueueRule)


@dataclass(frozen=True, eq=False)
class StartEstimates:
    """Quantiles of the starts of waiting jobs, and how often such quantiles held in the past.

    `table` has `job`, and `q10`, `q50`, `q90` in seconds from now (infinite: not within the futures). `coverage` is the
    share of past cases below each quantile after the correction, None without enough cases; `cases` is their number.
    `drift` says how recent lengths of jobs differ from earlier ones, None if they do not.
    """

    order: QueueOrder
    table: pl.DataFrame
    draws: int
    factors: tuple[float, ...]
    coverage: tuple[float, ...] | None
    cases: int
    drift: str | None = None


def estimate_starts(snapshot: ClusterSnapshot, *, seed: int = 1, past_times: int = 12) -> StartEstimates:
    """Estimate the start of each waiting job. A seed gives the same draws again."""
    times = times_to_ask(snapshot, past_times) if snapshot.has_starts else np.zeros(0)
    cost = _cost(state_at(snapshot, float(times[len(times) // 2]))) if len(times) else 1.0
    times = _some(times, max(int(PAST_WORK / (cost * LEAST_DRAWS)), LEAST_TIMES))
    order = likely_order(snapshot, _some(times, min(max(int(ORDER_WORK / cost), 1), MOST_ORDER_TIMES)))
    work = PAST_WORK / max(len(times), 1)
    cases = [past_cases(snapshot, time, order, seed + 1 + at, work) for at, time in enumerate(times.tolist())]
    found, calibration = drawn_starts(snapshot, order, seed), calibrate(cases, snapshot.now)
    corrected = corrected_waits(found.quantiles(), calibration.factors)
    columns = {f"q{share * 100:.0f}": corrected[:, at] for at, share in enumerate(SHARES)}
    table = pl.DataFrame({"job": found.names, **columns})
    het_jobs = table.select("job").join(snapshot.jobs.select("job", "het_job"), on="job", maintain_order="left")
    table = table.with_columns(het_jobs.select(WHOLE_JOB.alias("job")).to_series())
    return StartEstimates(
        order, table, len(found.starts), calibration.factors, calibration.coverage, calibration.cases,
        recent_drift(snapshot),
    )  # fmt: skip


def recent_drift(snapshot: ClusterSnapshot) -> str | None:
    """How the lengths of the jobs that ended last differ from earlier ones, in words; None if they do not."""
    ended = snapshot.jobs_in(SnapshotState.ENDED).filter(pl.col("duration") > 0)
    return drift_text(ended.sort("ended").tail(MOST_COPIES)["duration"].to_numpy())


def _cost(snapshot: ClusterSnapshot) -> float:
    """The cost of a simulation of the present jobs."""
    present = snapshot.jobs.height - snapshot.jobs_in(SnapshotState.ENDED).height
    return max(present, 1) * (1.0 + snapshot.nodes.height / 1000)


def _some(times: Floats, count: int) -> Floats:
    """At most so many of the times, spread over them."""
    if count >= len(times):
        return times
    found: Floats = times[np.linspace(0, len(times) - 1, count + 2)[1:-1].astype(np.int64)]
    return found


def likely_order(snapshot: ClusterSnapshot, times: Floats) -> QueueOrder:
    """The order that explains the starts after past times best, if the real lengths and arrivals are known."""
    has_priorities = snapshot.jobs["priority"].drop_nulls().n_unique() > 1
    usual = QueueOrder(has_priorities, QueueRule.EASY)
    errors = dict.fromkeys(ORDERS if has_priorities else ORDERS[3:], 0.0)
    for time in times.tolist():
        data, waits, at = _real_case(snapshot, time)
        for order in errors:
            ordered = in_queue_order(data, order, data.table["submitted"].to_numpy())
            found = simulate(ordered, order.rule, waiting=at).start[at]
            ratio = np.log((np.where(np.isnan(found), SPAN, found) + SMALL) / (waits + SMALL))
            errors[order] += float(np.abs(ratio).sum())
    best = min(errors, key=lambda order: errors[order])
    return best if errors[best] < errors[usual] else usual


def _real_case(snapshot: ClusterSnapshot, time: float) -> tuple[QueueData, Floats, Ints]:
    """The queue at a past time with its real future, the real waits of the jobs that waited, and where these are."""
    data = present_state(real_future(snapshot, time, SPAN))
    real = data.table.select("job").join(
        snapshot.jobs.select("job", pl.col("started").alias("start"), "duration"), on="job", maintain_order="left"
    )
    began, length = real["start"].fill_null(np.nan).to_numpy(), real["duration"].fill_null(1.0).to_numpy()
    estimate = np.maximum(data.jobs.estimate, length)
    waited = (data.table["state"] == SnapshotState.WAITING.value).to_numpy() & (data.jobs.submitted <= 0.0) & data.heads
    at = np.flatnonzero(waited & ~np.isnan(began))
    return data.with_times(np.maximum(length, 1.0), estimate), began[at] - time, at


def in_queue_order(data: QueueData, order: QueueOrder, submitted: Floats) -> QueueData:
    """The queue in an order: larger priorities first, and equal ones by submission, or by submission alone."""
    if not order.by_priority:
        return data.in_order(submitted)
    return data.in_order(-data.table["priority"].fill_null(0.0).to_numpy(), submitted)


def past_cases(
    snapshot: ClusterSnapshot, time: float, order: QueueOrder, seed: int, work: float = WORK
) -> PastForecast:  # fmt: skip
    """What the estimate would have been at a past time, beside what happened. Withdrawn jobs are left out."""
    found = drawn_starts(state_at(snapshot, time), order, seed, work)
    real = pl.DataFrame({"job": found.names}).join(
        snapshot.jobs.select("job", "state", "started"), on="job", how="left", maintain_order="left"
    )
    waits = real["started"].fill_null(np.inf).to_numpy() - time
    known = np.isfinite(waits) | (real["state"] != SnapshotState.ENDED.value).to_numpy()
    return PastForecast(time, waits[known], found.quantiles()[known])


@dataclass(frozen=True, eq=False)
class DrawnStarts:
    """Starts of waiting jobs in drawn futures: (draws, J), in seconds from the time of the snapshot."""

    names: pl.Series
    starts: Floats

    def quantiles(self) -> Floats:
        """(J, 3); a future in which a job does not start counts as infinitely late."""
        if not len(self.starts):
            return np.zeros((len(self.names), len(SHARES)))
        ordered = np.sort(np.where(np.isnan(self.starts), np.inf, self.starts), axis=0)
        at = np.minimum((np.array(SHARES) * len(ordered)).astype(np.int64), len(ordered) - 1)
        found: Floats = ordered[at].T
        return found


def drawn_starts(snapshot: ClusterSnapshot, order: QueueOrder, seed: int, work: float = WORK) -> DrawnStarts:
    """Simulate the queue in futures with drawn lengths and arrivals, until all jobs that wait now have started.

    `work` limits the cost of all futures together.
    """
    if not snapshot.jobs_in(SnapshotState.WAITING).height:
        return DrawnStarts(pl.Series("job", [], dtype=pl.String), np.zeros((0, 0)))
    futures = Futures(snapshot, order)
    random = np.random.default_rng(seed)
    draws = min(max(int(work / _cost(snapshot)), LEAST_DRAWS), MOST_DRAWS)
    starts = np.array([futures.starts(random) for _ in range(draws)])
    return DrawnStarts(futures.names, starts)


class Futures:
    """Draws futures of a queue. Later jobs are copies of past ones, of those submitted in one past week at a time."""

    def __init__(self, snapshot: ClusterSnapshot, order: QueueOrder) -> None:
        self._order = order
        present = snapshot.jobs.height - snapshot.jobs_in(SnapshotState.ENDED).height
        past = snapshot.jobs.filter(pl.col("submitted") < snapshot.now).tail(MOST_COPIES)
        nothing = [pl.lit(None, pl.Float64).alias(name) for name in ("started", "ended", "duration", "eligible")]
        copies = past.with_columns(
            (pl.lit("later ") + pl.col("job")).alias("job"),
            pl.when(pl.col("het_job") != "")
            .then(pl.lit("later ") + pl.col("het_job"))
            .otherwise(pl.lit(""))
            .alias("het_job"),
            pl.lit(SnapshotState.WAITING.value).alias("state"),
            pl.lit([], pl.List(pl.String)).alias("after"),
            *nothing,
        )
        self._data = present_state(replace(snapshot, jobs=pl.concat([snapshot.jobs, copies])))
        table = self._data.table
        self._law, self._dependence = length_law(snapshot.jobs, table), length_dependence(snapshot.jobs)
        self._copy = np.arange(len(table)) >= present
        since = (table["submitted"] - snapshot.now).to_numpy(writable=True)
        since[self._copy] = (past.select(ready_at()).to_series() - snapshot.now).to_numpy()
        self._since = since  # the submission; of a copy that of its original
        self._in_order = np.lexsort((since, self._copy))  # copies come later
        self._oldest = float(since[self._copy].min(initial=0.0))
        running = ~np.isnan(self._data.jobs.started)
        self._elapsed = np.where(running, -np.nan_to_num(self._data.jobs.started), 0.0)
        waits = (table["state"] == SnapshotState.WAITING.value).to_numpy()
        self._waiting = np.flatnonzero(~self._copy & waits & self._data.heads)
        self.names = table["job"][self._waiting]  # of the jobs that wait; of a het job that of one component

    def starts(self, random: np.random.Generator) -> Floats:
        """The starts of the jobs that wait, in one future."""
        from_time = self._oldest * (1.0 - 0.75 * random.random())
        came = self._copy & (self._since > from_time) & (self._since <= min(from_time + SPAN, 0.0))
        submitted = np.where(came, self._since - from_time, np.where(self._copy, np.inf, self._data.jobs.submitted))
        first = np.where(self._copy, submitted, self._since)
        lengths = self._law.draw(self._elapsed, random, self._dependence.uniforms(self._in_order, random))
        data = self._data.with_times(lengths, np.maximum(self._data.jobs.estimate, lengths))
        data = in_queue_order(replace(data, jobs=data.jobs._replace(submitted=submitted)), self._order, first)
        found: Floats = simulate(data, self._order.rule, waiting=self._waiting).start[self._waiting]
        return found
