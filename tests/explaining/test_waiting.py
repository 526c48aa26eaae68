"""Why jobs wait: each kind of reason, by single rows and by solves, for solvers and policies, in all outputs."""

from __future__ import annotations

import itertools
import json
import pickle
import random
import tracemalloc
from pathlib import Path

import pytest
from json_schemas import complaints, published

import gpusched_dsl as gs
from gpusched_dsl.explaining.waiting import WaitingSearch
from gpusched_dsl.reporting.waiting import CONFLICT, COST, NO_ROOM, NO_WAY, NOT_EXAMINED, TOO_LARGE, WaitingReason
from gsdsl_backends.registry import backend

MODEL = """
model Cluster {
  set Jobs;  set Nodes;
  param gpus[Nodes] integer;
  param needs[Jobs] integer;
  param price[Jobs] in $ default 1[$];
  param value[Jobs] in $ default 10[$];
  param most integer default 100;
  set Ways = { (j, n) : j in Jobs, n in Nodes where needs[j] < 50 };
  var run[Ways] binary;
  var open[Nodes] binary;
  let runs[j in Jobs] = sum[(i, n) in Ways where i == j] run[i, n];
  minimize total in $ {
    rent: sum[(j, n) in Ways] price[j] * run[j, n];
    postponed: sum[j in Jobs] value[j] * (1 - runs[j]);
  }
  constraint once[j in Jobs]: runs[j] <= 1;
  constraint capacity[n in Nodes]: sum[(j, m) in Ways where m == n] needs[j] * run[j, m] <= gpus[n] * open[n];
  constraint power: sum[n in Nodes] open[n] <= most;
  placement run[j, n] { job j;  node n;  uses needs[j] of gpus[n];  lasts 1[h];  postponed value[j]; }
}
policy First for Cluster { order j in Jobs by needs[j];  place first_fit, new_node, wait; }
"""


def scenario(jobs: str, nodes: str = "a 4  b 8", extra: str = "") -> str:
    tables = f"table Jobs: needs price[$] = {jobs}; table Nodes: gpus = {nodes};"
    return f"{MODEL}\nscenario S for Cluster {{ {tables} {extra} }}"


def reasons(text: str, backend: str = "highs") -> dict[str, WaitingReason]:
    result = gs.loads(text).solve(backend=backend, gap=0.0, reasons=True)
    assert result.waiting_jobs is not None
    return {str(r.job): r for r in result.waiting_jobs.reasons}


def test_capacity_that_other_jobs_use() -> None:
    found = reasons(scenario("p 4 1  q 8 1  r 3 9.5"))
    assert set(found) == {"r"}
    reason = found["r"]
    assert (reason.kind, reason.binds, reason.needs, reason.free) == (NO_ROOM, ("capacity",), 3.0, 0.0)
    assert reason.text == "no room: needs 3 GPUs, none is free (`capacity[a]` needs 3, 0 free)"


def test_a_job_that_no_node_can_hold_and_one_without_a_way() -> None:
    found = reasons(scenario("p 4 1  big 9 1  none 60 1"))
    assert found["big"].kind == TOO_LARGE
    assert found["big"].text == (
        "too large: it needs 9 GPUs, and the largest place, b, has 8 GPUs (`capacity[b]` needs 9, 8 at most)"
    )
    assert found["none"].kind == NO_WAY
    assert found["none"].text == "no way to run: no element of `run`"


def test_a_job_that_costs_more_than_it_is_worth() -> None:
    found = reasons(scenario("p 4 1  dear 2 12"))
    assert found["dear"].kind == COST
    assert found["dear"].change == pytest.approx(2.0)
    assert found["dear"].text.startswith("fits with `run[dear,")
    assert found["dear"].text.endswith("total +2 $")


def test_rows_that_exclude_a_job_only_together() -> None:
    """Node b must open for the second job, which `power` forbids: propagation sees this; three nodes need a solve."""
    found = reasons(scenario("p 4 1  q 4 2", extra="most = 1;", nodes="a 4  b 4"))
    assert found["q"].kind == NO_ROOM
    pairs = MODEL.replace("constraint power: ", "var half[Nodes] >= 0 <= 1; constraint halves[n in Nodes]: "
                          "half[n] + open[n] <= 1; constraint power: sum[n in Nodes] half[n] >= 2 - most; "
                          "constraint cap: 0.5 * ")  # fmt: skip
    text = scenario("p 4 1  q 4 2", extra="most = 1;", nodes="a 4  b 4").replace(MODEL, pairs)
    found = reasons(text)
    assert found["q"].kind in {CONFLICT, NO_ROOM}
    assert found["q"].binds


def test_a_policy_that_leaves_a_job_although_it_fits() -> None:
    """The largest job comes first and waits, so the queue stops; the others fit."""
    text = scenario("p 2 1  q 3 1  r 9 1").replace("by needs[j]", "by -needs[j]")
    found = reasons(text, "First")
    assert found["r"].kind == TOO_LARGE
    assert found["q"].kind == COST
    assert found["q"].text.endswith("total -9 $; First: the queue stops at `r`, which waits by the rule `wait`")


