"""The first lines of `why`: capacities, the queue, rows, slots and gangs, in words of GPUs, jobs and nodes."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from live_windows import CHEAP

import gpusched_dsl as gs
from gpusched_dsl.language.diagnostics.errors import DiagnosticError

CLUSTER = """
model Cluster {
  set Types;  set Nodes;  set Teams;  set Jobs;
  param type[Nodes] within Types;  param gpus[Nodes] integer;  param memory[Nodes] in GB default 1000[GB];
  param team[Jobs] within Teams;  param need[Jobs] integer;  param gb[Jobs] in GB default 1[GB];
  param wants[Jobs] within Types;
  param submitted[Jobs] in h;  param hours[Jobs] in h;
  param share[Teams] in GPU default 100[GPU];
  param remaining[Jobs] default 1;
  set Fits = { j in Jobs, n in Nodes where wants[j] == type[n] };
  var run[j in Jobs, n in Nodes where (j, n) in Fits] binary;
  maximize started: sum[(j, n) in Fits] run[j, n];
  constraint once[j in Jobs]: sum[n in Nodes where (j, n) in Fits] run[j, n] <= 1;
  constraint room[n in Nodes]: sum[j in Jobs where (j, n) in Fits] need[j] * run[j, n] <= gpus[n];
  constraint mem[n in Nodes]: sum[j in Jobs where (j, n) in Fits] gb[j] * run[j, n] <= memory[n];
  constraint share_of[t in Teams] "GPUs of a team":
    sum[(j, n) in Fits where team[j] == t] need[j] * 1[GPU] * run[j, n] <= share[t];
  placement run[j, n] {
    job j;  node n;  node_type type[n];  uses need[j] of gpus[n];  uses gb[j] of memory[n];
    lasts remaining[j] * hours[j];
  }
}
policy Fifo for Cluster {
  order j in Jobs by submitted[j];
  choose n in Nodes where (j, n) in Fits by gpus[n];
  place best_fit, new_node, next_choice, wait;
  keep running;
}
policy Skip for Cluster extends Fifo { place best_fit, new_node, next_choice, postpone; }
online Live for Cluster {
  arrive j in Jobs at submitted[j];
  replan on arrival, completion;
  carry remaining[j] = remaining[j];
}
"""

SMALL = (
    CLUSTER
    + """
