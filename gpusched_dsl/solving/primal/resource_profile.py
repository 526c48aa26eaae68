"""The load of one machine or one capacity over time, and the earliest time at which one more interval fits."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from gpusched_dsl.ir.arrays import Floats
from gpusched_dsl.ir.definitions.scheduling import room


@dataclass
class ResourceProfile:
    """The placed intervals `begin .. end` with their demands; `capacity` None: of two intervals none may overlap.

    An interval includes its begin, but not its end. One of length 0 has no load, but is not inside of another one
    where none may overlap.
    """

    capacity: float | None
    begin: Floats = field(default_factory=lambda: np.zeros(0))
    end: Floats = field(default_factory=lambda: np.zeros(0))
    demand: Floats = field(default_factory=lambda: np.zeros(0))

    def place(self, begin: float, length: float, demand: float) -> None:
        self.begin = np.append(self.begin, begin)
        self.end = np.append(self.end, begin + length)
        self.demand = np.append(self.demand, demand)

    def remove_last(self) -> None:
        """Remove the interval that was placed last."""
        self.begin, self.end, self.demand = self.begin[:-1], self.end[:-1], self.demand[:-1]

    @property
    def peak(self) -> float:
        """The largest load of all times."""
        return self._peak(np.ones(len(self.begin), dtype=np.bool_), -np.inf)

    def earliest(self, after: float, length: float, demand: float) -> float:
        """The first time from `after` on at which an interval fits; infinite if it never does."""
        if self.capacity is not None:
            if length <= 0 or demand <= 0:
                return after
            if demand > self.capacity + float(room(np.array([self.capacity]))[0]):
                return np.inf
        later = np.unique(self.end[self.end > after])
        for time in (after, *later.tolist()):
            if self._fits(time, length, demand):
                return float(time)
        return np.inf

    def _fits(self, time: float, length: float, demand: float) -> bool:
        meets = (self.begin < time + length) & (self.end > time)
        if self.capacity is None:
            return not meets.any()
        allowed = self.capacity - demand + float(room(np.array([self.capacity]))[0])
        return float(self.demand[meets].sum()) <= allowed or self._peak(meets, time) <= allowed

    def _peak(self, among: np.ndarray, time: float) -> float:
        """The largest load of some intervals from a time on: it is reached where one of them begins."""
        begin, end, demand = self.begin[among], self.end[among], self.demand[among]
        points = np.maximum(begin, time)[:, None]
        loads = ((begin[None, :] <= points) & (end[None, :] > points)) @ demand
        return float(loads.max(initial=0.0))
