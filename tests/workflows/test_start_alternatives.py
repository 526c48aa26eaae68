"""What would start a job earlier: every change against a run of the complete scenario with that change."""

from __future__ import annotations

import numpy as np
import pytest
from found_codes import raises_code

import gpusched_dsl as gs
from gpusched_dsl.reporting.runs.result import RunResult
from gpusched_dsl.workflows.estimate import Estimate
from gpusched_dsl.workflows.start_alternatives import StartAlternative

TEXT = """import "gsdsl:trace_replay/policies.gsm";
scenario S for TraceReplay {{
  Nodes = {{ {nodes} }};
  gpus[n in Nodes] = 4;
  table Jobs: submitted[h] needs exec_time[h] weight[$/h] deadline[h] =
{jobs} ;
}}
online Live for TraceReplay {{
  arrive j in Jobs at submitted[j];
  {stretch}
  replan on arrival, completion, failure, recovery;
  carry remaining[j] = remaining[j];
  carry clock = now;
}}
"""
NODES = ("g1", "g2")
JOBS = {  # submitted, GPUs, length, weight, due; `Priority` takes the largest weight first
    "a": (0.0, 4, 4.0, 1.0, 3.0),
    "b": (0.1, 4, 6.0, 1.1, 10.0),
    "c": (0.2, 4, 1.0, 2.0, 10.0),
    "d": (0.3, 4, 5.0, 3.0, 10.0),
    "e": (0.4, 2, 2.0, 0.9, 9.0),
}
AT = 0.4
AFTER = 1e-7  # h: a job on hold comes after the plan that starts the other one


def text_of(jobs: dict[str, tuple[float, ...]], nodes: tuple[str, ...] = NODES, stretch: str = "") -> str:
    rows = "\n".join(f"    {name} {' '.join(map(repr, values))}" for name, values in jobs.items())
    return TEXT.format(jobs=rows, nodes=", ".join(nodes), stretch=stretch)


def run_of(jobs: dict[str, tuple[float, ...]], nodes: tuple[str, ...] = NODES) -> RunResult:
    return gs.loads(text_of(jobs, nodes)).run("S", online="Live", method="Priority", verify="none")


def starts_and_ends(run: RunResult) -> dict[str, tuple[float, float]]:
    table = run.jobs
    return {str(j): (s, e) for j, s, e in zip(table["job"], table["start"], table["end"], strict=True)}


@pytest.fixture(scope="module")
def found() -> Estimate:
    model = gs.loads(text_of(JOBS))
    return model.estimate(
        "e", "S", online="Live", method="Priority", changes=[{"needs": 1}, {"needs": 4, "exec_time": 1}]
    )


def change(found: Estimate, text: str) -> StartAlternative:
    assert found.alternatives is not None
    return next(one for one in found.alternatives.changes if one.text == text)


def compare(found: Estimate, text: str, run: RunResult, names: dict[str, str] | None = None) -> None:
    """A change has the start, the ends and the charges of a run; `names` are other names of jobs in the run."""
    one, before = change(found, text), run_of(JOBS)
    old, new = starts_and_ends(before), starts_and_ends(run)
    name = {job: (names or {}).get(job, job) for job in JOBS}
    assert one.start[0] == pytest.approx(new[name["e"]][0], abs=1e-5)
    assert one.earlier[0] == pytest.approx(old["e"][0] - new[name["e"]][0], abs=1e-5)
    others = [job for job in JOBS if job != "e"]
    assert one.others_later[0] == pytest.approx(np.mean([new[name[job]][1] - old[job][1] for job in others]), abs=1e-5)

    def late(ends: dict[str, tuple[float, float]], job: str) -> float:
        return JOBS[job][3] * max(0.0, ends[name[job] if ends is new else job][1] - JOBS[job][4])

    expected = sum(late(new, job) - late(old, job) for job in others)
    assert one.others_cost[0] == pytest.approx(expected, abs=1e-5)
    assert one.cost[0] == pytest.approx(expected + late(new, "e") - late(old, "e"), abs=1e-5)


def test_every_change_is_a_run_of_the_changed_scenario(found: Estimate) -> None:
    base = starts_and_ends(run_of(JOBS))
    assert found.alternatives is not None
    assert found.alternatives.start[0] == pytest.approx(base["e"][0]) == found.quantile("start", 0.5)
    s, n, t, w, due = JOBS["e"]
    compare(found, "weight 3.03 $/h", run_of({**JOBS, "e": (s, n, t, 3.03, due)}))
    compare(found, "weight 1.8 $/h", run_of({**JOBS, "e": (s, n, t, 1.8, due)}))
    compare(found, "needs 1", run_of({**JOBS, "e": (s, 1, t, w, due)}))
    compare(found, "needs 4, exec_time 1", run_of({**JOBS, "e": (s, 4, 1.0, w, due)}))
    with_node = {**JOBS, "e": (s, n, t, w, due)}
    # the new node is there from the time of the question on: c and d have waited until then
    later = {**with_node, "c": (AT, *JOBS["c"][1:]), "d": (AT, *JOBS["d"][1:])}
    compare(found, "one more node like g1", run_of(later, (*NODES, "g3")))


