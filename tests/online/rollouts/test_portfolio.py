"""Runs by portfolios: what they follow, and that they know nothing of the future; beside every other mechanism."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from found_codes import message_values, raises_code
from online_texts import ROLLING, driver, machines, run, setup
from rollout_texts import Job, cluster, some_jobs

import gpusched_dsl as gs
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.online.journal.recorder import Recorder
from gpusched_dsl.online.loops.base import SimulationLoop
from gpusched_dsl.online.loops.external import ExternalEventLoop
from gpusched_dsl.online.offered_load import plans_alone
from gpusched_dsl.online.open import loop_of
from gpusched_dsl.online.planners import portfolio
from gpusched_dsl.online.rollouts.effort import Effort
from gpusched_dsl.online.run_info import RunInfo
from gpusched_dsl.online.run_record import BY_SIMULATION, RunOutcome
from gpusched_dsl.workflows.estimate import _draws

BLOCK = "EveryArrivalAndCompletion"


def decisions(
    text: str, method: str, until: float = np.inf, **given: object
) -> list[tuple[float, list[tuple[object, ...]]]]:
    """The time of each plan, and what runs where, up to a time."""
    found: list[tuple[float, list[tuple[object, ...]]]] = []

    def note(loop: SimulationLoop) -> None:
        assert loop.current_plan is not None
        values = loop.current_plan.values["run"]
        jobs = loop.base.labels("Jobs", values.codes[0])
        if loop.world.now < until:
            rows = zip(jobs, *(c.tolist() for c in values.codes[1:]), strict=True)
            found.append((loop.world.now, sorted(rows, key=str)))

    driver(text, BLOCK, "S", method, on_plan=note, **given).run()  # type: ignore[arg-type]
    return found


# --- which plan is followed ------------------------------------------------------------------------------------------

ORDERS = """
policy Shortest for Machines extends FIFO { order j in Jobs by left[j]; }
policy Longest for Machines extends FIFO { order j in Jobs by left[j] descending; }
policy P for Machines { portfolio Shortest, Longest; }
"""


@pytest.mark.parametrize(("weights", "first", "late"), [((1, 5), 1, 0.1 * 5 + 2.1 * 1), ((5, 1), 0, 2.1 * 1)])
def test_the_plan_with_the_least_cost_is_followed(weights: tuple[int, int], first: int, late: float) -> None:
    """One machine, jobs of 2 and 2.1 h that are due after 2 h: each order is the best for some weights."""
    table = f"table Jobs: weight[$/h] = j0 {weights[0]}  j1 {weights[1]};"
    outcome = run(machines(1, [(0, 2.0), (0, 2.1)], table, due=[2, 2]) + ORDERS, "Events", "S", "P")
    assert outcome.world.first_start[first] == 0.0
    assert outcome.total == pytest.approx(4.1 + late)
    assert outcome.steps[0].method == "P"
    assert outcome.event_by_event == (BY_SIMULATION,)


def total(text: str, method: str) -> float:
    return run(text, BLOCK, "S", method).total


@pytest.mark.quick(1)
@pytest.mark.parametrize("seed", range(30))
def test_when_all_jobs_are_there_the_portfolio_is_no_worse_than_its_best(seed: int) -> None:
    """Nothing is unknown then: a plan is followed only if its simulated cost, the real one, is the least."""
    jobs = [job._replace(submitted=0.0) for job in some_jobs(seed, 4 + seed % 3)]
    text = cluster(jobs)
    best = min(total(text, base) for base in ("Greedy", "ATC", "EDF"))
    assert total(text, "Switching") <= best * (1 + 1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["Switching", "Rolling", "Drawing", "Mixing"])
def test_with_arrivals_no_worse_than_the_best_by_more_than_noise(method: str) -> None:
    """Paired over 40 workloads: the mean difference to the best base of each, and its interval of 95 %."""
    bases = {
        "Switching": ("Greedy", "ATC", "EDF"),
        "Rolling": ("Greedy", "EDF", "Slack"),
        "Drawing": ("Greedy", "EDF", "Crowd"),
        "Mixing": ("Greedy", "ATC", "EDF"),
    }
    differences, of_best = [], []
    for seed in range(40):
        text = cluster(some_jobs(seed, 14, within=6.0), 2)
        totals = [total(text, base) for base in bases[method]]
        differences.append(total(text, method) / min(totals) - 1.0)
        of_best.append(totals)
    found, means = np.array(differences), np.mean(of_best, axis=0)
    noise = 1.96 * found.std(ddof=1) / np.sqrt(len(found))
    assert found.mean() <= noise
    single = np.mean([(1 + d) * min(t) for d, t in zip(differences, of_best, strict=True)])
    assert single < means.min()  # than always the same policy


# --- what is known ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["Switching", pytest.param("Drawing", marks=pytest.mark.slow)])
def test_decisions_do_not_know_the_future(method: str) -> None:
    jobs = some_jobs(3, 5)
    now = jobs[3].submitted
    other = [
        job if job.submitted < now else Job(job.name, job.submitted + 0.3, job.deadline + 5, 9.0, 2.5 * job.hours)
        for job in jobs
    ]
    before, after = (decisions(cluster(given), method, now) for given in (jobs, other))
    assert len(before) >= 2
    assert before == after
    assert decisions(cluster(jobs), method) != decisions(cluster(other), method)


@pytest.mark.slow
def test_a_seed_gives_the_same_run() -> None:
    text = cluster(some_jobs(4, 6))
    assert decisions(text, "Drawing", seed=1) == decisions(text, "Drawing", seed=2)  # its futures have their own seed
    more = "policy Unnamed extends Drawing { futures 1 with arrivals; }"
    text = cluster(some_jobs(4, 6), more=more)
    assert decisions(text, "Unnamed", seed=1) == decisions(text, "Unnamed", seed=1)


@pytest.mark.slow
def test_without_time_the_first_plan_is_followed() -> None:
    text = cluster(some_jobs(5, 5))
    assert decisions(text, "Switching", time_limit=0.0) == decisions(text, "Greedy")


# --- beside other mechanisms -----------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("method", ["Drawing", "Searching", "Mixing"])
def test_a_recorded_run_resumes(method: str, tmp_path: Path) -> None:
    text = cluster(some_jobs(6, 5)).replace("RandomisedGreedy,", "Few,") + (
        "policy Few for CapacityPlanning extends RandomisedGreedy { repeat 3 keep best total; }"
    )
    whole = driver(text, BLOCK, "S", method).run()

    def recorded(steps: int) -> RunOutcome:
        stateless = setup(text, BLOCK, "S", method).stateless()
        with Recorder(tmp_path / "run.db", stateless, RunInfo(method, None, "S", {}, {}, {})) as recorder:
            loop = loop_of(stateless, journal=recorder.steps)
            loop.stop = lambda: len(loop.steps) >= steps
            outcome = loop.run()
            recorder.close_with(outcome)
        return outcome

    assert 0 < len(recorded(3).steps) < len(whole.steps)
    resumed = recorded(10**6)
    assert [s.time for s in resumed.steps] == [s.time for s in whole.steps]
    np.testing.assert_array_equal(resumed.world.end, whole.world.end)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["Switching", "Mixing"])
def test_a_live_run_decides_as_the_simulated_one(method: str) -> None:
    jobs = some_jobs(7, 4)
    text = cluster(jobs)
    simulated = decisions(text, method)
    loop = driver(text, BLOCK, "S", method, external=True)
    assert isinstance(loop, ExternalEventLoop)
    outcome = run(text, BLOCK, "S", method)
    names = outcome.base.labels("Jobs", outcome.base.all_codes("Jobs"))
    ends = sorted((float(end), str(name)) for end, name in zip(outcome.world.end, names, strict=True))
    events = [(job.submitted, {"kind": "tick"}) for job in jobs]
    events += [(end, {"kind": "completion", "job": name}) for end, name in ends]
    times = []
    for time, event in sorted(events, key=lambda e: e[0]):
        times += [decision.time for decision in loop.on_event({**event, "time": time})]
    assert times == pytest.approx([time for time, _ in simulated])
    assert loop.world.end == pytest.approx(outcome.world.end)


@pytest.mark.parametrize("more", ["", "mix 4 plans;"])
def test_a_gang_is_placed_as_a_whole(more: str) -> None:
    text = """
