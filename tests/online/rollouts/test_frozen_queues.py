"""Frozen queues: their simulated cost is that of the run, and the search finds what enumeration finds."""

from __future__ import annotations

import itertools
from collections.abc import Mapping

import numpy as np
import pytest
from online_texts import driver, machines
from rollout_texts import cluster, some_jobs

from gpusched_dsl.online.planners.protocol import SimulatedFuture
from gpusched_dsl.online.rollouts.formulas import JobStates
from gpusched_dsl.online.rollouts.frozen import FrozenRollout, can_be_frozen
from gpusched_dsl.online.rollouts.light import LightRollout
from gpusched_dsl.online.rollouts.outlook import Outlooks, RunOutlook
from gpusched_dsl.policies.workload import Instructions, Schedule

BLOCK = "EveryArrivalAndCompletion"
ALONE = "policy Alone for CapacityPlanning { portfolio METHOD, EDF; }"


def rollouts(text: str, online: str, method: str, real: bool = False) -> list[LightRollout]:
    """Return the rollouts by a policy at each plan of a run."""
    found: list[LightRollout] = []
    original = Outlooks.__call__

    def outlook(self, loop, part, instance):  # type: ignore[no-untyped-def]
        made: RunOutlook = original(self, loop, part, instance)
        planner = loop.setup.planner.members[0]
        light = made._light(planner, SimulatedFuture(np.inf, real=real))
        assert light is not None
        found.append(light)
        return made

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Outlooks, "__call__", outlook)
        driver(text + ALONE.replace("METHOD", method), online, "S", "Alone").run()
    return found


def changed(frozen: FrozenRollout, rng: np.random.Generator) -> Instructions:
    """Return lines with a drawn queue and drawn lists of ways."""
    lines, work = frozen.unchanged(), frozen.rollout.cluster.work
    rng.shuffle(lines.order)
    for first, last in itertools.pairwise(work.first_way.tolist()):
        ways = lines.ranked[first:last]
        rng.shuffle(ways[: int((ways >= 0).sum())])
    return lines


def cost_of_run(light: LightRollout, lines: Instructions) -> Mapping[str, float]:
    """Return the cost of a rollout whose plans all follow these lines, by the loop of runs."""

    def place(state: JobStates, time, runs, node, way, variation=None) -> Schedule:  # type: ignore[no-untyped-def]
        here = lines._replace(order=lines.order[state.present[lines.order]])
        return light.policy.pass_by(here, time, runs, node, way)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(light.policy, "place", place)
        values = FrozenRollout.plan(FrozenRollout(light), lines)
        return light.cost(values)._asdict()


@pytest.mark.quick(2)
@pytest.mark.parametrize("online", [BLOCK, "Whole", "Noisy", "Periodic"])
@pytest.mark.parametrize("method", ["Greedy", "CongestionATC"])
@pytest.mark.parametrize("real", [False, True])
def test_the_cost_is_that_of_the_run(online: str, method: str, real: bool) -> None:
    rng, several = np.random.default_rng(1), 0
    for light in rollouts(cluster(some_jobs(2, 6)), online, method, real):
        frozen = FrozenRollout(light)
        assert can_be_frozen(light.future.loop, light.policy)
        if len(frozen.codes) == 0:
            continue
        for lines in (frozen.unchanged(), changed(frozen, rng)):
            several += len(frozen.codes) > 2
            assert frozen.cost(lines) == pytest.approx(cost_of_run(light, lines)["money"], rel=1e-9)
    assert several >= 4


def test_a_later_plan_goes_on_with_the_same_schedule() -> None:
    """Jobs that have ended are left out; those that are there keep their order and their ways."""
    early, *_, late = (FrozenRollout(light) for light in rollouts(cluster(some_jobs(2, 6)), BLOCK, "Greedy"))
    rng = np.random.default_rng(3)
    for before, now in ((early, late), (late, early)):
        stated = before.queue_of(changed(before, rng))
        found = now.queue_of(now.with_queue(stated))
        known, kept = np.isin(found.jobs, stated.jobs), np.isin(stated.jobs, found.jobs)
        assert sorted(found.jobs.tolist()) == sorted(now.codes.tolist())
        assert found.jobs[known].tolist() == stated.jobs[kept].tolist()
        for one, other in zip(np.flatnonzero(known).tolist(), np.flatnonzero(kept).tolist(), strict=True):
            ways = found.ways[found.first[one] : found.first[one + 1]]
            assert ways.tolist() == stated.ways[stated.first[other] : stated.first[other + 1]].tolist()


