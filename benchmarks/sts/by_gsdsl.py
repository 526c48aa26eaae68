"""gsdsl: the policy of the library, from an instance in memory to the plan: profiles, ranks, placement.

`first step` also reads machine code from its cache, or makes it.
"""

from pathlib import Path

import numpy as np

from benchmarks.child import Lap
from gpusched_dsl.compiling.data.instance import build_instance
from gpusched_dsl.compiling.evaluation.limits import MemoryLimits
from gpusched_dsl.language.blocks.policies.policy import check_policy
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.scenarios.scenario import check_scenario
from gpusched_dsl.language.workspace import load_workspace
from gpusched_dsl.policies.decide import decide
from gpusched_dsl.policies.stages import with_stages

STEPS = 3


def run(folder: Path, lap: Lap) -> dict[str, float]:
    file = folder / "seed1" / "policy.gsm"
    file.write_text('import "gsdsl:gpu_sharing/policies.gsm";\nimport "sharing.gsm";\n', encoding="utf-8")
    found = Diagnostics()
    workspace = load_workspace(file, found)
    scenario = check_scenario(workspace, "Sharing", {}, found)
    assert scenario is not None
    policy = check_policy(workspace, workspace.policies["STS"], found, scenario.model)
    found.raise_if_errors()
    assert policy is not None
    limits = MemoryLimits()
    store = build_instance(scenario, folder=folder).store
    lap("read")
    plan = decide(policy, store, limits)
    lap("first step")
    for _ in range(STEPS):
        plan = decide(policy, store, limits)
    lap(f"{STEPS} steps")
    told = with_stages(policy, store, limits).params
    jobs, kinds = (store.sets[name].size for name in ("Jobs", "Kinds"))
    costs = np.where(told["plan_status"].values == 0, told["plan_cost"].values, np.inf).reshape(jobs, kinds)
    best = costs.min(axis=1)
    return {"running": len(plan.values["run"].values), "expected": float(f"{best[np.isfinite(best)].sum():.5g}")}
