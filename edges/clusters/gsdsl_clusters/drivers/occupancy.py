"""The GPUs that left-out work has occupied, by node and time: no method of a comparison may use them meanwhile."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from gpusched_dsl.ir.arrays import Floats
from gsdsl_clusters.drivers.observed_jobs import Stay

HOUR = 3600.0


@dataclass(frozen=True, eq=False)
class Occupancy:
    """From `times[i]` on (sorted, in seconds since 1970), `gpus[i, n]` GPUs of node n are occupied."""

    times: Floats
    gpus: Floats

    @classmethod
    def of(cls, stays: Iterable[Stay], nodes: Sequence[str], start: float) -> Occupancy:
        """The GPUs that executions occupy after `start` on some nodes; others do not count."""
        at = {name: n for n, name in enumerate(nodes)}
        rows = [
            (time, at[node], sign * gpus)
            for stay in stays
            if stay.end > start
            for node, gpus in stay.allocation.items()
            if node in at and gpus
            for time, sign in ((max(stay.start, start), 1), (stay.end, -1))
        ]
        when, node, change = (np.array(column) for column in zip(*rows, strict=True)) if rows else (np.zeros(0),) * 3
        times, first = np.unique(when, return_inverse=True)
        steps = np.zeros((len(times), len(nodes)))
        np.add.at(steps, (first, node.astype(np.int64)), change)
        moves = (steps != 0).any(axis=1)
        return cls(times[moves].astype(np.float64), np.cumsum(steps, axis=0)[moves])


def gpu_hours(stays: Iterable[Stay], start: float) -> float:
    """The GPU hours of some executions after `start`."""
    return sum(max(0.0, stay.end - max(stay.start, start)) * sum(stay.allocation.values()) for stay in stays) / HOUR