scenario S for Cluster {
  calendar from "2026-11-30 12:00" in "Europe/Berlin";
  Types = { a100, k80 };  Teams = { red, blue };
  share["blue"] = 3[GPU];
  table Nodes: type gpus memory[GB] = n1 a100 4 100  n2 a100 4 100  n3 k80 8 100;
  table Jobs: team need gb[GB] wants submitted[h] hours[h] =
    a red 3 10 a100 0 4  b red 2 10 a100 0 6  c red 4 1 a100 0.5 2  d red 3 1 a100 0.5 1
    e red 9 1 k80 0.5 1  f blue 2 90 k80 0.5 5  g red 1 20 k80 0.6 1  h blue 2 1 k80 0.7 2;
}
"""
)

GANGS = """
import "gsdsl:gangs/online.gsm";
scenario Small for Gangs {
  Racks = { r1, r2 };
  table Nodes: rack gpus = n1 r1 4  n2 r1 4  n3 r2 4;
  table Jobs: workers submitted[h] length[h] deadline[h] weight[$/h] =
    a 4 0 4 8 1  b 2 0 6 10 1  c 6 0.5 2 20 1  d 16 0.5 1 20 1  e 8 0.6 1 30 1;
}
"""

POWER = """
model Racks {
  set Racks;  set Nodes;  set Jobs;
  param rack[Nodes] within Racks;  param gpus[Nodes] integer;  param cap[Racks] in kW;
  param need[Jobs] integer;  param submitted[Jobs] in h;  param hours[Jobs] in h;  param remaining[Jobs] default 1;
  var run[Jobs, Nodes] binary;  var on[Nodes] binary;
  minimize waiting: sum[j in Jobs] (1 - sum[n in Nodes] run[j, n]);
  constraint once[j in Jobs]: sum[n in Nodes] run[j, n] <= 1;
  constraint room[n in Nodes]: sum[j in Jobs] need[j] * run[j, n] <= gpus[n];
  constraint opens[j in Jobs, n in Nodes]: run[j, n] <= on[n];
  constraint power[r in Racks] "power of a rack": sum[n in Nodes where rack[n] == r] on[n] * 0.5[kW] <= cap[r];
  placement run[j, n] { job j;  node n;  uses need[j] of gpus[n];  lasts remaining[j] * hours[j]; }
}
policy Fifo for Racks {
  order j in Jobs by submitted[j];
  choose n in Nodes by gpus[n];
  place best_fit, new_node, next_choice, postpone;
  keep running;
}
online Live for Racks {
  arrive j in Jobs at submitted[j];
  replan on arrival, completion;
  carry remaining[j] = remaining[j];
}
scenario S for Racks {
  Racks = { r1, r2 };
  table Racks: cap[kW] = r1 0.6  r2 0;
  table Nodes: rack gpus = n1 r1 4  n2 r1 4  n3 r2 8;
  table Jobs: need submitted[h] hours[h] = a 3 0 2  b 2 0 3;
}
"""

USERS = """
model Users {
  set People;  set Nodes;  set Jobs;
  param user[Jobs] within People;  param gpus[Nodes] integer;
  param need[Jobs] integer;  param submitted[Jobs] in h;  param hours[Jobs] in h;  param remaining[Jobs] default 1;
  var run[Jobs, Nodes] binary;  var serves[People, Nodes] binary;
  minimize waiting: sum[j in Jobs] (1 - sum[n in Nodes] run[j, n]);
  constraint once[j in Jobs]: sum[n in Nodes] run[j, n] <= 1;
  constraint room[n in Nodes]: sum[j in Jobs] need[j] * run[j, n] <= gpus[n];
  constraint belongs[j in Jobs, n in Nodes]: run[j, n] <= serves[user[j], n];
  constraint one_user[n in Nodes] "a node per user": sum[u in People] serves[u, n] <= 1;
  placement run[j, n] { job j;  node n;  uses need[j] of gpus[n];  lasts remaining[j] * hours[j]; }
}
policy Fifo for Users {
  order j in Jobs by submitted[j];
  choose n in Nodes by gpus[n];
  place best_fit, new_node, next_choice, postpone;
  keep running;
}
online Live for Users {
  arrive j in Jobs at submitted[j];
  replan on arrival, completion;
  carry remaining[j] = remaining[j];
}
scenario S for Users {
  People = { ann, bob };
  table Nodes: gpus = n1 4  n2 4;
  table Jobs: user need submitted[h] hours[h] = a ann 1 0 2  b ann 4 0.1 3  c bob 1 0.2 1;
}
"""

RACK_CAP = """
import "gsdsl:gangs/online.gsm";
model Capped extends Gangs {
  param most[Racks] integer;
  constraint cap[r in Racks] "workers in a rack":
    sum[j in Jobs, n in Nodes where rack[n] == r] worker[j, n] <= most[r];
}
online Each for Capped {
  arrive j in Jobs at submitted[j];
  replan on arrival, completion;
  carry remaining[j] = remaining[j];
  carry held[j, n] = worker[j, n];
}
scenario Small for Capped {
  Racks = { r1, r2 };
  most["r1"] = 5;  most["r2"] = 4;
  table Nodes: rack gpus = n1 r1 4  n2 r1 4  n3 r2 4;
  table Jobs: workers submitted[h] length[h] deadline[h] weight[$/h] =
    a 4 0 4 8 1  b 4 0 6 10 1  c 2 0.5 2 20 1  d 9 0.5 1 20 1;
}
"""

RENTED = """
import "gsdsl:capacity_planning/scenarios/three_jobs.gsm";
scenario One for CapacityPlanning extends ThreeJobs { }
scenario Stock for CapacityPlanning extends ThreeJobs {
  Nodes = { n1, n2 };
  stock["A"] = 1;  stock["B"] = 0;
}
"""

# A GPU in a mode: two small instances at positions 0 and 1, or a large one at 0.
MODES = """
model Mig {
  set Gpus;  set Jobs;  set Spots = 0..1;  set Places = { (g, s) : g in Gpus, s in Spots };
  param slices[Jobs] integer;  param hours[Jobs] in h;  param submitted[Jobs] in h;  param remaining[Jobs] default 1;
  param whole[Gpus] integer default 2;
  var at[j in Jobs, g in Gpus, s in Spots where s + slices[j] <= 2] binary;
  maximize value: sum[j in Jobs, g in Gpus, s in Spots where s + slices[j] <= 2] at[j, g, s];
  constraint once[j in Jobs]: sum[g in Gpus, s in Spots where s + slices[j] <= 2] at[j, g, s] <= 1;
  constraint apart[g in Gpus, p in Spots] "one instance on a slice":
    sum[j in Jobs, s in Spots where s + slices[j] <= 2 and s <= p and p < s + slices[j]] at[j, g, s] <= 1;
  placement at[j, g, s] { job j;  node g;  mode s;  uses slices[j] of whole[g];  lasts remaining[j] * hours[j]; }
}
policy Fifo for Mig {
  order j in Jobs by submitted[j];
  choose (g, s) in Places where s + slices[j] <= 2 by s;
  place best_fit, new_node, next_choice, postpone;
  keep running;
}
online Live for Mig {
  arrive j in Jobs at submitted[j];
  replan on arrival, completion;
  carry remaining[j] = remaining[j];
}
scenario S for Mig {
  Gpus = { g1 };
  table Jobs: slices submitted[h] hours[h] = a 1 0 2  b 2 0 1;
}
"""

HOURS = (
    CHEAP.replace("at submitted[j]", "at 0")
    + """
