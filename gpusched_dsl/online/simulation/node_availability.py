"""The availability of nodes: which nodes are down, and the next failures and recoveries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from gpusched_dsl.ir.arrays import Bools, Codes, Ints
from gpusched_dsl.online.data.base import Base
from gpusched_dsl.online.simulation.realisation import Outages


class AvailabilityChange(NamedTuple):
    """Nodes of a root set that fail and nodes that recover at one time."""

    root: str
    failing: Codes
    recovering: Codes


class NodeAvailability:
    """The nodes that are down, by root set, in codes of the run. `outages` are empty where events report failures."""

    def __init__(self, outages: Sequence[Outages]) -> None:
        self.outages = list(outages)
        self.down: dict[str, Codes] = {}

    def fail(self, root: str, codes: Codes) -> None:
        self.down[root] = np.union1d(self._down_in(root), codes)

    def recover(self, root: str, codes: Codes) -> None:
        self.down[root] = np.setdiff1d(self._down_in(root), codes)

    def changes(self, now: float, tolerance: float) -> list[AvailabilityChange]:
        """Return the failures and recoveries that are due, and draw the next ones."""
        return [AvailabilityChange(outage.root, *outage.at(now, tolerance)) for outage in self.outages]

    def next_change(self) -> float:
        """Return the time of the next failure or recovery; infinite if there is none."""
        return min((float(outage.next.min(initial=np.inf)) for outage in self.outages), default=np.inf)

    def available(self, base: Base) -> dict[str, Codes]:
        """Return the available elements of the root sets in which some nodes are down."""
        return {root: np.setdiff1d(base.all_codes(root), down) for root, down in self.down.items() if len(down)}

    def are_up(self, root: str, nodes: Ints) -> Bools:
        return ~np.isin(nodes, self._down_in(root))

    def redraw(self, now: float, seed: int) -> NodeAvailability:
        """Return a copy with later failures and recoveries drawn by another seed."""
        other = NodeAvailability([outage.redraw(now, seed) for outage in self.outages])
        other.down = dict(self.down)
        return other

    def _down_in(self, root: str) -> Codes:
        return self.down.get(root, np.zeros(0, dtype=np.int64))
