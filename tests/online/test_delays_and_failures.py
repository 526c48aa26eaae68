"""No job works before the end of its delay, on any node, and nobody pays for a job that a failure has halted."""

from __future__ import annotations

import pytest
from online_texts import machines, run

PLAIN_NODES = ("set Nodes identical", "set Nodes")

SLOTTED = """
model Slotted {
  set Jobs;  set Nodes;  set Slots ordered;
  param length[Jobs] in h;
  param open[Jobs] in h >= 0;
  param price[Slots] in $;
  var on[Jobs, Nodes, Slots] binary;
  minimize late in $: sum[j in Jobs, n in Nodes, h in Slots] price[h] * on[j, n, h];
  constraint whole[j in Jobs]: sum[n in Nodes, h in Slots] on[j, n, h] * 1[h] >= open[j];
  placement on[j, n, h] { job j;  node n;  slot h;  lasts 1[h]; }
}
online Windows for Slotted {
  arrive j in Jobs at 0;
  window h in Slots lookahead 6 commit 6;
  replan on every 6 slots;
  work length[j] / 1[h];  speed 1;
  carry open[j] = max(0[h], length[j] - done[j] * 1[h]);
  charge energy[j in Jobs] in $ = sum[n in Nodes, h in Slots] 1[$] * on[j, n, h];
  OUTAGE
}
scenario S for Slotted {
  Slots = 0..5;  Nodes = { n0 };  table Jobs: length[h] open[h] = j0 4 4;
  table Slots: price[$] = 0 0  1 1  2 2  3 3  4 4  5 5;
}
"""


def test_a_job_that_moves_during_its_delay_waits_for_the_rest_of_it() -> None:
    block = "online Late for Machines extends Events { on start delay 1[h]; }"
    text = machines(2, [(0.0, 4.0), (0.5, 1.0)]).replace(*PLAIN_NODES)
    done = run(text + block, "Late", method="SRPT")
    assert done.world.counts["migration"][0] >= 1
    assert done.world.end.tolist() == pytest.approx([5.0, 2.5])


def test_a_delay_of_the_move_itself_runs_beside_the_rest() -> None:
    block = "online Late for Machines extends Events { on start delay 1[h];  on migration delay 2[h]; }"
    text = machines(2, [(0.0, 4.0), (0.5, 1.0)]).replace(*PLAIN_NODES)
    done = run(text + block, "Late", method="SRPT")
    assert done.world.end[0] == pytest.approx(8.5)  # moves at 0.5, back at 2.5, and works from 4.5 on
    assert done.world.end[1] == pytest.approx(2.5)


def test_a_job_that_is_halted_during_its_delay_waits_for_the_rest_of_it_later() -> None:
    block = "online Late for Machines extends Events { on start delay 1[h]; }"
    done = run(machines(1, [(0.0, 4.0), (0.5, 1.0)]) + block, "Late", method="SRPT")
    assert done.world.end.tolist() == pytest.approx([7.0, 2.5])


def test_a_failure_during_a_delay_leaves_the_rest_of_it() -> None:
    block = """
    online Late for Machines extends Events { on start delay 1[h];  outage n in Nodes every 0.75[h] lasting 1[h]; }"""
    done = run(machines(1, [(0.0, 4.0)]) + block, "Late")
    # A quarter of an hour of the delay is left at 1.75; the node works from 2.0 to 2.5, then 0.75 of every 1.75 hours.
    assert done.world.end.tolist() == pytest.approx([11.0])


def test_a_halted_job_is_not_charged_for_before_the_next_plan() -> None:
    """No plan is made at the failure: what is charged by the values of the plan leaves the job out all the same."""
    block = """
    online Failing for Machines {
      arrive j in Jobs at submitted[j];  replan on arrival, recovery;  carry remaining[j] = remaining[j];
      outage n in Nodes every 3[h] lasting 2[h];
      charge extra[j in Jobs] in $/h = 1[$/h] * sum[n in Nodes] run[j, n];
    }"""
    done = run(machines(1, [(0.0, 4.0)]) + block, "Failing")
    assert done.world.end.tolist() == pytest.approx([6.0])
    assert done.total == pytest.approx(4.0)


def test_slots_of_a_node_that_is_down_are_neither_run_nor_charged_for() -> None:
    """The plan over six slots takes the first four; the node is down in the third, and no plan is made then."""
    sound = run(SLOTTED.replace("OUTAGE", ""), method="highs")
    assert sound.world.done.tolist() == pytest.approx([4.0])
    assert sound.total == pytest.approx(4.0)
    failing = run(SLOTTED.replace("OUTAGE", "outage n in Nodes every 2[h] lasting 1[h];"), method="highs")
    assert failing.world.done.tolist() == pytest.approx([3.0])
    assert failing.total == pytest.approx(3.0)
