"""gsdsl: the policy of the library on the trace, from texts and CSV to the end of every job."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from benchmarks.child import Lap
from gpusched_dsl.compiling.data.instance import build_instance
from gpusched_dsl.compiling.evaluation.limits import MemoryLimits
from gpusched_dsl.language.blocks.online.online_block import check_online
from gpusched_dsl.language.blocks.policies.policy import check_policy
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.scenarios.scenario import check_scenario
from gpusched_dsl.language.workspace import load_workspace
from gpusched_dsl.online.replay.eligibility import replay_facts, replay_obstacles
from gpusched_dsl.online.replay.run import replay
from gpusched_dsl.online.replay.trace_reader import read_trace

SECONDS = 3600.0  # of an hour, in which the model reckons


def run(folder: Path, lap: Lap, policy: str, how: str) -> dict[str, float]:
    """`how`: interpreted or compiled."""
    found = Diagnostics()
    workspace = load_workspace(folder / "replay.gsm", found)
    scenario = check_scenario(workspace, "Trace", {}, found)
    found.raise_if_errors()
    assert scenario is not None
    checked = check_policy(workspace, workspace.policies[policy], found, scenario.model)
    found.raise_if_errors()
    assert checked is not None
    online = check_online(workspace, workspace.onlines["Replay"], found, scenario.model)
    found.raise_if_errors()
    assert online is not None
    driven = replay_facts(online)
    assert not replay_obstacles(checked, driven)
    lap("texts")
    store = build_instance(scenario, folder=folder).store
    lap("data")
    submitted = np.asarray(store.params["submitted"].values, dtype=np.float64)
    trace = read_trace(checked, store, MemoryLimits(), submitted, driven.fractions).trace
    lap("arrays")
    done = replay(trace, compiled=how == "compiled")
    lap("replay")
    finished = np.isfinite(done.end)
    mean = float((done.end - trace.submitted)[finished].mean()) * SECONDS
    waited = int(((done.start - trace.submitted)[finished] * SECONDS > 1e-3).sum())
    return {"finished": int(finished.sum()), "waited": waited, "mean seconds": float(f"{mean:.9g}")}
