"""Futures with the jobs that the generators of the scenario draw by other seeds."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from found_codes import raises_code
from online_texts import driver, run
from rollout_texts import HEAD, cluster, some_jobs
from test_rollouts import compared

import gpusched_dsl as gs
from gpusched_dsl.language.formatting.formatter import format_text
from gpusched_dsl.online.loops.base import SimulationLoop
from gpusched_dsl.online.loops.events import EventLoop
from gpusched_dsl.online.planners.protocol import FutureCost, SimulatedFuture
from gpusched_dsl.online.rollouts.forked import without_real_future
from gpusched_dsl.online.rollouts.generated import GeneratedJobs
from gpusched_dsl.online.rollouts.outlook import Outlooks
from gpusched_dsl.online.simulation.world import FUTURE

BLOCK = "EveryArrivalAndCompletion"
AHEAD = """
policy Generating for CapacityPlanning {
  portfolio Greedy, EDF, Slack;
  futures 2 with generated arrivals seed 5;
  continue with ATC, Slack;
}
policy Own for CapacityPlanning { portfolio Greedy, ATC, EDF; futures 3 with generated arrivals; lookahead 2[h]; }
"""


def generated(jobs: int = 8, seed: int = 1, more: str = "") -> str:
    options = f"(seed = {seed}, jobs = {jobs}, nodes = 3, interarrival = 900, catalogue = azure6)"
    return f"""{HEAD}{AHEAD}{more}
scenario S for CapacityPlanning {{
  node_rule = at_most;
  period = 0.75[h];
  Nodes = {{ n1, n2, n3 }};
  generate capacity_types (catalogue = azure6) {{ Types = type; gpus[type] = gpus; price[type] = price; }}
  generate capacity_jobs {options} {{
    Jobs = job; submitted[job] = submitted; deadline[job] = due; weight[job] = weight;
  }}
  generate capacity_times {options} {{ Runnable = (job, type, gpus); exec_time[job, type, gpus] = time; }}
}}
"""


def start(text: str, method: str, online: str = BLOCK) -> EventLoop:
    loop = driver(text, online, "S", method, seed=1)
    assert isinstance(loop, EventLoop)
    return loop


@pytest.mark.quick(3)
@pytest.mark.parametrize(
    ("method", "online"),
    [("Own", BLOCK), ("Generating", "Noisy"), ("Own", "Whole"), ("Generating", BLOCK), ("Generating", "Periodic")],
)
def test_rollouts_on_arrays_are_those_of_the_run(method: str, online: str) -> None:
    loop = start(generated(5), method, online)
    found: list[tuple[FutureCost, FutureCost]] = []
    with compared(found):
        loop.run()
    assert len(found) >= 10
    assert isinstance(loop.look_ahead, Outlooks)
    assert not any(loop.look_ahead.reasons.values())
    np.testing.assert_allclose([light for light, _ in found], [exact for _, exact in found], rtol=1e-9, atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize(("method", "online"), [("Own", "Failing"), ("Own", "Changing")])
def test_also_where_only_copies_of_the_run_can_be_simulated(method: str, online: str) -> None:
    """Futures `with arrivals` are refused there: copies of jobs need the arrays."""
    loop = start(generated(5), method, online)
    assert loop.run().ended == "finished"
    assert isinstance(loop.look_ahead, Outlooks)
    assert any(loop.look_ahead.reasons.values())


def test_drawn_jobs_are_those_of_the_scenario_with_another_seed() -> None:
    """Those that arrive after now, with their data; the real ones that have not arrived never do."""
    loop = start(generated(), "Generating")
    while loop.world.now < 1.0:
        loop.step()
    pool = GeneratedJobs()
    other = pool.loop_with(loop, 12)
    count, world = len(loop.world.status), other.world
    assert len(world.status) == 2 * count
    assert np.isinf(world.arrival[:count][loop.world.status == FUTURE]).all()
    new = world.arrival[count:]
    coming = np.isfinite(new)
    assert coming.any()
    assert (new[coming] > loop.world.now).all()
    drawn = pool._drawn[12][0].store
    assert other.base.store.params["weight"].values[count:].tolist() == drawn.params["weight"].values.tolist()
    assert drawn.params["weight"].values.tolist() != loop.base.store.params["weight"].values.tolist()
    times = other.base.store.params["exec_time"]
    assert times.values[-drawn.params["exec_time"].domain.size :].tolist() == drawn.params["exec_time"].values.tolist()
    assert other.base.labels("Jobs", np.array([count])) == ["j1 (2)"]
    assert pool.loop_with(loop, 12).base is other.base, "read once"
    forked = without_real_future(other, SimulatedFuture(np.inf, 3, generated=12)).world
    assert forked.arrival.tolist() == world.arrival.tolist()


def test_nothing_is_read_of_the_real_future() -> None:
    """Two scenarios that differ only in jobs that come later decide alike until then."""

    def decisions(weight: float) -> list[object]:
        found: list[object] = []
        text = generated().replace(
            "generate capacity_times", f'weight["j7"] = {weight}[$/h];\n  generate capacity_times'
        )

        def note(loop: SimulationLoop) -> None:
            assert loop.current_plan is not None
            at = loop.base.store.universes["Jobs"].code_of["j7"]
            if loop.world.status[at] == FUTURE:
                values = loop.current_plan.values["run"]
                found.append((loop.world.now, [c.tolist() for c in values.codes]))

        loop = driver(text, BLOCK, "S", "Own", seed=1, on_plan=note)
        loop.stop = lambda: loop.world.status[loop.base.store.universes["Jobs"].code_of["j7"]] != FUTURE
        loop.run()
        return found

    first, second = decisions(0.5), decisions(50.0)
    assert len(first) >= 4
    assert first == second


@pytest.mark.slow
def test_no_worse_than_the_best_by_more_than_noise() -> None:
    """Over paired instances the mean of the portfolio is at most that of its best policy, to 1 %."""
    totals = {method: [] for method in ("Greedy", "ATC", "EDF", "Own")}  # type: ignore[var-annotated]
    for seed in range(1, 13):
        for method, found in totals.items():
            found.append(run(generated(12, seed), BLOCK, "S", method).total)
    best = min(np.mean(totals[method]) for method in ("Greedy", "ATC", "EDF"))
    assert np.mean(totals["Own"]) <= 1.01 * best


def test_a_scenario_without_generators_is_refused() -> None:
    text = cluster(some_jobs(1, 4), more=AHEAD)
    with raises_code("GSM7016", "S") as raised:
        driver(text, BLOCK, "S", "Own")  # before anything is planned
    assert raised.value.diagnostics[0].code == "GSM7016"


def test_other_seeds_may_draw_nothing_but_jobs() -> None:
    """Types of another seed would be other types."""
    types = "generate capacity_types (catalogue = azure6) { Types = type; gpus[type] = gpus; price[type] = price; }"
    assert types in generated()
    text = generated().replace("Nodes = { n1, n2, n3 };", "generate sharing_jobs (seed = 3, jobs = 3) { Nodes = job; }")
    assert run(text, BLOCK, "S", "Own").ended == "finished", "other seeds give the same labels"


def test_the_line_needs_no_horizon_and_is_told(tmp_path: Path) -> None:
    path = tmp_path / "a.gsm"
    path.write_text(generated())
    gs.load(path).check()
    assert "futures 2 with generated arrivals seed 5;" in format_text(path.read_text())
