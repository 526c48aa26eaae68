"""Random lengths of jobs, drawn from the recent past of the same user and name, or of those who are most alike."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from gpusched_dsl.ir.arrays import Floats, Ints
from gsdsl_clusters.inspecting.snapshot import SnapshotState

LEAST_SAMPLES = 8  # of a group that is used
RECENT = 100  # the last ones of a group
RUNS_ON = 0.5  # mean time for which a job runs on after the longest one known, as a share of its time until then
OVERRUN, LEAST_OVERRUN = (
    0.05,
    60.0,
)  # mean time, as a share of the limit and in s, for which a job runs on past its limit
_LEVELS = (("user", "name", "gpus"), ("user", "name"), ("user",), ("team",), ())


@dataclass(frozen=True, eq=False)
class LengthLaw:
    """Lengths of J jobs: each is drawn from a range of `samples`, which are sorted within the range.

    Samples are shares of the limit of a job with `scale` its limit, else seconds with `scale` 1.
    """

    samples: Floats
    first: Ints  # (J,)
    last: Ints  # (J,)
    scale: Floats  # (J,)
    longest: Floats  # (J,) s, its limit or infinity

    def draw(self, elapsed: Floats, random: np.random.Generator, uniforms: Floats | None = None) -> Floats:
        """Lengths from the start, longer than what the jobs have run (`elapsed`, 0 for those that wait).

        `uniforms` (J,) choose the samples: larger ones longer lengths. Without them the jobs are independent.
        """
        position = self._beyond(elapsed)
        width = self.last - position
        if uniforms is None:
            uniforms, tail = random.random(len(width)), random.exponential(RUNS_ON, len(width))
        else:
            tail = -RUNS_ON * np.log1p(-uniforms)
        at = position + np.floor(uniforms * np.maximum(width, 1)).astype(np.int64)
        drawn = self.samples[np.minimum(at, len(self.samples) - 1)] * self.scale
        longer = np.minimum(self.longest, elapsed * (1.0 + tail) + 1.0)
        found: Floats = np.where(width > 0, drawn, np.maximum(longer, elapsed + 1.0))
        found = np.maximum(np.minimum(found, np.maximum(self.longest, elapsed + 1.0)), elapsed + 1e-3)
        late = elapsed >= self.longest  # the cluster has not ended it: nobody knows when it will
        if late.any():
            more = np.maximum(LEAST_OVERRUN, OVERRUN * self.longest[late])
            found[late] = elapsed[late] + random.exponential(more)
        return found

    def _beyond(self, elapsed: Floats) -> Ints:
        """The first sample of each job above what it has run, by bisection of all ranges at once."""
        low, high = self.first.copy(), self.last.copy()
        target = elapsed / self.scale
        while (open_ := low < high).any():
            middle = (low + high) // 2
            above = self.samples[np.minimum(middle, len(self.samples) - 1)] > target
            high = np.where(open_ & above, middle, high)
            low = np.where(open_ & ~above, middle + 1, low)
        return low


def length_law(jobs: pl.DataFrame, wanted: pl.DataFrame) -> LengthLaw:
    """The law of the `wanted` jobs by those of `jobs` that have ended by themselves; both are tables of a snapshot.

    Without any that ended, a job takes its limit, or an hour without one.
    """
    past = jobs.filter((pl.col("state") == SnapshotState.ENDED.value) & (pl.col("duration") > 0)).sort("ended")
    limited = wanted["limit"].is_not_null().to_numpy()
    limit = wanted["limit"].fill_null(np.inf).to_numpy()
    pieces, first, last = [np.zeros(0)], np.zeros(len(wanted), np.int64), np.zeros(len(wanted), np.int64)
    size = 0
    open_jobs = np.ones(len(wanted), dtype=np.bool_)
    for by_limit in (True, False):
        source = past.filter(pl.col("limit") > 0) if by_limit else past
        value = pl.col("duration") / pl.col("limit") if by_limit else pl.col("duration")
        source = source.with_columns(value.alias("value"))
        for level in _LEVELS:
            asked = np.flatnonzero(open_jobs & (limited if by_limit else True))
            if not len(asked) or not source.height:
                continue
            table, groups, starts, stops = _groups(source, wanted[asked], level)
            enough = stops - starts >= (LEAST_SAMPLES if level else 1)
            first[asked[groups[enough]]], last[asked[groups[enough]]] = starts[enough] + size, stops[enough] + size
            open_jobs[asked[groups[enough]]] = False
            pieces.append(table)
            size += len(table)
    by_limit_too = limited & (first < last) & ~open_jobs
    scale = np.where(by_limit_too, limit, 1.0)
    first[open_jobs] = last[open_jobs] = 0
    samples = np.concatenate(pieces)
    fallback = np.where(np.isfinite(limit), limit, 3600.0)
    samples = np.concatenate([samples, fallback[open_jobs]])
    at = np.arange(size, size + int(open_jobs.sum()))
    first[open_jobs], last[open_jobs] = at, at + 1
    return LengthLaw(samples, first, last, scale, np.where(limited, limit, np.inf))


def _groups(source: pl.DataFrame, wanted: pl.DataFrame, level: tuple[str, ...]) -> tuple[Floats, Ints, Ints, Ints]:
    """Sorted values by group, and for the wanted jobs with a group their numbers and the ranges of their groups."""
    key = pl.concat_str([pl.col(name).cast(pl.String) for name in level], separator="\x1f") if level else pl.lit("")
    recent = source.select(key.alias("key"), "value").group_by("key", maintain_order=True).tail(RECENT)
    recent = recent.sort("key", "value")
    ranges = recent.with_row_index("at").group_by("key").agg(pl.col("at").min().alias("from"), pl.len().alias("n"))
    joined = wanted.select(key.alias("key")).with_row_index("job").join(ranges, on="key", how="inner")
    starts = joined["from"].to_numpy().astype(np.int64)
    groups = joined["job"].to_numpy().astype(np.int64)
    return recent["value"].to_numpy(), groups, starts, starts + joined["n"].to_numpy().astype(np.int64)
