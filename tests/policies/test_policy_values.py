"""The ordinary evaluator computes every number of a policy, also those that use the time of the decision."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gpusched_dsl.compiling.data.instance import build_instance
from gpusched_dsl.compiling.evaluation.evaluator import Evaluator
from gpusched_dsl.compiling.evaluation.frames import Frame
from gpusched_dsl.compiling.evaluation.limits import MemoryLimits
from gpusched_dsl.language.blocks.policies.policy import check_policy
from gpusched_dsl.language.checked_policy import CheckedPolicy, at
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.scenarios.scenario import check_scenario
from gpusched_dsl.language.workspace import workspace_from_text

TEXT = """
model M {
  option hurry in { yes, no } default no;
  set Jobs; set Nodes; set Types; set Configs = { (v, g) : v in Types, g in 1..2 };
  param due[Jobs] in h; param time[Jobs, Configs] in h default 2;
  when hurry == yes { param haste in h default 1; }
  var run[Jobs, Nodes, Configs] binary;
  minimize total: sum[j in Jobs, n in Nodes, (v, g) in Configs] run[j, n, v, g];
  placement run[j, n, v, g] { job j; node n; node_type v; lasts time[j, v, g]; }
}
model Wide extends M { param extra[Jobs] in min default 30; }
scenario S for Wide {
  Jobs = { a, b, c }; Nodes = { n }; Types = { t }; due["a"] = 3[h]; due["b"] = 1[h]; due["c"] = 5[h];
}
policy Base for M {
  let waits[j in Jobs] in h = factor * due[j];
  let factor = 1;
  order j in Jobs by waits[j] - now, remaining[j];
  choose (v, g) in Configs where g > 1 by time[j, v, g] / g;
  place best_fit;
}
policy Double for Wide extends Base {
  let factor = 2;
  randomise choose from (if extra[j] > 0[min] and due[j] > 2[h] then 3 else 1) by cost;
}
"""


def opened(name: str) -> tuple[CheckedPolicy, Evaluator]:
    found = Diagnostics()
    workspace = workspace_from_text(TEXT, "test.gsm", found)
    scenario = check_scenario(workspace, "S", {"hurry": "yes"}, found)
    assert scenario is not None, [d.message for d in found]
    policy = check_policy(workspace, workspace.policies[name], found, scenario.model)
    assert policy is not None
    assert [d.message for d in found] == []
    assert "haste" in policy.model.params
    store = build_instance(scenario, folder=Path()).store
    return policy, Evaluator(policy.model, store, MemoryLimits())


def for_each_job(policy: CheckedPolicy, evaluator: Evaluator) -> Frame:
    (job,) = policy.order.indexing.variables
    return Frame(3, {job: np.arange(3)})


@pytest.mark.parametrize(("name", "expected"), [("Base", [3, 1, 5]), ("Double", [6, 2, 10])])
def test_inherited_keys_read_the_lets_that_hold(name: str, expected: list[float]) -> None:
    policy, evaluator = opened(name)
    first, second = policy.order.keys
    frame = for_each_job(policy, evaluator)
    assert evaluator.numbers(first.value, frame).tolist() == expected
    assert np.broadcast_to(evaluator.numbers(second.value, frame), (3,)).tolist() == [1, 1, 1]


def test_at_another_time() -> None:
    policy, evaluator = opened("Base")
    later = at(policy, 0.5)
    frame = for_each_job(later, evaluator)
    found = Evaluator(later.model, evaluator.store, MemoryLimits()).numbers(later.order.keys[0].value, frame)
    assert found.tolist() == [2.5, 0.5, 4.5]


def test_lengths_of_lists_for_each_job() -> None:
    policy, evaluator = opened("Double")
    count = policy.draws["choose"].count
    assert count is not None
    assert evaluator.numbers(count, for_each_job(policy, evaluator)).tolist() == [3, 1, 3]


def test_conditions_and_keys_of_ways() -> None:
    policy, evaluator = opened("Base")
    assert policy.choose is not None
    frame = evaluator.expand(for_each_job(policy, evaluator), policy.choose.indexing, policy.choose.span).frame
    assert frame.size == 3
    assert np.broadcast_to(evaluator.numbers(policy.choose.keys[0].value, frame), (3,)).tolist() == [1, 1, 1]
