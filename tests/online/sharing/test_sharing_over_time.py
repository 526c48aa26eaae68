"""The stochastic scheduler over time against worked examples: times of plans, costs of runs, irrelevant changes.

F. Filippini, J. Anselmi, D. Ardagna, B. Gaujal (2024), section VI. One job on ladder A, of any length up to 100 epochs
and due after 60 h, goes to a faster way after 17.377049, 51.803279 and 57.540984 h; its expected cost is 3302 / 61.
"""

from __future__ import annotations

import numpy as np
import pytest
from sharing_runs import ladder, run, workspace

from gpusched_dsl.online.loops.events import EventLoop
from gpusched_dsl.online.open import open_run
from gpusched_dsl.online.run_config import RunConfig

SWITCHES = (17.377049180327869, 51.803278688524593, 57.540983606557376)
EXPECTED = 3302 / 61
TWO_KINDS = """
import "gsdsl:gpu_sharing/online.gsm";
import "gsdsl:gpu_sharing/tests/policies.gsm";
online Longest for GpuSharing extends EveryEvent { ends at max_epochs[j]; }
scenario Later for GpuSharing extends TwoKinds {
  table Jobs: submitted[h] deadline[h] =
    J1 0.25 60.25
    J2 0.25 45.25
    J3 0.25 30.25;
}
scenario Dearer for GpuSharing extends TwoKinds {
  table Configs: cost_rate[$/h] =
    K80   1  4.5    K80   2  9      K80   3  13.5  K80   4  18
    A100  1  18.35  A100  2  36.75  A100  3  55.1  A100  4  73.45;
  table Jobs: weight[$/h] =
    J1 5
    J2 5
    J3 5;
}
"""


@pytest.mark.slow
def test_the_next_plan_is_when_the_first_profile_changes() -> None:
    """PL-1: J1 asks for a second K80 at 17.377049, before J2 and J3 ask for more."""
    found = run(TWO_KINDS, "Longest", "TwoKinds", "STS")
    assert found.plans[0] == {"J1": ("n1", 1, 20), "J2": ("n1", 2, 20), "J3": ("n2", 1, 20)}
    assert found.wanted[0] == pytest.approx({"J1": 17.377049, "J2": 18.611111, "J3": 26.457197}, abs=1e-6)
    assert found.times[1] == pytest.approx(17.377049, abs=1e-6)
    assert found.why[1] == ("request",)
    assert found.plans[1]["J1"] == ("n1", 2, 20)
    assert found.outcome.ended == "finished"
    assert found.outcome.world.ledger.totals["tardiness"] == 0.0


@pytest.mark.quick(3)
@pytest.mark.parametrize(("ends", "until", "cost"), [(10, 10, 10), (30, 24.389800, 31.402550), (100, 60, 113.278689)])
@pytest.mark.parametrize("policy", ["STS", "STSMerged", "STSUnbound"])
def test_a_job_goes_through_its_profile(ends: float, until: float, cost: float, policy: str) -> None:
    found = run(ladder(ends=ends), "Known", "Ladder", policy)
    assert found.times == pytest.approx([0.0, *(s for s in SWITCHES if s < until)], abs=1e-6)
    assert [plan["j0"][1] for plan in found.plans] == list(range(1, len(found.times) + 1))
    assert found.outcome.world.end[0] == pytest.approx(until, abs=1e-6)
    assert found.cost == pytest.approx(cost, abs=1e-6)


@pytest.mark.quick(2)
@pytest.mark.parametrize("every", [3.7, 8.6885245901639347, 17.0])
def test_a_profile_that_is_solved_again_at_any_time_is_the_same(every: float) -> None:
    """PL-4 (iii): without disturbance nothing changes; some of the times fall upon a change of the profile."""
    found = run(ladder(every=every), "KnownOften", "Ladder", "STS")
    assert len(found.times) > len(SWITCHES) + 2
    gpus = [1 + sum(time > s - 1e-6 for s in SWITCHES) for time in found.times]
    assert [plan["j0"][1] for plan in found.plans] == gpus
    assert found.cost == pytest.approx(113.278688524590, abs=1e-6)
    assert found.outcome.world.end[0] == pytest.approx(60.0, abs=1e-6)


def mean_cost(jobs: int, seeds: int) -> tuple[float, float, int]:
    runs = [run(ladder(jobs), "Quiet", "Ladder", "STS", seed) for seed in range(seeds)]
    every = np.concatenate([one.outcome.world.ledger.jobs["execution"] for one in runs])
    return float(every.mean()), float(every.std(ddof=1) / np.sqrt(len(every))), len(every)


