"""Which slots and nodes a gang in slots takes, by hand: spreads, speeds, capacities by slot, and rows that refuse."""

from __future__ import annotations

import pytest
from comparing import LIMITS, decision_of

import gpusched_dsl as gs
from gpusched_dsl.policies.decide import decide

MODEL = """
model Blocks {
  set Racks;  set Nodes;  set Jobs;  set Slots ordered;
  param rack[Nodes] within Racks;  param gpus[Nodes, Slots] integer >= 0 default 1;
  param memory[Nodes] default 100;  param price[Nodes];  param tariff[Slots];  param speed[Nodes] default 1;
  param workers[Jobs] integer >= 1;  param length[Jobs];  param needs[Jobs] default 0;
  var worker[Jobs, Nodes, Slots] integer >= 0;
  var on[Jobs, Nodes, Slots] binary;
  minimize cost: sum[j in Jobs, n in Nodes, h in Slots] worker[j, n, h];
  constraint uses_node[j in Jobs, n in Nodes, h in Slots]: worker[j, n, h] <= workers[j] * on[j, n, h];
  ROW
  placement worker[j, n, h] {
    job j;  node n;  slot h;  rack rack[n];  workers workers[j];  uses 1 of gpus[n, h];
    uses needs[j] of memory[n];  lasts 1;  across_nodes 1.25;  across_racks 2;
  }
}
policy Ahead for Blocks {
  order j in Jobs by length[j] descending;
  choose n in Nodes, h in Slots by price[n] * tariff[h];
  occupies length[j] / speed[n];
  place cheapest_block;
}
policy Now extends Ahead { place start_now; }
scenario S for Blocks {
  DATA
}
"""
Plan = dict[str, dict[int, dict[str, int]]]


def plan_of(data: str, row: str = "", policy: str = "Ahead", model: str = MODEL) -> Plan:
    result = gs.loads(model.replace("ROW", row).replace("DATA", data)).solve("S", backend=policy)
    assert result.status == "feasible"
    found: Plan = {}
    for job, node, slot, workers in result["worker"].rows():
        if workers > 0.5:
            found.setdefault(job, {}).setdefault(slot, {})[node] = round(workers)
    return found


def test_nodes_with_most_room_are_tried_where_a_row_allows_few_nodes() -> None:
    data = """Racks = { a };  table Nodes: rack price = n1 a 1  n2 a 1  n3 a 1  big a 9;
      table Slots: tariff = 0 1  1 1;  table Jobs: workers length = j 3 1;
      gpus["big", 0] = 2;  gpus["big", 1] = 2;"""
    row = "constraint two_nodes[j in Jobs, h in Slots]: sum[n in Nodes] on[j, n, h] <= 2;"
    assert plan_of(data) == {"j": {0: {"n1": 1, "n2": 1, "n3": 1}, 1: {"n1": 1, "n2": 1, "n3": 1}}}
    assert plan_of(data, row) == {"j": {0: {"big": 2, "n1": 1}, 1: {"big": 2, "n1": 1}}}


def test_a_gang_that_rows_leave_in_one_rack_takes_its_slots_there() -> None:
    """With `far`, which costs nothing, two workers take four slots; in rack a they take three."""
    data = """Racks = { a, b };  table Nodes: rack price = n1 a 2  n2 a 2  far b 0;
      table Slots: tariff = 0 1  1 1  2 1  3 1;  table Jobs: workers length = j 2 2;"""
    row = 'constraint closed[h in Slots]: sum[j in Jobs] on[j, "far", h] <= 0;'
    assert plan_of(data) == {"j": {h: {"far": 1, "n1": 1} for h in range(4)}}
    assert plan_of(data, row) == {"j": {h: {"n1": 1, "n2": 1} for h in range(3)}}


def test_the_slowest_node_decides() -> None:
    """On slow nodes a job takes twice as long: one fast node is 3 slots at 5, a slow one 6 at 2, both 8 at 5 and 2."""
    slots = "  ".join(f"{h} 1" for h in range(8))
    nodes = "table Nodes: rack price speed = fast a 5 1  slow a 2 0.5;"
    data = f"Racks = {{ a }};  {nodes}  table Slots: tariff = {slots};  table Jobs: workers length = j 1 3;"
    assert plan_of(data) == {"j": {h: {"slow": 1} for h in range(6)}}
    assert plan_of(data.replace("slow a 2", "slow a 3")) == {"j": {h: {"fast": 1} for h in range(3)}}
    both = plan_of(data.replace("j 1 3", "j 2 3"))
    assert both == {"j": {h: {"fast": 1, "slow": 1} for h in range(8)}}, "6 slots times 1.25"


def test_capacities_may_change_from_slot_to_slot() -> None:
    data = """Racks = { a };  table Nodes: rack price = n1 a 1;  table Slots: tariff = 0 1  1 1  2 1  3 1;
      table Jobs: workers length = j 2 2;  gpus["n1", 0] = 2;  gpus["n1", 2] = 2;  gpus["n1", 3] = 2;"""
    assert plan_of(data) == {"j": {2: {"n1": 2}, 3: {"n1": 2}}}


def test_all_capacities_count() -> None:
    """Memory has room for one worker on each node, although two GPUs are free on the first."""
    data = """Racks = { a };  table Nodes: rack price memory = n1 a 1 10  n2 a 2 10;
      table Slots: tariff = 0 1  1 1;  table Jobs: workers length needs = j 2 1 6;
      gpus["n1", 0] = 2;  gpus["n1", 1] = 2;"""
    assert plan_of(data) == {"j": {h: {"n1": 1, "n2": 1} for h in range(2)}}
    assert plan_of(data.replace("j 2 1 6", "j 2 1 5")) == {"j": {0: {"n1": 2}}}


@pytest.mark.parametrize(("policy", "slots"), [("Ahead", []), ("Now", [0, 1])])
def test_only_starts_slot_by_slot_end_behind_the_last_slot(policy: str, slots: list[int]) -> None:
    data = """Racks = { a };  table Nodes: rack price = n1 a 1;  table Slots: tariff = 0 1  1 1;
      table Jobs: workers length = j 1 3;"""
    assert sorted(plan_of(data, policy=policy).get("j", {})) == slots
    text = MODEL.replace("ROW", "").replace("DATA", data)
    decision = decision_of(text)
    found = decide(decision.policy(policy), decision.store, LIMITS).statistics
    assert (found["jobs_not_started"], found["jobs_beyond_the_last_slot"]) == (not slots, bool(slots))


def test_equal_sums_prefer_one_node_then_the_earliest_then_the_tightest() -> None:
    data = """Racks = { a };  table Nodes: rack price = n1 a 0  n2 a 0  n3 a 0;  table Slots: tariff = 0 1  1 1  2 1;
      table Jobs: workers length = j 2 1;  gpus["n2", 1] = 3;  gpus["n3", 1] = 2;  gpus["n3", 2] = 2;"""
    assert plan_of(data) == {"j": {1: {"n3": 2}}}


def test_workers_of_a_job_are_the_same_in_all_slots() -> None:
    data = """Racks = { a };  table Nodes: rack price = n1 a 1;  table Slots: tariff = 0 1  1 2;
      table Jobs: workers length = j 1 1;"""
    text = MODEL.replace("workers workers[j];", "workers round(tariff[h]) + workers[j] - 1;").replace("ROW", "")
    with pytest.raises(gs.ModelError) as told:
        gs.loads(text.replace("DATA", data)).solve("S", backend="Ahead")
    assert "GSM3020" in str(told.value)
    assert "must be the same on all nodes and in all slots" in str(told.value)
