"""Lines of blocks with a window mean the same as elsewhere: events, periods, due dates, charges, counts of slots."""

from __future__ import annotations

import pytest
from online_texts import driver, run

from gpusched_dsl.language.diagnostics.errors import DiagnosticError, Diagnostics
from gpusched_dsl.language.workspace import Workspace, workspace_from_text
from gpusched_dsl.online.bounds.run_bound import relaxation_bound
from gpusched_dsl.online.run_config import RunConfig
from gpusched_dsl.online.run_info import RunInfo
from gpusched_dsl.online.run_record import RunOutcome
from gpusched_dsl.reporting.runs.result import RunResult
from gpusched_dsl.workflows.estimate import estimate

# One node; every job trains in the first slots that are free.
TEXT = """
model Trains {
  set Jobs;  set Nodes;  set Slots ordered;
  param arrives[Jobs] default 0;  param length[Jobs] integer;  param left[j in Jobs] integer default length[j];
  param until[Jobs] in h default 100;  param weight[Jobs] in $/h default 0;
  param number[Slots];  param was_at[Jobs, Nodes] binary default 0;  param ahead integer default 6;
  var train[Jobs, Nodes, Slots] binary;
  minimize late in $: sum[j in Jobs, n in Nodes, h in Slots] 1[$] * (number[h] - was_at[j, n]) * train[j, n, h];
  constraint all_done[j in Jobs]: sum[n in Nodes, h in Slots] train[j, n, h] >= left[j];
  constraint alone[n in Nodes, h in Slots]: sum[j in Jobs] train[j, n, h] <= 1;
  placement train[j, n, h] { job j;  node n;  slot h;  lasts 0.5[h];  due until[j];  weight weight[j]; }
}
policy First for Trains {
  order j in Jobs by arrives[j];  choose n in Nodes, h in Slots by 1;  occupies max(1, left[j]);  place start_now;
}
online Block for Trains {
  window h in Slots lookahead ahead commit COMMIT;
  arrive j in Jobs at arrives[j];
  REPLAN
  work length[j];  speed 1;
  carry left[j] = length[j] - round(done[j]);
  carry was_at[j, n] = train[j, n, committed];
  charge training[j in Jobs] in $ = sum[n in Nodes, h in Slots] 1[$] * train[j, n, h];
  charge starting[j in Jobs] in $ = sum[n in Nodes, h in Slots]
    10[$] * max(0, train[j, n, h] - (train[j, n, h-1] else was_at[j, n]));
  MORE
}
scenario S for Trains {
  Nodes = { n0 };  table Slots: number = 0 0  1 1  2 2  3 3  4 4  5 5;
  table Jobs: arrives length until[h] weight[$/h] = JOBS;
}
"""


def text(jobs: str, *, commit: str = "3", replan: str = "replan on every 3 slots;", more: str = "") -> str:
    return TEXT.replace("JOBS", jobs).replace("COMMIT", commit).replace("REPLAN", replan).replace("MORE", more)


def reasons(outcome: RunOutcome) -> list[tuple[float, tuple[str, ...]]]:
    return [(step.time, step.why) for step in outcome.steps]


def test_without_a_line_everything_that_happens_asks_for_a_plan() -> None:
    outcome = run(text("a 0 1 9 0  b 2 1 9 0", replan=""), method="First")
    assert reasons(outcome) == [
        (0.0, ("window", "arrival")),
        (0.5, ("completion",)),
        (1.0, ("arrival",)),
        (1.5, ("completion",)),
    ]


@pytest.mark.parametrize(
    ("every", "times"), [("1[h]", [0.0, 1.0, 2.0]), ("40[min]", [0.0, 1.0, 2.0]), ("9[h]", [0.0, 1.5])]
)
def test_a_period_that_is_a_time_is_counted_in_slots(every: str, times: list[float]) -> None:
    """A slot is half an hour; a plan that would hold for more than the committed slots does not."""
    outcome = run(text("a 0 1 9 0", replan=f"replan on every {every};"), method="First")
    assert [step.time for step in outcome.steps] == times


@pytest.mark.parametrize(
    ("replan", "ahead", "message"),
    [
        ("", "2", "3 slots of each plan are executed, and 2 are planned"),
        ("", "0", "no slot is planned"),
        ("replan on every ahead slots;", "4", "plans are 4 slots apart, but only 3 slots of each plan are executed"),
    ],
)
def test_counts_of_slots_that_the_data_give_are_looked_at_when_a_run_begins(
    replan: str, ahead: str, message: str
) -> None:
    with pytest.raises(DiagnosticError, match="GSM1652") as error:
        driver(text("a 0 1 9 0", replan=replan).replace("Nodes = {", f"ahead = {ahead};  Nodes = {{"), method="First")
    assert message in [diagnostic.message for diagnostic in error.value.diagnostics]