model Gangs {
  set Jobs;  set Nodes identical;
  param submitted[Jobs] in h;  param length[Jobs] in h;  param size[Jobs] integer;
  param remaining[Jobs] default 1;  param due_in[Jobs] in h;
  var worker[Jobs, Nodes] integer >= 0 <= 2;
  minimize waiting in $: 1[$] * sum[j in Jobs, n in Nodes] (2 - worker[j, n]);
  constraint room[n in Nodes]: sum[j in Jobs] worker[j, n] <= 2;
  placement worker[j, n] {
    job j; node n; workers size[j]; uses 1 of 2; lasts remaining[j] * length[j]; due due_in[j]; weight 1[$/h];
    costs 1[$/h];
  }
}
online Run for Gangs {
  arrive j in Jobs at submitted[j];
  carry remaining[j] = remaining[j];
  carry due_in[j] = due_in[j] - now;
}
policy P for Gangs { portfolio FIFO, SJF, EDF; MORE }
scenario S for Gangs {
  Nodes = { a, b };
  table Jobs: submitted[h] length[h] size due_in[h] = x 0 2 4 9  y 0 1 2 1  z 0.5 1 1 2;
}
""".replace("MORE", more)
    totals = {method: run(text, "Run", "S", method).total for method in ("FIFO", "SJF", "EDF", "P")}
    assert totals["P"] == pytest.approx(min(totals.values()))
    assert totals["P"] < totals["FIFO"]


def test_it_is_not_myopic() -> None:
    assert not plans_alone(setup(cluster(some_jobs(0, 3)), BLOCK, "S", "Switching").planner)


@pytest.mark.quick(1)
@pytest.mark.parametrize("online", ["Noisy", "Periodic"])
def test_an_estimate_of_a_job(online: str, tmp_path: Path) -> None:
    (tmp_path / "c.gsm").write_text(cluster(some_jobs(8, 4)), encoding="utf-8")
    found = gs.load(tmp_path / "c.gsm").estimate("j1", online=online, scenario="S", method="Switching", samples=2)
    assert len(found.end) == (2 if online == "Noisy" else 1)
    assert (found.end > found.submitted).all()


def test_an_estimate_draws_futures_anew_unless_they_have_a_seed() -> None:
    more = "policy Unnamed extends Drawing { futures 1 with arrivals; }"
    found = [_draws(driver(cluster(some_jobs(0, 2), more=more), BLOCK, "S", m)) for m in ("Drawing", "Unnamed")]  # type: ignore[arg-type]
    assert found == [False, True]


def test_a_portfolio_as_fallback() -> None:
    """The solver has no time for a plan, so the first policy plans, which needs none."""
    text = machines(1, [(0, 2.0), (0, 1.0)]) + ORDERS
    outcome = run(text, "Events", "S", "highs", fallback="P", time_limit=0.0)
    assert {step.method for step in outcome.steps} == {"P"}
    assert outcome.world.first_start[1] == 0.0


def test_why_tells_whose_plan_is_followed(tmp_path: Path) -> None:
    (tmp_path / "c.gsm").write_text(machines(1, [(0, 2.0), (0, 1.0)]) + ORDERS, encoding="utf-8")
    found = gs.load(tmp_path / "c.gsm").why("j0", 0.5, "S", online="Events", method="P")
    lines = "\n".join(found.lines())
    assert "by the plan of P, which follows Shortest, at 0 h" in lines
    assert found.turn is not None
    assert found.turn.policy == "Shortest"
    assert found.to_dict()["followed"] == "Shortest"


# --- refusals --------------------------------------------------------------------------------------------------------


def refused(text: str, online: str | None, method: str, scenario: str | None = "S") -> str:
    with pytest.raises(DiagnosticError) as found:
        run(text, online, scenario, method)
    [diagnostic] = found.value.diagnostics
    assert diagnostic.help
    assert diagnostic.primary is not None or diagnostic.code == "GSM7016"
    return f"{diagnostic.code} {diagnostic.message}"


def test_windows_are_refused() -> None:
    text = ROLLING + "policy P for PriceAware { portfolio FIFO, EPRONS; }"
    assert (
        refused(text, "Rolling", "P", "ValleysByNode")
        == "GSM7015 the portfolio `P` cannot plan slot by slot, as `Rolling` does"
    )


def test_a_single_solve_is_refused(tmp_path: Path) -> None:
    (tmp_path / "c.gsm").write_text(cluster(some_jobs(8, 4)), encoding="utf-8")
    model = gs.load(tmp_path / "c.gsm")
    with raises_code("GSM7015", "Switching", at="Switching") as found:
        model.solve("S", backend="Switching")
    assert [d.code for d in found.value.diagnostics] == ["GSM7015"]
    rows = model.compare(["Switching", "Greedy"], scenario="S").rows
    assert [row.status for row in rows] != ["feasible", "feasible"]


@pytest.mark.quick(2)
@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("portfolio Greedy, Nobody;", "GSM4001 unknown solver or policy `Nobody`"),
        ("portfolio Greedy, EDF; continue with STS;", "GSM4016 unknown policy `STS` for the model `CapacityPlanning`"),
        ("portfolio Greedy, EDF; futures 3 - 3;", "GSM1670 a portfolio needs at least one future, it is 0"),
        ("portfolio Greedy, EDF; lookahead period - 2[h];",
         "GSM1670 the horizon of a lookahead must be positive, it is -1.25"),
    ],
)  # fmt: skip
def test_what_the_data_or_the_library_decide(line: str, message: str) -> None:
    text = cluster(some_jobs(0, 4), more=f"policy P for CapacityPlanning {{ {line} }}")
    assert refused(text, BLOCK, "P") == message


def test_arrivals_need_rollouts_on_arrays() -> None:
    text = cluster(some_jobs(0, 4), more="policy P extends Drawing { continue with RandomisedGreedy; }")
    assert "no arrivals can be drawn for futures with plans by `RandomisedGreedy`" in refused(text, BLOCK, "P")


@pytest.mark.parametrize(
    ("line", "online", "named"),
    [
        ("", "Failing", ["ATC", "outage"]),
        ("continue with RandomisedGreedy;", BLOCK, ["RandomisedGreedy", "RandomisedGreedy", "repeat"]),
    ],
)
def test_arrivals_that_cannot_be_drawn_are_refused_before_the_run(line: str, online: str, named: list[str]) -> None:
    """A help that names another policy is of no use where the block is the reason."""
    text = cluster(some_jobs(0, 4), more=f"policy P extends Drawing {{ {line} }}")
    with raises_code("GSM7016", *named) as found:
        driver(text, online, "S", "P")
    [diagnostic] = found.value.diagnostics
    assert message_values(diagnostic.message) == tuple(named)
    assert diagnostic.primary is not None
    assert ("continue with Greedy" in (diagnostic.help or "")) == bool(line)


def test_controllers_are_refused(tmp_path: Path) -> None:
    (tmp_path / "c.gsm").write_text(cluster(some_jobs(8, 4)), encoding="utf-8")
    with raises_code("GSM7010", "EveryArrivalAndCompletion", "2", "Switching"):
        gs.load(tmp_path / "c.gsm").run("S", BLOCK, method="Switching", controllers=2)


# --- the work of a plan ----------------------------------------------------------------------------------------------


def test_without_work_the_first_plan_is_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    text = cluster(some_jobs(3, 8, within=2.0))
    everything = decisions(text, "Switching")
    monkeypatch.setattr(portfolio, "SECONDS_OF_PLAN", 0.0)
    assert decisions(text, "Switching") == decisions(text, "Greedy") != everything
    monkeypatch.setattr(portfolio, "SECONDS_OF_PLAN", 1e9)
    assert decisions(text, "Switching") == everything


def test_simulations_end_when_the_work_is_done_on_every_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """The work is counted, so a part of it gives the same plans again; a time limit lifts it."""
    text = cluster(some_jobs(5, 8), more="policy V extends Switching { vary 1000 plans; }")
    spent: list[float] = []
    original = Effort.add

    def add(self: Effort, seconds: float) -> None:
        original(self, seconds)
        spent.append(self.spent / self.most)

    monkeypatch.setattr(Effort, "add", add)
    monkeypatch.setattr(portfolio, "SECONDS_OF_PLAN", 0.01)
    first = decisions(text, "V")
    assert 0.5 < max(spent) <= 1.0
    assert first == decisions(text, "V")
    spent.clear()
    decisions(text, "V", time_limit=1000.0)
    assert set(spent) == {0.0}
