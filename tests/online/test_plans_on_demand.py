"""Runs whose plans make only what is read are the same, to the last bit, as runs whose plans make everything."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gpusched_dsl as gs
from gpusched_dsl.compiling.data.instance import Instance, build_instance
from gpusched_dsl.compiling.evaluation.on_demand import OnDemand
from gpusched_dsl.language.checked import CheckedModel, IndexVar, TypedExpr
from gpusched_dsl.language.checking.walk import Part
from gpusched_dsl.online.data import base as base_module
from gpusched_dsl.online.loops.events import EventLoop
from gpusched_dsl.online.open import loop_of, setup_of
from gpusched_dsl.online.planners import policy as planner_module
from gpusched_dsl.online.run_config import RunConfig
from gpusched_dsl.policies import decide as decide_module
from gpusched_dsl.policies import node_kinds
from gpusched_dsl.policies.decide import compares_plans

SHARING = """
import "gsdsl:gpu_sharing/scenarios/synthetic.gsm";
scenario Twelve for GpuSharingByNetwork extends TenNodes {
  sharing = SHARE;
  generate sharing_nodes (nodes = 3, seed = 2) { Nodes = node; node_type[node] = gpu; }
  generate sharing_jobs (nodes = 3, jobs = 12, seed = 2) {
    Jobs = job; network[job] = network; memory_need[job] = memory; submitted[job] = submitted; deadline[job] = due;
    weight[job] = weight; max_epochs[job] = max_epochs; truth[job] = epochs;
  }
  generate sharing_times (nodes = 3, jobs = 12, seed = 2) {
    Runnable = (job, gpu, gpus); exec_time[job, gpu, gpus] = time;
  }
  generate sharing_law (nodes = 3, jobs = 12, seed = 2) {
    Networks = distinct(network); Law = (network, epochs); share[network, epochs] = probability;
  }
}
"""
PLANNING = """
import "gsdsl:capacity_planning/online.gsm";
import "gsdsl:capacity_planning/scenarios/three_jobs.gsm";
scenario CpOn for CapacityPlanning extends ThreeJobs { period = 1[h]; Nodes = { n1, n2, n3 }; }
"""


def loop_with(text: str, online: str, scenario: str, method: str) -> EventLoop:
    config = RunConfig(online=online, scenario=scenario, method=method)
    found = loop_of(setup_of(gs.loads(text)._workspace, config), fast=False)
    assert isinstance(found, EventLoop)
    return found


def everything_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make all values of each plan, evaluate all nodes, and price each plan."""

    def build(*args: Any, on_demand: bool, **options: Any) -> Instance:
        return build_instance(*args, **options)

    def by_names(part: Part, node: IndexVar, label: TypedExpr | None, formulas: CheckedModel | None = None) -> bool:
        return original(part, node, label)

    def decide(*args: Any, priced: bool, **options: Any) -> object:
        return decided(*args, **options)

    original, decided = node_kinds.distinguishes_nodes, decide_module.decide
    monkeypatch.setattr(base_module, "build_instance", build)
    monkeypatch.setattr(node_kinds, "distinguishes_nodes", by_names)
    monkeypatch.setattr(node_kinds, "ways_are_alike", lambda *_: False)
    monkeypatch.setattr(node_kinds, "_KNOWN", {})
    monkeypatch.setattr(decide_module, "decide", decide)


def figures(loop: EventLoop) -> dict[str, object]:
    outcome = loop.run()
    assert np.isfinite(outcome.world.end).all()
    return {
        "ends": outcome.world.end.tolist(),
        "money": outcome.world.ledger.totals,
        "plans": [step.time for step in outcome.steps],
    }


@pytest.mark.quick(2)
@pytest.mark.parametrize(
    ("text", "online", "scenario", "method"),
    [
        *((SHARING.replace("SHARE", "off"), "Synthetic", "Twelve", m) for m in ("STS", "EDF", "RG", "DP")),
        (SHARING.replace("SHARE", "on"), "Synthetic", "Twelve", "STSGrown"),
        *((PLANNING, "NoisyTimes", "CpOn", m) for m in ("FIFO", "Greedy", "LocalSearch")),
    ],
)
def test_runs_are_the_same(text: str, online: str, scenario: str, method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    now = figures(loop_with(text, online, scenario, method))
    everything_at_once(monkeypatch)
    before = figures(loop_with(text, online, scenario, method))
    assert now == before


def test_a_policy_reads_few_of_the_quantities() -> None:
    """The solver's costs need the expected tardiness `late`; a plan of EDF and its check do not."""
    waiting = set[str]()
    loop = loop_with(SHARING.replace("SHARE", "off"), "Synthetic", "Twelve", "EDF")

    def examine(instance: Instance, plan: object, number: int) -> None:
        for part in (instance.store.sets, instance.store.params):
            assert isinstance(part, OnDemand)
            waiting.update(part.waiting())

    loop.examine = examine
    loop.run()
    assert {"late", "slowest"} <= waiting


@pytest.mark.parametrize(
    ("policy", "compares"),
    [("EDF", False), ("STS", False), ("Greedy", False), ("RG", True), ("STSGrown", True), ("DP", False)],
)
def test_which_policies_compare_plans(policy: str, compares: bool) -> None:
    loop = loop_with(SHARING.replace("SHARE", "off"), "Synthetic", "Twelve", policy)
    assert isinstance(loop.planner, planner_module.PolicyPlanner)
    assert compares_plans(loop.planner.policy) == compares
