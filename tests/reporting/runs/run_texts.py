"""Small runs for tests: the worked example of three jobs, and random ones; and a trace of a run plan by plan."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.workspace import Workspace, workspace_from_text
from gpusched_dsl.online.loops.base import SimulationLoop
from gpusched_dsl.online.run_config import RunConfig
from gpusched_dsl.reporting.runs.result import RunResult
from gpusched_dsl.workflows.run import run_method

THREE_JOBS = """
import "gsdsl:capacity_planning/scenarios/three_jobs.gsm";
scenario CpOn for CapacityPlanning extends ThreeJobs { }
"""
CHANGING = """
online Changing for CapacityPlanning extends EveryEvent {
  on migration delay 0.2[h] costs 0.3[$];
  on resume delay 0.1[h] costs 0.25[$];
}
"""


def opened(text: str) -> Workspace:
    found = Diagnostics()
    workspace = workspace_from_text(text, "runs.gsm", found)
    found.raise_if_errors()
    return workspace


@dataclass
class Watched:
    """Where the jobs were after each plan: (time, {job: (place, kind, GPUs)})."""

    plans: list[tuple[float, dict[int, tuple[int, int, float]]]] = field(default_factory=list)
    driver: SimulationLoop | None = None

    def __call__(self, driver: SimulationLoop) -> None:
        self.driver = driver
        if not driver.steps:
            return  # the run begins
        world = driver.world
        where = {
            int(j): (int(world.place[j]), int(world.kind[j]), float(world.uses[j])) for j in world.running.tolist()
        }
        self.plans.append((world.now, where))


def ran(text: str, online: str = "EveryEvent", method: str = "Greedy", **more: Any) -> tuple[RunResult, Watched]:
    """The result of a run, and what was seen of it plan by plan; after `plans` it is stopped."""
    watched = Watched()
    most = more.pop("plans", math.inf)

    def stop() -> bool:
        return len(watched.plans) >= most

    result = run_method(opened(text), RunConfig(method=method, online=online, **more), tell=watched, stop=stop)
    return result, watched


def random_text(seed: int, jobs: int = 8, nodes: int = 2) -> str:
    """A random scenario of capacity planning: types of 1, 2 and 4 GPUs, speed-ups below the number of GPUs."""
    rng = random.Random(seed)
    rows, times = [], []
    now = 0.0
    for j in range(jobs):
        now = round(now + rng.choice((0.0, rng.expovariate(1.0))), 3)
        work = round(rng.uniform(0.5, 6.0), 3)
        rows.append(f"J{j} {now} {round(now + work * rng.uniform(0.2, 2.0), 3)} {round(rng.uniform(0.1, 5.0), 3)}")
        for kind, most, speed in (("A", 1, 1.0), ("B", 2, 1.0), ("C", 4, rng.uniform(1.2, 2.0))):
            for g in range(1, most + 1):
                hours = round(work / speed / g ** rng.uniform(0.4, 0.95), 4)
                times.append(f'exec_time["J{j}","{kind}",{g}] = {hours}[h];')
    names = ", ".join(f"J{j}" for j in range(jobs))
    return f"""
import "gsdsl:capacity_planning/online.gsm";
scenario Random for CapacityPlanning {{
  Nodes = {{ {", ".join(f"n{n}" for n in range(nodes))} }};
  Jobs = {{ {names} }};
  Types = {{ A, B, C }};
  node_rule = at_most;
  period = 1[h];
  table Types: gpus price[$/h] family = A 1 0.5 k  B 2 1 k  C 4 3.5 l;
  table Jobs: submitted[h] deadline[h] weight[$/h] = {"  ".join(rows)};
  Runnable = {{ (j, v, g) : j in Jobs, (v, g) in Configs }};
  {" ".join(times)}
}}
{CHANGING}
"""


def seconds_hidden(values: dict[str, Any]) -> dict[str, Any]:
    """Figures without those of the wall clock."""
    return {k: v for k, v in values.items() if "seconds" not in k}


def mean(values: list[float]) -> float | None:
    return sum(values) / len(values) if values else None


def percentile(values: list[float], percent: float) -> float | None:
    """Linear between order statistics, written out."""
    if not values:
        return None
    ordered = sorted(values)
    at = (len(ordered) - 1) * percent / 100
    low = int(at)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (at - low)


__all__ = [
    "CHANGING", "THREE_JOBS", "Watched", "mean", "np", "opened", "percentile", "ran", "random_text", "seconds_hidden",
]  # fmt: skip
