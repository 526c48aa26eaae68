"""Which constraints follow from the roles of a placement: by coefficients, for all data, and never too many."""

from __future__ import annotations

import pytest

from gpusched_dsl.language.checked import CheckedModel
from gpusched_dsl.language.checking import check_model
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.workspace import workspace_from_text
from gpusched_dsl.policies.covers import covers
from gpusched_dsl.policies.rows.problem import side_model

MODEL = """
model M {{
  set Jobs;  set Nodes;  set Racks;  set Sizes = 1..3;
  param gpus[Nodes] integer >= 1;
  param memory[Nodes] in GB >= 0;
  param rack[Nodes] within Racks;
  param need[Jobs] integer >= 1;
  param takes[Jobs, Sizes] in GB >= 0;
  param cap[Nodes] integer >= 1;
  let amount[i in Jobs, s in Sizes] = s * need[i];
  let runs[i in Jobs] = sum[m in Nodes, s in Sizes] run[i, m, s];
  let used[m in Nodes] = sum[i in Jobs, s in Sizes] amount[i, s] * run[i, m, s];
  var run[i in Jobs, m in Nodes, s in Sizes] binary;
  var on[Nodes] binary;
  constraint row{row};
  placement run[j, n, size] {{
    job j;  node n;  uses need[j] * size of gpus[n];  uses takes[j, size] of memory[n];  lasts 1[h];
  }}
}}
"""
EXPLAINED = {
    "one place": ("[j in Jobs]: sum[n in Nodes, s in Sizes] run[j, n, s] <= 1", "job"),
    "one place by a let": ("[a in Jobs]: runs[a] <= 1", "job"),
    "one place, turned round": ("[j in Jobs]: 1 >= runs[j]", "job"),
    "one place, on some nodes": ("[j in Jobs]: sum[n in Nodes, s in Sizes where gpus[n] > 4] run[j, n, s] <= 1", "job"),
    "one place at most twice": ("[j in Jobs]: 2 * runs[j] <= 3", "job"),
    "one place, by a condition": (
        "[j in Jobs]: sum[i in Jobs, n in Nodes, s in Sizes where i == j] run[i, n, s] <= 1",
        "job",
    ),
    "capacity": ("[n in Nodes]: sum[j in Jobs, s in Sizes] s * need[j] * run[j, n, s] <= gpus[n]", "uses"),
    "capacity by lets": ("[b in Nodes]: used[b] <= gpus[b]", "uses"),
    "capacity, all on one side": ("[n in Nodes]: used[n] - gpus[n] <= 0", "uses"),
    "at least nothing": ("[n in Nodes]: 0 <= sum[j in Jobs, s in Sizes] run[j, n, s]", "job"),
    "second capacity": ("[n in Nodes]: sum[j in Jobs, s in Sizes] takes[j, s] * run[j, n, s] <= memory[n]", "uses"),
    "capacity for some jobs": (
        "[n in Nodes]: sum[j in Jobs, s in Sizes where need[j] > 1] s * need[j] * run[j, n, s] <= gpus[n]",
        "uses",
    ),
}
SIDE = {
    "a demand": "[j in Jobs]: runs[j] == 1",
    "another bound": "[j in Jobs]: 2 * runs[j] <= 1",
    "all jobs": ": sum[j in Jobs] runs[j] <= 1",
    "counted twice": "[j in Jobs]: sum[i in Jobs, n in Nodes, s in Sizes] run[j, n, s] <= 1",
    "twice in the row": "[j in Jobs]: runs[j] + runs[j] <= 1",
    "another amount": "[n in Nodes]: sum[j in Jobs, s in Sizes] need[j] * need[j] * run[j, n, s] <= gpus[n]",
    "another capacity": "[n in Nodes]: used[n] <= cap[n]",
    "a smaller capacity": "[n in Nodes]: used[n] <= gpus[n] - 1",
    "the wrong capacity": "[n in Nodes]: sum[j in Jobs, s in Sizes] takes[j, s] * run[j, n, s] <= gpus[n] * 1[GB]",
    "a rack": "[r in Racks]: sum[n in Nodes where rack[n] == r] used[n] <= 4",
    "an open variable": "[n in Nodes]: used[n] <= gpus[n] * on[n]",
    "a condition": "[n in Nodes]: on[n] == 1 => used[n] <= gpus[n]",
    "the node of another": "[n in Nodes, m in Nodes]: used[n] <= gpus[m]",
    "equal names": "[gpus_ in Nodes]: sum[j in Jobs, s in Sizes] s * need[j] * run[j, gpus_, s] <= cap[gpus_]",
}


