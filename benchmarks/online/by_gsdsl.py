"""The parts of a run of many plans by a policy: `build` builds instances, `plan` plans, `loop` is all the rest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.child import Lap
from gpusched_dsl.compiling.data.instance import Instance
from gpusched_dsl.compiling.data.slicing import InstanceView, KnownValues
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.workspace import load_workspace
from gpusched_dsl.online.data.base import Base
from gpusched_dsl.online.loops.events import EventLoop
from gpusched_dsl.online.open import loop_of, setup_of
from gpusched_dsl.online.planners.protocol import Planner, PlanningRequest
from gpusched_dsl.online.run_config import RunConfig
from gpusched_dsl.policies.plan import Plan

FIRST = 10  # plans that are not measured: the first compiles, and finds nothing to take over


@dataclass(frozen=True, eq=False)
class TimedBase(Base):
    lap: Lap

    def instance_of(
        self, part: InstanceView, carried: Mapping[str, KnownValues], earlier: Instance | None = None
    ) -> Instance:
        self.lap("loop")
        found = super().instance_of(part, carried, earlier)
        self.lap("build")
        return found


@dataclass(frozen=True, eq=False)
class TimedPlanner:
    planner: Planner
    lap: Lap

    @property
    def name(self) -> str:
        return self.planner.name

    def plan(self, request: PlanningRequest) -> Plan | None:
        self.lap("loop")
        found = self.planner.plan(request)
        self.lap("plan")
        return found

    def fresh(self) -> Planner:
        return self

    def close(self) -> None:
        self.planner.close()


def run(folder: Path, lap: Lap, policy: str, plans: str, jobs: str) -> dict[str, float]:
    """`plans`: how many are measured, one for each event, with at least so many `jobs` present."""
    found = Diagnostics()
    workspace = load_workspace(folder / "crowd.gsm", found)
    found.raise_if_errors()
    setup = setup_of(workspace, RunConfig(online="Crowded", scenario="Crowd", method=policy))
    driver = loop_of(setup, fast=False)  # plan by plan
    assert isinstance(driver, EventLoop)
    lap("open")
    driver.stop = lambda: len(driver.steps) >= FIRST
    driver.run()
    lap("first plans")
    driver.base = TimedBase(driver.base.instance, driver.base.limits, lap)
    driver.planner = TimedPlanner(driver.planner, lap)
    driver.stop = lambda: len(driver.steps) >= FIRST + int(plans)
    driver.run()
    lap("loop")
    present = float(np.mean([step.jobs for step in driver.steps[FIRST:]]))
    assert int(jobs) <= present <= 1.2 * int(jobs), present
    return {"plans": len(driver.steps) - FIRST}
