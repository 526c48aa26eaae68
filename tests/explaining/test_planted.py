"""Conflicts planted in feasible instances of the shipped capacity model are found, and nothing else is named."""

from __future__ import annotations

import pytest
from building import Draws

import gpusched_dsl as gs
from gpusched_dsl.explaining.explanation import Explanation
from gpusched_dsl.ir.names import entry_name

HARD = """
import "gsdsl:capacity_planning/model.gsm";
model HardDue extends CapacityPlanning {
  constraint all_run[j in Jobs]: runs[j] == 1;
  constraint in_time[j in Jobs]: sum[n in Nodes, (v, g) in Configs where (j, v, g) in Runnable]
    time_left[j, v, g] * run[j, n, v, g] <= deadline[j];
}
"""


def instance(seed: int, *, nodes: int, jobs: int) -> tuple[str, list[float]]:
    """A feasible instance: a node of either type for every job; and the shortest time of each job."""
    draws = Draws(seed)
    for _ in range(7):
        draws.integer(0, 2)
    names = [f"j{k}" for k in range(jobs)]
    rows, fastest = [], []
    for name in names:
        work = 2 + draws.integer(0, 80) / 10
        rows += [f"{name} {v} {g} {work / speed / g**0.8:.4f}" for v, n, speed in TYPES for g in range(1, n + 1)]
        fastest.append(float(f"{work / 1.5 / 4**0.8:.4f}"))
    due = [f"{name} {3 * time + 1:.4f} 1" for name, time in zip(names, fastest, strict=True)]
    text = f"""
scenario Planted for HardDue {{
  Nodes = {{ {", ".join(f"n{k}" for k in range(nodes))} }};
  table Types: gpus price[$/h] = {" ".join(f"{v} {n} {speed}" for v, n, speed in TYPES)};
  table Jobs: deadline[h] weight[$/h] = {" ".join(due)};
  table Runnable: exec_time[h] = {" ".join(rows)};
}}
"""
    return HARD + text, fastest


TYPES = (("slow", 2, 1.0), ("quick", 4, 1.5))


def explain(text: str, *lines: str) -> Explanation:
    """The explanation of the planted scenario with some lines added at its end."""
    return gs.loads(text.rstrip().removesuffix("}") + "\n".join(lines) + "\n}\n").explain()


def rows_of(told: Explanation) -> list[str]:
    assert told.status == "infeasible"
    assert told.conflict is not None
    assert told.conflict.minimal
    problem = told.conflict.problem
    return [entry_name(problem.row_family(r), r) for r in told.conflict.rows.tolist()]


def check_impossible_due_date(seed: int) -> None:
    text, fastest = instance(seed, nodes=3, jobs=4)
    late = Draws(seed * 7 + 1).integer(0, 4)
    told = explain(text, f'deadline["j{late}"] = {fastest[late] * 0.9:.4f}[h];')
    assert set(rows_of(told)) == {f"all_run[j{late}]", f"in_time[j{late}]"}, seed
    assert told.conflict is not None
    assert not len(told.conflict.integer), seed
    assert {told.conflict.problem.column_family(c).name for c in told.conflict.columns.tolist()} == {"run"}
    least = told.relaxations[0]
    assert least.proved
    assert least.verified
    assert [entry_name(told.conflict.problem.row_family(r), r) for r in least.rows] == [f"in_time[j{late}]"]
    assert least.above[0] == pytest.approx(fastest[late] - round(fastest[late] * 0.9, 4), rel=1e-6)


def test_the_instances_are_feasible() -> None:
    assert explain(instance(1, nodes=3, jobs=4)[0]).status == "feasible"


@pytest.mark.parametrize("seed", range(2))
def test_an_impossible_due_date(seed: int) -> None:
    check_impossible_due_date(seed)


@pytest.mark.slow
def test_many_impossible_due_dates() -> None:
    for seed in range(10, 30):
        check_impossible_due_date(seed)


def test_no_machines_to_rent() -> None:
    """Two constraints: nodes must be rented, and there is nothing to rent."""
    text, _ = instance(5, nodes=2, jobs=3)
    told = explain(text, 'stock["slow"] = 0;', 'stock["quick"] = 1;')
    assert set(rows_of(told)) == {"nodes_rented", "in_stock[slow]", "in_stock[quick]"}
    assert told.conflict is not None
    assert not len(told.conflict.columns)
    assert "stock[quick] = 1" in str(told)


@pytest.mark.slow
def test_a_conflict_of_whole_numbers_only() -> None:
    """Three jobs that fill more than half a node each, on two nodes: cut in pieces they would fit."""
    text, _ = instance(6, nodes=2, jobs=3)
    whole = """
model WholeNodes extends HardDue {
  constraint share[n in Nodes]: sum[j in Jobs, (v, g) in Configs] 2 * run[j, n, v, g] <= 3;
}
"""
    told = explain(text.replace("scenario Planted for HardDue", whole + "scenario Planted for WholeNodes"))
    assert set(rows_of(told)) == {"all_run[j0]", "all_run[j1]", "all_run[j2]", "share[n0]", "share[n1]"}
    assert told.conflict is not None
    assert len(told.conflict.integer)
    assert told.relaxations[0].verified