@pytest.mark.parametrize("backend", ["highs", "scip", "First"])
def test_all_outputs_name_the_jobs(backend: str, tmp_path: Path) -> None:
    result = gs.loads(scenario("p 4 1  q 8 1  r 3 9.5  s 8 9.6")).solve(backend=backend, gap=0.0, reasons=True)
    waiting = result.waiting_jobs
    assert waiting is not None
    count = 3 if backend == "First" else 2  # the policy tries one node per job
    assert waiting.caption == f"{4 - count} of 4 jobs placed; {count} wait"
    assert result.waiting is not None
    names = result.waiting["job"].to_list()
    assert len(names) == count
    document = json.loads(result.json_text())
    assert [entry["job"] for entry in document["waiting"]] == names
    assert all(entry["binds"] == ["capacity"] or entry["reason"] == COST for entry in document["waiting"])
    assert any(entry["reason"] == NO_ROOM for entry in document["waiting"]) == (backend != "First")
    assert list(complaints(document, published("result.schema.json"))) == []
    assert "waiting.csv" in {path.name for path in result.to_csv(tmp_path)}
    assert NOT_EXAMINED not in result.waiting["reason"].to_list()


def test_results_with_reasons_are_picklable() -> None:
    result = gs.loads(scenario("p 4 1  q 8 1  r 3 9.5")).solve(gap=0.0, reasons=True)
    result.solved.close()
    waiting = result.waiting_jobs
    again = pickle.loads(pickle.dumps(waiting))
    assert waiting is not None
    assert again.caption == waiting.caption


def test_nobody_waits() -> None:
    result = gs.loads(scenario("p 4 1")).solve(gap=0.0, reasons=True)
    assert result.waiting_jobs is not None
    assert result.waiting_jobs.caption == "1 of 1 job placed; 0 wait"
    assert result.to_dict()["waiting"] == []


@pytest.mark.parametrize("seed", range(6))
def test_reasons_agree_with_brute_force(seed: int) -> None:
    """`no room` and `too large` exactly if no node has room for the job next to the plan; else the change of cost."""
    rng = random.Random(seed)
    needs = [rng.randint(1, 6) for _ in range(5)]
    prices = [rng.choice([1, 3, 11, 12]) for _ in needs]
    gpus = [rng.randint(2, 6) for _ in range(2)]
    jobs = "  ".join(f"j{i} {n} {p}" for i, (n, p) in enumerate(zip(needs, prices, strict=True)))
    text = scenario(jobs, "  ".join(f"n{i} {g}" for i, g in enumerate(gpus)))
    result = gs.loads(text).solve(gap=0.0, reasons=True)
    assert result.waiting_jobs is not None
    assert result.placement is not None
    used = dict.fromkeys(("n0", "n1"), 0)
    for row in result.placement.to_dicts():
        used[row["node"]] += row["uses"]
    free = [g - used[f"n{i}"] for i, g in enumerate(gpus)]
    for reason in result.waiting_jobs.reasons:
        at = int(str(reason.job)[1:])
        if all(needs[at] > f for f in free):
            assert reason.kind == (TOO_LARGE if needs[at] > max(gpus) else NO_ROOM)
            assert reason.needs == needs[at]
            assert reason.free in ((max(gpus),) if reason.kind == TOO_LARGE else free)
        else:
            assert reason.kind == COST
            assert reason.change == pytest.approx(prices[at] - 10)
    placed = set(itertools.chain.from_iterable(result.placement.select("job").rows()))
    assert placed | {str(r.job) for r in result.waiting_jobs.reasons} == {f"j{i}" for i in range(5)}


SHARED = """
model Shared {
  set Jobs;  set Nodes;  set Teams;
  param team[Jobs] within Teams;  param needs[Jobs] integer;  param gpus[Nodes] integer;  param most[Teams] integer;
  param banned[Nodes] integer default 0;
  var run[Jobs, Nodes] binary;
  maximize used: sum[j in Jobs, n in Nodes] needs[j] * run[j, n];
  constraint once[j in Jobs]: sum[n in Nodes] run[j, n] <= 1;
  constraint room[n in Nodes]: sum[j in Jobs] needs[j] * run[j, n] <= gpus[n];
  constraint share[t in Teams]: sum[j in Jobs, n in Nodes where team[j] == t] needs[j] * run[j, n] <= most[t];
  constraint closed[n in Nodes where banned[n] == 1]: sum[j in Jobs] run[j, n] <= 0;
  placement run[j, n] { job j;  node n;  uses needs[j] of gpus[n]; }
}
"""


