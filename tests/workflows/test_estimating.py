"""Estimates against exact results: conditional distributions, runs without random quantities, and shared state."""

from __future__ import annotations

import numpy as np
import pytest
from asking_texts import DRAWN, THREE_JOBS, read

from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.online.loops.branching import fork, run_until
from gpusched_dsl.online.loops.events import EventLoop
from gpusched_dsl.online.open import open_run
from gpusched_dsl.online.run_config import RunConfig
from gpusched_dsl.online.simulation.realisation import redraw
from gpusched_dsl.workflows.estimate import estimate

NOISY = (
    THREE_JOBS
    + """
online Broken for CapacityPlanning extends EveryEvent {
  outage n in Nodes every exponential(mean = 3[h]) lasting uniform(0.5[h], 1.5[h]);
}
"""
)


def opened(text: str, online: str, method: str, seed: int = 0) -> EventLoop:
    loop = open_run(read(text), RunConfig(online=online, method=method, seed=seed))
    assert isinstance(loop, EventLoop)
    loop.fast_replay = None
    return loop


@pytest.mark.quick(3)
@pytest.mark.parametrize("job", ["J1", "J2", "J3"])
@pytest.mark.parametrize("at", [None, 1.0])
def test_where_nothing_is_drawn_the_run_itself_is_told(job: str, at: float | None) -> None:
    found = estimate(read(THREE_JOBS), job, RunConfig(method="Greedy", online="EveryEvent"), at=at, samples=50)
    whole = opened(THREE_JOBS, "EveryEvent", "Greedy")
    world = whole.run().world
    code = int(job[1]) - 1
    assert (found.samples, found.drawn) == (1, False)
    assert found.start[0] == pytest.approx(world.first_start[code])
    assert found.end[0] == pytest.approx(world.end[code])
    assert found.cost[0] == pytest.approx(sum(amounts[code] for amounts in world.ledger.jobs.values()))
    assert found.tardiness[0] == pytest.approx(max(0.0, world.end[code] - world.due[code]))
    assert "no random quantities: this is the result" in found.lines()


def test_an_end_is_drawn_from_what_is_left_of_its_law() -> None:
    """Of all lengths between 0 and 100, 30 % are late; of those that are beyond 40, 50 %."""
    before = estimate(read(DRAWN), "j1", RunConfig(method="Greedy", online="EveryEvent"), samples=300)
    assert abs(before.end.mean() - 50) < 3 * 100 / np.sqrt(12 * 300)
    assert before.late is not None
    assert abs(before.late - 0.3) < 3 * np.sqrt(0.3 * 0.7 / 300)
    seed = next(s for s in range(50) if opened(DRAWN, "EveryEvent", "Greedy", s).world.ends[0] > 45)
    config = RunConfig(method="Greedy", online="EveryEvent", seed=seed)
    later = estimate(read(DRAWN), "j1", config, at=40.0, samples=300)
    assert later.end.min() > 40
    assert abs(later.end.mean() - 70) < 3 * 60 / np.sqrt(12 * 300)
    assert later.late is not None
    assert abs(later.late - 0.5) < 3 * np.sqrt(0.25 / 300)
    np.testing.assert_allclose(later.cost, 2 * later.end + 3 * np.maximum(0, later.end - 70), rtol=1e-9)
    assert later.quantile("end", 0.5) == pytest.approx(np.median(later.end))
    assert later.to_dict()["late"] == later.late


def test_the_same_seed_gives_the_same_estimate_and_more_runs_change_none_before() -> None:
    few, more, other = (
        estimate(read(DRAWN), "j1", RunConfig(method="Greedy", online="EveryEvent", seed=seed), samples=count)
        for count, seed in ((3, 1), (5, 1), (3, 2))
    )
    assert more.end[:3].tolist() == few.end.tolist()
    assert other.end.tolist() != few.end.tolist()


def test_a_job_that_has_begun_shows_how_fast_it_is() -> None:
    loop = opened(NOISY, "NoisyTimes", "Greedy")
    run_until(loop, 1.5)
    world = loop.world
    begun = world.done > 0
    assert begun.any()
    assert not begun.all()
    draws = [
        redraw(loop.online, loop.base, world.ends, world.stretch, world.done, begun, seed)[1] for seed in range(20)
    ]
    assert all((stretch[begun] == world.stretch[begun]).all() for stretch in draws)
    assert len({tuple(stretch[~begun]) for stretch in draws}) == 20


def test_a_copy_leaves_the_run_alone() -> None:
    untouched = opened(NOISY, "Broken", "Greedy", 3).run()
    loop = opened(NOISY, "Broken", "Greedy", 3)
    run_until(loop, 1.5)
    copies = [fork(loop, seed) for seed in range(5)]
    ends = [copy.run().world.end.tolist() for copy in copies]
    assert len({tuple(e) for e in ends}) > 1
    after = loop.run()
    assert after.world.end.tolist() == untouched.world.end.tolist()
    assert after.total == untouched.total
    assert [s.time for s in after.steps] == [s.time for s in untouched.steps]


def test_failures_to_come_are_drawn_from_what_is_left_of_their_law() -> None:
    """While a node is down, it comes back within 1.5 h of its failure; exponential times to failure know no age."""
    loop = opened(NOISY, "Broken", "Greedy", 3)
    outage = loop.nodes.outages[0]
    failed = float(outage.next[0])
    loop.world.now = failed + 1.2
    outage.at(failed, 1e-9)
    again = [float(outage.redraw(failed + 1.2, seed).next[0]) for seed in range(200)]
    assert min(again) > failed + 1.2
    assert max(again) <= failed + 1.5 + 1e-9
    outage.at(float(outage.next[0]), 1e-9)
    since = float(outage.since[0])
    waits = np.array([outage.redraw(since + 10, seed).next[0] - since - 10 for seed in range(400)])
    assert abs(waits.mean() - 3) < 3 * 3 / np.sqrt(400)


def test_a_job_that_never_gets_a_place_is_told_as_late() -> None:
    found = estimate(read(THREE_JOBS), "J3", RunConfig(method="Urgent", online="EveryArrivalAndCompletion"))
    assert found.unfinished == 1
    assert np.isnan(found.end[0])
    assert found.late == 1.0
    assert "it does not end in 100 % of the runs" in found.lines()


@pytest.mark.parametrize(
    ("job", "at", "code"), [("J9", None, "GSM6021"), ("J1", 100.0, "GSM6022"), ("J2", 3.5, "GSM6022")]
)
def test_what_cannot_be_estimated(job: str, at: float | None, code: str) -> None:
    with pytest.raises(DiagnosticError) as raised:
        estimate(read(THREE_JOBS), job, RunConfig(method="Greedy", online="EveryEvent"), at=at)
    assert [d.code for d in raised.value.diagnostics] == [code]
