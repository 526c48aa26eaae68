"""The controllers of a run: which jobs and nodes belong to which, and which have something to plan.

The i-th job that arrives and the i-th node of the data belong to controller i mod K, for the complete run.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from gpusched_dsl.compiling.data.slicing import InstanceView
from gpusched_dsl.ir.arrays import Bools, Codes, Floats, Ints
from gpusched_dsl.online.planners.controllers import planning_controllers
from gpusched_dsl.online.planners.protocol import ControllerState


@dataclass(eq=False)
class ControllerNumbers:
    """K controllers, and the jobs and nodes of their last plans, in codes of the run. Never changed in place."""

    count: int
    jobs: Codes = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    nodes: Codes | None = None

    def of_jobs(self, arrival: Floats) -> Ints:
        """The controller of each job of the run; jobs that arrive together are in the order of the data."""
        found = np.empty(len(arrival), dtype=np.int64)
        found[np.argsort(arrival, kind="stable")] = np.arange(len(arrival)) % self.count
        return found

    def state(
        self, arrival: Floats, present: Codes, nodes: Codes, requested: Bools, inputs: frozenset[str], *, all_plan: bool
    ) -> ControllerState:
        """The state for a plan with these jobs and nodes (codes of the run, sorted); all are then in it."""
        job = self.of_jobs(arrival)
        before = nodes if self.nodes is None else self.nodes
        departed = np.concatenate((np.setdiff1d(self.jobs, present), np.flatnonzero(requested)))
        changed = np.setxor1d(before, nodes) % self.count
        plans = planning_controllers(
            self.count, job, departed, np.setdiff1d(present, self.jobs), changed, all_plan=all_plan
        )
        return ControllerState(job[present], nodes % self.count, plans, inputs)

    def after_plan(self, part: InstanceView, jobs_root: str, nodes: Codes) -> ControllerNumbers:
        return ControllerNumbers(self.count, part.kept.get(jobs_root, self.jobs), nodes)
