"""Costs of complete runs against those of an independent program on the same instances.

The program is the C++ simulator of F. Filippini et al. (ai-sprint-eu-project/GPUScheduler): a decision at each arrival
and first completion, a node in use pays its whole VM, a late job its weight.
"""

from __future__ import annotations

import csv
import os
from pathlib import Path

import pytest

from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.workspace import workspace_from_text
from gpusched_dsl.online.loops.events import EventLoop
from gpusched_dsl.online.open import open_run
from gpusched_dsl.online.run_config import RunConfig
from gpusched_dsl.online.run_record import RunOutcome

GIVEN = os.environ.get("GPUSPB_INSTANCES")
FOLDER = Path(GIVEN) if GIVEN else Path(__file__).resolve().parents[3] / "shared" / "data" / "gpuspb_reference"
COSTS = ("tardiness_cost", "vm_cost", "total_cost")
EXACT = {"FIFO": "FIFOWholeVm", "EDF": "EDFWholeVm", "Priority": "PSWholeVm"}
GREEDY = 1.02  # the most that ours may cost of what theirs does

pytestmark = pytest.mark.skipif(not (FOLDER / "reference_costs.csv").is_file(), reason="no instances here")

TEXT = """
import "gsdsl:capacity_planning/online.gsm";
scenario Instance for CapacityPlanning {
  period = 1[h];
  idle_penalty = 0[$];
  node_rule = at_most;
  data "tNodes.csv" as gpuspb_nodes { Nodes = node; }
  data "Lof_Selectjobs.csv" as gpuspb_jobs {
    Jobs = job;
    submitted[job] = submitted;
    deadline[job] = deadline;
    weight[job] = weight;
  }
  data "SelectJobs_times.csv" as gpuspb_times {
    Types = distinct(vm_type);
    gpus[vm_type] = first(vm_gpus);
    price[vm_type] = first(price);
    family[vm_type] = first(gpu_type);
    Runnable = (job, vm_type, gpus);
    exec_time[job, vm_type, gpus] = duration;
  }
}
"""


def run(instance: str, policy: str) -> RunOutcome:
    found = Diagnostics()
    workspace = workspace_from_text(TEXT, "reference.gsm", found, FOLDER / instance, allow_outside=True)
    found.raise_if_errors()
    driver = open_run(workspace, RunConfig(online="WholeVmsWithoutPeriod", scenario="Instance", method=policy))
    assert isinstance(driver, EventLoop)
    return driver.run()


def printed(instance: str, method: str) -> dict[str, str]:
    """The program's costs, as it prints them: to six digits."""
    with (FOLDER / "reference_costs.csv").open(encoding="utf-8", newline="") as file:
        [row] = [r for r in csv.DictReader(file) if (r["instance"], r["method"]) == (instance, method)]
    return {name: row[name] for name in COSTS}


def check(instance: str, method: str) -> None:
    theirs = printed(instance, method)
    outcome = run(instance, EXACT.get(method, method))
    assert outcome.ended == "finished"
    totals = outcome.world.ledger.totals
    amounts = (totals.get("tardiness", 0.0), totals["execution"], outcome.total)
    if method in EXACT:
        assert {name: f"{amount:g}" for name, amount in zip(COSTS, amounts, strict=True)} == theirs
    else:
        assert outcome.total <= GREEDY * float(theirs["total_cost"])


@pytest.mark.quick(1)
@pytest.mark.parametrize("method", [*EXACT, "Greedy"])
def test_costs_are_those_of_the_program(method: str) -> None:
    check("n10_light", method)


@pytest.mark.slow
@pytest.mark.parametrize("method", [*EXACT, "Greedy"])
@pytest.mark.parametrize("instance", ["n20_heavy", "n50_light", "n100_light"])
def test_costs_of_large_instances(instance: str, method: str) -> None:
    check(instance, method)
