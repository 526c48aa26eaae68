"""Why jobs wait that request GPUs of a cluster: jobs with equal demands share one reason, which is found once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from gpusched_dsl.explaining.free_room import ClusterRoom, PlaceOptions
from gpusched_dsl.explaining.job_reason import NEVER, ROOM, JobReason, Resource
from gpusched_dsl.explaining.joint_room import joint_reason
from gpusched_dsl.ir.arrays import Bools, Floats, Ints


class GpuDemand(NamedTuple):
    """`workers` of `gpus` each, at most `most` of them on one node, on nodes that suit jobs of a `kind`.

    Without a number of workers: GPUs on one node, or on several if these have room sooner.
    """

    kind: int
    gpus: int
    workers: int = 0
    most: int = 1


def gpu_room(
    nodes: Sequence[str], types: Sequence[str], capacity: Floats, jobs: Sequence[str], job: Ints, place: Ints,
    uses: Floats, end: Floats,
) -> ClusterRoom:  # fmt: skip
    """Return a cluster with GPUs only: `capacity` of N nodes, and what parts of running jobs use (E) until their ends.

    A type is "" if it is unknown. The other arguments are those of `ClusterRoom`.
    """
    return ClusterRoom(
        (Resource("GPU"),), nodes, types, capacity[:, None], jobs, job, place, uses[:, None], end,
        tuple(dict.fromkeys(name for name in types if name)),
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class DemandReasons:
    """The reasons of jobs that wait in a cluster. `suits[kind]` are the nodes (N) for jobs of a kind."""

    room: ClusterRoom
    suits: Sequence[Bools] | Bools
    _known: dict[GpuDemand, JobReason] = field(default_factory=dict)

    def of(self, demand: GpuDemand) -> JobReason:
        """Return the reason of all jobs with this demand, without the jobs ahead of them."""
        if demand not in self._known:
            self._known[demand] = self._found(demand)
        return self._known[demand]

    def of_parts(self, demands: Sequence[GpuDemand]) -> JobReason:
        """Return the reason of all jobs whose parts start together, each with one of these demands."""
        if len(demands) == 1:
            return self.of(demands[0])
        suits = np.array([self.suits[demand.kind] for demand in demands])
        gpus, nodes = (np.array(values, dtype=np.int64) for values in zip(*(d[1:3] for d in demands), strict=True))
        return joint_reason(self.room, suits, gpus, nodes, [self.of(demand) for demand in demands])

    def _found(self, demand: GpuDemand) -> JobReason:
        kind, gpus, workers, most = demand
        alone = self._reason(kind, gpus, workers or 1, most)
        if workers or gpus == 1 or alone.kind == ROOM:
            return alone
        spread = self._reason(kind, 1, gpus, int(self.room.capacity.max(initial=0)))
        sooner = spread.room_at is not None and (alone.room_at is None or spread.room_at < alone.room_at)
        return spread if alone.kind == NEVER or spread.kind == ROOM or sooner else alone

    def _reason(self, kind: int, gpus: int, workers: int, most: int) -> JobReason:
        place = np.flatnonzero(self.suits[kind]).astype(np.int64)
        count = len(place)
        way = np.zeros(count, dtype=np.int64) if workers > 1 else np.arange(count)
        return self.room.waiting_reason(
            PlaceOptions(
                place, np.full((count, 1), float(gpus)), way, np.full(count, workers, dtype=np.int64),
                np.full(count, float(most if workers > 1 else 1)),
            )
        )  # fmt: skip
