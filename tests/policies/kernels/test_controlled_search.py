"""The engine on worked instances, and properties of every run: seeds, threads, stopping, the pool."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from clusters import instructions, told, workload
from planning_oracles import GREEDY, TIDY, capacity, cp_6, cp_9, cp_10, cp_ls, drawn, right_sized
from random_clusters import some_policy, some_workload

from gpusched_dsl.policies import search
from gpusched_dsl.policies.controlled_search import run
from gpusched_dsl.policies.controllers import split
from gpusched_dsl.policies.kernels.construct import look_up, make_scratch
from gpusched_dsl.policies.kernels.drawing import draw_passes, make_pool, pooled_schedule
from gpusched_dsl.policies.kernels.pricing import PRICES, price
from gpusched_dsl.policies.rules import FINISH_CODES
from gpusched_dsl.policies.search import SearchSettings
from gpusched_dsl.policies.verifying import BrokenSchedule, verify, violations
from gpusched_dsl.policies.workload import NONE, empty_schedule


def test_two_short_jobs_share_a_node() -> None:
    found = run(cp_6(), instructions(cp_6(), GREEDY, TIDY), SearchSettings())
    assert told(cp_6(), found.schedule) == [(0, [(0, 1), (1, 1)])]
    assert found.price == pytest.approx(2.0)


@pytest.mark.slow
def test_greedy_packs_as_worked_out() -> None:
    work = cp_9()
    found = run(work, instructions(work, GREEDY, TIDY), SearchSettings())
    assert told(work, found.schedule) == [(0, [(0, 3), (2, 1)]), (0, [(1, 4)])]
    assert found.price == pytest.approx(16.6)
    assert price(work, found.schedule, PRICES["first_end"]) == pytest.approx(15.2)


def test_greedy_postpones_the_wrong_job_and_draws_repair_it() -> None:
    work = cp_10()
    found = run(work, instructions(work, GREEDY, TIDY), SearchSettings())
    assert told(work, found.schedule) == [(0, [(2, 1)]), (1, [(0, 2)])]
    assert found.price == pytest.approx(103.2)
    for kind, least in (("total", 5.0), ("first_end", 3.2)):
        best = run(work, drawn(work), SearchSettings(iterations=1000, keep=10, price=kind), seed=1)
        assert best.price == pytest.approx(least)
        assert told(work, best.schedule) == [(0, [(1, 1)]), (1, [(0, 2)])]


@pytest.mark.parametrize("existing", ["best_fit", "first_fit"])
@pytest.mark.parametrize("subopt", ["best_suboptimal", "first_suboptimal"])
def test_greedy_in_four_variants(existing: str, subopt: str) -> None:
    work = cp_ls()
    found = run(work, instructions(work, (existing, "new_node", subopt), TIDY), SearchSettings())
    assert told(work, found.schedule) == [(3, [(0, 3), (3, 1)]), (3, [(1, 2), (2, 2)])]
    assert found.price == pytest.approx(13.299)
    assert found.terms.sum() == pytest.approx(13.299)
    assert price(work, found.schedule, PRICES["first_end"]) == pytest.approx(10.4)


@pytest.mark.slow
def test_moves_improve_what_passes_made() -> None:
    work = cp_9()
    moves = (("regroup_gpus", 10),)
    found = run(work, instructions(work, GREEDY, TIDY), SearchSettings(price="first_end", moves=moves))
    assert found.price == pytest.approx(14.2)


RIGHT = {
    "CP-1": (capacity(1, [(1, 0.5, 0), (2, 1.0, 0)], [3], [1], [[[4], [4, 2.4]]]), [(1, 2)]),
    "CP-2": (capacity(1, [(1, 0.5, 0), (2, 1.0, 0)], [1], [0.6], [[[4], [4, 2.4]]]), [(1, 2)]),
    "CP-6": (cp_6(), [(0, 2), (0, 2)]),
    "CP-9": (cp_9(), [(0, 3), (0, 3), (0, 4)]),
    "CP-10": (cp_10(), [(1, 2), (0, 1), (0, 1)]),
}


@pytest.mark.parametrize("name", RIGHT)
def test_jobs_alone_have_the_right_size(name: str) -> None:
    work, expected = RIGHT[name]
    ranked = right_sized(work, range(len(work.due)), ("new_node exclusive",)).ranked[work.first_way[:-1]]
    assert list(zip(work.kind[ranked].tolist(), work.size[ranked].tolist(), strict=True)) == expected


@pytest.mark.parametrize(("idle", "sizes"), [(1.0, (4, 4)), (0.3, (1, 1)), (0.0, (1, 1))])
def test_jobs_alone_leave_gpus_idle_if_that_is_cheap(idle: float, sizes: tuple[int, int]) -> None:
    work = capacity(1, [(4, 2.0, 0)], [4, 3], [1, 1], [[[4, 2.4, 1.8, 1.5]], [[3, 1.8, 1.4, 1.2]]], idle)
    ranked = right_sized(work, (0, 1), ("new_node exclusive",)).ranked[work.first_way[:-1]]
    assert tuple(work.size[ranked].tolist()) == sizes


@pytest.mark.parametrize(
    ("order", "expected"), [((0, 1), [(1, [(0, 2)])]), ((1, 0), [(0, [(1, 1)])])], ids=["FIFO, EDF", "PS"]
)
def test_baselines_give_each_job_its_own_node(order: tuple[int, int], expected: list[object]) -> None:
    work = capacity(
        1, [(1, 0.5, 0), (2, 1.0, 0)], [-0.6, 5.0], [2, 4], [[[2], [2, 1.2]], [[1], [1, 0.6]]]
    )  # J2 and J3 of the worked online example at the end of J1
    for place in (("new_node exclusive",), ("new_node exclusive", "wait"), ("new_node exclusive", "postpone")):
        assert told(work, run(work, right_sized(work, order, place), SearchSettings()).schedule) == expected


def test_waiting_holds_up_the_queue_and_postponing_does_not() -> None:
    kinds = [{"units": 2, "family": 0, "price": 1.0}, {"units": 1, "family": 1, "price": 1.0}]
    work = workload(kinds, [0, 1], [9] * 3, [1] * 3, [1] * 3, {(0, 0, 2): 1.0, (1, 0, 1): 1.0, (2, 1, 1): 1.0})
    for last, running in (("wait", [0]), ("postpone", [0, 2])):
        lines = instructions(work, ("best_fit", "new_node", last), order=(0, 1, 2))
        assert np.flatnonzero(run(work, lines, SearchSettings()).schedule.node != NONE).tolist() == running


def test_parts_of_gpus_are_packed_and_made_larger() -> None:
    times = {(j, 0, size): 20.0 / size for j in range(4) for size in (1, 2, 4)}
    allowed = np.array([size == (2, 1, 2, 1)[j] for j, _, size in sorted(times)])
    work = workload([{"units": 8, "family": 0, "price": 1.0}], [0], [99] * 4, [1] * 4, [1] * 4, times, parts=4)
    lines = instructions(work, ("best_fit", "new_node"), order=(0, 1, 2, 3), allowed=allowed)
    plan = run(work, lines, SearchSettings()).schedule
    assert plan.gpu.tolist() == [0, 0, 1, 0]
    assert plan.spare.tolist() == [[0, 2]]
    larger = run(work, lines._replace(finish=np.array([FINISH_CODES["expand_parts"]])), SearchSettings()).schedule
    assert work.size[larger.way].tolist() == [2, 1, 4, 1]
    assert larger.gpu.tolist() == [0, 0, NONE, 0]
    assert larger.used.tolist() == [8]


def test_jobs_and_nodes_are_dealt_to_controllers() -> None:
    work = capacity(3, [(4, 2.0, 0)], [3] * 5, [2] * 5, [[[8, 4.5, 3, 2.8]]] * 5)
    groups = split(work, instructions(work, GREEDY), empty_schedule(work), 2)
    assert [group.jobs.tolist() for group in groups] == [[0, 2, 4], [1, 3]]
    assert [group.nodes.tolist() for group in groups] == [[0, 2], [1]]


def test_controllers_know_nothing_of_each_other() -> None:
    work = cp_9()
    settings = SearchSettings(controllers=2, iterations=50)
    found = run(work, drawn(work), settings, seed=5)
    for group, stream in zip(
        split(work, drawn(work), empty_schedule(work), 2), np.random.SeedSequence(5).spawn(2), strict=True
    ):
        alone = run(group.work, group.instructions, SearchSettings(iterations=50), seed=0)
        assert group.jobs.tolist() in ([0, 2], [1])
        assert alone.price in (pytest.approx(10.5), pytest.approx(11.0), pytest.approx(5.5), pytest.approx(5.6))
        assert stream.spawn_key
    assert set(found.schedule.node[[0, 2]]) == {0}
    assert found.schedule.node[1] == 1


@pytest.mark.parametrize("controllers", [1, 2, 3])
def test_runs_depend_on_the_seed_alone(controllers: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(20):
        work = some_workload(np.random.default_rng(number))
        _, lines = some_policy(np.random.default_rng(number), work)
        settings = SearchSettings(iterations=30, keep=4, controllers=controllers, threads=1)
        first = run(work, lines, settings, seed=[7, number])
        monkeypatch.setattr(search, "_CALL_SECONDS", 1e-9)
        again = run(
            work, lines, SearchSettings(iterations=30, keep=4, controllers=controllers, threads=3), seed=[7, number]
        )
        monkeypatch.undo()
        assert len(first.elite) == len(again.elite)
        for one, other in zip(first.elite, again.elite, strict=True):
            assert all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))
        assert violations(work, first.schedule) == []


def test_the_pool_holds_the_best_different_schedules() -> None:
    for number in range(30):
        rng = np.random.default_rng(number)
        work = some_workload(rng)
        _, lines = some_policy(rng, work)
        found = run(work, lines, SearchSettings(iterations=40, keep=5), seed=number)
        start, look, scratch = empty_schedule(work), look_up(work), make_scratch(work, lines.node_list)
        stream = np.random.default_rng(np.random.SeedSequence(number))
        seen: list[tuple[float, int, object]] = []
        for turn in range(41):
            pool = make_pool(start, 1)
            plan = empty_schedule(work)
            draw_passes(work, look, lines, scratch, start, plan, pool, turn, turn + 1, 0, stream, None, True)
            made = pooled_schedule(pool, 0, plan)
            mark = (told(work, made), sorted(made.used[made.jobs > 0].tolist()))
            if all(mark != other for _, _, other in seen):
                seen.append((price(work, made, 0), turn, mark))
        seen.sort(key=lambda one: one[:2])
        assert [round(one[0], 9) for one in seen[:5]] == [round(price(work, one, 0), 9) for one in found.elite]
        assert found.iterations == 40


def test_drawn_passes_are_never_worse_than_the_first() -> None:
    for number in range(30):
        rng = np.random.default_rng(1_000 + number)
        work = some_workload(rng)
        _, lines = some_policy(rng, work)
        assert run(work, lines, SearchSettings(iterations=20)).price <= run(work, lines, SearchSettings()).price


def test_a_stopped_run_gives_the_best_so_far() -> None:
    work = cp_10()
    asked = iter([False, False, True])
    found = run(work, drawn(work), SearchSettings(iterations=10**9), stop=lambda: next(asked))
    assert found.stopped
    assert 0 < found.iterations < 10**9
    assert run(work, drawn(work), SearchSettings(iterations=5), stop=lambda: True).price == pytest.approx(103.2)


def test_broken_schedules_are_noticed() -> None:
    work = cp_9()
    good = run(work, instructions(work, GREEDY, TIDY), SearchSettings()).schedule
    for name in ("node", "way", "kind", "used", "jobs", "opened"):
        for change in (1, -1):
            bad = good._replace(
                **{name: getattr(good, name) + np.array([change] + [0] * (len(getattr(good, name)) - 1))}
            )
            with pytest.raises(BrokenSchedule):
                verify(work, bad)
    with pytest.raises(ValueError, match="unknown price"):
        run(work, instructions(work, GREEDY), SearchSettings(price="cheap"))


PROGRAM = """
import json, sys
sys.path.insert(0, {folder!r})
import numpy as np
from random_clusters import some_policy, some_workload
from gpusched_dsl.policies.controlled_search import run
from gpusched_dsl.policies.search import SearchSettings
found = []
for number in range(60):
    rng = np.random.default_rng(number)
    work = some_workload(rng)
    _, lines = some_policy(rng, work)
    elite = run(work, lines, SearchSettings(iterations=5, keep=3, controllers=1 + number % 2), seed=number).elite
    found.append([[a.tolist() for a in plan._replace(left=plan.opened)] for plan in elite])
print(json.dumps(found))
"""


@pytest.mark.slow
def test_compiled_and_plain_python_give_the_same() -> None:
    program = PROGRAM.format(folder=str(Path(__file__).parent))
    outputs = []
    for plain in ("", "1"):
        environment = {k: v for k, v in os.environ.items() if k != "GSDSL_PYTHON_KERNELS"}
        environment["GSDSL_PYTHON_KERNELS" if plain else "GSDSL_COMPILED_KERNELS"] = "1"
        done = subprocess.run(
            [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True, timeout=280
        )
        outputs.append(json.loads(done.stdout))
    assert outputs[0] == outputs[1]
