"""Everything that a look at a cluster shows, as one report: text of 80 columns, JSON, and tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from gpusched_dsl.explaining.job_reason import names_text
from gpusched_dsl.inspecting.load import load_by, load_by_type
from gpusched_dsl.inspecting.other_queues import QueueComparison, QueueOutcome, compare_queues
from gpusched_dsl.inspecting.reasons import WaitingJob, waiting_reasons
from gpusched_dsl.inspecting.snapshot import ClusterSnapshot, SnapshotState
from gpusched_dsl.inspecting.starts import StartEstimates, estimate_starts
from gpusched_dsl.inspecting.unused import UnusedGpus, unused_gpus
from gpusched_dsl.inspecting.what_if import ClusterChange, what_if
from gpusched_dsl.language.calendar import Calendar
from gpusched_dsl.language.text.numbers import count_text, percent_text, short
from gpusched_dsl.online.clock_time import RunClock
from gpusched_dsl.reporting.grid import Grid, GridColumn, plain
from gpusched_dsl.reporting.report import Report

SCHEMA_VERSION = 1
MOST_ROWS = 10  # of a table in the terminal


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
    queues: QueueComparison | None
    changes: tuple[ClusterChange, ...]
    unused: UnusedGpus | None
    price: float | None = None
    currency: str = "$"

    @cached_property
    def clock(self) -> RunClock:
        """The clock of the snapshot: times are seconds since 1970, or since the start of a trace."""
        return RunClock("s", Calendar(0, self.snapshot.timezone) if self.snapshot.dated else None)

    def time_text(self, time: float) -> str:
        """A time as a date with minutes, or as hours since the start of a trace."""
        if not self.snapshot.dated:
            return f"{time / 3600:.1f} h"
        return "" if np.isnan(time) else self.clock.text(round(time / 60) * 60)

    def __str__(self) -> str:
        return "\n".join(self.lines())

    # --- text --------------------------------------------------------------------------------------------------------

    def headline(self) -> str:
        """The state of the cluster in one sentence."""
        gpus, used = int(self.by_type["gpus"].sum()), int(self.by_type["used"].sum())
        wait, run = (self.snapshot.jobs_in(s).height for s in (SnapshotState.WAITING, SnapshotState.RUNNING))
        share = f" ({percent_text(used / gpus)})" if gpus else ""
        parts = [f"{used:,} of {gpus:,} GPUs in use{share}", f"{count_text(run, 'job')} running"]
        parts.append(f"{wait:,} waiting")
        if self.snapshot.jobs_in(SnapshotState.BLOCKED).height:
            parts.append(f"{self.snapshot.jobs_in(SnapshotState.BLOCKED).height:,} blocked")
        return ", ".join(parts)

    def lines(self) -> list[str]:
        """The output of `gsdsl inspect`."""
        snapshot = self.snapshot
        lines = [f"{snapshot.source}, as of {self.time_text(snapshot.now)}", self.headline()]
        if snapshot.inferred:
            lines.append(f"nodes are inferred: {snapshot.inferred}")
        lines += snapshot.notes
        lines += ["", *_table(self.type_grid()), "", *_table(self.team_grid())]
        lines += self._waiting_lines() + self._queue_lines() + self._change_lines() + self._unused_lines()
        if snapshot.unread:
            lines += ["", "not read:", *(f"  {text}" for text in snapshot.unread)]
        return lines

    def type_grid(self) -> Grid:
        """The nodes and GPUs by type."""
        table = self.by_type
        columns = [
            GridColumn("GPU type", [kind or "unknown" for kind in table["gpu_type"].to_list()]),
            *(_numbers(name, table[name].to_list()) for name in ("nodes", "down")),
            *(_numbers(head, table[name].to_list())
              for head, name in (("GPUs", "gpus"), ("in use", "used"), ("free", "free"), ("waited for", "wanted"))),
        ]  # fmt: skip
        if table["used_share"].null_count() < len(table):
            shares = [percent_text(share) for share in table["used_share"].to_list()]
            columns.append(GridColumn("used so far", shares, right=True))
        return Grid(tuple(columns))

    def team_grid(self) -> Grid:
        """The jobs and GPUs by team."""
        table = self.by_team.head(MOST_ROWS)
        waits = [_hours(wait) for wait in table["mean_wait"].to_list()]
        return Grid(
            (
                GridColumn("team", [name or "none" for name in table["team"].to_list()]),
                *(_numbers(name, table[name].to_list()) for name in ("running",)),
                _numbers("GPUs", table["gpus"].to_list()),
                *(_numbers(name, table[name].to_list()) for name in ("waiting", "blocked")),
                _numbers("GPUs wanted", table["wanted"].to_list()),
                _numbers("GPU-hours", table["gpu_hours"].to_list()),
                GridColumn("mean wait", waits, right=True),
            )
        )

    def _waiting_lines(self) -> list[str]:
        if not self.waiting:
            return ["", "nobody waits"]
        lines = ["", f"the queue: {self.starts.order.text}"]
        for group in _alike(self.waiting, self.time_text)[:MOST_ROWS]:
            names = names_text([job.job for job, _ in group])
            texts = group[0][1]
            lines += [f"{names}: {texts[0] if texts else 'no reason is known'}", *(f"  {text}" for text in texts[1:])]
        left = sum(len(group) for group in _alike(self.waiting, self.time_text)[MOST_ROWS:])
        if left:
            lines.append(f"and {count_text(left, 'more job')} (`--json` has all)")
        if self.starts.table.height:
            lines += ["", "starts, with the probability that the job has started by then:"]
            lines += [*_table(self.start_grid()), self._coverage_text()]
        return lines

    def start_grid(self) -> Grid:
        """Quantiles of the starts of the jobs that wait."""
        table = self.starts.table.head(MOST_ROWS)
        times = [
            GridColumn(head, [self._start_text(wait) for wait in table[name].to_list()], right=True)
            for head, name in (("10 %", "q10"), ("50 %", "q50"), ("90 %", "q90"))
        ]
        return Grid((GridColumn("job", table["job"].to_list()), *times))

    def _start_text(self, wait: float) -> str:
        return "later" if not np.isfinite(wait) else self.time_text(self.snapshot.now + wait)

    def _coverage_text(self) -> str:
        starts = self.starts
        if starts.coverage is None:
            return f"not checked against the past: {count_text(starts.cases, 'past wait')} are too few"
        shares = ", ".join(percent_text(share) for share in starts.coverage)
        return f"on past waits of this cluster ({starts.cases:,}) these times were kept in {shares} of the cases"

    def _queue_lines(self) -> list[str]:
        if self.queues is None:
            return []
        lines = ["", f"the same {count_text(self.queues.jobs, 'job')} of the past with other queues:"]
        lines += _table(self.queue_grid())
        if not self.queues.explains:
            lines.append(
                "its queue in the simulation does not have the waits of the cluster, which has rules or outages that "
                "are not in the records: compare other queues with the simulation only"
            )
        return lines

    def queue_grid(self) -> Grid:
        """Waits of the past jobs by the cluster, by its queue in the simulation, and by other queues."""
        assert self.queues is not None
        found = [*([self.queues.real] if self.queues.real else []), self.queues.own, *self.queues.others]
        return Grid(
            (
                GridColumn("queue", [each.name for each in found], wraps=True),
                *(
                    GridColumn(head, [_hours(value(each)) for each in found], right=True)
                    for head, value in _QUEUE_COLUMNS
                ),
                GridColumn("GPUs used", [percent_text(each.used) for each in found], right=True),
            )
        )

    def _change_lines(self) -> list[str]:
        if len(self.changes) < 2:
            return []
        grid = Grid(
            (
                GridColumn("change", [change.text for change in self.changes], wraps=True),
                GridColumn("mean wait", [_hours(c.mean_wait) for c in self.changes], right=True),
                _numbers("start now", [c.starts_now for c in self.changes]),
            )
        )
        return [
            "",
            "what would help: the mean wait of past jobs and how many waiting jobs start now, in the simulation:",
            *_table(grid),
        ]

    def _unused_lines(self) -> list[str]:
        if self.unused is None:
            return []
        hours, night = self.unused.hours, self.unused.at_night
        text = f"unused: {short(hours, 3)} GPU-hours a day, {short(night, 3)} of them from 22 to 6 h"
        if self.price is not None:
            text += f", worth {short(hours * self.price, 3)} {self.currency} a day"
        text += f"; GPUs were unused while jobs waited in {percent_text(self.unused.waited)} of the hours"
        return ["", text]

    # --- JSON --------------------------------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, the document of `gsdsl inspect --json`. Times are in seconds, with dates if there are."""
        snapshot, starts = self.snapshot, self.starts
        iso: Callable[[float], str | None] = self.clock.iso
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
                    "text": [*([] if job.reason is None else job.reason.lines(self.time_text)), *job.notes],
                    "reason": None if job.reason is None else job.reason.to_dict(iso),
                }
                for job in self.waiting
            ],
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