@pytest.mark.parametrize("seed", range(8))
def test_a_constraint_that_excludes_places_with_room_is_named_with_them(seed: int) -> None:
    """`no room` begins the text only if no node has room; else the nodes with room, and a row that excludes one."""
    rng = random.Random(seed)
    jobs = {f"j{i}": (rng.choice(["red", "blue"]), rng.randint(1, 3)) for i in range(7)}
    gpus = {f"n{i}": rng.randint(1, 4) for i in range(3)}
    most = {team: rng.randint(2, 5) for team in ("red", "blue")}
    table = " ".join(f"{job} {team} {need}" for job, (team, need) in jobs.items())
    nodes = " ".join(f"{node} {amount} {int(node == 'n0')}" for node, amount in gpus.items())
    result = gs.loads(
        f"{SHARED} scenario S for Shared {{ table Jobs: team needs = {table}; table Nodes: gpus banned = {nodes};"
        f" table Teams: most = red {most['red']} blue {most['blue']}; }}"
    ).solve(gap=0.0, reasons=True)
    assert result.waiting_jobs is not None
    assert result.placement is not None
    free, left = dict(gpus), dict(most)
    for row in result.placement.to_dicts():
        team, need = jobs[row["job"]]
        free[row["node"]] -= need
        left[team] -= need
    for reason in result.waiting_jobs.reasons:
        team, need = jobs[str(reason.job)]
        fitting = [node for node, amount in free.items() if amount >= need]
        if reason.kind != NO_ROOM:
            continue
        if not fitting:
            assert reason.text.startswith(f"no room: needs {need} GPU")
            continue
        verb = f"{fitting[0]} has" if len(fitting) == 1 else f"{len(fitting)} nodes ({', '.join(fitting)}) have"
        assert reason.text.startswith(f"excluded: needs {need} GPU{'s' * (need > 1)}, and {verb} room for it (`")
        rows = {"closed[n0]"} if "n0" in fitting else set()
        rows |= {f"share[{team}]"} if left[team] < need else set()
        assert reason.row in rows
        assert f"(`{reason.row}` needs" in reason.text


def test_no_job_is_examined_after_the_time_limit() -> None:
    ended = gs.loads(scenario("p 4 1  q 8 1  r 3 9.5")).solve(gap=0.0)
    waiting = ended.waiting_jobs
    assert waiting is not None
    reasons = WaitingSearch(lambda: pytest.fail("no solver is needed"), seconds=0.0)(ended, waiting)
    assert reasons
    assert {reason.kind for reason in reasons} == {NOT_EXAMINED}


LARGE = """
model Large {
  set Jobs = 1..JOBS;  set Present = { j in Jobs where j > 0 };  set Nodes;
  param value[j in Jobs] in $ = j * 1[$];
  var run[Present, Nodes] binary;
  minimize postponed in $: sum[j in Present] value[j] * (1 - sum[n in Nodes] run[j, n]);
  constraint once[j in Present]: sum[n in Nodes] run[j, n] <= 1;
  constraint power: sum[j in Present, n in Nodes] run[j, n] <= JOBS - 10;
  placement run[j, n] { job j;  node n;  uses 1 of 1;  lasts 1[h];  postponed value[j]; }
}
scenario S for Large { Nodes = { NODES }; }
"""


def large(jobs: int) -> str:
    nodes = ", ".join(f"n{number}" for number in range(jobs))
    return LARGE.replace("JOBS", str(jobs)).replace("NODES", nodes)


def test_jobs_may_be_numbers_of_a_part_of_a_set() -> None:
    text = large(30).replace("1..30", "-3..30").replace("<= 30 - 10", "<= 20")
    found = reasons(text)
    assert list(found) == [str(job) for job in range(1, 11)]
    assert {(r.kind, r.binds) for r in found.values()} == {(NO_ROOM, ("power",))}


SPARSE_SUM = "constraint capacity[n in Nodes]: sum[j in Present] run[j, n] <= 1;\n  placement"
# The constants of a sum need all pairs of a job and a node, also where the plan has no element.
FULL_SUM = "constraint capacity[n in Nodes]: sum[j in Present] (1 - run[j, n]) >= 2400 - 1;\n  placement"


@pytest.mark.parametrize(
    ("capacity", "reason"),
    [
        (FULL_SUM, "not examined: the problem is too large"),
        (
            SPARSE_SUM,
            "excluded: needs 1 GPU, and 10 nodes (n0, n1, n2, n3, n4 and 5 more) have room for it "
            "(`power` needs 1, 0 free)",
        ),
    ],
)
def test_a_search_takes_little_memory_or_ends_before(capacity: str, reason: str) -> None:
    """The plan of counted nodes has 5,760,000 elements, 2,390 of which are 1."""
    result = gs.loads(large(2400).replace("placement", capacity)).solve(gap=0.0)
    assert result.waiting_jobs is not None
    tracemalloc.start()
    found = WaitingSearch(lambda: backend("highs"))(result, result.waiting_jobs)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert [r.job for r in found] == list(range(1, 11))
    assert {r.text for r in found} == {reason}
    assert peak < 16e6
