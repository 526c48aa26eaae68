"""GPU-hours that nobody has used, by the hour of the day, and what they cost."""

from __future__ import annotations

from dataclasses import dataclass
from zoneinfo import ZoneInfo

import numpy as np
import polars as pl

from gpusched_dsl.ir.arrays import Floats, Ints
from gsdsl_clusters.inspecting.load import TOTAL
from gsdsl_clusters.inspecting.snapshot import ClusterSnapshot

HOUR = 3600.0
MOST_HOURS = 24 * 366 * 3
NIGHT = (22, 6)  # from, to: hours of the day


@dataclass(frozen=True, eq=False)
class UnusedGpus:
    """`used` and `unused` GPUs on average in each hour of the day (24,), over `days` days. The GPUs of all nodes count,
    also of nodes that are down now. `waited` is the share of the hours in which GPUs were unused and jobs waited.
    """

    used: Floats
    unused: Floats
    days: float
    waited: float

    @property
    def hours(self) -> float:
        """GPU-hours of a day that nobody used."""
        return float(self.unused.sum())

    @property
    def at_night(self) -> float:
        """GPU-hours from 22 to 6 h that nobody used."""
        hours = np.arange(24)
        return float(self.unused[(hours >= NIGHT[0]) | (hours < NIGHT[1])].sum())


def unused_gpus(snapshot: ClusterSnapshot) -> UnusedGpus | None:
    """By the starts and ends that are known; None without starts, or with less than a day."""
    ran = snapshot.jobs.filter(pl.col("started").is_not_null())
    if not snapshot.has_starts or not ran.height:
        return None
    first = float(ran["started"].min() // HOUR * HOUR)  # type: ignore[operator]
    count = int((snapshot.now - first) // HOUR)
    if not 24 <= count <= MOST_HOURS:
        return None
    start = ran["started"].to_numpy() - first
    end = ran["ended"].fill_null(snapshot.now).to_numpy() - first
    use = _by_hour(start, end, ran.select(TOTAL).to_series().to_numpy().astype(np.float64), count)
    total = float(snapshot.nodes["gpus"].sum())
    ready = ran.select(pl.max_horizontal("submitted", "eligible")).to_series().to_numpy() - first
    waits = _by_hour(ready, start, np.ones(len(start)), count)
    hour = _hours_of_day(first, count, snapshot)
    used = np.bincount(hour, use, 24) / np.maximum(np.bincount(hour, minlength=24), 1)
    free = np.maximum(total - use, 0.0)
    unused = np.bincount(hour, free, 24) / np.maximum(np.bincount(hour, minlength=24), 1)
    return UnusedGpus(used, unused, count / 24, float(((free >= 1.0) & (waits > 0.5)).mean()))


def _hours_of_day(first: float, count: int, snapshot: ClusterSnapshot) -> Ints:
    """The hour of the day on the clock of the cluster, for hours from `first` on."""
    moments = pl.Series((first + HOUR * np.arange(count)) * 1e6).cast(pl.Int64).cast(pl.Datetime("us", "UTC"))
    zone = snapshot.timezone if snapshot.dated else "UTC"
    ZoneInfo(zone)
    found: Ints = moments.dt.convert_time_zone(zone).dt.hour().to_numpy().astype(np.int64)
    return found


def _by_hour(start: Floats, end: Floats, weight: Floats, count: int) -> Floats:
    """The mean sum of weights in each hour of what is there from `start` to `end` (seconds from the first hour)."""
    return means_between(start, end, weight, HOUR * np.arange(count + 1, dtype=np.float64))


def means_between(start: Floats, end: Floats, weight: Floats, edges: Floats) -> Floats:
    """The mean sum of weights between neighbouring edges (E + 1,) of what is there from `start` to `end`: (E,)."""
    total = np.zeros(len(edges))
    for times, sign in ((start, 1.0), (end, -1.0)):
        order = np.argsort(times)
        times, sums = times[order], np.concatenate([[0.0], np.cumsum(weight[order])])
        moments = np.concatenate([[0.0], np.cumsum(weight[order] * (times - edges[0]))])
        at = np.searchsorted(times, edges, side="right")
        total += sign * ((edges - edges[0]) * sums[at] - moments[at])  # the integral up to each edge
    found: Floats = np.diff(total) / np.diff(edges)
    return found
