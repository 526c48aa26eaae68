"""Rows of queues that ask for jobs or read positions, by hand: where a row refuses a queue, the next one is tried."""

from __future__ import annotations

import pytest

import gpusched_dsl as gs

TEXT = """
import "gsdsl:allocation/policies.gsm";
model House extends Allocation { RULE }
scenario S for House {
  Jobs = { a, b, c, d, e, f };  Types = { t, u };
  table GPUs: gpu_type = g1 t  g2 t  g3 u;
  table Profiled: exec_time[s] = a t 5  a u 9  b t 6  b u 4  c t 7  c u 8  d t 3  d u 9  e t 5  e u 9  f t 5  f u 8;
}
"""
TWO = "constraint two[g in GPUs]: sum[j in Jobs, p in Places] run[j, g, p] <= 2;"
USED = "constraint used[g in GPUs]: sum[j in Jobs, p in Places] run[j, g, p] >= 1;"
LAST = 'constraint last[g in GPUs, p in Places where p > 1]: run["b", g, p] == 0;'


def queues(rule: str, policy: str) -> tuple[str, dict[str, str]]:
    result = gs.loads(TEXT.replace("RULE", rule)).solve("S", policy)
    found: dict[str, str] = {}
    for job, gpu, _, value in sorted(result["run"].rows(), key=lambda row: -row[2]):
        if value is not None and value > 0.5:
            found[gpu] = found.get(gpu, "") + job
    return str(result.status), found


@pytest.mark.parametrize(
    ("rule", "policy", "expected"),
    [
        ("", "TimeFIFO", {"g1": "acdef", "g3": "b"}),
        (TWO, "TimeFIFO", {"g1": "ac", "g2": "de", "g3": "bf"}),
        (USED, "TimeFIFO", {"g1": "acde", "g2": "f", "g3": "b"}),
        ("", "EarliestFinishFIFO", {"g1": "ad", "g2": "ce", "g3": "bf"}),
        (LAST, "EarliestFinishFIFO", {"g1": "adf", "g2": "ce", "g3": "b"}),
        (LAST, "EarliestFinishSJF", {"g1": "daf", "g2": "ec", "g3": "b"}),
    ],
)
def test_queues_by_hand(rule: str, policy: str, expected: dict[str, str]) -> None:
    assert queues(rule, policy) == ("feasible", expected)


def test_a_demand_that_cannot_be_met_keeps_no_job_from_running() -> None:
    """All six jobs are demanded, and three GPUs take one each."""
    status, found = queues(TWO.replace("<= 2", "<= 1"), "TimeFIFO")
    assert (status, found) == ("broken", {"g1": "a", "g2": "c", "g3": "b"})


NARROW = """
import "gsdsl:allocation/policies.gsm";
model Narrow extends Allocation {
  param power[Jobs];
  constraint one: sum[j in Jobs, g in GPUs, p in Places where g != "g3"] run[j, g, p] <= 1;
  constraint cool: sum[j in Jobs, p in Places] power[j] * run[j, "g3", p] <= 5;
  constraint apart: sum[p in Places] (run["b", "g3", p] + run["c", "g3", p]) <= 1;
}
scenario S for Narrow {
  Types = { t, u, v };
  table Jobs: power = a 1  b 1  c 2  d 3;
  table GPUs: gpu_type = g1 t  g2 u  g3 v;
  table Profiled: exec_time[s] =
    a t 30  a u 10  a v 50  b t 0  b u 10  b v 10  c t 10  c u 50  c v 50  d t 10  d u 20  d v 50;
}
"""


@pytest.mark.parametrize("policy", ["TimeFIFO", "TimeSJF", "TimeSJFSortedBefore", "EarliestFinishFIFO"])
def test_a_job_that_no_later_turn_can_place_goes_first(policy: str) -> None:
    """Only `c` on `g1` leaves room on `g3` for all others, as all six orders that begin with `c` show."""
    result = gs.loads(NARROW).solve("S", policy)
    places = {job: gpu for job, gpu, _, value in result["run"].rows() if value is not None and value > 0.5}
    assert (result.status, places) == ("feasible", {"a": "g3", "b": "g3", "c": "g1", "d": "g3"})


BEHIND = 'constraint last[p in Places where p == 1]: sum[g in GPUs] (run["a", g, p] + run["b", g, p]) == 0;'


@pytest.mark.parametrize("policy", ["TimeFIFO", "EarliestFinishFIFO", "EarliestFinishSJF"])
def test_jobs_that_need_others_behind_them_are_placed_together_with_these(policy: str) -> None:
    """No pass can append `a` or `b`: each would be the last of its queue at first."""
    wanted = 'constraint wanted: sum[g in GPUs, p in Places] (run["a", g, p] + run["b", g, p]) >= 2;'
    status, found = queues(f"{BEHIND} {wanted}", policy)
    assert status == "feasible"
    assert {"a", "b"} <= {j for queue in found.values() for j in queue[:-1]}
    assert sorted("".join(found.values())) == list("abcdef")
