"""The lower bound against enumeration of mixtures of ways, against linear programs, and against the cost of runs."""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np
import pytest
from run_texts import THREE_JOBS, opened, ran, random_text
from scipy.optimize import linprog

from gpusched_dsl.online.bounds import run_bound as bounding
from gpusched_dsl.online.bounds.single_job import MOST_PAIRS, RunBound, least_costs
from gpusched_dsl.online.history import cost_of_jobs
from gpusched_dsl.online.run_config import RunConfig
from gpusched_dsl.policies.cluster import Cluster
from gpusched_dsl.workflows.run import run_method


def drawn(rng: np.random.Generator, jobs: int, most_ways: int) -> tuple[np.ndarray, ...]:
    count = rng.integers(1, most_ways + 1, jobs)
    first = np.concatenate(([0], np.cumsum(count)))
    time = rng.integers(1, 12, first[-1]).astype(float)  # equal times and times equal to the due date happen
    cost = rng.integers(0, 20, first[-1]).astype(float)
    has = rng.integers(-3, 14, jobs).astype(float)
    has[rng.random(jobs) < 0.1] = np.inf
    return first, time, cost, has, rng.choice([0.0, 0.5, 3.0, 50.0], jobs)


def by_program(time: np.ndarray, cost: np.ndarray, has: float, weight: float) -> float:
    """min cost x + weight late with sum x == 1 and late >= time x - has."""
    if np.isinf(has):
        return float(cost.min())
    found = linprog(
        [*cost, weight], A_ub=[[*time, -1.0]], b_ub=[has], A_eq=[[*np.ones(len(time)), 0.0]], b_eq=[1.0], method="highs"
    )
    assert found.success
    return float(found.fun)


@pytest.mark.quick(6)
@pytest.mark.parametrize("seed", range(8))
def test_against_linear_programs(seed: int) -> None:
    first, time, cost, has, weight = drawn(np.random.default_rng(seed), 25, 6)
    found = least_costs(first, time, cost, has, weight)
    for j in range(25):
        ways = slice(first[j], first[j + 1])
        expected = by_program(time[ways], cost[ways], has[j], weight[j])
        assert found[j] == pytest.approx(expected, abs=1e-7), (time[ways], cost[ways], has[j], weight[j])


def test_against_mixtures_of_three_ways() -> None:
    """No mixture on a grid is cheaper, whatever its number of ways, and the grid comes close."""
    rng = np.random.default_rng(5)
    parts = [(a, b, 60 - a - b) for a in range(61) for b in range(61 - a)]
    grid = np.array(parts) / 60.0
    for _ in range(30):
        time, cost = rng.uniform(1, 10, 3), rng.uniform(0, 20, 3)
        has, weight = rng.uniform(0, 12), rng.uniform(0, 10)
        values = grid @ cost + weight * np.maximum(0.0, grid @ time - has)
        [found] = least_costs(np.array([0, 3]), time, cost, np.array([has]), np.array([weight]))
        assert found <= values.min() + 1e-9
        assert found >= values.min() - 0.02 * (1 + cost.max() + weight * 10)


def test_jobs_are_taken_in_parts_where_pairs_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    given = drawn(np.random.default_rng(1), 200, 9)
    whole = least_costs(*given)
    for most in (1, 30, 500):
        monkeypatch.setattr("gpusched_dsl.online.bounds.single_job.MOST_PAIRS", most)
        assert np.array_equal(least_costs(*given), whole)
    assert MOST_PAIRS > 500


def test_a_job_without_ways_costs_without_end() -> None:
    found = least_costs(np.array([0, 0, 1]), np.array([2.0]), np.array([3.0]), np.array([1.0, 1.0]), np.zeros(2))
    assert found.tolist() == [np.inf, 3.0]