scenario One for Cheap extends Day { Jobs = { a };  table Jobs: hours[h] = a 2; }
scenario Two for Cheap extends Day { Jobs = { a, b };  table Jobs: hours[h] = a 1  b 1; }
"""
)


def words(text: str, job: str, at: float, method: str, online: str = "Live", scenario: str | None = None) -> list[str]:
    """The lines between the first two and the detail."""
    found = gs.loads(text).why(job, at, method=method, online=online, scenario=scenario)
    assert found.reason is not None
    lines = found.reason.lines(found.clock.text)
    assert found.lines()[3 : 3 + len(lines)] == lines
    return lines


@pytest.mark.parametrize(("job", "method", "lines"), [
    ("a", "Skip", [
        "runs on n1 with 3 GPUs of type a100 and 10 GB of memory, and ends at Mon 2026-11-30 16:00 by its stated "
        "length",
        "no other node has room for it",
        "without it there would be room for c, d",
        "Skip: it keeps its node: `keep running`",
    ]),
    ("c", "Skip", [
        "needs 4 GPUs of type a100 and 1 GB of memory, n2 has 2 GPUs free; next end: a at Mon 2026-11-30 16:00 on n1, "
        "then there is room for it",
        "n2 runs b",
    ]),
    ("d", "Skip", [
        "needs 3 GPUs of type a100 and 1 GB of memory, n2 has 2 GPUs free; ahead of it: c; next end: a at "
        "Mon 2026-11-30 16:00 on n1, then there is room for it",
        "n2 runs b",
    ]),
    ("e", "Skip", [
        "can never run: it needs 9 GPUs of type k80 and 1 GB of memory, and the largest place, n3, has 8 GPUs"
    ]),
    ("g", "Skip", [
        "needs 1 GPU of type k80 and 20 GB of memory, n3 has 10 GB of memory free; ahead of it: e; next end: f at "
        "Mon 2026-11-30 17:30 on n3, then there is room for it",
        "n3 runs f",
    ]),
    ("h", "Skip", [
        "needs 2 GPUs of type k80 and 1 GB of memory, and n3 has room for it; ahead of it: e, g; next end: f at "
        "Mon 2026-11-30 17:30, then the constraint leaves room for it",
        "the constraint `share_of[blue]` (GPUs of a team) excludes it: f uses 2 GPU of at most 3 GPU, the job adds "
        "2 GPU",
    ]),
    ("f", "Fifo", [
        "needs 2 GPUs of type k80 and 90 GB of memory, and n3 has room for it; ahead of it: e",
        "Fifo: the queue stops at `c`, which waits by the rule `wait`; if it ran now, with all other jobs as planned: "
        "started +1",
    ]),
])  # fmt: skip
def test_jobs_of_one_node(job: str, method: str, lines: list[str]) -> None:
    assert words(SMALL, job, 0.8, method) == lines


@pytest.mark.parametrize(("job", "method", "lines"), [
    ("c", "FIFO", [
        "runs as 6 workers of 1 GPU each: 2 on n2, 4 on n3, and ends at 3.5 h by its stated length",
        "no other node has room for it",
        "FIFO: it keeps its node: `keep running`",
    ]),
    ("d", "FIFO", ["can never run: it needs 16 workers of 1 GPU each, and the empty cluster has room for 12"]),
    ("e", "FIFO", [
        "needs 8 workers of 1 GPU each, there is room for none; ahead of it: d; next end: c at 3.5 h on n2, n3, which "
        "is not enough",
        "there is room for it at 4 h, if no other job takes it",
    ]),
])  # fmt: skip
def test_gangs(job: str, method: str, lines: list[str]) -> None:
    assert words(GANGS, job, 0.7, method, "EveryEvent") == lines


@pytest.mark.parametrize(("scenario", "lines"), [
    ("One", [
        "needs 1 GPU or 2 GPUs of type B, none is free; ahead of it: J2, J1; next end: J2 at 3 h on n1, then there is "
        "room for it",
        "n1 runs J1, J2",
    ]),
    ("Stock", [
        "needs 1 GPU of type A, none is free; ahead of it: J2, J1; next end: J2 at 3 h on n1, then there is room for "
        "it",
        "n1 runs J2",
    ]),
])  # fmt: skip
def test_nodes_whose_type_is_decided(scenario: str, lines: list[str]) -> None:
    """A node of one type has no room as another; of one node of type A and none of B in stock, no second one opens."""
    assert words(RENTED, "J3", 1, "Greedy", "EveryEvent", scenario) == lines


def test_no_node_of_a_type_in_stock() -> None:
    text = RENTED.replace('stock["A"] = 1', 'stock["A"] = 0')
    assert gs.loads(text).why("J3", 1, method="Greedy", online="EveryEvent", scenario="Stock").to_dict()["reason"][
        "kind"
    ] == "never"  # fmt: skip


def test_queues_of_nodes_have_no_runs() -> None:
    """All jobs of a queue would run at once."""
    text = """
