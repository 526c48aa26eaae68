"""Rules of other packages: found, run among the built-in ones, and refused where they are wrong."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import pytest
from clusters import instructions, told, workload
from random_clusters import some_policy, some_workload

from gpusched_dsl.policies import plug_ins as added_module
from gpusched_dsl.policies.controlled_search import run
from gpusched_dsl.policies.kernels.construct import look_up, make_scratch
from gpusched_dsl.policies.kernels.drawing import draw_passes, make_pool
from gpusched_dsl.policies.kernels.free_capacity import has_room
from gpusched_dsl.policies.plug_ins import FinishRule, Move, PlaceRule, plug_ins, run_passes
from gpusched_dsl.policies.search import SearchSettings
from gpusched_dsl.policies.workload import NONE, Instructions, Schedule, Workload, empty_schedule

Install = Callable[..., None]


@dataclass
class Entry:
    name: str
    rule: object

    def load(self) -> object:
        return self.rule


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Has rules found as if packages had brought them."""

    def these(*rules: object) -> None:
        entries = [Entry(f"e{at}", rule) for at, rule in enumerate(rules)]
        found = importlib.metadata.entry_points

        def with_these(**asked: str) -> object:
            return entries if asked.get("group") == added_module.GROUP else found(**asked)

        monkeypatch.setattr(importlib.metadata, "entry_points", with_these)
        plug_ins.cache_clear()

    yield these
    plug_ins.cache_clear()


def last_node(work: Workload, plan: Schedule, job: int, way: int) -> tuple[int, int] | None:
    """The last node in use with room for the way, of its kind."""
    for n in range(len(plan.kind) - 1, -1, -1):
        if way != NONE and plan.jobs[n] > 0 and plan.kind[n] == work.kind[way] and has_room(work, plan, n, way):
            return n, way
    return None


def pair() -> Workload:
    """Two nodes of two GPUs; four jobs of one."""
    times = {(j, 0, 1): 1.0 for j in range(4)} | {(0, 0, 2): 0.6}
    return workload([{"units": 2, "family": 0, "price": 1.0}], [NONE] * 2, [9] * 4, [1] * 4, [5] * 4, times)


def with_codes(lines: Instructions, place: list[str], finish: list[str]) -> Instructions:
    places, finishes = plug_ins().place_codes(), plug_ins().finish_codes()
    return lines._replace(
        place=np.array([places[name] for name in place]), finish=np.array([finishes[name] for name in finish], np.int64)
    )


@pytest.mark.slow
def test_an_added_rule_places_jobs(install: Install) -> None:
    install(PlaceRule("last_node", "the last node in use that has room", last_node))
    work = pair()
    lines = with_codes(instructions(work, (), order=(0, 1, 2, 3)), ["last_node", "new_node"], [])
    plan = run(work, lines, SearchSettings(iterations=3)).schedule
    assert plan.node.tolist() == [0, 0, 1, 1]
    lines = with_codes(lines, ["new_node", "last_node"], [])
    assert run(work, lines, SearchSettings()).schedule.node.tolist() == [0, 1, 1, 0]


def test_an_added_rule_finishes(install: Install) -> None:
    def faster(work: Workload, plan: Schedule, queue: np.ndarray) -> None:
        for j in queue:
            n = plan.node[j]
            if n != NONE and plan.used[n] == 1 and work.way_at[j, plan.kind[n], 2] != NONE:
                plan.way[j], plan.used[n] = work.way_at[j, plan.kind[n], 2], 2

    install(FinishRule("faster", "two GPUs for jobs that are alone", faster))
    work = pair()
    lines = with_codes(instructions(work, (), order=(0,)), ["new_node"], ["faster"])
    assert told(work, run(work, lines, SearchSettings()).schedule) == [(0, [(0, 2)])]


def test_a_rule_that_finds_no_room_is_told_so(install: Install) -> None:
    install(PlaceRule("always", "the first node", lambda work, plan, job, way: (0, way)))
    work = pair()
    lines = with_codes(instructions(work, (), order=(0, 1, 2)), ["always"], [])
    with pytest.raises(ValueError, match="`always` places job 2 on node 0"):
        run(work, lines, SearchSettings())


def test_names_are_taken_once(install: Install) -> None:
    install(PlaceRule("best_fit", "", last_node))
    with pytest.raises(ValueError, match="`best_fit` exists already"):
        plug_ins()
    install(Move("shake", "", max), Move("shake", "", max))
    with pytest.raises(ValueError, match="`shake` exists already"):
        plug_ins()
    install(last_node)
    with pytest.raises(ValueError, match="`e0`"):
        plug_ins()


def test_both_loops_run_the_built_in_rules_alike() -> None:
    for number in range(200):
        rng = np.random.default_rng(number)
        work = some_workload(rng)
        _, lines = some_policy(rng, work)
        plans = []
        for passes in (draw_passes, run_passes):
            start, plan = empty_schedule(work), empty_schedule(work)
            pool, scratch = make_pool(plan, 3), make_scratch(work, lines.node_list)
            stream = np.random.default_rng(number)
            passes(work, look_up(work), lines, scratch, start, plan, pool, 0, 3, 0, stream)
            plans.append((plan, pool.price[: pool.held[0]].tolist(), stream.random()))
        assert plans[0][1:] == plans[1][1:], number
        assert all(np.array_equal(a, b) for a, b in zip(plans[0][0], plans[1][0], strict=True)), number
