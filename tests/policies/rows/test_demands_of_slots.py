"""Rows that ask for jobs with slots, by hand: one job at a time, and no start after slot 4."""

from __future__ import annotations

import pytest

import gpusched_dsl as gs

TEXT = """
model Starts {
  set Jobs;  set Nodes;
  set Slots = 1..6;
  param length[Jobs] integer >= 1;
  var start[j in Jobs, n in Nodes, h in Slots where h <= 4] binary;
  let runs[j in Jobs] = sum[n in Nodes, h in Slots] start[j, n, h];
  constraint once[j in Jobs]: runs[j] <= 1;
  constraint one_job[h in Slots]:
    sum[j in Jobs, n in Nodes, q in Slots where q <= h and h < q + length[j]] start[j, n, q] <= 1;
  RULE
  minimize waiting: sum[j in Jobs] (1 - runs[j]);
  placement start[j, n, h] { job j;  node n;  slot h;  lasts length[j]; }
}
policy Early for Starts {
  order j in Jobs by length[j];
  choose n in Nodes, h in Slots by 1;
  occupies length[j];
  place start_now;
}
policy Valley for Starts extends Early {
  choose n in Nodes, h in Slots by h;
  place cheapest_block;
}
scenario S for Starts { Nodes = { n1, n2 };  table Jobs: length = a 3  b 2  c 2  d 1; }
"""


@pytest.mark.parametrize("policy", ["Early", "Valley"])
@pytest.mark.parametrize(
    ("rule", "status", "expected"),
    [
        ("", "feasible", {"d": 1, "b": 2, "c": 4}),
        ('constraint wanted: runs["a"] == 1;', "feasible", {"d": 1, "b": 2, "a": 4}),
        ('constraint both: runs["a"] == runs["d"];', "feasible", {"d": 1, "b": 2, "a": 4}),
        ("constraint all_of_them: sum[j in Jobs] runs[j] >= 4;", "broken", {"d": 1, "b": 2, "c": 4}),
    ],
)
def test_starts_by_hand(policy: str, rule: str, status: str, expected: dict[str, int]) -> None:
    result = gs.loads(TEXT.replace("RULE", rule)).solve("S", policy)
    starts = {job: slot for job, _, slot, value in result["start"].rows() if value is not None and value > 0.5}
    assert (result.status, starts) == (status, expected)


@pytest.mark.parametrize("first", ["wanted", "never"])
def test_a_demand_that_contradicts_a_limit_is_not_asked(first: str) -> None:
    """`never` keeps `a` from starting, whatever is demanded, and all others start as without the demand."""
    rules = {
        "wanted": 'constraint wanted: start["a", "n1", 1] >= 1;',
        "never": 'constraint never: 2 * sum[n in Nodes, h in Slots] start["a", n, h] <= 1;',
    }
    order = [rules.pop(first), *rules.values()]
    result = gs.loads(TEXT.replace("RULE", " ".join(order))).solve("S", "Valley")
    starts = {job: slot for job, _, slot, value in result["start"].rows() if value is not None and value > 0.5}
    assert (result.status, starts) == ("broken", {"d": 1, "b": 2, "c": 4})


OCCUPIED = """
model Occupied {
  set Jobs;  set Nodes;
  set Slots = 1..5;
  param length[Jobs] integer >= 1;
  var run[Jobs, Nodes, Slots] binary;
  var does[Jobs] binary;
  constraint whole[j in Jobs]: sum[n in Nodes, h in Slots] run[j, n, h] == length[j] * does[j];
  constraint one_job[n in Nodes, h in Slots]: sum[j in Jobs] run[j, n, h] <= 1;
  minimize waiting: sum[j in Jobs] (1 - does[j]);
  placement run[j, n, h] { job j;  node n;  slot h;  lasts 1; }
}
policy Early for Occupied {
  order j in Jobs by length[j];
  choose n in Nodes, h in Slots where h > 1 by 1;
  occupies length[j];
  place start_now;
}
scenario S for Occupied { Nodes = { n };  table Jobs: length = a 3  b 2; }
"""


def test_a_job_that_would_run_beyond_the_last_slot_is_not_started() -> None:
    """`b` has slots 2 and 3. Slots 4 and 5 are too few for `a`, and that slot 1 is free does not help it."""
    result = gs.loads(OCCUPIED).solve("S", "Early")
    assert result.status == "feasible"
    assert [(job, slot) for job, _, slot, value in result["run"].rows() if value > 0.5] == [("b", 2), ("b", 3)]


@pytest.mark.parametrize(
    "place", ["start_now", "start_now first_free", "cheapest_block", "by_performance by length[j]"]
)
def test_jobs_whose_demand_no_order_meets_are_left_out(place: str) -> None:
    """Slots 2 to 5 of a node are too few for `a`, though those of both nodes are not, and `b` runs only with it."""
    text = OCCUPIED.replace("  minimize", '  constraint both: does["a"] == does["b"];\n  minimize')
    text = text.replace("a 3  b 2;", "a 5  b 2  c 1;").replace("{ n }", "{ n, m }").replace("start_now", place)
    result = gs.loads(text).solve("S", "Early")
    assert result.status == "feasible"
    assert {job for job, _, _, value in result["run"].rows() if value > 0.5} == {"c"}
