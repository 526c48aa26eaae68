"""The memory of policies and the times of their new plans: the chosen way, the final way, and jobs with neither."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gpusched_dsl.compiling.data.instance import build_instance
from gpusched_dsl.compiling.evaluation.limits import MemoryLimits
from gpusched_dsl.compiling.lowering.fixing import VariableValues
from gpusched_dsl.language.blocks.policies.policy import check_policy
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.scenarios.scenario import check_scenario
from gpusched_dsl.language.workspace import workspace_from_text
from gpusched_dsl.policies.decide import decide
from gpusched_dsl.policies.plan import Plan

TEXT = """
model M {
  set Jobs;
  set Nodes;
  set Types;
  param type[Nodes] within Types;
  param deadline[Jobs] in h;
  param work[Jobs] in h;
  param chosen[Jobs] integer default 7;
  param kind[Jobs] default 7;
  var run[j in Jobs, n in Nodes, g in 1..4] binary;
  minimize cost: sum[j in Jobs, n in Nodes, g in 1..4] g * run[j, n, g];
  placement run[j, n, g] {
    job j;  node n;  node_type type[n];  uses g of 4;  lasts work[j] / g;  costs 1[$/h];  due deadline[j];
  }
}
policy Grown for M {
  order j in Jobs by deadline[j];
  choose t in Types, g in 1..4 where work[j] / g <= deadline[j] by g;
  otherwise t in Types, g in 1..4 by -g;
  place best_fit, new_node, next_choice;
  finish grow by speedup;
  remember chosen = g;
  remember kind = if t == "a" then 1 else 2;
  again after work[j] / g - 30[min] where g > 1;
}
policy Drawn extends Grown { repeat 20 keep best total; randomise choose from 2; }
policy Dealt extends Grown { split 2 controllers; }
policy Pinned extends Grown { keep running; }
policy Forgetful extends Grown { again after 0 * work[j]; }
scenario Run for M {
  Types = { a, b };
  Nodes = { n1, n2, n3 };
  table Nodes: type = n1 a  n2 b  n3 b;
  # j1 is in time with 1 GPU, j2 needs 3, j3 is late in every way, and for j4 no node has room.
  table Jobs: deadline[h] work[h] =
    j1  9  8
    j2  3  8
    j3  2  20
    j4  10 40;
}
"""


def decided(policy: str, running: dict[str, VariableValues] | None = None, text: str = TEXT) -> Plan:
    found = Diagnostics()
    workspace = workspace_from_text(text, "memory.gsm", found, Path.cwd())
    found.raise_if_errors()
    scenario = check_scenario(workspace, "Run", {}, found)
    assert scenario is not None
    checked = check_policy(workspace, workspace.policies[policy], found, scenario.model)
    found.raise_if_errors()
    assert checked is not None
    return decide(checked, build_instance(scenario, folder=Path.cwd()).store, MemoryLimits(), 1, running)


def by_job(given: VariableValues | None) -> dict[int, float]:
    assert given is not None
    return dict(zip(given.codes[0].tolist(), given.values.tolist(), strict=True))


def placed(decision: Plan) -> dict[int, tuple[int, int]]:
    job, node, gpus = decision.values["run"].codes
    return {j: (n, g) for j, n, g in zip(job.tolist(), node.tolist(), gpus.tolist(), strict=True)}


def test_the_way_chosen_is_remembered_and_the_way_in_the_end_counts() -> None:
    found = decided("Grown")
    # In the order of their deadlines: j3 on 4 GPUs by `otherwise`, j2 on 3, j1 on 1 beside it; j4 finds 4 GPUs free.
    assert {job: gpus for job, (_, gpus) in placed(found).items()} == {0: 1, 1: 3, 2: 4, 3: 4}
    assert by_job(found.remembered["chosen"]) == {0: 1.0, 1: 3.0, 3: 4.0}
    assert by_job(found.again) == pytest.approx({1: 8 / 3 - 0.5, 2: 4.5, 3: 9.5})


def test_finishing_changes_what_comes_and_not_what_is_remembered() -> None:
    found = decided("Grown", text=TEXT.replace("j4  10 40;", "j4  50 40;").replace("j2  3  8\n", "j2  7  8\n"))
    gpus = {job: g for job, (_, g) in placed(found).items()}
    chosen = by_job(found.remembered["chosen"])
    assert chosen == {0: 1.0, 1: 2.0, 3: 1.0}
    assert all(gpus[job] >= chosen[job] for job in chosen)
    assert gpus != chosen
    wanted = {job: work / gpus[job] - 0.5 for job, work in enumerate((8, 8, 20, 40)) if gpus[job] > 1}
    assert by_job(found.again) == pytest.approx(wanted)


def test_the_type_of_node_has_the_name_that_choose_gives_it() -> None:
    found = decided("Grown")
    types = {job: 1.0 if node == 0 else 2.0 for job, (node, _) in placed(found).items()}
    kinds = by_job(found.remembered["kind"])
    assert kinds == {job: types[job] for job in kinds}


@pytest.mark.parametrize("policy", ["Drawn", "Dealt"])
def test_drawn_and_dealt_plans_tell_what_their_rules_chose(policy: str) -> None:
    found = decided(policy)
    gpus = {job: g for job, (_, g) in placed(found).items()}
    chosen = by_job(found.remembered["chosen"])
    assert chosen
    assert all(1 <= chosen[job] <= gpus[job] for job in chosen)
    assert 2 not in chosen  # late in every way


def test_jobs_that_stay_keep_what_is_remembered() -> None:
    running = {"run": VariableValues(tuple(np.array([c], dtype=np.int64) for c in (0, 0, 2)), np.ones(1))}
    found = decided("Pinned", running)
    assert placed(found)[0] == (0, 2)
    assert 0 not in by_job(found.remembered["chosen"])
    assert by_job(found.again)[0] == pytest.approx(3.5)


def test_a_time_that_is_not_after_now_is_none() -> None:
    assert by_job(decided("Forgetful").again) == {}
    assert decided("Grown", text=TEXT.replace("again after work[j] / g - 30[min] where g > 1;", "")).again is None


def test_a_way_that_is_larger_than_every_node_is_no_way() -> None:
    """Kernels look up sizes of ways on nodes of other kinds: a job of seven GPUs on nodes of four is not placed."""
    text = TEXT.replace("g in 1..4] binary", "g in 1..7] binary").replace("by -g;", "by -g, g;")
    text = text.replace("otherwise t in Types, g in 1..4", "otherwise t in Types, g in 5..7")
    found = decided("Grown", text=text)
    assert 2 not in placed(found)
    assert all(gpus <= 4 for _, gpus in placed(found).values())
