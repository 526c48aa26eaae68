"""Variations of policies: what they change, that their simulated cost is the real one, and the best of all orders."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest
from found_codes import raises_code
from online_texts import driver, machines, run, setup
from rollout_texts import cluster, some_jobs

import gpusched_dsl as gs
from gpusched_dsl.online.journal.recorder import Recorder
from gpusched_dsl.online.loops.base import SimulationLoop
from gpusched_dsl.online.open import loop_of
from gpusched_dsl.online.planners.protocol import SimulatedFuture
from gpusched_dsl.online.planners.variations import Variation
from gpusched_dsl.online.rollouts.outlook import RunOutlook
from gpusched_dsl.online.run_info import RunInfo
from gpusched_dsl.online.run_record import RunOutcome

BLOCK = "EveryArrivalAndCompletion"
VARIED = """
policy Plain for CapacityPlanning { portfolio Greedy, ATC, EDF; continue with Greedy, ATC; }
policy Varied extends Plain { vary 20 plans; }
policy VariedOnes for CapacityPlanning { portfolio Greedy, ATC, Slack; futures 2 seed 4; vary 20 plans; }
policy VariedFutures extends Varied { futures 8 seed 3; }
policy VariedMixtures extends Varied { mix 6 plans; }
policy VariedArrivals extends Varied { lookahead 3[h]; futures 8 with arrivals seed 5; }
"""


def total(text: str, method: str, online: str = BLOCK, **given: object) -> float:
    return run(text, online, "S", method, **given).total  # type: ignore[arg-type]


# --- what a variation is ---------------------------------------------------------------------------------------------


def test_jobs_move_in_the_queue_by_places() -> None:
    first, kind = np.arange(4), np.zeros(3, int)
    variation = Variation(np.array([3, 5, 8]), first, kind, np.array([2.0, 0, 0]), np.ones(3))
    assert variation.reorder(np.array([0, 1, 2, 3])).tolist() == [1, 0, 2, 3]  # job 0 to place 2
    assert variation.reorder(np.array([0, 2])).tolist() == [2, 0]
    assert variation.reorder(np.array([3, 4])).tolist() == [3, 4]  # unknown jobs


def test_changes_are_kept_for_jobs_with_the_same_ways() -> None:
    before = Variation(
        np.array([1, 4, 7]), np.array([0, 2, 3, 6]), np.zeros(6, int), np.array([0.1, 0.2, 0.3]), np.arange(1.0, 7.0)
    )
    now = Variation.none(np.array([2, 4, 7]), np.array([0, 1, 2, 4]), np.zeros(4, int)).changed_as_in(before)
    assert now.shift.tolist() == [0.0, 0.2, 0.0]  # job 7 has two ways instead of three
    assert now.factor.tolist() == [1.0, 3.0, 1.0, 1.0]


@pytest.mark.quick(2)
@pytest.mark.parametrize(("online", "seed"), [(o, s) for s in range(4) for o in (BLOCK, "Periodic", "Whole", "Noisy")])
def test_without_changes_it_is_the_policy(online: str, seed: int) -> None:
    """The plan, and the cost of the simulated run, with what a policy keeps and without."""
    found = []
    text = cluster(some_jobs(seed, 6), more=VARIED)
    original = RunOutlook.varied

    def varied(self, running, planner, future):  # type: ignore[no-untyped-def]
        rollout = original(self, running, planner, future)
        if rollout is not None:
            plan = rollout.plan(rollout.unchanged)
            found.append((rollout.cost(rollout.unchanged), self.cost(plan, planner, future), future))
        return rollout

    RunOutlook.varied = varied  # type: ignore[method-assign]
    try:
        driver(text, online, "S", "VariedOnes").run()
    finally:
        RunOutlook.varied = original  # type: ignore[method-assign]
    assert len(found) > 10
    for cost, of_plan, future in found:
        assert isinstance(future, SimulatedFuture)
        np.testing.assert_allclose(cost, of_plan, rtol=1e-12)


# --- what is found ---------------------------------------------------------------------------------------------------


@pytest.mark.quick(2)
@pytest.mark.parametrize("seed", range(6))
def test_the_best_order_is_found(seed: int) -> None:
    """One machine and six jobs at once: the least weighted tardiness of all orders, which no queue finds."""
    rng = np.random.default_rng(seed)
    time, weight = np.round(rng.uniform(0.5, 3, 6), 3), np.round(rng.uniform(0.5, 5, 6), 3)
    due = np.round(rng.uniform(0.5, 8, 6), 3)
    orders = (np.array(order) for order in itertools.permutations(range(6)))
    least = min(float((weight[o] * np.maximum(0.0, np.cumsum(time[o]) - due[o])).sum()) for o in orders)
    table = "table Jobs: weight[$/h] = " + "  ".join(f"j{j} {w!r}" for j, w in enumerate(weight.tolist())) + ";"
    text = machines(1, [(0, t) for t in time.tolist()], table, due=due.tolist()) + (
        "policy Shortest for Machines extends FIFO { order j in Jobs by left[j]; }"
        "policy P for Machines { portfolio FIFO, Shortest; vary 400 plans; }"
    )
    queues = min(run(text, "Events", "S", name).total for name in ("FIFO", "Shortest"))
    found = run(text, "Events", "S", "P").total
    assert found == pytest.approx(float(time.sum()) + least, rel=0.005)
    assert found <= queues + 1e-9


@pytest.mark.quick(3)
@pytest.mark.parametrize("seed", range(12))
def test_when_all_jobs_are_there_a_run_costs_no_more(seed: int) -> None:
    """Nothing is unknown, so later plans can follow the same variation to the end at the cost that was simulated."""
    text = cluster([job._replace(submitted=0.0) for job in some_jobs(seed, 4 + seed % 3)], more=VARIED)
    searched = []
    original = RunOutlook.best_schedules

    def best_schedules(self, *given):  # type: ignore[no-untyped-def]
        searched.append(self.loop.world.now)
        return original(self, *given)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(RunOutlook, "best_schedules", best_schedules)
        with_variations = total(text, "Varied")
    assert searched
    assert with_variations <= total(text, "Plain") * (1 + 1e-9)
    assert total(text, "VariedMixtures") <= total(text, "Plain") * (1 + 1e-9)


def test_notes_name_the_varied_policy() -> None:
    notes: list[str] = []

    def note(loop: SimulationLoop) -> None:
        assert loop.last_result is not None
        notes.extend(loop.last_result.plan.notes)

    driver(cluster(some_jobs(1, 8), more=VARIED), BLOCK, "S", "Varied", on_plan=note).run()
    assert any(note.startswith("plan of a variation of ") for note in notes)


# --- beside other mechanisms -----------------------------------------------------------------------------------------


def test_a_seed_gives_the_same_run() -> None:
    text = cluster(some_jobs(2, 7), more=VARIED)
    assert total(text, "Varied", seed=4) == total(text, "Varied", seed=4)


@pytest.mark.parametrize(
    ("method", "online"),
    [("VariedFutures", "Noisy"), ("VariedArrivals", BLOCK), ("VariedArrivals", "Noisy"), ("VariedMixtures", BLOCK)],
)
def test_drawn_futures_and_mixtures(method: str, online: str) -> None:
    outcome = run(cluster(some_jobs(3, 3), more=VARIED), online, "S", method)
    assert not np.isnan(outcome.world.end).any()


@pytest.mark.parametrize("online", ["Failing", "Changing"])
def test_policies_without_rollouts_on_arrays_are_not_varied(online: str) -> None:
    text = cluster(some_jobs(4, 5), more=VARIED)
    assert total(text, "Varied", online) == total(text, "Plain", online)


def test_without_time_nothing_is_varied() -> None:
    text = cluster(some_jobs(5, 5), more=VARIED)
    assert total(text, "Varied", time_limit=0.0) == total(text, "Plain", time_limit=0.0)


def test_a_recorded_run_resumes(tmp_path: Path) -> None:
    """Recorded runs search anew at each plan, so that they go on as they would have gone."""
    text = cluster(some_jobs(6, 5), more=VARIED)

    def recorded(name: str, steps: int) -> RunOutcome:
        stateless = setup(text, BLOCK, "S", "Varied").stateless()
        with Recorder(tmp_path / name, stateless, RunInfo("Varied", None, "S", {}, {}, {})) as recorder:
            loop = loop_of(stateless, journal=recorder.steps)
            loop.stop = lambda: len(loop.steps) >= steps
            outcome = loop.run()
            recorder.close_with(outcome)
        return outcome

    whole = recorded("whole.db", 10**6)
    assert 0 < len(recorded("run.db", 3).steps) < len(whole.steps)
    resumed = recorded("run.db", 10**6)
    assert [s.time for s in resumed.steps] == [s.time for s in whole.steps]
    np.testing.assert_array_equal(resumed.world.end, whole.world.end)


def test_the_number_of_variations() -> None:
    text = cluster(some_jobs(0, 4), more=VARIED.replace("vary 20 plans", "vary 20 - 20 plans"))
    with raises_code("GSM1670", "0", at="20 - 20"):
        run(text, BLOCK, "S", "Varied")


def test_solvers_and_drawn_policies_are_not_varied() -> None:
    """Their plans compete with variations of the queue beside them."""
    text = cluster(some_jobs(7, 4), more=VARIED) + (
        "policy Beside for CapacityPlanning { portfolio Few, Greedy, highs(time_limit = 2[s]); "
        "futures 2; vary 5 plans; }"
        "policy Few for CapacityPlanning extends RandomisedGreedy { repeat 3 keep best total; }"
    )
    names = set()
    original = RunOutlook.varied

    def varied(self, running, planner, future):  # type: ignore[no-untyped-def]
        found = original(self, running, planner, future)
        names.add((planner.name, found is not None))
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(RunOutlook, "varied", varied)
        run(text, BLOCK, "S", "Beside")
    assert names == {("Few", False), ("Greedy", True), ("highs", False)}


def test_why_names_the_variation(tmp_path: Path) -> None:
    """Its queue is not that of the policy, so no turn is shown."""
    (tmp_path / "c.gsm").write_text(cluster(some_jobs(1, 8), more=VARIED), encoding="utf-8")
    workload = gs.load(tmp_path / "c.gsm")
    found = [workload.why(f"j{j}", 2.0, "S", online=BLOCK, method="Varied") for j in (3, 4)]
    told = ["\n".join(answer.lines()) for answer in found]
    assert any("by the plan of Varied, which follows a variation of " in lines for lines in told)
