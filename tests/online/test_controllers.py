"""Several controllers in one run: the same as independent runs of their jobs and nodes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from online_texts import ROLLING, driver, run, setup

import gpusched_dsl as gs
from gpusched_dsl.language.diagnostics.errors import DiagnosticError

TEXT = """
import "gsdsl:capacity_planning/online.gsm";
policy Pair for CapacityPlanning extends Greedy { split 2 controllers; }
policy PairOfQueues for CapacityPlanning extends FIFO { split 2 controllers; }
online Noisy for CapacityPlanning extends EveryArrivalAndCompletion { OUTAGE }
scenario S for CapacityPlanning {
  node_rule = at_most;
  period = 1[h];
  Nodes = { NODES };
  table Types:  gpus  price[$/h] =  A 1 0.5  B 2 1.0;
  table Jobs:  submitted[h]  deadline[h]  weight[$/h] = JOBS;
  table Runnable:  exec_time[h] = TIMES;
}
"""


def jobs_of(seed: int, count: int) -> list[tuple[str, float, float, float, float]]:
    """Name, arrival, due time, weight, time on one GPU; names are not in the order of arrivals."""
    rng = np.random.default_rng(seed)
    arrivals = np.round(rng.uniform(0, 6, count), 3)
    return [
        (f"j{i}", float(a), float(np.round(a + rng.uniform(1, 6), 3)), float(np.round(rng.uniform(0.5, 3), 3)),
         float(np.round(rng.uniform(0.5, 4), 3)))
        for i, a in enumerate(arrivals)
    ]  # fmt: skip


def text(jobs: list[tuple[str, float, float, float, float]], nodes: list[str], outage: str = "") -> str:
    rows = "  ".join(f"{name} {a!r} {due!r} {weight!r}" for name, a, due, weight, _ in jobs)
    times = "  ".join(f"{j} A 1 {t!r}  {j} B 1 {t!r}  {j} B 2 {0.6 * t!r}" for j, *_, t in jobs)
    found = TEXT.replace("NODES", ", ".join(nodes)).replace("JOBS", rows).replace("TIMES", times)
    return found.replace("OUTAGE", outage)


def ends(source: str, method: str) -> tuple[dict[str, float], float]:
    outcome = run(source, "EveryArrivalAndCompletion", "S", method)
    names = outcome.base.labels("Jobs", outcome.base.all_codes("Jobs"))
    return dict(zip(map(str, names), outcome.world.end.tolist(), strict=True)), outcome.total


@pytest.mark.parametrize(("seed", "method", "alone"), [(0, "Pair", "Greedy"), (1, "PairOfQueues", "FIFO")])
def test_controllers_are_independent_runs(seed: int, method: str, alone: str) -> None:
    jobs, nodes = jobs_of(seed, 9), ["n1", "n2", "n3"]
    together, total = ends(text(jobs, nodes), method)
    dealt = sorted(jobs, key=lambda job: job[1])
    apart: dict[str, float] = {}
    costs = 0.0
    for k in range(2):
        mine = {job[0] for job in dealt[k::2]}
        found, cost = ends(text([job for job in jobs if job[0] in mine], nodes[k::2]), alone)
        apart, costs = {**apart, **found}, costs + cost
    assert together == pytest.approx(apart)
    assert total == pytest.approx(costs)


def test_a_solver_plans_for_controllers(tmp_path: Path) -> None:
    jobs = jobs_of(3, 5)
    path = tmp_path / "divided.gsm"
    path.write_text(text(jobs, ["n1", "n2"]))
    result = gs.load(path).run(online="EveryArrivalAndCompletion", method="highs", controllers=2)
    total = 0.0
    for k in range(2):
        mine = {job[0] for job in sorted(jobs, key=lambda job: job[1])[k::2]}
        path.write_text(text([job for job in jobs if job[0] in mine], [f"n{k + 1}"]))
        total += gs.load(path).run(online="EveryArrivalAndCompletion", method="highs").total
    assert result.total == pytest.approx(total)


def test_jobs_and_nodes_stay_with_their_controller() -> None:
    loop = driver(text(jobs_of(4, 9), ["n1", "n2", "n3"], "outage n in Nodes every 2[h] lasting 1[h];"), "Noisy", "S",
                  "Pair")  # fmt: skip
    outcome = loop.run()
    assert outcome.ended == "finished"
    assert loop.controllers is not None
    controller = loop.controllers.of_jobs(outcome.world.arrival)
    for job, place, *_ in outcome.world.stretches:
        assert (controller[job] == place % 2).all()


def test_a_recorded_run_goes_on_in_the_same_way(tmp_path: Path) -> None:
    path = tmp_path / "recorded.gsm"
    path.write_text(text(jobs_of(5, 8), ["n1", "n2"]))
    model, stops = gs.load(path), iter([False] * 6 + [True] * 100)
    options = {"online": "EveryArrivalAndCompletion", "method": "Pair", "journal": tmp_path / "run.db"}
    assert model.run(**options, stop=lambda: next(stops)).ended == "interrupt"
    whole = model.run(online="EveryArrivalAndCompletion", method="Pair")
    assert model.run(**options).total == pytest.approx(whole.total)


def test_what_cannot_be_divided(tmp_path: Path) -> None:
    path = tmp_path / "rolling.gsm"
    path.write_text(ROLLING)
    with pytest.raises(DiagnosticError, match=r"GSM7010.*slot by slot"):
        gs.load(path).run("ValleysByNode", online="Rolling", method="highs", controllers=2)
    assert setup(text(jobs_of(0, 3), ["n1"]), "EveryEvent", "S", "Pair").controllers == 1
