"""The exact model in the loop, GPUs that jobs share, and outcomes that a job has passed."""

from __future__ import annotations

import numpy as np
import pytest
from sharing_runs import run, workspace

from gpusched_dsl.online.loops.events import EventLoop
from gpusched_dsl.online.open import open_run
from gpusched_dsl.online.run_config import RunConfig
from gpusched_dsl.online.simulation.charging import gpus_in_use

# RS-1 of the joint problem: both jobs at once on halves of one GPU, which slow down by 5 %.
HALVES = """
import "gsdsl:gpu_sharing/online.gsm";
online Longest for GpuSharing extends EveryEvent { ends at max_epochs[j]; }
scenario Halves for GpuSharing {
  table Types: gpus memory[GB] =  K80 1 24;
  table Nodes: node_type =  n1 K80;
  table Configs: cost_rate[$/h] =  K80 1 0.9;
  table Shares: slowdown =  K80 10 1.05;
  table Jobs: memory_need[GB] deadline[h] weight[$/h] =  J1 6 10.8 0.5  J2 6 9 0.5;
  period = 2[h];
  table Runnable: exec_time[h] =  J1 K80 1 10  J2 K80 1 8;
}
"""
# A job that ends at 10 epochs, at 20 or at 90; it ends at 90, and an epoch takes an hour.
OUTCOMES = """
import "gsdsl:gpu_sharing/online.gsm";
online Long for GpuSharing extends EveryEvent { ends at 90[epoch];  replan on arrival, every 8[h]; }
scenario Three for GpuSharing {
  table Types: gpus memory[GB] =  K80 1 24;
  table Nodes: node_type =  n1 K80;
  table Configs: cost_rate[$/h] =  K80 1 1;
  Shares = {};
  table Jobs: memory_need[GB] deadline[h] weight[$/h] =  J1 6 200 1;
  outcomes = 3;
  table Outcomes, Jobs: epochs[epoch] =  1 J1 10  2 J1 20  3 J1 90;
  table Outcomes: probability =  1 0.5  2 0.3  3 0.2;
  table Runnable: exec_time[h] =  J1 K80 1 100;
}
"""


@pytest.mark.parametrize("method", ["highs", "Greedy"])
def test_two_jobs_share_a_gpu_until_one_has_it_alone(method: str) -> None:
    """J2 ends on its half after 8.4 h. J1 has done 80 % by then, the rest on the whole GPU in 2 h: 10.4 h at 0.9."""
    found = run(HALVES, "Longest", "Halves", method)
    assert found.plans[0] == {"J1": ("n1", 1, 10), "J2": ("n1", 1, 10)}
    assert found.plans[-1] == {"J1": ("n1", 1, 20)}
    assert found.outcome.world.end.tolist() == pytest.approx([10.4, 8.4])
    assert found.cost == pytest.approx(0.9 * 10.4)


@pytest.mark.quick(2)
@pytest.mark.parametrize("rule", ["matching", "work_conserving", "max_running"])
def test_the_exact_model_drives_the_same_cluster(rule: str) -> None:
    text = 'import "gsdsl:gpu_sharing/online.gsm";\nimport "gsdsl:gpu_sharing/tests/policies.gsm";'
    found = run(text, "EveryEvent", "TwoKinds", "highs", node_rule=rule)
    world = found.outcome.world
    assert found.outcome.ended == "finished"
    assert {step.method for step in found.outcome.steps} == {"highs"}
    assert all(step.status == "optimal" for step in found.outcome.steps)
    np.testing.assert_allclose(world.done, world.ends, rtol=1e-8)
    assert sum(world.ledger.jobs["execution"]) == pytest.approx(world.ledger.totals["execution"])


def test_outcomes_that_are_past_take_the_mean_of_the_others() -> None:
    made: list[tuple[float, list[float]]] = []

    def tell(loop: object) -> None:
        assert isinstance(loop, EventLoop)
        assert loop.instance is not None
        if loop.steps:
            made.append((loop.world.now, loop.instance.store.params["epochs"].values.tolist()))

    loop = open_run(workspace(OUTCOMES), RunConfig(online="Long", scenario="Three", method="Greedy"), on_plan=tell)
    assert isinstance(loop, EventLoop)
    loop.run()
    values = dict(made)
    assert values[8.0] == [10, 20, 90]
    assert values[16.0] == pytest.approx([(0.3 * 20 + 0.2 * 90) / 0.5, 20, 90])
    assert values[24.0] == pytest.approx([90, 90, 90])


@pytest.mark.parametrize(
    ("shares", "gpus"),
    [
        ([], 0),
        ([2.0, 1.0], 3),
        ([0.25, 0.25, 0.5, 0.5], 2),
        ([0.5, 0.5], 1),
        ([0.15] * 6, 1),
        ([0.15] * 7, 2),
        ([0.15] * 6 + [0.1], 1),
        ([0.15] * 5 + [0.1] * 3, 2),
        ([0.1] * 10 + [1.0], 2),
        ([0.75, 0.75], 2),
    ],
)
def test_a_gpu_that_is_shared_is_counted_once(shares: list[float], gpus: int) -> None:
    at = np.zeros(len(shares), dtype=np.int64)
    assert gpus_in_use(at, np.array(shares), 1).tolist() == [gpus]
    both = gpus_in_use(np.append(at, at + 1), np.array(shares * 2), 3)
    assert both.tolist() == [gpus, gpus, 0]


def test_parts_of_twentieths_are_packed_as_well_as_can_be() -> None:
    """Against all ways to put parts of 2 and 3 twentieths, or of quarters and halves, on GPUs."""
    for sizes in ((2, 3), (5, 10), (1, 2, 4)):
        for counts in np.ndindex(*(6,) * len(sizes)):
            parts = [size for size, count in zip(sizes, counts, strict=True) for _ in range(count)]
            shares = np.array(parts) / 20
            found = int(gpus_in_use(np.zeros(len(parts), dtype=np.int64), shares, 1)[0])
            assert found == fewest(tuple(counts), sizes), (sizes, counts)


def fewest(counts: tuple[int, ...], sizes: tuple[int, ...]) -> int:
    """The fewest GPUs, by filling one after the other in every way that leaves no room for what is left."""
    known: dict[tuple[int, ...], int] = {}

    def fillings(left: tuple[int, ...], room: int, at: int) -> list[tuple[int, ...]]:
        if at == len(sizes):
            return [left] if all(not n or s > room for n, s in zip(left, sizes, strict=True)) else []
        return [
            filled
            for n in range(min(left[at], room // sizes[at]) + 1)
            for filled in fillings((*left[:at], left[at] - n, *left[at + 1 :]), room - n * sizes[at], at + 1)
        ]

    def least(left: tuple[int, ...]) -> int:
        if not any(left):
            return 0
        if left not in known:
            known[left] = 1 + min(least(rest) for rest in fillings(left, 20, 0))
        return known[left]

    return least(counts)