@pytest.mark.quick(2)
@pytest.mark.parametrize("seed", range(3))
def test_no_method_is_below_the_bound_and_it_is_that_of_the_jobs(seed: int) -> None:
    """The same bound from every method's run; each job is at or above its own, which is worked out here anew."""
    text = random_text(seed, jobs=6)
    bounds = []
    for method in ("Greedy", "FIFO", "EDF"):
        result, _ = ran(text, "Changing", method)
        assert result.bound.value is not None, result.bound.how
        assert result.total >= result.bound.value - 1e-9
        assert (result.jobs["cost"].to_numpy() >= result.bound.by_job - 1e-9).all()
        bounds.append(result.bound.value)
    assert bounds == pytest.approx([bounds[0]] * 3)
    store, world = result.outcome.base.store, result.outcome.world
    gpus, price, times = (store.params[n].values for n in ("gpus", "price", "exec_time"))
    job, kind, used = store.params["exec_time"].domain.columns()
    for j in range(6):
        rows = np.flatnonzero(job == j)
        time = times[rows]
        cost = time * used[rows] / gpus[kind[rows]] * price[kind[rows]]
        expected = by_program(time, cost, float(world.due[j] - world.arrival[j]), float(world.weight[j]))
        assert result.bound.by_job[j] == pytest.approx(expected, rel=1e-7)


def test_it_is_met_where_jobs_do_not_meet() -> None:
    """One job, one node, plans every hour: mixing two types over time costs the bound itself."""
    text = """
    import "gsdsl:capacity_planning/online.gsm";
    scenario One for CapacityPlanning {
      Nodes = { n };  Jobs = { J };  Types = { A, B };  period = 1[h];
      table Types: gpus price[$/h] family = A 1 1 k  B 2 4 k;
      table Jobs: submitted[h] deadline[h] weight[$/h] = J 0 3 100;
      Runnable = { (j, v, g) : j in Jobs, (v, g) in Configs where v == "A" or g == 2 };
      exec_time["J","A",1] = 4[h]; exec_time["J","B",2] = 2[h];
    }
    """
    result, _ = ran(text, method="Greedy")
    # In time: half of the work each, 2 h for 2 $ and 1 h for 4 $; 4 h on A would be 100 $ late, 2 h on B cost 8 $.
    assert result.bound.value == pytest.approx(6.0)
    assert result.total >= 6.0


@pytest.mark.slow
def test_whole_nodes_are_charged_at_least_by_the_gpus_that_a_job_uses() -> None:
    shared, _ = ran(random_text(3), "WholeVms", "FIFO")
    alone, _ = ran(random_text(3), "EveryEvent", "FIFO")
    assert shared.bound.value == pytest.approx(alone.bound.value)
    assert shared.total >= alone.total - 1e-9


def test_true_times_count() -> None:
    """Jobs that really take longer cost more at least, each by its own stretch."""
    planned, _ = ran(random_text(2), "EveryEvent")
    noisy, _ = ran(random_text(2), "NoisyTimes", seed=4)
    assert noisy.bound.value is not None
    assert noisy.bound.value != pytest.approx(planned.bound.value)
    assert (noisy.jobs["cost"].to_numpy() >= noisy.bound.by_job - 1e-9).all()


STATED = """
online Stated for CapacityPlanning extends EveryEvent {
  charge fee = 1[$/h];
}
"""


def test_why_there_is_none() -> None:
    result, _ = ran(random_text(1) + STATED, "Stated")
    assert result.bound.value is None
    assert "states its own charges" in result.bound.how
    assert result.gap is None
    assert RunBound(3.0, "").gap(4.0) == 0.25


RATES = {1: 1.0, 2: 1.5, 3: 2.4, 4: 2.6}  # of a node by its GPUs in use: a GPU costs least where all four are, 0.65
SHARING = """
import "gsdsl:gpu_sharing/online.gsm";
online Known for GpuSharing extends EveryEvent { ends at 0.7 * max_epochs[j]; }
scenario Shared for GpuSharing {
  @LENGTHS@
  table Types: gpus memory[GB] = K80 4 24;
  table Nodes: node_type = n1 K80  n2 K80;
  table Configs: cost_rate[$/h] = K80 1 1  K80 2 1.5  K80 3 2.4  K80 4 2.6;
  table Shares: slowdown = K80 10 1.2  K80 5 1.5;
  table Jobs: memory_need[GB] weight[$/h] submitted[h] deadline[h] = @JOBS@;
  table Runnable: exec_time[h] = @TIMES@;
}
"""


