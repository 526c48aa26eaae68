"""What other queues would have done with the jobs of the past, beside what the cluster did and beside its own queue.

The jobs of the past are run again on the same nodes, by each queue, with the lengths that they had and the limits as
estimates. A job arrives when it was eligible, so holds and dependencies cannot be saved. The cluster may have had rules
that its records do not show (limits of users, reservations, outages): its own queue in the simulation then has shorter
waits than the real ones, and other queues are comparable with that row only.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from gpusched_dsl.ir.arrays import Floats
from gsdsl_clusters.inspecting.queue_simulation import QueueData, QueueRule, past, ready_at, simulate, spans
from gsdsl_clusters.inspecting.snapshot import ClusterSnapshot
from gsdsl_clusters.inspecting.starts import QueueOrder, in_queue_order

MOST_JOBS = 50_000  # the last ones; fewer on more than 2,000 nodes
CLOSE = 0.2  # of the mean wait: the simulation of the own queue explains the real one


@dataclass(frozen=True)
class QueueOutcome:
    """Waits of the same jobs by one queue, in seconds: their mean, by GPU-hours, and the 95 % quantile; and the share
    of the GPUs in use from the first arrival to the last end.
    """

    name: str
    mean_wait: float
    weighted_wait: float
    wait_95: float
    used: float


@dataclass(frozen=True, eq=False)
class QueueComparison:
    """The real outcome (None without starts), the own queue in the simulation, and other queues.

    `jobs` were compared: those that start in all of them, on the present nodes within the present limits; `left_out`
    others were not. `past_wait` is the real mean wait of both. If the own queue in the simulation does not explain the
    real waits, `explains` is False.
    """

    real: QueueOutcome | None
    own: QueueOutcome
    others: tuple[QueueOutcome, ...]
    jobs: int
    left_out: int
    past_wait: float | None

    @property
    def wait(self) -> float:
        """The mean wait of all jobs of the past, without starts in the simulation."""
        return self.own.mean_wait if self.past_wait is None else self.past_wait

    @property
    def anyone_waits(self) -> bool:
        """Whether jobs waited for a second on average, without starts in the simulation."""
        return self.wait >= 1.0

    @property
    def explains(self) -> bool:
        """Whether the simulated own queue has about the waits of the cluster."""
        if self.real is None or not self.jobs:
            return True
        return abs(self.own.mean_wait - self.real.mean_wait) <= CLOSE * max(self.real.mean_wait, 60.0)


def compare_queues(snapshot: ClusterSnapshot, order: QueueOrder) -> QueueComparison | None:
    """Run the jobs of the past by the own queue and by others; None without jobs that have run."""
    data = recent(snapshot)
    if not len(data.table):
        return None
    ready = data.table.select(ready_at()).to_series().to_numpy()
    size, limit = data.sums(data.total.astype(np.float64)), spans(data.jobs)
    own = simulate(in_queue_order(data, order, ready), order.rule)
    counted = ~np.isnan(own.start)
    queues: list[tuple[str, tuple[Floats, ...], QueueRule]] = [
        ("first come, first served", (ready,), QueueRule.STRICT),
        ("backfilling (EASY)", (ready,), QueueRule.EASY),
        ("shortest limit first, EASY", (limit, ready), QueueRule.EASY),
        ("least GPU-hours first, EASY", (limit * size, ready), QueueRule.EASY),
        ("smallest first, whatever fits", (size, ready), QueueRule.SKIP),
    ]
    same = None if order.by_priority else order.rule  # a queue by submission has run already
    runs = [
        (name, own if len(keys) == 1 and rule == same else simulate(data.in_order(*keys), rule))
        for name, keys, rule in queues
    ]
    for _, run in runs:
        counted &= ~np.isnan(run.start)
    real, heads = data.table["started"].to_numpy() if snapshot.has_starts else None, data.heads
    past_wait = None if real is None else float(np.maximum(real - ready, 0.0)[heads].mean())
    outcome = None if real is None else _outcome("the cluster", data, real, counted)
    others = tuple(_outcome(name, data, run.start, counted) for name, run in runs)
    name = "its queue, simulated"
    return QueueComparison(
        outcome,
        _outcome(name, data, own.start, counted),
        others,
        int((counted & heads).sum()),
        int((~counted & heads).sum()),
        past_wait,
    )


def recent(snapshot: ClusterSnapshot) -> QueueData:
    """The last jobs of the past as a queue."""
    jobs = snapshot.jobs.sort("submitted", maintain_order=True)
    jobs = jobs.tail(int(MOST_JOBS * 3 / max(3.0, 1.0 + snapshot.nodes.height / 1000)))
    return past(ClusterSnapshot(
        snapshot.source, snapshot.now, snapshot.nodes.with_columns(pl.lit(True).alias("up")), jobs,
        limits=snapshot.limits, has_starts=snapshot.has_starts,
    ))  # fmt: skip


def _outcome(name: str, data: QueueData, start: Floats, counted: np.ndarray) -> QueueOutcome:
    ready = data.table.select(ready_at()).to_series().to_numpy()[counted]
    begin, length, size = start[counted], data.jobs.length[counted], data.total[counted]
    if not len(begin):
        return QueueOutcome(name, 0.0, 0.0, 0.0, 0.0)
    wait = np.maximum(begin - ready, 0.0)
    work = length * size
    whole = data.heads[counted]
    span = float((begin + length).max() - ready.min())
    capacity = float(data.nodes.gpus.sum())
    return QueueOutcome(
        name,
        float(wait[whole].mean()),
        float((wait * work).sum() / work.sum()),
        float(np.quantile(wait[whole], 0.95)),
        float(work.sum() / (span * capacity)) if span * capacity > 0 else 0.0,
    )