import "gsdsl:allocation/tests/queues.gsm";
online Live for Allocation { arrive j in Jobs at 0;  replan on arrival, completion; }
"""
    with pytest.raises(DiagnosticError) as raised:
        gs.loads(text).why("B", 0, method="highs", online="Live", scenario="NotAllFit")
    assert [found.code for found in raised.value.diagnostics] == ["GSM1697"]


def test_rows_that_exclude_gangs() -> None:
    """The free node is in a rack where one more worker may run; the job of 9 workers needs all three nodes."""
    assert words(RACK_CAP, "c", 0.7, "FIFO", "Each") == [
        "needs 2 workers of 1 GPU each, and there is room for it on n2; next end: a at 4 h, then the constraint leaves "
        "room for it",
        "the constraint `cap[r1]` (workers in a rack) excludes it: a uses 4 of at most 5, the job adds 2",
    ]
    assert words(RACK_CAP, "d", 0.7, "FIFO", "Each")[1] == (
        "the constraint `cap[r2]` (workers in a rack) excludes it, because of b"
    )


def test_rows_about_other_variables_are_named() -> None:
    """A node of the first rack is on, so that no other one may be; the second rack has no power."""
    assert words(POWER, "b", 0.5, "Fifo") == [
        "needs 2 GPUs, and 2 nodes (n2, n3) have room for it; ahead of it: a",
        "the constraint `power[r1]` (power of a rack) excludes it from n2, because of a",
        "the constraint `power[r2]` (power of a rack) excludes it from n3",
    ]


def test_a_node_per_user() -> None:
    """The node of `ann` has room for the job of `bob`: rows that only link a job to its user are not named."""
    assert words(USERS, "c", 0.5, "Fifo") == [
        "needs 1 GPU, and n1 has room for it",
        "the constraint `one_user[n1]` (a node per user) excludes it, because of a",
    ]


def test_places_that_rows_exclude_are_no_other_places() -> None:
    assert words(POWER, "a", 0.5, "Fifo")[1] == "n2 has room for it too"


def test_positions_of_instances() -> None:
    """A GPU has one of two slices left, and a job of two waits for the end of that of one."""
    lines = words(MODES, "b", 0.5, "Fifo")
    assert lines[0] == "needs 2 GPUs, 1 is free on g1; ahead of it: a; next end: a at 2 h on g1"
    assert lines[2] == (
        "the constraint `apart[g1,0]` (one instance on a slice) excludes it: a uses 1 of at most 1, the job adds 1"
    )


def test_a_job_that_waits_for_cheap_slots() -> None:
    """The four hours of the window cost 3, 1, 4 and 1 $."""
    assert words(HOURS, "a", 0, "highs", "Ahead", "One") == [
        "needs 1 node, and n1 has room for it",
        "the plan runs it at 1 h, 3 h",
        "4 of 4 slots of the plan have room for it",
        "if it ran now, with all other jobs as planned: cost +2 $ (energy +2 $)",
    ]


def test_slots_until_a_job_is_due() -> None:
    text = HOURS.replace("lasts 1[h]; }", "lasts 1[h];  due 3[h]; }")
    assert words(text, "a", 0, "highs", "Ahead", "One")[2] == "3 of 3 slots until it is due at 3 h have room for it"


def test_a_job_that_waits_while_another_has_the_slot() -> None:
    model = gs.loads(HOURS)
    runs = {job: model.why(job, 1, method="highs", online="Ahead", scenario="Two").runs for job in ("a", "b")}
    [here], [waits] = ([job for job, is_running in runs.items() if is_running is state] for state in (True, False))
    assert words(HOURS, waits, 1, "highs", "Ahead", "Two") == [
        "needs 1 node, none is free in this slot",
        f"n1 runs {here}",
        "the plan runs it at 3 h",
        "2 of 3 slots of the plan have room for it",
        "if it ran now, other jobs would have to change: costs the same",
    ]
    assert words(HOURS, here, 1, "highs", "Ahead", "Two") == [
        "runs on n1 alone",
        "no other node can run it",
        "the plan runs it at 1 h",
        "2 of 3 slots of the plan have room for it",
    ]


def test_one_end_that_is_not_enough_for_a_row() -> None:
    """The team has 3 GPUs, its jobs use 1 and 2 of them: the first end leaves 1, the job needs 3."""
    text = (
        SMALL.replace("f blue 2 90", "f blue 2 1").replace("g red 1 20", "g blue 1 1").replace("h blue 2", "h blue 3")
    )
    assert words(text, "h", 0.8, "Skip")[0] == (
        "needs 3 GPUs of type k80 and 1 GB of memory, and n3 has room for it; ahead of it: e; next end: g at "
        "Mon 2026-11-30 13:36, which is not enough"
    )


def test_json_has_the_words() -> None:
    found = gs.loads(SMALL).why("h", 0.8, method="Skip").to_dict()
    reason = json.loads(json.dumps(found))["reason"]
    assert (reason["kind"], reason["fitting"], reason["places"]) == ("row", ["n3"], 1)
    assert reason["units"] == {"GPU": "", "memory": "GB"}
    assert reason["needs"] == [{"amounts": {"GPU": 2.0, "memory": 1.0}, "types": ["k80"], "workers": 1}]
    assert reason["ahead"] == [{"job": "e", "state": "waits"}, {"job": "g", "state": "waits"}]
    assert reason["rows"] == [{
        "row": "share_of[blue]", "doc": "GPUs of a team", "used": 2.0, "limit": 3.0, "adds": 2.0, "unit": "GPU",
        "jobs": ["f"], "uses": [2.0], "places": [], "combined": False,
    }]  # fmt: skip
    assert reason["next_end"] == {
        "job": "f", "at": pytest.approx(5.5), "at_date": "2026-11-30T17:30:00+01:00", "places": [], "enough": True,
    }  # fmt: skip


# --- random clusters -------------------------------------------------------------------------------------------------


def random_cluster(draw: random.Random) -> tuple[str, dict[str, Any], dict[str, Any]]:
    nodes = {f"n{k}": (draw.choice(("a100", "k80")), draw.choice((4, 8))) for k in range(draw.randint(2, 5))}
    jobs = {
        f"j{k:02}": (draw.randint(1, 9), draw.choice(("a100", "k80")), round(0.1 * k, 3), draw.randint(1, 6))
        for k in range(draw.randint(8, 16))
    }
    rows = "  ".join(f"{name} {kind} {gpus}" for name, (kind, gpus) in nodes.items())
    queue = "  ".join(f"{name} red {n} {t} {at} {hours}" for name, (n, t, at, hours) in jobs.items())
    text = f"""{CLUSTER}
