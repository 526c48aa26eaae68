"""Projects with scarce resources as models with intervals: drawn by lot, with all that decides an interval."""

from __future__ import annotations

from pathlib import Path
from random import Random

from gpusched_dsl.compiling.build import Permissions, build, check_solvable, choose_scenario
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.workspace import workspace_from_text


def grounded(text: str) -> Problem:
    found = Diagnostics()
    workspace = workspace_from_text(text, "project.gsm", found, Path.cwd())
    found.raise_if_errors()
    scenario, _ = check_solvable(workspace, choose_scenario(workspace))
    return build(workspace, scenario, permissions=Permissions()).problem


def project(tasks: int, horizon: int, seed: int) -> str:
    """Tasks with an order and two resources, to be finished as soon as possible."""
    random = Random(seed)
    rows = "  ".join(
        f"{j} {random.randint(1, 10)} {random.randint(1, 5)} {random.randint(0, 4)}" for j in range(1, tasks + 1)
    )
    before = [(i, j) for i in range(1, tasks) for j in range(i + 1, min(tasks, i + 8) + 1) if random.random() < 0.2]
    return f"""model Project {{
  set Tasks = 1..{tasks}; set Before within Tasks cross Tasks;
  param lasts[Tasks] integer; param one[Tasks] integer; param other[Tasks] integer;
  var begin[Tasks] integer >= 0 <= {horizon}; var end integer >= 0 <= {horizon};
  interval task[j in Tasks] start begin[j] length lasts[j];
  minimize end;
  constraint next[(i, j) in Before]: begin[i] + lasts[i] <= begin[j];
  constraint last[j in Tasks]: begin[j] + lasts[j] <= end;
  constraint first: cumulative[j in Tasks] (task[j], one[j]) <= 8;
  constraint second: cumulative[j in Tasks] (task[j], other[j]) <= 7;
}}
scenario S for Project {{ Before = {{ {", ".join(map(str, before))} }}; table Tasks: lasts one other = {rows}; }}
"""


def random_plant(random: Random) -> str:
    """Jobs on machines in one of several modes; some parts are there by lot: gangs, upkeep, orders, due times, rent."""
    jobs, machines, modes = random.randint(3, 5), random.randint(1, 3), random.randint(1, 2)
    gangs = machines > 1 and random.random() < 0.4
    needed = random.choice(("== 1", "== 1", "<= 1")) if not gangs else "== wide[j]"
    continuous = random.random() < 0.3
    horizon = random.choice((8, 12, 20, 40))
    rows: list[str] = []
    if random.random() < 0.5:
        rows.append("constraint box: cumulative[j in Jobs] (work[j], tools[j]) <= 3;")
    if random.random() < 0.5:
        rows.append("constraint order[j in Jobs, k in Jobs where k == j + 2]: begin[j] + lasts[j] <= begin[k];")
    if random.random() < 0.5 and not continuous:
        rows.append(
            "constraint upkeep[j in Jobs, m in Machines]: on[j, m] => begin[j] + lasts[j] <= down[m] "
            "or begin[j] >= down[m] + 2;"
        )
    if random.random() < 0.4:
        rows.append("constraint power: cumulative[j in Jobs] (work[j], tools[j]) <= rented;")
    if random.random() < 0.3:
        rows.append("constraint alone: no_overlap[j in Jobs] work[j];")
    kind = "" if continuous else "integer"
    table = "  ".join(
        f"{j} {random.randint(0, 3)} {random.randint(1, 2)} {random.randint(1, min(2, machines))} "
        f"{random.randint(3, 14)} {random.choice((-4, -1, 2))}"
        for j in range(1, jobs + 1)
    )
    lengths = "  ".join(
        f"{j} {k} {random.randint(0 if random.random() < 0.2 else 1, 5)}"
        for j in range(1, jobs + 1)
        for k in range(1, modes + 1)
    )
    downs = "  ".join(f"{m} {random.randint(0, 6)}" for m in range(1, machines + 1))
    return f"""model Plant {{
  set Jobs = 1..{jobs}; set Machines = 1..{machines}; set Modes = 1..{modes};
  param released[Jobs]; param tools[Jobs] integer; param wide[Jobs] integer; param due[Jobs]; param worth[Jobs];
  param takes[Jobs, Modes]; param down[Machines];
  var begin[j in Jobs] {kind} >= released[j] <= {horizon}; var on[Jobs, Machines] binary; var by[Jobs, Modes] binary;
  var late[Jobs] >= 0 <= 100; var rented integer >= 0 <= 6;
  let lasts[j in Jobs] = sum[k in Modes] takes[j, k] * by[j, k];
  interval work[j in Jobs] start begin[j] length lasts[j];
  interval part[j in Jobs, m in Machines] start begin[j] length lasts[j] optional on on[j, m];
  minimize sum[j in Jobs] (late[j] + 0.1 * begin[j]) + 0.5 * rented
    + sum[j in Jobs, m in Machines] worth[j] * on[j, m];
  constraint once[j in Jobs]: sum[m in Machines] on[j, m] {needed};
  constraint mode[j in Jobs]: sum[k in Modes] by[j, k] == 1;
  constraint single[m in Machines]: no_overlap[j in Jobs] part[j, m];
  constraint lateness[j in Jobs]: late[j] >= begin[j] + lasts[j] - due[j];
  constraint ends[j in Jobs]: begin[j] + lasts[j] <= {horizon};
  {" ".join(rows)}
}}
scenario S for Plant {{
  table Jobs: released tools wide due worth = {table};
  table Jobs, Modes: takes = {lengths};
  table Machines: down = {downs};
}}
"""
