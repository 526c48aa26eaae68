"""Runs of GPU sharing over time: ladder A of the single-job examples, one job or many that do not meet."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.workspace import Workspace, workspace_from_text
from gpusched_dsl.online.loops.events import EventLoop
from gpusched_dsl.online.open import open_run
from gpusched_dsl.online.run_config import RunConfig
from gpusched_dsl.online.run_record import RunOutcome

# 1, 1.8, 2.4, 2.8 epochs in an hour for 1, 2, 3, 4 money in an hour; every job has a node for itself.
SPEEDS = (1.0, 1.8, 2.4, 2.8)
LADDER = """
import "gsdsl:gpu_sharing/online.gsm";

online Quiet for GpuSharing extends EveryEvent "no plan at completions, for jobs that do not meet" {{
  replan on arrival;
}}
online Known for GpuSharing extends EveryEvent "all jobs end at {ends} epochs" {{ ends at {ends}[epoch]; }}
online KnownOften for GpuSharing extends Known {{ replan on arrival, completion, every {every}[h]; }}

scenario Ladder for GpuSharing {{
  lengths = law;
  sharing = off;
  table Types: gpus memory[GB] =  K80 4 24;
  table Nodes: node_type = {nodes};
  table Configs: cost_rate[$/h] =  K80 1 {c1}  K80 2 {c2}  K80 3 {c3}  K80 4 {c4};
  Shares = {{}};
  table Jobs: memory_need[GB] weight[$/h] submitted[h] deadline[h] = {jobs};
  length ~ uniform(0[epoch], 100[epoch]);
  table Runnable: exec_time[h] =
{times};
}}
"""


def ladder(
    jobs: int = 1, ends: float = 100, every: float = 3.7, shift: float = 0, due: float = 60, scale: float = 1
) -> str:
    """The text of some jobs on as many nodes; `shift` moves times of submission and deadlines."""
    rates = {f"c{g}": repr(scale * g) for g in (1, 2, 3, 4)}
    return LADDER.format(
        jobs="  ".join(f"j{n} 1 {scale!r} {shift!r} {due + shift!r}" for n in range(jobs)),
        nodes="  ".join(f"n{n} K80" for n in range(jobs)),
        times="\n".join(f"  j{n} K80 {g} {100 / s!r}" for n in range(jobs) for g, s in enumerate(SPEEDS, 1)),
        ends=ends, every=every, **rates,
    )  # fmt: skip


@lru_cache(4)
def workspace(text: str) -> Workspace:
    found = Diagnostics()
    made = workspace_from_text(text, "sharing.gsm", found, Path.cwd())
    found.raise_if_errors()
    return made


@dataclass
class Run:
    """A run and what its plans asked for."""

    outcome: RunOutcome
    plans: list[dict[str, tuple[str, int, int]]]  # of each step: node, GPUs and twentieths of the jobs that run
    wanted: list[dict[str, float]]  # of each step: when jobs want the next plan

    @property
    def times(self) -> list[float]:
        return [step.time for step in self.outcome.steps]

    @property
    def why(self) -> list[tuple[str, ...]]:
        return [step.why for step in self.outcome.steps]

    @property
    def cost(self) -> float:
        return self.outcome.total


def run(text: str, online: str, scenario: str, method: str, seed: int = 0, **settings: str) -> Run:
    plans: list[dict[str, tuple[str, int, int]]] = []
    wanted: list[dict[str, float]] = []

    def tell(loop: object) -> None:
        assert isinstance(loop, EventLoop)
        assert loop.current_plan is not None
        store = loop.base.store
        job, node, gpus, parts = loop.current_plan.values["run"].codes
        jobs, nodes = store.universes["Jobs"].labels, store.universes["Nodes"].labels
        rows = zip(job.tolist(), node.tolist(), gpus.tolist(), parts.tolist(), strict=True)
        plans.append({str(jobs[j]): (str(nodes[n]), g, u) for j, n, g, u in rows})
        asked = loop.world.request
        wanted.append({str(jobs[j]): float(asked[j]) for j in range(len(jobs)) if asked[j] < float("inf")})

    config = RunConfig(online=online, scenario=scenario, method=method, settings=settings, seed=seed)
    loop = open_run(workspace(text), config, on_plan=tell)
    return Run(loop.run(), plans, wanted)
