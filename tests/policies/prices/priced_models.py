"""Random models with prices, their complete relaxation, and the Lagrangian in rational arithmetic."""

from __future__ import annotations

from fractions import Fraction
from random import Random

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csr_matrix

from gpusched_dsl.compiling.build import Built, build, check_solvable
from gpusched_dsl.ir.arrays import Floats
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.language.blocks.policies.policy import check_policy
from gpusched_dsl.language.checked_policy import CheckedPolicy
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.workspace import workspace_from_text

# Nodes of two kinds, so that there are two classes of them; rows of nodes, of jobs, and of none.
MODEL = """
model M {
  set Jobs;  set Nodes identical by kind;  set Ways = 1..2;
  param room[Nodes] in GPU;  param gain[Jobs, Ways] in $;  param rent[Nodes] in $;  param most;
  var run[Jobs, Nodes, Ways] binary;
  var open[Nodes] binary;
  constraint once[j in Jobs]: sum[n in Nodes, w in Ways] run[j, n, w] <= 1;
  constraint capacity[n in Nodes]: sum[j in Jobs, w in Ways] w * 1[GPU] * run[j, n, w] <= room[n] * open[n];
  constraint few: 1 <= sum[n in Nodes] open[n] <= most;
  minimize total in $: sum[n in Nodes] rent[n] * open[n]
    - sum[j in Jobs, n in Nodes, w in Ways] gain[j, w] * run[j, n, w];
  placement run[j, n, w] { job j;  node n;  uses w * 1[GPU] of room[n]; }
}
policy Priced for M {
  let earns[j in Jobs] in $ = max[w in Ways] gain[j, w] - price(capacity) * 1[GPU] - price(once[j]);
  let limit in $ = price(few);
  let of_node[n in Nodes] in $/GPU = price(capacity[n]);
  order j in Jobs by earns[j] descending;
  choose w in Ways by -gain[j, w] + w * 1[GPU] * price(capacity);
  place best_fit, new_node, postpone;
}
"""


def instance(seed: int) -> str:
    random = Random(seed)
    jobs = [f"j{i}" for i in range(random.randint(2, 6))]
    nodes = [(f"n{i}", random.choice("ab")) for i in range(random.randint(1, 4))]
    room = {"a": random.randint(1, 4), "b": random.randint(1, 4)}
    rent = {"a": random.randint(0, 9) / 4, "b": random.randint(0, 9) / 4}
    gains = "  ".join(f"{j} {w} {random.randint(0, 40) / 8}" for j in jobs for w in (1, 2))
    rows = "  ".join(f"{n} {k} {room[k]} {rent[k]}" for n, k in nodes)
    return (
        MODEL
        + f"""
scenario S for M {{
  Jobs = {{ {", ".join(jobs)} }};
  most = {random.randint(1, len(nodes)) if seed % 2 else len(nodes)};
  table Nodes: kind room[GPU] rent[$] = {rows};
  table Jobs, Ways: gain[$] = {gains};
}}
"""
    )


def opened(text: str, name: str = "Priced") -> tuple[CheckedPolicy, Built]:
    found = Diagnostics()
    workspace = workspace_from_text(text, "test.gsm", found)
    scenario, _ = check_solvable(workspace, "S")
    policy = check_policy(workspace, workspace.policies[name], found, scenario.model)
    assert policy is not None, [d.message for d in found]
    assert [d.message for d in found] == []
    return policy, build(workspace, scenario)


def relaxed_optimum(problem: Problem) -> float:
    """The optimum of the complete relaxation, by HiGHS."""
    matrix = csr_matrix(
        (problem.matrix.values, problem.matrix.columns, problem.matrix.starts), (problem.rows, problem.columns)
    )
    both = csr_matrix(np.concatenate((matrix.toarray(), -matrix.toarray())))
    sides = np.concatenate((problem.row_upper, -problem.row_lower))
    sign = 1.0 if problem.objectives[0].sense == "minimize" else -1.0
    solved = linprog(
        sign * problem.objectives[0].costs(problem.columns),
        A_ub=both[np.isfinite(sides)],
        b_ub=sides[np.isfinite(sides)],
        bounds=np.stack((problem.lower, problem.upper), axis=1),
    )
    assert solved.status == 0
    return sign * float(solved.fun) + problem.objectives[0].offset


def exact_bound(problem: Problem, duals: Floats) -> Fraction:
    """The Lagrangian at the dual values of a minimum, in rational arithmetic."""
    v = [Fraction(float(one)) for one in duals]
    reduced = [Fraction(0)] * problem.columns
    for term in problem.objectives[0].terms:
        for column, cost in zip(term.columns.tolist(), term.coefficients.tolist(), strict=True):
            reduced[column] += Fraction(cost)
    matrix = problem.matrix
    for row, column, value in zip(matrix.row_of.tolist(), matrix.columns.tolist(), matrix.values.tolist(), strict=True):
        reduced[column] -= v[row] * Fraction(value)
    total = sum((Fraction(term.constant) for term in problem.objectives[0].terms), Fraction(0))
    for one, lower, upper in zip(v, problem.row_lower.tolist(), problem.row_upper.tolist(), strict=True):
        total += one * Fraction(lower if one > 0 else upper) if one else Fraction(0)
    for one, lower, upper in zip(reduced, problem.lower.tolist(), problem.upper.tolist(), strict=True):
        total += min(one * Fraction(lower), one * Fraction(upper))
    return total
