"""Everything that a look at a cluster shows, as one report: text of 80 columns, JSON, and tables."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from gpusched_dsl.inspecting.blocking import blocking_jobs
from gpusched_dsl.inspecting.load import load_by, load_by_type
from gpusched_dsl.inspecting.other_queues import QueueComparison, QueueOutcome, compare_queues
from gpusched_dsl.inspecting.reasons import WaitingJob, waiting_reasons
from gpusched_dsl.inspecting.snapshot import ClusterSnapshot, SnapshotState
from gpusched_dsl.inspecting.starts import StartEstimates, estimate_starts
from gpusched_dsl.inspecting.text import headline, inspection_lines
from gpusched_dsl.inspecting.times import SnapshotClock
from gpusched_dsl.inspecting.unused import UnusedGpus, unused_gpus
from gpusched_dsl.inspecting.what_if import ClusterChange, what_if
from gpusched_dsl.reporting.report import Report

SCHEMA_VERSION = 1


@dataclass(frozen=True, eq=False)
class ClusterInspection(Report):
    """A cluster and its load, who waits and why, when jobs start, what other queues and more nodes would change, and
    what is unused. `price` is that of a GPU-hour in `currency`, if it is known.
    """

    snapshot: ClusterSnapshot
    by_type: pl.DataFrame
    by_team: pl.DataFrame
    starts: StartEstimates
    waiting: tuple[WaitingJob, ...]
    blocking: pl.DataFrame
    queues: QueueComparison | None
    changes: tuple[ClusterChange, ...]
    unused: UnusedGpus | None
    price: float | None = None
    currency: str = "$"

    @cached_property
    def clock(self) -> SnapshotClock:
        """The clock of the snapshot: times are seconds since 1970, or since the start of a trace."""
        return SnapshotClock.of(self.snapshot)

    def time_text(self, time: float) -> str:
        """A time as a date with minutes, short in the next days, or as hours since the start of a trace."""
        return self.clock.short(time)

    @property
    def waits(self) -> bool:
        """Whether jobs wait now."""
        return self.starts.table.height > 0

    @cached_property
    def has_present(self) -> bool:
        """Whether jobs run, wait or are blocked now; else the source is a history alone."""
        return bool((self.snapshot.jobs["state"] != SnapshotState.ENDED.value).any())

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def headline(self) -> str:
        """The state of the cluster in one sentence."""
        return headline(self)

    def lines(self) -> list[str]:
        """The output of `gsdsl inspect`, of at most 80 columns."""
        return inspection_lines(self)

    def html_text(self) -> str:
        """The page: one file that loads nothing."""
        from gpusched_dsl.inspecting.page import inspection_page

        return inspection_page(self)

    def to_html(self, path: str | Path) -> None:
        """Write the page, completely or not at all; raise DiagnosticError (GSM6008)."""
        from gpusched_dsl.data.sources.writing import output_path, write_text

        write_text(output_path(path), self.html_text())

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, the document of `gsdsl inspect --json`. Times are in seconds, with dates if there are."""
        snapshot, starts = self.snapshot, self.starts
        iso = self.clock.iso
        rows = [
            {**row, **{f"{name}_date": iso(snapshot.now + row[name]) for name in ("q10", "q50", "q90")}}
            for row in starts.table.iter_rows(named=True)
        ]
        return {
            "schema_version": SCHEMA_VERSION,
            "source": snapshot.source,
            "files": dict(snapshot.files),
            "now": snapshot.now,
            "now_date": iso(snapshot.now),
            "inferred": snapshot.inferred or None,
            "unread": list(snapshot.unread),
            "notes": list(snapshot.notes),
            "headline": self.headline(),
            "types": self.by_type.to_dicts(),
            "teams": self.by_team.to_dicts(),
            "waiting": [
                {
                    "job": job.job,
                    "text": [*([] if job.reason is None else job.reason.lines(self.clock.text)), *job.notes],
                    "reason": None if job.reason is None else job.reason.to_dict(iso),
                }
                for job in self.waiting
            ],
            "blocking": self.blocking.to_dicts(),
            "order": starts.order.text,
            "starts": rows,
            "coverage": None
            if starts.coverage is None
            else {"quantiles": [0.1, 0.5, 0.9], "shares": list(starts.coverage), "cases": starts.cases},
            "queues": None if self.queues is None else _comparison(self.queues),
            "changes": [{"text": c.text, "mean_wait": c.mean_wait, "starts_now": c.starts_now} for c in self.changes],
            "unused": None
            if self.unused is None
            else {
                "used_by_hour": self.unused.used.tolist(),
                "unused_by_hour": self.unused.unused.tolist(),
                "days": self.unused.days,
                "hours_with_waiting_jobs": self.unused.waited,
                "price": self.price,
            },
        }


def inspect(
    snapshot: ClusterSnapshot, *, seed: int = 1, price: float | None = None, currency: str = "$"
) -> ClusterInspection:
    """Look at a cluster. A seed gives the same estimates again; `price` is that of a GPU-hour."""
    starts = estimate_starts(snapshot, seed=seed)
    return ClusterInspection(
        snapshot,
        load_by_type(snapshot),
        load_by(snapshot),
        starts,
        tuple(waiting_reasons(snapshot, starts.order)),
        blocking_jobs(snapshot),
        compare_queues(snapshot, starts.order),
        tuple(what_if(snapshot, starts.order)),
        unused_gpus(snapshot),
        price,
        currency,
    )


def _comparison(queues: QueueComparison) -> dict[str, Any]:
    def outcome(found: QueueOutcome) -> dict[str, Any]:
        return {
            "queue": found.name, "mean_wait": found.mean_wait, "weighted_wait": found.weighted_wait,
            "wait_95": found.wait_95, "used": found.used,
        }  # fmt: skip

    return {
        "cluster": None if queues.real is None else outcome(queues.real),
        "simulated": outcome(queues.own),
        "others": [outcome(found) for found in queues.others],
        "jobs": queues.jobs,
        "left_out": queues.left_out,
        "explains": queues.explains,
    }
