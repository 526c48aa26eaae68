"""Small clusters with jobs and services, at random; numbers are coarse so that ties are common."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gpusched_dsl.ir.arrays import Floats, Ints
from gpusched_dsl.policies.kernels.slotted_cluster import CHEAPEST, POOLS, Guard, Serving, SlottedCluster


@dataclass(frozen=True, eq=False)
class Case:
    """A cluster in the words of the references: J jobs, K nodes, H slots, S services."""

    class_of: Ints
    arrives: Ints
    due: Ints
    length: Ints  # (J, C), 0: does not fit
    power: Floats  # (J, C)
    price: Floats  # (H,)
    load: Floats  # (S, H)
    capacity: Floats  # (S, C) within the latency bound
    rate: Floats  # (S, C)
    bound: Floats  # (S,)
    whole: Floats  # (S, C)
    unit: Floats  # (S, C)

    @property
    def jobs(self) -> int:
        return len(self.arrives)

    @property
    def nodes(self) -> int:
        return len(self.class_of)

    @property
    def slots(self) -> int:
        return len(self.price)

    def fits(self, j: int, k: int) -> bool:
        return bool(self.length[j, self.class_of[k]] > 0)

    def cluster(self, key: Floats, *, until_due: bool = False) -> SlottedCluster:
        """`key` by job and class, or by job, class and slot."""
        h = np.arange(self.slots)
        inside = h[None] >= self.arrives[:, None]
        if until_due:
            inside &= h[None] <= self.due[:, None]
        allowed = inside[:, None, :] & (self.length > 0)[:, :, None]
        window = self.due - self.arrives + 1
        return SlottedCluster(
            class_of=self.class_of,
            allowed=allowed,
            key=(key if key.ndim == 3 else key[:, :, None]).astype(np.float64),
            length=np.where(allowed.any(axis=2), self.length, 0),
            first=np.where(allowed.any(axis=(1, 2)), allowed.any(axis=1).argmax(axis=1), self.slots),
            order=np.lexsort((np.arange(self.jobs), self.arrives)).astype(np.int64),
            value=(self.due[:, None] - h[None]) / window[:, None],
        )

    def guard(self, kind: int) -> Guard:
        return Guard(kind, self.capacity, self.load)

    def serving(self, kind: int) -> Serving:
        capacity = {CHEAPEST: self.capacity, POOLS: self.rate}.get(kind, (self.rate > 0).astype(np.float64))
        return Serving(kind, capacity, self.load, self.whole, self.unit, self.bound)


def random_case(seed: int) -> Case:
    """Up to 5 nodes of up to 3 classes, up to 6 jobs, 8 slots and 3 services, loads that are sometimes too high."""
    rng = np.random.default_rng(seed)
    classes, nodes, jobs = rng.integers(1, 4), rng.integers(1, 6), rng.integers(1, 7)
    slots, services = rng.integers(3, 9), rng.integers(1, 4)
    class_of = rng.integers(0, classes, nodes)
    _, class_of = np.unique(class_of, return_inverse=True)
    classes = class_of.max() + 1
    rate = rng.integers(0, 5, (services, classes)) * 400.0
    bound = rng.choice([1 / 200, 1 / 300, 1 / 100], services)
    product = np.maximum(rate * bound[:, None], 1.5)
    capacity = np.maximum(0.0, rate * (product - 2.0) / (product - 1.0))
    arrives = rng.integers(0, slots, jobs)
    return Case(
        class_of=class_of.astype(np.int64),
        arrives=arrives.astype(np.int64),
        due=(arrives + rng.integers(0, 6, jobs)).astype(np.int64),
        length=rng.integers(0, 4, (jobs, classes)).astype(np.int64),
        power=rng.integers(1, 4, (jobs, classes)) * 100.0,
        price=rng.integers(1, 5, slots) * 10.0,
        load=rng.integers(0, 5, (services, slots)) * float(rng.choice([100.0, 250.0, 600.0])),
        capacity=capacity,
        rate=rate,
        bound=bound,
        whole=rng.integers(1, 4, (services, classes)) * 50.0,
        unit=rng.integers(0, 3, (services, classes)) * 0.05,
    )