scenario S for Cluster {{
  Types = {{ a100, k80 }};  Teams = {{ red }};
  table Nodes: type gpus = {rows};
  table Jobs: team need wants submitted[h] hours[h] = {queue};
}}
"""
    return text, nodes, jobs


@pytest.mark.quick(2)
@pytest.mark.parametrize("method", ["Fifo", "Skip"])
@pytest.mark.parametrize("seed", range(4))
def test_random_clusters(seed: int, method: str) -> None:
    """What is needed, free, ahead and next is computed from the schedule of the run."""
    draw = random.Random(seed)
    text, nodes, jobs = random_cluster(draw)
    model = gs.loads(text)
    schedule = {row["job"]: row for row in model.run(method=method).schedule.to_dicts()}
    at = draw.choice((1.05, 1.55, 2.35))
    # The last plan before that time: jobs that it started were ahead in the queue, those that ran kept their nodes.
    plans = [job[2] for job in jobs.values()] + [row["end"] for row in schedule.values()]
    last_plan = max(time for time in plans if time <= at)
    running = {j: row for j, row in schedule.items() if row["start"] <= at < row["end"]}
    waiting = [j for j, job in jobs.items() if job[2] <= at and (j not in schedule or schedule[j]["start"] > at)]
    free = {n: gpus - sum(jobs[j][0] for j, r in running.items() if r["node"] == n) for n, (_, gpus) in nodes.items()}
    for job in draw.sample(waiting, min(4, len(waiting))):
        need, kind = jobs[job][:2]
        reason = model.why(job, at, method=method).to_dict()["reason"]
        own = [n for n, (t, gpus) in nodes.items() if t == kind and gpus >= need]
        if not own:
            assert reason["kind"] == "never"
            continue
        assert reason["kind"] == ("room" if any(free[n] >= need for n in own) else "no room")
        assert reason["needs"][0]["amounts"]["GPU"] == need
        assert reason["places"] == len(own)
        assert reason["best"]["free"]["GPU"] == max(free[n] for n in own)
        assert free[reason["best"]["place"]] == max(free[n] for n in own)
        assert set(reason["fitting"]) == {n for n in own if free[n] >= need}
        rivals = {j for j in jobs if jobs[j][1] == kind}
        ahead = [
            j
            for j in jobs
            if j < job and j in rivals and (j in waiting or (j in running and running[j]["start"] == last_plan))
        ]
        assert [a["job"] for a in reason["ahead"]] == ahead
        ends = sorted((r["end"], j) for j, r in running.items() if r["node"] in own)
        if not ends:
            assert reason["next_end"] is None
            continue
        assert reason["next_end"]["at"] == pytest.approx(ends[0][0])
        assert schedule[reason["next_end"]["job"]]["end"] == pytest.approx(ends[0][0])
        if reason["kind"] == "no room":
            later = [t for t, _ in ends if any(
                free[n] + sum(jobs[j][0] for e, j in ends if e <= t and running[j]["node"] == n) >= need for n in own
            )]  # fmt: skip
            assert reason["room_at"] == pytest.approx(later[0])