@pytest.mark.quick(1)
@pytest.mark.parametrize("seed", range(4))
def test_the_search_finds_the_best_order(seed: int) -> None:
    """One machine, six jobs at once: the least weighted tardiness of all 720 orders, exactly."""
    rng = np.random.default_rng(seed)
    time, weight = np.round(rng.uniform(0.5, 3, 6), 3), np.round(rng.uniform(0.5, 5, 6), 3)
    due = np.round(rng.uniform(0.5, 8, 6), 3)
    orders = (np.array(order) for order in itertools.permutations(range(6)))
    least = min(float((weight[o] * np.maximum(0.0, np.cumsum(time[o]) - due[o])).sum()) for o in orders)
    table = "table Jobs: weight[$/h] = " + "  ".join(f"j{j} {w!r}" for j, w in enumerate(weight.tolist())) + ";"
    text = machines(1, [(0, t) for t in time.tolist()], table, due=due.tolist()) + (
        "policy Longest for Machines extends FIFO { order j in Jobs by left[j] descending; }"
        "policy P for Machines { portfolio Longest, FIFO; vary 3000 plans; }"
    )
    outcome = driver(text, "Events", "S", "P").run()
    assert outcome.total == pytest.approx(float(time.sum()) + least, rel=1e-9)


def test_how_a_search_is_cut_into_calls_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    light = rollouts(cluster(some_jobs(4, 6)), BLOCK, "Greedy")[-1]
    found = []
    for part in (7, 200):
        monkeypatch.setattr("gpusched_dsl.online.rollouts.frozen.PART", part)
        frozen = FrozenRollout(light)
        *_, (cost, lines) = frozen.search(frozen.unchanged(), 60, np.random.default_rng(5))
        found.append((cost, lines.order.tolist(), lines.ranked.tolist()))
    assert found[0] == found[1]
    assert found[0][0] <= FrozenRollout(light).cost(FrozenRollout(light).unchanged())


MORE = """
policy ByTime for CapacityPlanning extends Greedy { finish grow_by_one by time; }
online Rarely for CapacityPlanning extends EveryEvent { replan on arrival, every period; }
"""


@pytest.mark.parametrize(("online", "method"), [(BLOCK, "Slack"), (BLOCK, "ByTime"), ("Rarely", "Greedy")])
def test_what_frozen_queues_cannot_follow(online: str, method: str) -> None:
    light = rollouts(cluster(some_jobs(2, 4), more=MORE), online, method)[0]
    assert not can_be_frozen(light.future.loop, light.policy)


@pytest.mark.quick(2)
@pytest.mark.parametrize("online", [BLOCK, "Whole"])
def test_after_the_last_arrival_a_repeated_past_costs_what_the_run_of_the_member_costs(online: str) -> None:
    """The leader of a portfolio is the member with the least of these costs."""
    text = cluster(some_jobs(3, 7))
    costs: list[float] = []
    original = Outlooks.__call__

    def outlook(self, loop, part, instance):  # type: ignore[no-untyped-def]
        made: RunOutlook = original(self, loop, part, instance)
        if np.isinf(loop.world.next_arrival()):
            member = loop.setup.planner.members[0]
            rollout = made.varied(None, member, SimulatedFuture(np.inf, replayed=made.arrived()))
            assert rollout is not None
            costs.append(rollout.cost(rollout.unchanged).money)
        return made

    for method in ("Greedy", "CongestionATC", "Slack"):
        costs.clear()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Outlooks, "__call__", outlook)
            driver(text + ALONE.replace("METHOD", method), online, "S", "Alone").run()
        assert len(costs) > 2
        assert costs == pytest.approx([driver(text, online, "S", method).run().total] * len(costs), rel=1e-9)
