"""The loop that decides at events, against runs worked out by hand and against plain simulations."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from found_codes import message_values
from online_texts import CP_ON, MACHINES, driver, machines, run

from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.online.loops.base import SimulationLoop
from gpusched_dsl.online.planners.protocol import PlanningRequest
from gpusched_dsl.online.simulation.world import DONE, WAITING
from gpusched_dsl.policies.plan import Plan

# --- capacity planning over time: a case worked out by hand ---------------------------------------------------------


@pytest.mark.quick(3)
@pytest.mark.parametrize(
    ("method", "rule", "block", "execution", "tardiness", "ends"),
    [
        ("FIFO", "at_most", "EveryArrivalAndCompletion", 3.7, 3.6, (4, 5.2, 6.2)),
        ("EDF", "at_most", "EveryArrivalAndCompletion", 3.7, 3.6, (4, 5.2, 6.2)),
        ("PS", "at_most", "EveryArrivalAndCompletion", 3.7, 5.6, (4, 6.2, 5)),
        ("Greedy", "at_most", "EveryArrivalAndCompletion", 3.5, 0, (4, 3, 4)),
        ("highs", "force", "EveryArrivalAndCompletion", 3.5, 0, (6, 3, 7)),
        ("highs", "force", "EveryEvent", 3.5, 0, (6, 3, 7)),
        ("highs", "paper", "EveryArrivalAndCompletion", 3.9, 0, (5.4, 3, 6.4)),
        ("highs", "paper", "EveryEvent", 3.5, 0, (6, 3, 7)),
        ("scip", "force", "EveryEvent", 3.5, 0, (6, 3, 7)),
    ],
)
def test_cp_on(method: str, rule: str, block: str, execution: float, tardiness: float, ends: tuple[float, ...]) -> None:
    outcome = run(CP_ON, block, method=method, settings={"node_rule": rule})
    assert outcome.ended == "finished"
    assert outcome.world.ledger.totals["execution"] == pytest.approx(execution, abs=1e-9)
    assert outcome.world.ledger.totals["tardiness"] == pytest.approx(tardiness, abs=1e-9)
    assert outcome.world.end == pytest.approx(ends, abs=1e-9)
    assert outcome.total == pytest.approx(execution + tardiness, abs=1e-9)


def test_whole_vms_are_charged() -> None:
    # FIFO: 4 h of A, then 1.2 h of B, whole, then 1 h of A.
    block = "online Whole for CapacityPlanning extends EveryArrivalAndCompletion { charge nodes; }"
    outcome = run(CP_ON + block, "Whole", method="FIFO", settings={"node_rule": "at_most"})
    assert outcome.world.ledger.totals["execution"] == pytest.approx(4 * 0.5 + 1.2 * 1 + 0.5)
    greedy = run(CP_ON + block, "Whole", method="Greedy", settings={"node_rule": "at_most"})
    assert greedy.world.ledger.totals["execution"] == pytest.approx(1 * 0.5 + 2 * 1 + 1 * 1)
    shares = greedy.world.ledger.jobs["execution"]
    assert shares == pytest.approx([0.5 + 1 + 0.5, 1, 0.5])  # by their GPUs


def test_costs_of_jobs_and_places_add_up_to_the_total() -> None:
    ledger = run(CP_ON, "EveryEvent", method="Greedy", settings={"node_rule": "at_most"}).world.ledger
    assert ledger.jobs["execution"].sum() == pytest.approx(ledger.totals["execution"])
    assert ledger.places["execution"].sum() == pytest.approx(ledger.totals["execution"])


# --- plain machines against plain simulations -----------------------------------------------------------------------


def simulated(nodes: int, jobs: list[tuple[float, float]], preempt: bool) -> list[float]:
    """Ends of jobs first come first served, or shortest remaining time first with preemption; all in a plain loop."""
    left = [length for _, length in jobs]
    ends = [0.0] * len(jobs)
    running: list[int] = []
    now = 0.0
    while any(x > 0 for x in left):
        here = [j for j, (at, _) in enumerate(jobs) if at <= now + 1e-12 and left[j] > 0]
        if preempt:
            running = sorted(here, key=lambda j: (left[j], j))[:nodes]
        else:
            running = [j for j in running if left[j] > 0]
            queue = sorted((j for j in here if j not in running), key=lambda j: (jobs[j][0], j))
            running += queue[: nodes - len(running)]
        upcoming = [at for at, _ in jobs if at > now + 1e-12]
        until = min([now + left[j] for j in running] + upcoming)
        for j in running:
            left[j] -= until - now
            if left[j] <= 1e-9:
                left[j], ends[j] = 0.0, until
        now = until
    return ends


def drawn(rng: np.random.Generator, count: int, latest: float, longest: float) -> list[tuple[float, float]]:
    """Jobs by submission and length."""
    submitted, length = rng.uniform(0, latest, count).round(3), rng.uniform(0.1, longest, count).round(3)
    return list(zip(submitted.tolist(), length.tolist(), strict=True))


@pytest.mark.quick(3)
@pytest.mark.parametrize("policy", ["FIFO", "SRPT"])
@pytest.mark.parametrize("seed", range(6))
def test_machines_as_simulated(policy: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    jobs = drawn(rng, 12, 9.0, 6.0)
    nodes = int(rng.integers(1, 4))
    outcome = run(machines(nodes, jobs), method=policy)
    assert outcome.world.end == pytest.approx(simulated(nodes, jobs, policy == "SRPT"), abs=1e-6)
    assert outcome.total == pytest.approx(sum(length for _, length in jobs), abs=1e-6)  # a dollar for each busy hour
    assert (outcome.world.status == DONE).all()


@pytest.mark.quick(3)
@pytest.mark.parametrize("seed", range(4))
def test_no_machine_has_two_jobs_and_all_work_is_done(seed: int) -> None:
    rng = np.random.default_rng(100 + seed)
    jobs = drawn(rng, 15, 5.0, 3.0)
    outcome = run(machines(3, jobs), method="SRPT")
    stretches = [np.concatenate(parts) for parts in zip(*outcome.world.stretches, strict=True)]
    job, place, _, _, since, until = stretches
    assert np.bincount(job, weights=until - since, minlength=15) == pytest.approx([x for _, x in jobs], abs=1e-6)
    for n in range(3):
        mine = np.argsort(since[place == n], kind="stable")
        begin, end = since[place == n][mine], until[place == n][mine]
        assert (begin[1:] >= end[:-1] - 1e-9).all()


def test_solvers_find_the_shortest_jobs_too() -> None:
    jobs = [(0.0, 3.0), (0.5, 1.0), (0.5, 2.0), (4.0, 0.5)]
    solver = run(machines(1, jobs), method="highs")
    assert solver.world.end == pytest.approx(simulated(1, jobs, True), abs=1e-6)


def test_interchangeable_nodes_are_named_so_that_jobs_stay() -> None:
    jobs = [(0.3 * i, 5.0 + i) for i in range(8)]
    outcome = run(machines(4, jobs), method="highs")
    assert outcome.world.counts["migration"].sum() == 0


# --- the same run every time ----------------------------------------------------------------------------------------


def test_runs_repeat_under_a_seed() -> None:
    noisy = """online Noisy for Machines extends Events {
      stretch truncate(normal(mean = 1, deviation = 0.2), low = 0.5, high = 1.5);
    }"""
    text = machines(2, [(0.5 * i, 2.0) for i in range(6)]) + noisy
    first, again = run(text, "Noisy", method="SRPT", seed=7), run(text, "Noisy", method="SRPT", seed=7)
    other = run(text, "Noisy", method="SRPT", seed=8)
    assert first.world.end.tolist() == again.world.end.tolist()
    assert first.world.end.tolist() != other.world.end.tolist()
    assert first.total == pytest.approx(float((2.0 * first.world.stretch).sum()), rel=1e-9)


# --- delays, fees, failures -----------------------------------------------------------------------------------------


def test_what_changes_cost_and_delay() -> None:
    # One machine. j0 begins at 0 after a boot of a quarter of an hour; at 1 the short j1 takes its place, for j0 has
    # 4 - 0.75 left; starting takes a tenth of an hour, resuming half of one.
    extra = """online Slow for Machines extends Events {
      on boot delay 15[min] costs 0.5[$];
      on start delay 6[min] costs 0.1[$];
      on resume delay 30[min] costs 0.2[$];
      on halt costs 0.05[$];
    }"""
    outcome = run(machines(1, [(0.0, 4.0), (1.0, 1.0)]) + extra, "Slow", method="SRPT")
    world = outcome.world
    j1_end = 1.0 + 0.1 + 1.0
    assert world.end == pytest.approx([j1_end + 0.5 + 3.25, j1_end])
    assert world.ledger.totals["boot"] == pytest.approx(1.0)  # at 0, and when j0 comes back to a machine left empty
    assert world.ledger.totals["start"] == pytest.approx(0.2)
    assert world.ledger.totals["resume"] == pytest.approx(0.2)
    assert world.ledger.totals["halt"] == pytest.approx(0.05)
    assert world.counts["halt"].tolist() == [1, 0]
    assert world.counts["resume"].tolist() == [1, 0]
    assert world.ledger.totals["execution"] == pytest.approx(1.0 + 1.1 + 3.75)  # also while they wait for their place


def test_tardiness_is_charged_when_a_job_ends() -> None:
    text = machines(1, [(0.0, 2.0), (0.0, 3.0)], "weight = 2[$/h];", due=[1.5, 9.0])
    outcome = run(text, method="FIFO")
    assert outcome.world.ledger.totals["tardiness"] == pytest.approx(0.5 * 2)
    assert outcome.world.due == pytest.approx([1.5, 9.0])


def test_nodes_that_fail_halt_their_jobs() -> None:
    # Up for 3 hours, down for 2, up for 3 and so on: 4 hours of work on one machine end an hour after it comes back.
    extra = "online Failing for Machines extends Events { outage n in Nodes every 3[h] lasting 2[h]; }"
    outcome = run(machines(1, [(0.0, 4.0)]) + extra, "Failing", method="FIFO")
    assert outcome.world.end == pytest.approx([6.0])
    assert outcome.world.counts["halt"].tolist() == [1]
    assert outcome.total == pytest.approx(4.0)
    assert [s.why for s in outcome.steps] == [("arrival",), ("failure",), ("recovery",)]


def test_nodes_fail_at_their_own_times_while_nobody_looks() -> None:
    # Down from 3 to 5, 8 to 10, 13 to 15: the second job comes at 13.5 and waits to 15; at 11 the node had been up.
    extra = "online Failing for Machines extends Events { outage n in Nodes every 3[h] lasting 2[h]; }"
    outcome = run(machines(1, [(0.0, 1.0), (11.0, 1.0), (13.5, 2.0)]) + extra, "Failing", method="FIFO")
    assert outcome.world.first_start.tolist() == [0.0, 11.0, 15.0]
    assert outcome.world.end.tolist() == [1.0, 12.0, 17.0]


# --- what is over, and what is wrong --------------------------------------------------------------------------------


def test_jobs_that_never_run_are_told() -> None:
    # Nothing is allowed to run, and no period asks again.
    idle = MACHINES.replace("maximize busy", "minimize busy")
    text = machines(1, [(0.0, 1.0)]).replace(MACHINES, idle)
    outcome = run(text, method="highs")
    assert outcome.ended == "stuck"
    assert [(w.code, w.message) for w in outcome.warnings] == [("GSM7005", "`j0` waits and no event will follow")]
    assert outcome.world.status.tolist() == [WAITING]
    text = machines(1, [(0.0, 1.0)] * 5).replace(MACHINES, idle)
    [warning] = run(text, method="highs").warnings
    assert message_values(warning.message) == ("j0", "j1", "j2", "2")


def test_jobs_that_no_plan_of_the_period_starts_end_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpusched_dsl.online.loops.events.MOST_IDLE_PERIODS", 5)
    idle = MACHINES.replace("maximize busy", "minimize busy")
    text = machines(1, [(0.0, 1.0), (20.0, 1.0)]).replace(MACHINES, idle)
    text += "online Hourly for Machines extends Events { replan on arrival, completion, every 1[h]; "
    text += "outage n in Nodes every 3[h] lasting 2[h]; }"
    outcome = run(text, "Hourly", method="highs")
    assert (outcome.ended, outcome.world.now) == ("stuck", 25.0)  # not before the last arrival, failures or not
    assert [w.code for w in outcome.warnings] == ["GSM7005"]
    assert outcome.world.status.tolist() == [WAITING, WAITING]


def test_interruption_keeps_what_has_happened() -> None:
    loop = driver(machines(1, [(0.0, 1.0), (0.0, 1.0)]), method="SRPT")
    loop.stop = lambda: len(loop.steps) >= 2
    outcome = loop.run()
    assert outcome.ended == "interrupt"
    assert outcome.world.status.tolist()[0] == DONE
    assert outcome.total == pytest.approx(1.0)


def test_a_model_without_placement_cannot_be_driven() -> None:
    text = """
    model M { set Jobs; param at[Jobs] in h; var x[Jobs] binary; minimize z: sum[j in Jobs] x[j]; }
    online O for M { arrive j in Jobs at at[j]; }
    scenario S for M { table Jobs: at[h] = a 1; }
    """
    with pytest.raises(DiagnosticError) as error:
        run(text, method="highs")
    assert [d.code for d in error.value.diagnostics] == ["GSM7002"]


def test_states_that_are_no_whole_numbers_are_refused() -> None:
    text = machines(1, [(0.0, 1.0), (0.5, 1.0)]).replace("param rent", "param was[Jobs] integer default 0; param rent")
    text += "online Bad for Machines extends Events { carry was[j] = sum[n in Nodes] 0.5 * run[j, n]; }"
    with pytest.raises(DiagnosticError) as error:
        run(text, "Bad", method="SRPT")
    assert [d.code for d in error.value.diagnostics] == ["GSM7001"]


def test_a_block_must_be_named() -> None:
    text = machines(1, [(0.0, 1.0)]) + "online Other for Machines { arrive j in Jobs at submitted[j]; }"
    for name in (None, "Evnts"):
        with pytest.raises(DiagnosticError) as error:
            run(text, name)
        assert [d.code for d in error.value.diagnostics] == ["GSM6019"]


def test_runs_end_after_the_most_events() -> None:
    loop = driver(machines(1, [(0.0, 1.0), (0.0, 1.0), (0.0, 1.0)]), method="SRPT")
    loop.config = replace(loop.config, most_events=4)
    outcome = loop.run()
    assert outcome.ended == "events"
    assert [w.code for w in outcome.warnings] == ["GSM7004"]
    assert outcome.events == 4


class Recorded:
    """A journal in memory."""

    def __init__(self, steps: list[Mapping[str, Any]]) -> None:
        self.steps, self.read = steps, 0

    def before_plan(self, loop: SimulationLoop, why: tuple[str, ...]) -> None:
        pass

    def read_next(self) -> Mapping[str, Any] | None:
        self.read += 1
        return self.steps[self.read - 1] if self.read <= len(self.steps) else None

    def write(self, step: Mapping[str, Any]) -> None:
        self.steps.append(json.loads(json.dumps(step)))
        self.read = len(self.steps)


@pytest.mark.quick(3)
@pytest.mark.parametrize("stop", [0, 1, 3, 6])
def test_a_run_goes_on_from_its_journal(stop: int) -> None:
    text = machines(2, [(0.4 * i, 1.0 + 0.3 * i) for i in range(6)])
    whole = driver(text, method="SRPT", journal=Recorded([]))
    expected = whole.run()
    assert isinstance(whole.journal, Recorded)
    first = Recorded(whole.journal.steps[:stop])
    resumed = driver(text, method="SRPT", journal=first).run()
    assert resumed.world.end.tolist() == expected.world.end.tolist()
    assert resumed.world.ledger.totals == expected.world.ledger.totals
    assert [{**s, "plan": {**s["plan"], "seconds": 0}} for s in first.steps] == [
        {**s, "plan": {**s["plan"], "seconds": 0}} for s in whole.journal.steps
    ]


def test_a_journal_of_another_run_is_refused() -> None:
    journal = Recorded([])
    run(machines(1, [(0.0, 1.0), (0.5, 2.0)]), method="SRPT", journal=journal)
    with pytest.raises(DiagnosticError) as error:
        run(machines(1, [(0.0, 1.0), (0.7, 2.0)]), method="SRPT", journal=Recorded(journal.steps))
    assert [d.code for d in error.value.diagnostics] == ["GSM7003"]


class Silent:
    """A method that never has a plan."""

    name = "silent"

    def plan(self, request: PlanningRequest) -> Plan | None:
        return None

    def fresh(self) -> Silent:
        return self

    def close(self) -> None:
        pass


@pytest.mark.parametrize("fallback", [None, "SRPT"])
def test_there_is_always_a_plan(fallback: str | None) -> None:
    loop = driver(machines(1, [(0.0, 2.0), (0.5, 1.0)]), method="FIFO", fallback=fallback)
    loop.fast_replay, first = None, loop.planner
    loop.planner = Silent()
    loop.step()
    if fallback is None:  # nothing runs yet, and goes on so
        assert [s.method for s in loop.steps] == ["as before"]
        loop.planner = first
        loop.step()
        assert loop.world.end[0] != loop.world.end[0]
        loop.planner = Silent()
        outcome = loop.run()
        assert outcome.ended == "stuck"  # the job that ran has ended, the other one has never been started
        assert [s.method for s in outcome.steps] == ["as before", "FIFO", "as before"]
    else:
        outcome = loop.run()
        assert outcome.ended == "finished"
        assert {s.method for s in outcome.steps} == {"SRPT"}
        assert outcome.world.end.tolist() == [3.0, 1.5]


def test_a_period_alone_plans_the_first_jobs_at_once_and_jobs_after_a_pause() -> None:
    """Without a plan before, a period has no beginning: such a run neither waits for ever nor stands still."""
    text = machines(1, [(0.5, 2.0), (1.0, 1.0), (9.0, 1.0)])
    only = "online Own for Machines extends Events { replan on every 1.5[h]; }"
    steps = run(text + only, "Own", "S", "FIFO")
    assert steps.ended == "finished"
    assert steps.world.first_start.tolist() == pytest.approx([0.5, 3.5, 9.0])
    both = "online Own for Machines extends Events { replan on completion, every 1.5[h]; }"
    found = run(text + both, "Own", "S", "FIFO")
    assert found.ended == "finished"
    assert found.world.first_start.tolist() == pytest.approx([0.5, 2.5, 9.0])


@pytest.mark.parametrize(("arrival", "start"), [(1.0, 1.0), (0.5, 0.5), (0.25, 2.0)])
def test_a_job_that_arrives_at_an_empty_cluster_is_planned_at_once(arrival: float, start: float) -> None:
    """The first job ends after half an hour; only with an unfinished job does the next one wait for the period."""
    text = (
        MACHINES.replace("replan on arrival, completion, failure, recovery;", "replan on every 2[h];")
        + f"""
    scenario S for Machines {{ Nodes = {{ n1, n2 }};  table Jobs: submitted[h] length[h] = a 0 0.5  b {arrival} 0.5; }}
    """
    )
    outcome = run(text, "Events", "S", "FIFO")
    assert outcome.world.first_start.tolist() == pytest.approx([0.0, start])
