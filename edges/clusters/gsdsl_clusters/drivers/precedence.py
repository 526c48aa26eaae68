"""Jobs that wait for others in a comparison: for the ends of some, or for other tasks of an array with a limit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from gpusched_dsl.ir.arrays import Bools, Ints
from gsdsl_clusters.drivers.observed_jobs import JobHistory


def _none() -> Ints:
    return np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Precedence:
    """Pairs of codes: job `later[i]` must not start before job `earlier[i]` has ended.

    `arrays` are the codes of the tasks of each array with a limit, in their order, with the limit.
    """

    later: Ints = field(default_factory=_none)
    earlier: Ints = field(default_factory=_none)
    arrays: Sequence[tuple[Ints, int]] = ()

    @classmethod
    def of(cls, jobs: Sequence[JobHistory], code: Mapping[str, int]) -> Precedence:
        """What the cluster has shown of these jobs; others count as ended."""
        pairs = [(code[job.name], code[name]) for job in jobs for name in job.after if name in code]
        tasks: dict[str, list[int]] = {}
        limits: dict[str, int] = {}
        for job in jobs:
            if job.limit:
                tasks.setdefault(job.array, []).append(code[job.name])
                limits[job.array] = max(limits.get(job.array, 0), job.limit)
        later, earlier = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
        arrays = [(np.array(own, dtype=np.int64), limits[array]) for array, own in tasks.items()]
        return cls(later, earlier, arrays)

    def __bool__(self) -> bool:
        return bool(len(self.later) or self.arrays)

    def blocked(self, present: Ints, running: Bools) -> Ints:
        """The codes of present jobs that must not start now: those `present` have arrived and not ended."""
        if not self:
            return _none()
        is_present = np.zeros(len(running), dtype=np.bool_)
        is_present[present] = True
        found = np.zeros(len(running), dtype=np.bool_)
        found[self.later[is_present[self.earlier]]] = True
        for tasks, limit in self.arrays:
            waiting = tasks[is_present[tasks] & ~running[tasks] & ~found[tasks]]
            found[waiting[max(0, limit - int(running[tasks].sum())) :]] = True
        codes: Ints = np.flatnonzero(found & is_present & ~running)
        return codes
