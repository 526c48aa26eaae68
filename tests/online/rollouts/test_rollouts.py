"""Rollouts: on arrays they are those of copies of the run, and drawn arrivals are those of a run with these jobs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest
from online_texts import driver, machines
from rollout_texts import Job, cluster, some_jobs

from gpusched_dsl.online.loops.base import SimulationLoop
from gpusched_dsl.online.loops.events import EventLoop
from gpusched_dsl.online.planners.portfolio import PortfolioPlanner
from gpusched_dsl.online.planners.protocol import FutureCost, SimulatedFuture
from gpusched_dsl.online.rollouts.clones import draw_arrivals
from gpusched_dsl.online.rollouts.forked import forked_cost, without_real_future
from gpusched_dsl.online.rollouts.outlook import Outlooks, RunOutlook

BLOCK = "EveryArrivalAndCompletion"


@contextmanager
def compared(found: list[tuple[FutureCost, FutureCost]]) -> Iterator[None]:
    """Every rollout on arrays is repeated on a copy of the run."""
    original = RunOutlook.cost

    def cost(self, values, planner, future):  # type: ignore[no-untyped-def]
        light = self._light(planner, future)
        if light is not None and not future.arrivals:
            found.append(
                (light.cost(values), forked_cost(self._loop_of(future), values, planner, future, self._terminal))
            )
        return original(self, values, planner, future)

    RunOutlook.cost = cost  # type: ignore[method-assign]
    try:
        yield
    finally:
        RunOutlook.cost = original  # type: ignore[method-assign]


def start(text: str, method: str, online: str = BLOCK, seed: int = 0) -> EventLoop:
    loop = driver(text, online, "S", method, seed=seed)
    assert isinstance(loop, EventLoop)
    return loop


CASES = [
    ("Switching", BLOCK, ""),
    ("Congested", BLOCK, ""),
    ("Congested", "Noisy", "lookahead 3[h]; futures 2 with arrivals seed 3;"),
    ("Rolling", "Periodic", ""),
    ("Rolling", "Whole", "lookahead 1.5[h];"),
    ("Drawing", BLOCK, "futures 2;"),
    ("Drawing", "Noisy", "futures 2 seed 3;"),
]


@pytest.mark.quick(1)
@pytest.mark.parametrize(("method", "online", "line"), CASES)
@pytest.mark.parametrize("seed", range(6))
def test_rollouts_on_arrays_are_those_of_the_run(seed: int, method: str, online: str, line: str) -> None:
    jobs = some_jobs(seed, 4 if seed == 0 else 9)
    loop = start(cluster(jobs, more=f"policy P extends {method} {{ {line} }}"), "P", online)
    found: list[tuple[FutureCost, FutureCost]] = []
    with compared(found):
        loop.run()
    assert len(found) >= 2
    assert isinstance(loop.look_ahead, Outlooks)
    assert not any(loop.look_ahead.reasons.values())
    np.testing.assert_allclose([light for light, _ in found], [exact for _, exact in found], rtol=1e-9, atol=1e-9)


def test_machines_without_choices() -> None:
    text = machines(2, [(0, 3.0), (0, 1.0), (0.5, 2.0), (0.75, 0.5)], due=[4, 1, 3, 2])
    loop = start(f"{text} policy P for Machines {{ portfolio FIFO, SRPT; }}", "P", "Events")
    found: list[tuple[FutureCost, FutureCost]] = []
    with compared(found):
        loop.run()
    assert len(found) >= 2
    np.testing.assert_allclose([light for light, _ in found], [exact for _, exact in found], rtol=1e-9)


def test_a_future_in_which_jobs_never_start_ends_with_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """After so many plans of a period that start nothing, counted from the last change before the future too."""
    monkeypatch.setattr("gpusched_dsl.online.loops.events.MOST_IDLE_PERIODS", 4)
    more = """
    policy Choosy for CapacityPlanning extends Greedy { order j in Jobs where weight[j] > 2[$/h] by deadline[j]; }
    policy P for CapacityPlanning { portfolio Greedy, EDF; continue with Choosy; }"""
    loop = start(cluster(some_jobs(3, 6), more=more), "P", "Periodic")
    found: list[tuple[FutureCost, FutureCost]] = []
    with compared(found):
        loop.run()
    assert any(light.stuck for light, _ in found)
    np.testing.assert_allclose([light for light, _ in found], [exact for _, exact in found], rtol=1e-9, atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("policy", ["ATC", "Slack", "Crowd"])
@pytest.mark.parametrize("seed", range(4))
def test_drawn_arrivals_are_those_of_a_run_with_these_jobs(seed: int, policy: str) -> None:
    """A run in which copies of past jobs really arrive costs what the future with these arrivals costs."""
    jobs = some_jobs(seed, 6, within=1.5)
    members = "FIFO, EDF" if policy == "ATC" else "FIFO, ATC"
    more = f"policy P for CapacityPlanning {{ portfolio {members}; lookahead 1[h]; continue with {policy}; }}"
    loop = start(cluster(jobs, more=more), "P")
    while loop.world.now < jobs[3].submitted:
        assert not loop.step()
    assert isinstance(loop.planner, PortfolioPlanner)
    [planner] = loop.planner.continuing
    until = loop.world.now + 2.0
    future = SimulatedFuture(2.0, 11 + seed, arrivals=True)
    drawn = draw_arrivals(loop, until, future.seed or 0)
    assert len(drawn.time)
    part, request = loop.request()
    plan = planner.plan(request)
    assert plan is not None
    cost = RunOutlook(Outlooks(), loop, part, request.instance).cost(plan.values, planner, future)

    past = [job for job, status in zip(jobs, loop.world.status, strict=True) if status]
    copies = [
        Job(f"copy{k}", float(t), float(t) + jobs[i].deadline - jobs[i].submitted, jobs[i].weight, jobs[i].hours)
        for k, (i, t) in enumerate(zip(drawn.template.tolist(), drawn.time, strict=True))
    ]
    real = start(cluster([*past, *copies], more=more), "P")
    while real.world.now < loop.world.now:
        assert not real.step()
    np.testing.assert_allclose(real.world.done[: len(past)], loop.world.done[: len(past)])
    money = sum(real.world.ledger.totals.values())
    terminal = RunOutlook(Outlooks(), real, *_part(real))._terminal
    # Without a seed the copy of the run takes the planned times; its jobs of the scenario really arrive.
    other = without_real_future(real, SimulatedFuture(2.0))
    other.world.arrival = real.world.arrival.copy()
    other.planner = _Given(plan.values)
    EventLoop.decide(other, ("first",))
    other.planner = planner
    while other.next_time() <= until:
        assert not other.step()
    other.advance(until)
    open_ = other.world.present()
    due, weight = other.world.due[open_], other.world.weight[open_]
    best = [
        min(price * f * time + w * max(0.0, until + f * time - d) for price, time in _ways([*past, *copies][i]))
        for i, f, d, w in zip(open_, other.world.remaining()[open_], due, weight, strict=True)
    ]
    assert terminal.first_way[0] == 0
    assert cost.money == pytest.approx(sum(other.world.ledger.totals.values()) - money + sum(best))


def test_the_rate_of_arrivals_counts_neither_those_at_the_start_nor_the_one_that_comes_now() -> None:
    """Five jobs wait at the start, one comes after 2 h, and one now, after 4 h: the rate is one in 4 h, not 6."""
    rows = [Job(f"j{i}", at, at + 9, 1.0, 30.0) for i, at in enumerate([0, 0, 0, 0, 0, 2.0, 4.0])]
    loop = start(cluster(rows, more="policy P for CapacityPlanning { portfolio FIFO, EDF; }"), "P")
    counts = {}
    while loop.world.now < 4.0:
        assert not loop.step()
        counts[loop.world.now] = [len(draw_arrivals(loop, loop.world.now + 40.0, seed).time) for seed in range(200)]
    assert set(counts) == {0.0, 2.0, 4.0}
    assert max(counts[0.0]) == max(counts[2.0]) == 0
    assert 9.0 < np.mean(counts[4.0]) < 11.0


def _ways(job: Job) -> list[tuple[float, float]]:
    """Money by hour and hours of each way of a job."""
    return [(0.5, job.hours), (0.7, 0.8 * job.hours), (1.4, 0.45 * job.hours)]


def _part(loop: EventLoop):  # type: ignore[no-untyped-def]
    part, request = loop.request()
    return part, request.instance


class _Given:
    name = "given"

    def __init__(self, values):  # type: ignore[no-untyped-def]
        self.values = values

    def plan(self, request):  # type: ignore[no-untyped-def]
        from gpusched_dsl.policies.plan import Plan

        return Plan(self.values, "given")


REASONS = [
    ("Failing", "the block has a line `outage`"),
    ("Changing", "the block has a line `on`"),
]


@pytest.mark.parametrize(("online", "reason"), REASONS)
def test_what_arrays_do_not_have_is_simulated_by_copies(online: str, reason: str) -> None:
    loop = start(cluster(some_jobs(1, 4)), "Switching", online)
    loop.run()
    assert isinstance(loop.look_ahead, Outlooks)
    assert {reasons[0] for reasons in loop.look_ahead.reasons.values()} == {reason}


def test_a_copy_knows_nothing_of_the_real_future() -> None:
    loop = start(cluster(some_jobs(2, 5)), "Switching", "Noisy")
    loop.step()
    loop.step()
    world = without_real_future(loop, SimulatedFuture(np.inf)).world
    assert np.isinf(world.arrival[loop.world.status == 0]).all()
    assert (world.stretch[loop.world.done == 0] == 1.0).all()
    np.testing.assert_array_equal(world.ends, np.maximum(world.work, world.done))
    drawn = without_real_future(loop, SimulatedFuture(np.inf, 3)).world
    assert (drawn.stretch != loop.world.stretch)[loop.world.done == 0].all()
    assert isinstance(loop, SimulationLoop)