_QUEUE_COLUMNS: tuple[tuple[str, Callable[[QueueOutcome], float]], ...] = (
    ("mean wait", lambda outcome: outcome.mean_wait),
    ("by GPU-hours", lambda outcome: outcome.weighted_wait),
    ("95 % within", lambda outcome: outcome.wait_95),
)


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


def _alike(waiting: Sequence[WaitingJob], time: Callable[[float], str]) -> list[list[tuple[WaitingJob, list[str]]]]:
    """Groups of jobs that wait for the same reason, with its sentences; who is ahead of the first one is stated."""
    groups: dict[tuple[str, ...], list[tuple[WaitingJob, list[str]]]] = {}
    for job in waiting:
        alone = [] if job.reason is None else replace(job.reason, ahead=()).lines(time)
        own = [] if job.reason is None else job.reason.lines(time)
        groups.setdefault((*alone, *job.notes), []).append((job, [*own, *job.notes]))
    return list(groups.values())


def _table(grid: Grid) -> list[str]:
    return plain(grid).rstrip("\n").split("\n")


def _numbers(head: str, values: list[float]) -> GridColumn:
    return GridColumn(head, [f"{round(value):,}" for value in values], right=True)


def _hours(seconds: float | None) -> str:
    """A wait for readers: seconds, minutes or hours."""
    if seconds is None:
        return ""
    if seconds < 60:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
