"""Texts of small models, and runs of them, for the tests of the loop."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.workspace import workspace_from_text
from gpusched_dsl.online.loops.base import SimulationLoop
from gpusched_dsl.online.loops.setup import RunSetup
from gpusched_dsl.online.loops.step_journal import StepJournal
from gpusched_dsl.online.open import loop_of, setup_of
from gpusched_dsl.online.run_config import RunConfig
from gpusched_dsl.online.run_record import RunOutcome

CP_ON = """
import "gsdsl:capacity_planning/online.gsm";
import "gsdsl:capacity_planning/scenarios/three_jobs.gsm";
scenario CpOn for CapacityPlanning extends ThreeJobs { period = 1[h]; }
"""

# Machines that run one job each; what a run costs is the time that machines are busy.
MACHINES = """
model Machines {
  set Jobs;  set Nodes identical;
  param submitted[Jobs] in h default 0;
  param length[Jobs] in h > 0;
  param remaining[Jobs] > 0 <= 1 default 1;
  param due_in[Jobs] in h default 1000;
  param weight[Jobs] in $/h default 0;
  param rent in $/h default 1;
  param left[j in Jobs] in h = remaining[j] * length[j];
  var run[Jobs, Nodes] binary;
  maximize busy in $: sum[j in Jobs, n in Nodes] (1[$*h] / (1[h] + left[j])) * run[j, n];
  constraint once[j in Jobs]: sum[n in Nodes] run[j, n] <= 1;
  constraint alone[n in Nodes]: sum[j in Jobs] run[j, n] <= 1;
  placement run[j, n] { job j; node n; lasts left[j]; costs rent in $/h; due due_in[j]; weight weight[j]; }
}
policy FIFO for Machines { order j in Jobs by submitted[j]; place new_node exclusive, wait; keep running; }
policy SRPT for Machines { order j in Jobs by left[j]; place new_node exclusive, wait; }
online Events for Machines {
  arrive j in Jobs at submitted[j];
  replan on arrival, completion, failure, recovery;
  carry remaining[j] = remaining[j];
  carry due_in[j] = due_in[j] - now;
}
"""

# Price-aware training, window after window.
ROLLING = """
import "gsdsl:price_aware/tests/model.gsm";
online Rolling for PriceAware {
  window h in Slots lookahead 100 commit 2;
  arrive b in Batch at 0;
  replan on every 2 slots;
  work epochs[b];
  speed 1 / epoch_time[b, node_type[k]];
  carry epochs[b] = epochs[b] - done[b];
  carry started[b] = if done[b] > 0 then 1 else 0;
  carry was_on[k] = on[k, committed];
  carry was_training[b, k] = train[b, k, committed];
  charge energy[k in Nodes] in $ = sum[h in Slots] slot_price[h] * node_power[k, h];
  charge restarts[b in Batch] in $ = sum[k in Nodes, h in Slots where (b, k, h) in Runs]
    restart_cost[b, node_type[k]] * starts[b, k, h];
  charge switching[k in Nodes] in $ = sum[h in Slots] boot_cost[node_type[k]] * boots[k, h];
  charge drawn[k in Nodes] in kWh = sum[h in Slots] slot * node_power[k, h];
}
online SlotBySlot for PriceAware extends Rolling { window h in Slots lookahead 100 commit 1; replan on every 1 slots; }
online Short for PriceAware extends Rolling { window h in Slots lookahead 4 commit 1; replan on every 1 slots; }
"""


def run(
    text: str,
    online: str | None = None,
    scenario: str | None = None,
    method: str = "FIFO",
    **given: Any,
) -> RunOutcome:
    return driver(text, online, scenario, method, **given).run()


def driver(
    text: str,
    online: str | None = None,
    scenario: str | None = None,
    method: str = "FIFO",
    *,
    journal: StepJournal | None = None,
    stop: Callable[[], bool] = lambda: False,
    on_plan: Callable[[SimulationLoop], None] = lambda loop: None,
    fast: bool = True,
    **given: Any,
) -> SimulationLoop:
    return loop_of(
        setup(text, online, scenario, method, **given), journal=journal, stop=stop, on_plan=on_plan, fast=fast
    )


def setup(
    text: str,
    online: str | None = None,
    scenario: str | None = None,
    method: str = "FIFO",
    settings: dict[str, str] | None = None,
    seed: int = 0,
    time_limit: float | None = None,
    fallback: str | None = None,
    external: bool = False,
) -> RunSetup:
    found = Diagnostics()
    workspace = workspace_from_text(text, "online.gsm", found, Path.cwd(), allow_outside=True)
    found.raise_if_errors()
    config = RunConfig(
        online=online, scenario=scenario, method=method, settings=settings or {}, seed=seed, time_limit=time_limit,
        fallback=fallback,
    )  # fmt: skip
    return setup_of(workspace, config.allowing(method, fallback), external=external)


def machines(nodes: int, jobs: list[tuple[float, float]], more: str = "", *, due: list[float] | None = None) -> str:
    """A scenario of `Machines`: jobs by submission and length in hours."""
    rows = "  ".join(f"j{i} {at!r} {length!r}" for i, (at, length) in enumerate(jobs))
    dues = "" if due is None else "table Jobs: due_in[h] = " + "  ".join(f"j{i} {d!r}" for i, d in enumerate(due)) + ";"
    names = ", ".join(f"n{i}" for i in range(nodes))
    return f"""{MACHINES}
scenario S for Machines {{ Nodes = {{ {names} }}; table Jobs: submitted[h] length[h] = {rows}; {dues} {more} }}
"""
