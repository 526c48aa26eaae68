"""Reservations ask rows over the jobs that run at their time, by hand: 4 units for a team on two nodes with room."""

from __future__ import annotations

import pytest

import gpusched_dsl as gs

TEXT = """
model Cluster {
  set Jobs ordered;  set Nodes;  set Teams;
  param need[Jobs] integer;  param team[Jobs] within Teams;  param hours[Jobs] in h;
  var run[Jobs, Nodes] binary;
  maximize jobs: sum[j in Jobs, n in Nodes] run[j, n];
  constraint once[j in Jobs]: sum[n in Nodes] run[j, n] <= 1;
  constraint room[n in Nodes]: sum[j in Jobs] need[j] * run[j, n] <= 8;
  constraint share[t in Teams]: SHARE;
  placement run[j, n] { job j;  node n;  uses need[j] of 8;  lasts hours[j]; }
}
scenario S for Cluster {
  Nodes = { n1, n2 };  Teams = { red, blue };
  table Jobs: need team hours[h] = JOBS;
}
"""
SUM = "sum[j in Jobs, n in Nodes where team[j] == t] need[j] * run[j, n]"
SHARES = {"at most": f"{SUM} <= 4", "at least": f"-{SUM} >= -4"}
FIRST = "a 3 red 2  b 4 red 1  "  # b gets its share when a has ended


def jobs_that_start(jobs: str, policy: str, share: str = "at most") -> set[str]:
    result = gs.loads(TEXT.replace("JOBS", FIRST + jobs).replace("SHARE", SHARES[share])).solve(backend=policy)
    assert result.status == "feasible"
    return {str(job) for job, _, value in result["run"].rows() if value > 0.5} - {"a"}


@pytest.mark.parametrize("policy", ["EASY", "Conservative"])
@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize(
    ("jobs", "expected"),
    [
        ("c 1 red 3", set()),  # would run when b needs the whole share
        ("c 1 red 2", {"c"}),  # ends when b starts
        ("c 1 blue 9", {"c"}),  # another team
        ("c 1 red 3  d 1 red 1", {"d"}),
    ],
)
def test_a_job_overtakes_if_it_leaves_a_reservation_its_share(
    jobs: str, expected: set[str], policy: str, share: str
) -> None:
    assert jobs_that_start(jobs, policy, share) == expected


def test_each_reservation_has_its_own_share() -> None:
    """`b` runs from 2 to 3 and `c` from 3 to 5, each with the whole share, so that `d` may run until 2, not until 4."""
    for hours, starts in ((2, {"d"}), (4, set())):
        assert jobs_that_start(f"c 4 red 2  d 1 red {hours}", "Conservative") == starts


ONE_USER = """<= 99;
  var serves[Teams, Nodes] binary;
  constraint serving[j in Jobs, n in Nodes]: run[j, n] <= serves[team[j], n];
  constraint one_user[n in Nodes]: sum[t in Teams] serves[t, n] <= 1"""


@pytest.mark.parametrize("policy", ["EASY", "Conservative"])
@pytest.mark.parametrize(
    ("jobs", "expected"),
    [
        ("c 3 red 3", set()),  # there is room for it beside `b`, on a node that is then of another team
        ("c 3 red 2", {"c"}),
        ("c 1 red 3  d 1 red 1", {"d"}),
    ],
)
@pytest.mark.parametrize("need", [4, 5])  # with 5 it has no room now, and no row is broken now
def test_a_reservation_has_a_node_without_other_users(jobs: str, expected: set[str], policy: str, need: int) -> None:
    text = TEXT.replace("{ n1, n2 }", "{ n1 }").replace("SHARE", f"{SUM} {ONE_USER}")
    plan = gs.loads(text.replace("JOBS", f"a 4 red 2  b {need} blue 1  {jobs}")).solve(backend=policy)
    assert plan.status == "feasible"
    assert {str(job) for job, _, value in plan["run"].rows() if value > 0.5} == {"a", *expected}


def test_a_limit_that_running_jobs_exceed_is_that_of_the_model_later() -> None:
    """Two jobs of a team run where now one may: `b` starts when both have ended, so that `c` has a node until then."""
    text = TEXT.replace("JOBS", "a 1 red 2  x 1 red 4  b 8 red 1  c 8 blue 3")
    count = "sum[j in Jobs, n in Nodes where team[j] == t] run[j, n]"
    before = gs.loads(text.replace("SHARE", f"{count} <= 2")).solve(backend="FIFO")
    after = gs.loads(text.replace("SHARE", f"{count} <= 1")).solve(backend="EASY", warm_start=before)
    running = [{str(job) for job, _, value in plan["run"].rows() if value > 0.5} for plan in (before, after)]
    assert running == [{"a", "x"}, {"a", "x", "c"}]
