"""Everything that a look at a cluster finds, as one report."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import polars as pl

from gpusched_dsl.reporting.report import IllustratedReport, Report, write
from gsdsl_clusters.inspecting.blocking import blocking_jobs
from gsdsl_clusters.inspecting.load import load_by, load_by_type
from gsdsl_clusters.inspecting.other_queues import QueueComparison, compare_queues
from gsdsl_clusters.inspecting.reasons import InspectedJob, waiting_reasons
from gsdsl_clusters.inspecting.snapshot import ClusterSnapshot, SnapshotState
from gsdsl_clusters.inspecting.starts import StartEstimates, estimate_starts
from gsdsl_clusters.inspecting.times import SnapshotClock
from gsdsl_clusters.inspecting.unused import UnusedGpus, unused_gpus
from gsdsl_clusters.inspecting.what_if import ClusterChange, what_if


@dataclass(frozen=True, eq=False, repr=False)
class ClusterInspection(IllustratedReport):
    """A cluster and its load, who waits and why, when jobs start, what other queues and more nodes would change, and
    what is unused. `price` is that of a GPU-hour in `currency`, if it is known.
    """

    writers = Report.writers | {
        "json": "gsdsl_clusters.inspecting.document:inspection_document",
        "text": "gsdsl_clusters.inspecting.text:inspection_lines",
        "headline": "gsdsl_clusters.inspecting.text:headline",
        "csv": "gsdsl_clusters.inspecting.tables:inspection_tables",
        "figures": "gsdsl_clusters.inspecting.figures:inspection_figures",
        "html": "gsdsl_clusters.inspecting.page:inspection_page",
    }

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

    def headline(self) -> str:
        """The state of the cluster in one sentence."""
        sentence: str = write(self, "headline")
        return sentence

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


def inspect(
    snapshot: ClusterSnapshot, *, seed: int = 0, price: float | None = None, currency: str = "$"
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