# The expected time left changes while a job runs, its speed does not.
BY_LAW = "lengths = law;  length ~ discrete({ (e * 1[epoch], 0.5) : e in { 70, 100 } });"


@pytest.mark.slow
@pytest.mark.parametrize(("method", "lengths"), [("Greedy", ""), ("FIFO", ""), ("FIFO", BY_LAW)])
def test_nodes_that_are_shared(method: str, lengths: str) -> None:
    """Charged by GPUs in use: a job pays at least its part of a node of which all GPUs are."""
    rng = np.random.default_rng(11)
    hours = {(j, g): round(float(w / g**0.8), 4) for j, w in enumerate(rng.uniform(2, 9, 6)) for g in RATES}
    jobs = [f"j{j} 4 2 {0.6 * j:.1f} {0.6 * j + (0.2 + 0.05 * j) * hours[j, 1]:.4f}" for j in range(6)]
    times = "  ".join(f"j{j} K80 {g} {t}" for (j, g), t in hours.items())
    text = SHARING.replace("@JOBS@", "  ".join(jobs)).replace("@TIMES@", times).replace("@LENGTHS@", lengths)
    result, _ = ran(text, "Known", method)
    assert result.ended == "finished"
    assert result.bound.value is not None, result.bound.how
    world = result.outcome.world
    for j in range(6):
        time = [0.7 * hours[j, g] for g in RATES]
        uses = [float(g) for g in RATES]
        for part, slower in ((0.5, 1.2), (0.25, 1.5)):
            time.append(0.7 * hours[j, 1] * slower)
            uses.append(part)
        cost = np.array(time) * np.array(uses) * 2.6 / 4
        expected = by_program(np.array(time), cost, float(world.due[j] - world.arrival[j]), 2.0)
        assert result.bound.by_job[j] == pytest.approx(expected, rel=1e-7)
    assert (result.jobs["cost"].to_numpy() >= result.bound.by_job - 1e-9).all()
    assert result.metrics["jobs_late"] > 0


def test_none_where_jobs_may_become_faster() -> None:
    """A job of which less than half is left goes twice as fast: what it costs from its start on proves nothing."""
    text = (
        THREE_JOBS
        + """
    online Faster for CapacityPlanning extends EveryEvent {
      carry remaining[j] = if remaining[j] < 0.5 then 0.5 * remaining[j] else remaining[j];
    }
    """
    )
    result = run_method(opened(text), RunConfig(method="Greedy", online="Faster"))
    assert result.bound.value is None
    assert "faster" in result.bound.how


def test_none_where_jobs_have_other_ways_later(monkeypatch: pytest.MonkeyPatch) -> None:
    result, _ = ran(THREE_JOBS)
    real, asked = bounding.cluster_of, []

    def fewer(*given: object, **more: object) -> Cluster:
        found = real(*given, **more)
        asked.append(found)
        if len(asked) < 3:
            return found
        return dataclasses.replace(found, ways=tuple(np.roll(codes, 1) for codes in found.ways))

    monkeypatch.setattr(bounding, "cluster_of", fewer)
    assert result.bound.value is None
    assert "ways to run a job change" in result.bound.how


def test_none_where_a_job_cost_less(monkeypatch: pytest.MonkeyPatch) -> None:
    """What happened refutes a bound whatever was found before it."""
    result, _ = ran(THREE_JOBS)
    monkeypatch.setattr(bounding, "cost_of_jobs", lambda reading: cost_of_jobs(reading) * 0.99)
    assert result.bound.value is None
    assert "cost less" in result.bound.how


def test_pairs_of_all_orders() -> None:
    """Whatever the order of ways, and with ways that take the same time."""
    for order in itertools.permutations(range(4)):
        time, cost = np.array([1.0, 3.0, 3.0, 6.0])[list(order)], np.array([9.0, 4.0, 5.0, 1.0])[list(order)]
        [found] = least_costs(np.array([0, 4]), time, cost, np.array([4.0]), np.array([1e3]))
        assert found == pytest.approx(4.0 * 2 / 3 + 1.0 / 3)  # two thirds in 3 h, a third in 6 h
