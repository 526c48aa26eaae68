"""Room for the workers of a gang: by what the plan leaves of the capacities that `uses` of the placement names."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gpusched_dsl.compiling.evaluation.limits import MemoryLimits
from gpusched_dsl.compiling.evaluation.store import ValueStore
from gpusched_dsl.compiling.gangs import most_workers
from gpusched_dsl.compiling.placement import PlacementEvaluator
from gpusched_dsl.ir.arrays import Codes, Floats, Ints
from gpusched_dsl.ir.tolerances import FEASIBILITY
from gpusched_dsl.language.checked import CheckedModel
from gpusched_dsl.reporting.waiting import NO_ROOM, TOO_LARGE, WaitingReason


@dataclass(frozen=True, eq=False)
class GangRoom:
    """Elements of the placement's family: the workers that each needs, may have, and has room for, now and empty.

    `job` are the codes of their jobs; `others` are all indices but the node.
    """

    job: Codes
    others: Ints
    workers: Ints
    most: Ints
    now: Floats
    empty: Floats

    @staticmethod
    def of(
        model: CheckedModel, store: ValueStore, limits: MemoryLimits, columns: tuple[Codes, ...], planned: Floats
    ) -> GangRoom:
        """`planned` are the workers of each element in the plan."""
        read = PlacementEvaluator(model, store, limits)
        placement, frame = read.placement, read.frame(columns)
        job_at, node_at = placement.position("job") or 0, placement.position("node") or 0
        most = most_workers(model, store, limits, columns)
        now, empty = most.astype(np.float64), most.astype(np.float64)
        node = columns[node_at]
        for item in placement.all("uses"):
            needs = read.ev.number_column(item.value, frame)
            capacity = read.capacity(item, frame)
            used = np.bincount(node, weights=needs * planned)[node] if len(node) else needs
            for rest, room in ((capacity - used, now), (capacity, empty)):
                with np.errstate(divide="ignore", invalid="ignore"):
                    fit = np.floor(rest / needs + FEASIBILITY)
                np.minimum(room, np.where(needs > 0, np.maximum(fit, 0.0), np.inf), out=room)
        rest_of = np.stack([c for at, c in enumerate(columns) if at != node_at], axis=1)
        others = np.unique(rest_of, axis=0, return_inverse=True)[1].reshape(-1)
        return GangRoom(columns[job_at], others, read.gang_workers(frame), most, now, empty)

    def reason(self, label: str | int, elements: Ints) -> WaitingReason | None:
        """Why a job with these elements has no room, now or in the empty cluster; None if there is room."""
        number, first = np.unique(self.others[elements], return_index=True)
        needed = self.workers[elements][first]
        sums = []
        for room in (self.now, self.empty):
            total = np.bincount(self.others[elements], weights=room[elements])
            sums.append(np.asarray(total[number], dtype=np.int64))
        now, empty = sums
        if (now >= needed).any():
            return None
        best = int(np.argmax(empty - needed))
        if (empty < needed).all():
            text = f"too large: needs {needed[best]} workers at once, the empty cluster has room for {empty[best]}"
            return WaitingReason(label, TOO_LARGE, text, needs=float(needed[best]), free=float(empty[best]))
        best = int(np.argmax(now - needed))
        text = f"no room: needs {needed[best]} workers at once, there is room for {now[best]}"
        return WaitingReason(label, NO_ROOM, text, needs=float(needed[best]), free=float(now[best]))