LINKS = {
    "an open node": ("[n in Nodes]: used[n] <= gpus[n] * on[n]", {"on": (1,)}),
    "an open node for each job": ("[j in Jobs, n in Nodes]: sum[s in Sizes] run[j, n, s] <= on[n]", {"on": (1,)}),
    "an open node for each way": ("[j in Jobs, n in Nodes, s in Sizes]: run[j, n, s] <= 2 * on[n]", {"on": (1,)}),
    "memory of an open node": (
        "[n in Nodes]: sum[j in Jobs, s in Sizes] takes[j, s] * run[j, n, s] <= memory[n] * on[n]",
        {"on": (1,)},
    ),
    "a smaller room": ("[n in Nodes]: used[n] <= cap[n] * on[n]", {}),
    "all jobs": ("[n in Nodes]: sum[j in Jobs, s in Sizes] run[j, n, s] <= on[n]", {}),
    "another node": ("[j in Jobs, n in Nodes, m in Nodes]: sum[s in Sizes] run[j, n, s] <= on[m]", {}),
    "any node": ("[j in Jobs, n in Nodes]: sum[s in Sizes] run[j, n, s] <= sum[m in Nodes] on[m]", {}),
    "twice the job": ("[j in Jobs, n in Nodes]: sum[s in Sizes] 2 * run[j, n, s] <= on[n]", {}),
    "closed nodes": ("[j in Jobs, n in Nodes]: sum[s in Sizes] run[j, n, s] <= 1 - on[n]", {}),
    "open only with a job": ("[n in Nodes]: on[n] <= sum[j in Jobs, s in Sizes] run[j, n, s]", {}),
}


def model(row: str) -> CheckedModel:
    found = Diagnostics()
    checked = check_model(workspace_from_text(MODEL.format(row=row), "m.gsm", found), "M", {}, found)
    found.raise_if_errors()
    assert checked is not None
    return checked


@pytest.mark.parametrize("name", EXPLAINED)
def test_rows_that_a_role_implies(name: str) -> None:
    row, role = EXPLAINED[name]
    checked = model(row)
    assert checked.placement is not None
    found = covers(checked, checked.placement)
    assert (dict(found.explained), found.side) == ({"row": role}, ())
    assert not side_model(checked).rows.constraints


@pytest.mark.parametrize("name", SIDE)
def test_rows_that_no_role_implies(name: str) -> None:
    checked = model(SIDE[name])
    assert checked.placement is not None
    assert covers(checked, checked.placement).side == ("row",)


@pytest.mark.parametrize("name", LINKS)
def test_binaries_that_are_one_where_a_job_runs(name: str) -> None:
    row, opening = LINKS[name]
    checked = model(row)
    assert checked.placement is not None
    found = covers(checked, checked.placement)
    assert found.side == ("row",)
    assert (dict(found.opening), found.links) == (opening, {"row"} if opening else set())


def test_a_job_that_takes_a_whole_node() -> None:
    text = """model W { set Jobs;  set Nodes;  var run[Jobs, Nodes] binary;
      constraint alone[n in Nodes]: sum[j in Jobs] run[j, n] <= 1;
      constraint two[n in Nodes]: sum[j in Jobs] 2 * run[j, n] <= 1;
      placement run[j, n] { job j;  node n;  lasts 1[h]; } }"""
    found = Diagnostics()
    checked = check_model(workspace_from_text(text, "w.gsm", found), "W", {}, found)
    assert checked is not None
    assert checked.placement is not None
    assert covers(checked, checked.placement).side == ("two",)


def test_side_rows_read_few_variables() -> None:
    rest = side_model(model("[r in Racks]: sum[n in Nodes where rack[n] == r] used[n] <= 4")).rows
    assert (list(rest.constraints), list(rest.variables), rest.objectives) == (["row"], ["run"], ())


