"""The meaning of the slot of a placement: a slot that a job occupies, or the slot in which it starts."""

from __future__ import annotations

import itertools

import pytest

import gpusched_dsl as gs
from gpusched_dsl.language.diagnostics.errors import DiagnosticError

STARTS = """
model Starts {
  set Jobs;  set Nodes;
  param horizon integer >= 1;
  set Slots = 1..horizon;
  param length[Jobs] integer >= 1;
  param weight[Jobs] > 0;
  var start[j in Jobs, n in Nodes, h in Slots] binary;
  constraint once[j in Jobs]: sum[n in Nodes, h in Slots] start[j, n, h] == 1;
  constraint one_at_a_time[n in Nodes, h in Slots]:
    sum[j in Jobs, q in Slots where q <= h and h < q + length[j]] start[j, n, q] <= 1;
  minimize total: sum[j in Jobs, n in Nodes, h in Slots] weight[j] * (h + length[j]) * start[j, n, h];
  placement start[j, n, h] { job j;  node n;  slot h;  lasts length[j]; }
}
policy Early for Starts {
  order j in Jobs by length[j];
  choose n in Nodes, h in Slots by 1;
  occupies length[j];
  place start_now;
}
policy Valley for Starts {
  order j in Jobs by length[j];
  choose n in Nodes, h in Slots by h;
  occupies length[j];
  place cheapest_block;
}
scenario S for Starts {
  Nodes = { n1, n2 };
  horizon = 8;
  table Jobs: length weight = a 3 1  b 2 1  c 2 2  d 1 1;
}
"""


@pytest.mark.parametrize("policy", ["Early", "Valley"])
def test_a_start_is_decided_once(policy: str) -> None:
    """By hand: d and b start at once; c follows d in slot 2, and a follows b in slot 3."""
    result = gs.loads(STARTS).solve("S", policy)
    assert result.status == "feasible"
    starts = {row["j"]: row["h"] for row in result["start"].to_dicts() if row["value"] > 0.5}
    assert starts == {"d": 1, "b": 1, "c": 2, "a": 3}
    assert result.objective == pytest.approx(1 * 2 + 1 * 3 + 2 * 4 + 1 * 6)


@pytest.mark.slow
def test_plans_of_starts_keep_to_the_model() -> None:
    """Of all lengths of three jobs the plan is feasible, and no better than the best sequence by enumeration."""
    model = gs.loads(STARTS.replace("a 3 1  b 2 1  c 2 2  d 1 1", "a 3 1  b 2 1  c 2 2"))
    for lengths in itertools.product((1, 2, 3), repeat=3):
        model.set("length", dict(zip("abc", lengths, strict=True)))
        result = model.solve("S", "Early")
        assert result.status == "feasible", lengths
        assert result.objective >= best(lengths, (1, 1, 2)) - 1e-9


def best(lengths: tuple[int, ...], weights: tuple[int, ...]) -> float:
    """The least weighted end on two nodes: every order of jobs on every node, each as early as it can be."""
    found = float("inf")
    for places in itertools.product((0, 1), repeat=len(lengths)):
        for order in itertools.permutations(range(len(lengths))):
            free, total = [1, 1], 0
            for j in order:
                free[places[j]] += lengths[j]
                total += weights[j] * free[places[j]]
            found = min(found, total)
    return found


@pytest.mark.parametrize(
    ("old", "new", "shown"),
    [("place cheapest_block;", "place cheapest_block, cheapest_slots;", "`cheapest_slots` selects single slots"),
     ("lasts length[j];", "", "does not state `lasts`")],
)  # fmt: skip
def test_what_cannot_be_planned_is_refused_before_planning(old: str, new: str, shown: str) -> None:
    text = STARTS.replace(old, new)
    assert text != STARTS
    with pytest.raises(DiagnosticError, match="GSM3016") as refused:
        gs.loads(text).solve("S", "Valley")
    assert shown in refused.value.diagnostics[0].message


def test_a_slot_that_is_occupied() -> None:
    """The same jobs with a variable that is 1 in every slot of a job; lengths of slots may differ."""
    text = STARTS.replace("== 1;\n  constraint one", "== length[j];\n  constraint one")
    text = text.replace("h < q + length[j]", "h < q + 1").replace("lasts length[j]", "lasts h")
    result = gs.loads(text).solve("S", "Early")
    assert result.status == "feasible"
    slots = [(row["j"], row["h"]) for row in result["start"].to_dicts() if row["value"] > 0.5]
    assert sorted(slots) == [("a", 3), ("a", 4), ("a", 5), ("b", 1), ("b", 2), ("c", 2), ("c", 3), ("d", 1)]
