"""Small random models of jobs with few rows in common, and their solves: as usual, and share by share."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np

from gpusched_dsl.compiling.build import Built, build, check_solvable
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.ir.verify import Verification, verify
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.workspace import load_workspace
from gpusched_dsl.solving.shares.solve import solve_by_shares
from gpusched_dsl.solving.solution import Solution
from gpusched_dsl.solving.starts import entries_of_point, point_from
from gsdsl_backends.protocol import SolveOptions
from gsdsl_backends.registry import backend


def built_from(text: str, hours: str, folder: Path) -> Built:
    """Read a text with its table of hours."""
    path = folder / "fleet.gsm"
    path.write_text(text, encoding="utf-8")
    (folder / "hours.csv").write_text(hours, encoding="utf-8")
    found = Diagnostics()
    workspace = load_workspace(path, found)
    found.raise_if_errors()
    scenario, _ = check_solvable(workspace, "S")
    return build(workspace, scenario, full=False)


def by_shares(built: Built, jobs: int, gap: float = 1e-6) -> Solution:
    return solve_by_shares(built, "Jobs", backend("highs"), SolveOptions(gap=gap), most_jobs=jobs)


def judged(problem: Problem, solved: Solution) -> Verification:
    """The plan in the complete problem, by the ordinary check."""
    assert solved.point is not None
    point, warnings = point_from(problem, entries_of_point(solved.problem, solved.point))
    assert not warnings
    return verify(problem, np.where(np.isnan(point), 0.0, point))


def capacity(seed: int, model: str) -> tuple[str, str]:
    """Capacity planning of the library, with identical nodes: its text and table."""
    draw = random.Random(seed)
    nodes, jobs = draw.randint(1, 5), draw.randint(1, 9)
    types = {f"v{k}": draw.choice([1, 2, 4]) for k in range(draw.randint(1, 3))}
    kinds = "  ".join(f"{v} {g} {draw.uniform(0.2, 4):.3f}" for v, g in types.items())
    rows, times = [], []
    for j in range(jobs):
        rows.append(f"j{j} {draw.uniform(0.2, 9):.3f} {draw.choice([0.01, 0.3, 2]):.3f}")
        alone = draw.uniform(0.5, 9)
        hours = {(v, g): alone / (1 + 0.6 * (g - 1)) for v, most in types.items() for g in range(1, most + 1)}
        times += [f"j{j},{v},{g},{time:.4f}" for (v, g), time in hours.items()]
    runnable = "" if model == "printed" else "Runnable = (job, kind, gpus);"
    name = "CapacityPlanningPrinted" if model == "printed" else "CapacityPlanning"
    text = f"""import "gsdsl:capacity_planning/{model}.gsm";
scenario S for {name} {{
  Nodes = {{ {", ".join(f"n{k}" for k in range(nodes))} }};
  table Types: gpus price[$/h] = {kinds} ;
  table Jobs: deadline[h] weight[$/h] = {"  ".join(rows)} ;
  data "hours.csv" {{ {runnable} exec_time[job, kind, gpus] = hours[h]; }}
}}
"""
    return text, "\n".join(["job,kind,gpus,hours", *times])


BOUGHT = """model Bought {{
  set Jobs;
  set Types;
  param size[Jobs] >= 0;
  param room[Types] >= 0;
  param price[Types] >= 0;
  param stock[Types] integer >= 0;
  param worth[Jobs];
  param need[Jobs] >= 0;
  param hours[Jobs, Types] > 0;
  param due[Jobs] >= 0;
  var buy[t in Types] integer >= 0 <= stock[t];
  var run[Jobs, Types] binary;
  var served[Jobs] binary;
  var late[Jobs] >= 0;
  {sense} total {{
    rent: {sign} * sum[t in Types] price[t] * buy[t];
    wait: {sign} * sum[j in Jobs] (0.3 * late[j] + worth[j] * (1 - served[j]));
    runs: {sign} * sum[j in Jobs, t in Types] 0.01 * hours[j, t] * run[j, t];
  }}
  constraint once[j in Jobs]: sum[t in Types] run[j, t] == served[j];
  constraint fits[t in Types]: sum[j in Jobs] size[j] * run[j, t] <= room[t] * buy[t];
  constraint in_time[j in Jobs]: sum[t in Types] hours[j, t] * run[j, t] <= due[j] + late[j];
  {rows}
}}
scenario S for Bought {{
  table Jobs: size worth need due = {jobs} ;
  table Types: room price stock = {types} ;
  data "hours.csv" {{ hours[job, kind] = hours; }}
}}
"""
ROWS = (
    "",
    "constraint most: sum[j in Jobs, t in Types] hours[j, t] * run[j, t] <= 2 * count(Jobs);",
    "constraint quota: sum[j in Jobs] served[j] >= 0.5 * count(Jobs);",
    "constraint quota: sum[j in Jobs] (1 - served[j]) <= 0.4 * count(Jobs) + 1;",
    "constraint quota: sum[j in Jobs] (served[j] - 0.4) >= 0;",
    "constraint must[j in Jobs]: served[j] >= need[j];",
    "constraint soon[j in Jobs, t in Types]: hours[j, t] * run[j, t] <= 6;",
)


def bought(seed: int) -> tuple[str, str]:
    """Jobs on machines of types that are bought from a stock, with further rows in common: text and table."""
    draw = random.Random(seed)
    jobs, types = draw.randint(1, 8), draw.randint(1, 3)
    maximise = seed % 3 == 0
    hours = [f"j{j},t{t},{draw.uniform(0.5, 8):.3f}" for j in range(jobs) for t in range(types)]
    text = BOUGHT.format(
        sense="maximize" if maximise else "minimize",
        sign="-1" if maximise else "1",
        rows=ROWS[draw.randrange(len(ROWS))],
        jobs="  ".join(
            f"j{j} {draw.choice([1, 2, 2.5])} {draw.uniform(0.5, 9):.3f} {draw.choice([0, 0, 1])} "
            f"{draw.uniform(1, 6):.3f}"
            for j in range(jobs)
        ),
        types="  ".join(
            f"t{t} {draw.choice([2, 3, 5])} {draw.uniform(0.5, 4):.3f} {draw.randint(0, 4)}" for t in range(types)
        ),
    )
    return text, "\n".join(["job,kind,hours", *hours])