GANGS = """
model G {{
  set Jobs;  set Nodes;
  param gpus[Nodes] integer >= 1;
  param need[Jobs] integer >= 1;
  var worker[j in Jobs, n in Nodes] integer >= 0 <= gpus[n];
  var on[Nodes] binary;
  var runs[Jobs] binary;
  var late[j in Jobs where need[j] > 1] binary;
  param held[Jobs, Nodes] integer default 0;
  constraint row{row};
  placement worker[j, n] {{ job j;  node n;  workers need[j];  uses 2 of gpus[n];  lasts 1[h]; }}
}}
"""


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ("[n in Nodes]: sum[j in Jobs] 2 * worker[j, n] <= gpus[n]", "uses"),
        ("[j in Jobs]: sum[n in Nodes] worker[j, n] >= 0", "job"),
        ("[n in Nodes]: sum[j in Jobs] 2 * worker[j, n] <= gpus[n] * on[n]", "link"),
        ("[j in Jobs]: sum[n in Nodes] worker[j, n] <= 1", "side"),  # a gang has several workers
        ("[n in Nodes]: sum[j in Jobs] worker[j, n] <= 1", "side"),
        ("[j in Jobs, n in Nodes]: worker[j, n] <= 1", "side"),
        ("[j in Jobs, n in Nodes]: worker[j, n] <= on[n]", "side"),
        ("[n in Nodes]: sum[j in Jobs] 3 * worker[j, n] <= gpus[n]", "side"),
        ("[j in Jobs]: sum[n in Nodes] worker[j, n] == need[j] * runs[j]", "workers"),
        ("[j in Jobs]: runs[j] * need[j] == sum[n in Nodes] worker[j, n]", "workers"),
        ("[j in Jobs]: sum[n in Nodes] worker[j, n] == 2 * need[j] * runs[j]", "side"),
        ("[j in Jobs]: sum[n in Nodes] 2 * worker[j, n] == need[j] * runs[j]", "side"),
        ("[j in Jobs]: sum[n in Nodes] worker[j, n] == runs[j]", "side"),
        ("[j in Jobs]: sum[n in Nodes where gpus[n] > 1] worker[j, n] == need[j] * runs[j]", "side"),
        ("[j in Jobs]: sum[n in Nodes] worker[j, n] == need[j] * late[j]", "side"),
        ("[j in Jobs, i in Jobs]: sum[n in Nodes] worker[j, n] == need[j] * runs[i]", "side"),
        ("[j in Jobs]: sum[n in Nodes] worker[j, n] == need[j] * runs[j] + 1", "side"),
        ("[j in Jobs]: sum[n in Nodes] worker[j, n] <= need[j] * runs[j]", "side"),
        (": sum[j in Jobs, n in Nodes] worker[j, n] == sum[j in Jobs] need[j] * runs[j]", "side"),
        (
            "[j in Jobs]: sum[n in Nodes] worker[j, n] == need[j] * runs[j];  "
            "constraint other: sum[j in Jobs] runs[j] <= 2",
            "side",
        ),
        ("[j in Jobs, n in Nodes where held[j, n] > 0]: worker[j, n] == held[j, n]", "pin"),
        ("[n in Nodes, j in Jobs]: held[j, n] == worker[j, n]", "pin"),
        ("[j in Jobs, n in Nodes]: 2 * worker[j, n] == held[j, n]", "side"),
        ("[j in Jobs, n in Nodes]: worker[j, n] <= held[j, n]", "side"),
        ("[j in Jobs, n in Nodes]: worker[j, n] == runs[j]", "side"),
    ],
)
def test_gangs_have_several_workers_and_nodes(row: str, expected: str) -> None:
    found = Diagnostics()
    checked = check_model(workspace_from_text(GANGS.format(row=row), "g.gsm", found), "G", {}, found)
    found.raise_if_errors()
    assert checked is not None
    assert checked.placement is not None
    covered = covers(checked, checked.placement)
    other = "link" if "row" in covered.links else "pin" if "row" in covered.pins else "side"
    assert covered.explained.get("row", other) == expected
