"""What an inspection has found."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import polars as pl

from gpusched_dsl.inspecting.other_queues import QueueComparison
from gpusched_dsl.inspecting.reasons import InspectedJob
from gpusched_dsl.inspecting.snapshot import ClusterSnapshot, SnapshotState
from gpusched_dsl.inspecting.starts import StartEstimates
from gpusched_dsl.inspecting.times import SnapshotClock
from gpusched_dsl.inspecting.unused import UnusedGpus
from gpusched_dsl.inspecting.what_if import ClusterChange
from gpusched_dsl.reporting.report import Report


@dataclass(frozen=True, eq=False)
class InspectionData(Report):
    """A cluster and its load, who waits and why, when jobs start, what other queues and more nodes would change, and
    what is unused. `price` is that of a GPU-hour in `currency`, if it is known.
    """

    snapshot: ClusterSnapshot
    by_type: pl.DataFrame
    by_team: pl.DataFrame
    starts: StartEstimates
    waiting: tuple[InspectedJob, ...]
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