def test_tardiness_is_charged() -> None:
    """Both come at 0; the second ends at 2 h and is due at 0.5 h."""
    outcome = run(text("a 0 3 9 5  b 0 1 0.5 4"), method="First")
    assert outcome.world.end.tolist() == pytest.approx([1.5, 2.0])
    assert outcome.world.due.tolist() == pytest.approx([9.0, 0.5])
    assert outcome.world.ledger.totals["tardiness"] == pytest.approx(6.0)


def test_what_is_carried_was_executed() -> None:
    """The node is down in the last slot of the first plan: the job starts again with the second one."""
    sound = run(text("a 0 4 9 0"), method="First")
    failing = run(text("a 0 4 9 0", more="outage n in Nodes every 1[h] lasting 0.5[h];"), method="First")
    assert sound.world.ledger.totals == pytest.approx({"training": 4, "starting": 10})
    assert failing.world.ledger.totals == pytest.approx({"training": 4, "starting": 20})


def test_an_estimate_has_the_charges_of_all_slots() -> None:
    workspace = opened(text("a 0 3 9 0  b 1 2 9 0"))
    found = estimate(workspace, "b", RunConfig(method="First"))
    assert found.end.tolist() == pytest.approx([2.5])
    assert found.cost.tolist() == pytest.approx([12.0])


def test_an_estimate_knows_the_failures_before_its_time() -> None:
    """The node is down from 0.75 h to 1 h. Nobody has looked since 0.5 h, and the job comes at 1 h."""
    workspace = opened(
        text("a 2 2 9 0", replan="replan on arrival;", more="outage n in Nodes every 0.75[h] lasting 0.25[h];")
    )
    found = estimate(workspace, "a", RunConfig(method="First"), samples=3)
    assert found.state == "waiting"
    assert found.end.tolist() == pytest.approx([2.0] * 3)


def test_the_relaxation_bounds_no_run_in_which_a_job_never_came() -> None:
    """The model has two jobs, the run one: the total is below the relaxation because of that alone."""
    outcome = run(text("a 0 1 9 0  b 9 4 9 0"), method="First")
    bound = relaxation_bound(RunResult(outcome, RunInfo("First")).history)
    assert bound.value is None
    assert bound.how.startswith("jobs arrive after the last slot")


# Nodes that are on when they are needed; no jobs.
COMMITTED = """
model Commitment {
  set Nodes;  set Slots ordered;
  param price[Slots] in $;  param need[Slots];  param was[Nodes] binary default 0;
  var on[Nodes, Slots] binary;  var boots[Nodes, Slots] >= 0;
  minimize cost in $: sum[k in Nodes, h in Slots] (price[h] * on[k, h] + 5[$] * boots[k, h]);
  constraint enough[h in Slots]: sum[k in Nodes] on[k, h] >= need[h];
  constraint boot[k in Nodes, h in Slots]: boots[k, h] >= on[k, h] - (on[k, h-1] else was[k]);
  placement on[k, h] { node k;  slot h;  lasts 1[h]; }
}
online Loop for Commitment {
  window h in Slots lookahead 3 commit 1;
  carry was[k] = on[k, committed];
  charge rent[k in Nodes] in $ = sum[h in Slots] (price[h] * on[k, h] + 5[$] * boots[k, h]);
}
scenario S for Commitment { Nodes = { n0, n1 };  table Slots: price[$] need = 0 1 1  1 2 2  2 1 0  3 3 1; }
"""


def test_windows_may_have_decisions_without_jobs() -> None:
    """One node in all slots, the other in slot 1: 1 + 2 * 2 + 1 + 3, and two boots."""
    outcome = run(COMMITTED, method="highs")
    assert outcome.total == pytest.approx(19.0)
    assert outcome.world.ledger.places["rent"].sum() == pytest.approx(19.0)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (("arrive j in Jobs at arrives[j];", ""), "`Block` has no line `arrive`: no plan has a job"),
        (("{ job j;", "{"), "the placement of `Trains` has no `job`: a plan has no meaning for a job"),
    ],
)
def test_jobs_that_never_come_or_have_no_place_are_refused(changed: tuple[str, str], message: str) -> None:
    """A job that no plan could have would be left out of the result without a word."""
    lines = ("work length[j];  speed 1;", "carry left[j] = length[j] - round(done[j]);")
    without = text("a 0 1 9 0").replace(*changed)
    for line in lines if "arrive" in changed[0] else ():
        without = without.replace(line, "carry left[j] = 1;" if "carry" in line else "")
    with pytest.raises(DiagnosticError, match="GSM7002") as error:
        driver(without, method="highs")
    assert [diagnostic.message for diagnostic in error.value.diagnostics] == [message]


def opened(text: str) -> Workspace:
    found = Diagnostics()
    workspace = workspace_from_text(text, "windows.gsm", found)
    found.raise_if_errors()
    return workspace
