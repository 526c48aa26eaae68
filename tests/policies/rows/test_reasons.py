"""A job that a row keeps from running: `why` names the row, `explain --policy` the constraints that are asked."""

from __future__ import annotations

import pytest

import gpusched_dsl as gs
from gpusched_dsl.compiling.evaluation.limits import MemoryLimits
from gpusched_dsl.explaining.decisions.policy_trace import turn_with
from gpusched_dsl.policies.library import policy_named
from gpusched_dsl.policies.rows.asking import rows_in_words

MODEL = """
model Racks {
  set Jobs;  set Nodes;  set Racks;
  param gpus[Nodes] integer;  param rack[Nodes] within Racks;  param most[Racks] in GPU;
  param need[Jobs] integer;  param value[Jobs] in $;
  var run[Jobs, Nodes] binary;
  maximize worth in $: sum[j in Jobs, n in Nodes] value[j] * run[j, n];
  constraint once[j in Jobs]: sum[n in Nodes] run[j, n] <= 1;
  constraint room[n in Nodes]: sum[j in Jobs] need[j] * run[j, n] <= gpus[n];
  constraint in_rack[r in Racks]: sum[j in Jobs, n in Nodes where rack[n] == r] need[j] * 1[GPU] * run[j, n] <= most[r];
  placement run[j, n] { job j;  node n;  uses need[j] of gpus[n];  lasts 1[h]; }
}
policy Dear for Racks {
  order j in Jobs by value[j] descending;
  choose n in Nodes by gpus[n];
  place best_fit, new_node, next_choice, postpone;
}
scenario S for Racks {
  table Racks: most[GPU] = r1 4  r2 3;
  table Nodes: gpus rack = n1 4 r1  n2 4 r1  n3 2 r2;
  table Jobs: need value[$] = a 3 9  b 2 8  c 2 7;
}
"""


@pytest.mark.parametrize(("job", "words"), [
    ("c", "none of `best_fit`, `new_node` finds room for a listed way that the constraints of the model allow: "
          "`in_rack[r1]` is 3 GPU of at most 4 GPU, and the job adds 2 GPU"),
    ("b", ""),
])  # fmt: skip
def test_the_reason_is_a_row(job: str, words: str) -> None:
    model = gs.loads(MODEL)
    built = model._build(None, None)
    policy = policy_named(model._workspace, "Dear", built.instance.scenario.model)
    code = built.instance.store.universes["Jobs"].labels.index(job)
    turn = turn_with(policy, built.instance.store, None, code, MemoryLimits())
    assert turn is not None
    assert turn.wait_reason == words
    plan = model.solve(backend="Dear")
    assert (job in plan.placement["job"].to_list()) == (not words)


def test_a_description_names_the_constraints_that_are_asked() -> None:
    policy = policy_named(
        gs.loads(MODEL)._workspace, "Dear", gs.loads(MODEL)._build(None, None).instance.scenario.model
    )
    [line] = rows_in_words(policy)
    assert line == "A job takes the first place that breaks no constraint that the placement does not imply: `in_rack`."
    without = gs.loads(MODEL.replace("  constraint in_rack", "  # constraint in_rack"))
    policy = policy_named(without._workspace, "Dear", without._build(None, None).instance.scenario.model)
    assert rows_in_words(policy) == []