@pytest.mark.slow
def test_costs_are_as_expected_on_average() -> None:
    """PL-4 (iv): the world draws lengths; the mean is within three standard errors of what the profile expects."""
    mean, error, _ = mean_cost(120, 2)
    assert error < 3
    assert abs(mean - EXPECTED) <= 3 * error


@pytest.mark.slow
def test_costs_are_as_expected_on_average_of_many() -> None:
    mean, error, count = mean_cost(150, 40)
    assert count == 6000
    assert error < 0.5
    assert abs(mean - EXPECTED) <= 3 * error


@pytest.mark.slow
def test_a_shift_in_time_changes_nothing() -> None:
    """PL-4 (vii): submitted and due a quarter of an hour later, all plans come as much later and are the same."""
    first, later = (run(TWO_KINDS, "EveryEvent", scenario, "STS", 3) for scenario in ("TwoKinds", "Later"))
    assert later.times == pytest.approx([time + 0.25 for time in first.times], abs=1e-9)
    assert later.plans == first.plans
    assert later.cost == pytest.approx(first.cost, rel=1e-9)
    single, shifted = run(ladder(), "Known", "Ladder", "STS"), run(ladder(shift=12.5), "Known", "Ladder", "STS")
    assert shifted.times == pytest.approx([time + 12.5 for time in single.times], abs=1e-9)
    assert shifted.cost == pytest.approx(single.cost, rel=1e-9)


@pytest.mark.quick(2)
@pytest.mark.parametrize("policy", ["STS", "Greedy", "EDF"])
def test_prices_by_another_measure_change_nothing(policy: str) -> None:
    """PL-4 (viii): all prices and weights five times as high: the same plans, five times the cost."""
    first, dearer = (run(TWO_KINDS, "EveryEvent", scenario, policy, 3) for scenario in ("TwoKinds", "Dearer"))
    assert dearer.plans == first.plans
    assert dearer.times == pytest.approx(first.times, abs=1e-9)
    assert dearer.cost == pytest.approx(5 * first.cost, rel=1e-9)


def test_a_job_that_is_put_off_keeps_its_speed_in_mind() -> None:
    """J1 and J2 share one node of two GPUs. J2 comes at 10 h, is more urgent and takes both; J1 was on its second GPU
    before and comes back on it, though its profile alone would begin with one."""
    text = """
import "gsdsl:gpu_sharing/online.gsm";
online Longest for GpuSharing extends EveryEvent { ends at max_epochs[j]; }
scenario PutOff for GpuSharing {
  lengths = law;  sharing = off;  Shares = {};  Nodes = { n1 };  node_type["n1"] = "K80";
  table Types: gpus memory[GB] =  K80 2 24;
  table Configs: cost_rate[$/h] =  K80 1 1  K80 2 2;
  table Jobs: memory_need[GB] weight[$/h] submitted[h] deadline[h] max_epochs[epoch] =
    J1  1 1 0    56  100
    J2  1 9 10   13  10;
  length ~ uniform(0[epoch], 100[epoch]);
  table Runnable: exec_time[h] =  J1 K80 1 100  J1 K80 2 55.6  J2 K80 1 5  J2 K80 2 3;
}
"""
    found = run(text, "Longest", "PutOff", "STS")
    ways = [plan.get("J1", ("", 0, 0))[1] for plan in found.plans]
    assert 0 in ways
    assert ways[ways.index(0) + 1] == 2


def test_policies_and_runs_may_count_time_in_other_units() -> None:
    """Arrivals in minutes make the run's clock one of minutes, while the policy counts hours, as the placement does."""
    text = """
model M {
  set Jobs;  set Nodes;
  param submitted[Jobs] in min;
  param length[Jobs] in h;
  param remaining[Jobs] default 1;
  var run[Jobs, Nodes] binary;
  minimize waiting: sum[j in Jobs] (1 - sum[n in Nodes] run[j, n]);
  placement run[j, n] { job j;  node n;  lasts remaining[j] * length[j]; }
}
policy Half for M {
  let told[j in Jobs] in h = now;
  order j in Jobs by told[j];
  place new_node;
  again after 0.5 * remaining[j] * length[j] where remaining[j] * length[j] > 1[h];
}
online Events for M { arrive j in Jobs at submitted[j];  replan on arrival;  carry remaining[j] = remaining[j]; }
scenario S for M { Nodes = { n };  table Jobs: submitted[min] length[h] =  j 30 4; }
"""
    loop = open_run(workspace(text), RunConfig(online="Events", scenario="S", method="Half"))
    assert isinstance(loop, EventLoop)
    outcome = loop.run()
    assert outcome.unit == "min"
    assert [step.time for step in outcome.steps] == pytest.approx([30, 150, 210])
    assert outcome.world.end[0] == pytest.approx(270)
    assert loop.policy_now() == pytest.approx(4.5)