@pytest.mark.parametrize("held", [["c"], ["d"], ["c", "d"]])
def test_a_job_on_hold_arrives_when_the_other_has_started(found: Estimate, held: list[str]) -> None:
    text = "hold all other waiting jobs until it starts" if len(held) > 1 else f"hold {held[0]} until it starts"
    start = float(change(found, text).start[0]) + AFTER
    compare(found, text, run_of({**JOBS, **{job: (start, *JOBS[job][1:]) for job in held}}))


@pytest.mark.parametrize("halted", ["a", "b"])
def test_a_halted_job_keeps_its_progress(found: Estimate, halted: str) -> None:
    """In the run it ends at the time of the question, and the rest of it arrives when the other job has started."""
    text = f"halt {halted} until it starts"
    start = float(change(found, text).start[0]) + AFTER
    came, gpus, length, weight, due = JOBS[halted]
    parts = {halted: (came, gpus, AT - came, weight, due), "rest": (start, gpus, length - (AT - came), weight, due)}
    compare(found, text, run_of({**JOBS, **parts}), {halted: "rest"})


def test_changes_are_ranked_by_the_start(found: Estimate) -> None:
    assert found.alternatives is not None
    medians = [one.quantile(0.5) for one in found.alternatives.changes]
    assert medians == sorted(medians)
    assert {one.kind for one in found.alternatives.changes} == {"values", "weight", "halt", "hold", "node"}
    assert [one.text for one in found.alternatives.changes if not one.helps]
    document = found.to_dict()["alternatives"]
    assert [one["change"] for one in document["changes"]] == [one.text for one in found.alternatives.changes]
    assert document["changes"][0]["helps"]
    assert any("one more node like g1" in line for line in found.lines())


def test_futures_with_and_without_a_change_have_the_same_draws() -> None:
    """The job is first in the queue already: a larger weight changes nothing in any future."""
    jobs = {**JOBS, "e": (0.4, 2, 2.0, 9.0, 9.0)}
    model = gs.loads(text_of(jobs, stretch="stretch uniform(low = 0.5, high = 2.5);"))
    found = model.estimate("e", "S", online="Live", method="Priority", samples=6, alternatives=True)
    assert found.alternatives is not None
    assert found.alternatives.start.tolist() == found.start.tolist()
    assert len(set(found.end.tolist())) == 6
    same = change(found, "weight 18 $/h")
    assert not same.earlier.any()
    assert not same.others_later.any()
    assert not same.cost.any()
    assert not same.helps
    assert change(found, "one more node like g1").start.tolist() == [pytest.approx(0.4)] * 6


def test_only_one_way_to_run() -> None:
    """A job may run on one type or on another; each alone is a run without the other rows of the set."""
    text = """import "gsdsl:capacity_planning/online.gsm";
scenario S for CapacityPlanning {{
  node_rule = at_most;
  Nodes = {{ n1 }};
  table Types: gpus price[$/h] = A 2 1  B 1 2;
  table Jobs: submitted[h] deadline[h] weight[$/h] =
    first  0    3  1
    second 0.5  9  1;
  table Runnable: exec_time[h] =
    first  A 2 4
{rows};
}}
"""
    rows = ["second A 1 3", "second A 2 2", "second B 1 5"]
    made = {n: gs.loads(text.format(rows="\n".join(n))) for n in (tuple(rows), *((row,) for row in rows))}
    found = made[tuple(rows)].estimate(
        "second", "S", online="EveryArrivalAndCompletion", method="Greedy", alternatives=True
    )
    assert found.state == "waiting"
    for row in rows:
        run = made[row,].run("S", online="EveryArrivalAndCompletion", method="Greedy", verify="none")
        one = change(found, f"only {', '.join(row.split()[1:3])}")
        assert one.start[0] == pytest.approx(starts_and_ends(run)["second"][0]), row
    assert change(found, "one more node like n1").start[0] == pytest.approx(0.5)


def test_values_that_the_job_cannot_have() -> None:
    model = gs.loads(text_of(JOBS))
    with raises_code("GSM5207", "neds"):
        model.estimate("e", "S", online="Live", method="Priority", changes=[{"neds": 1}])
    found = model.estimate("e", "S", online="Live", method="Priority", changes=[{"needs": 0}])
    assert found.alternatives is not None
    assert [text for text, _ in found.alternatives.refused] == ["needs 0"]
    assert any(line.startswith("not possible: needs 0: ") for line in found.lines())
    running = model.estimate("a", "S", online="Live", method="Priority", alternatives=True)
    assert running.alternatives is None
