"""A plan in the rows of representatives is evaluated like in the complete problem."""

from __future__ import annotations

from pathlib import Path

import capacity_cases
import numpy as np
import pytest
from exactness import loaded

import gpusched_dsl as gs
from gpusched_dsl.compiling.build import build, check_solvable
from gpusched_dsl.compiling.interchangeable.fixed_plan import can_fix, fixed_plan_problem
from gpusched_dsl.compiling.lowering.fixing import VariableValues
from gpusched_dsl.compiling.lowering.ground import ground
from gpusched_dsl.reporting.result import Result
from gpusched_dsl.solving.solve import solve_problem
from gpusched_dsl.workflows import solve_by_policy

OWN = """
policy Own for CapacityPlanning {
  order j in Jobs by deadline[j];
  choose (v, g) in Configs where (j, v, g) in Runnable by time_left[j, v, g], g;
  place best_fit, new_node, best_suboptimal, postpone;
}
"""


def rows_of(result: Result, name: str) -> list[tuple[object, ...]]:
    return sorted(result[name].rows(), key=str)


@pytest.mark.parametrize("seed", range(24))
@pytest.mark.quick(4)
@pytest.mark.parametrize("zoned", [False, True])
def test_a_policy_costs_the_same(seed: int, zoned: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write = capacity_cases.write_zoned if zoned else capacity_cases.write_cases
    path = write(tmp_path, range(seed, seed + 1))
    path.write_text(path.read_text(encoding="utf-8") + OWN, encoding="utf-8")
    model = gs.load(path, allow_outside=True)
    settings = capacity_cases.settings(seed) | {"node_rule": ("at_most", "paper")[seed % 2]}
    plain = model.solve(f"Seed{seed}", backend="Own", settings=settings)
    monkeypatch.setattr(solve_by_policy, "MOST_NONZEROS", -1)
    small = model.solve(f"Seed{seed}", backend="Own", settings=settings)
    assert small.status == plain.status
    if plain.objective is not None:
        assert small.objective == pytest.approx(plain.objective)
        assert small.terms == pytest.approx(plain.terms)
        assert rows_of(small, "run") == rows_of(plain, "run")
        assert small.solved.problem.rows <= plain.solved.problem.rows


@pytest.mark.parametrize("seed", range(60))
@pytest.mark.quick(4)
def test_random_plans_are_feasible_in_both_or_in_neither(seed: int, tmp_path: Path) -> None:
    zoned = bool(seed % 2)
    write = capacity_cases.write_zoned if zoned else capacity_cases.write_cases
    workspace = loaded(write(tmp_path, range(seed, seed + 1)))
    chosen, _ = check_solvable(workspace, f"Seed{seed}", capacity_cases.settings(seed))
    built = build(workspace, chosen, aggregated=True)
    if built.aggregated is None:
        return
    complete = built.problem.variable("run")
    random = np.random.default_rng(seed)
    taken = np.flatnonzero(random.random(complete.size) < 1.5 / max(complete.size, 1) ** 0.5)
    plan = {"run": VariableValues(tuple(c[taken] for c in complete.domain.columns()), np.ones(len(taken)))}
    assert can_fix(built.aggregated.quotient, plan)
    assert not can_fix(built.aggregated.quotient, {"tardy": plan["run"]})
    small = fixed_plan_problem(built.aggregated.quotient, plan)
    assert small is not None
    found = solve_problem(small, "highs")
    expected = solve_problem(ground(chosen.model, built.instance.store, fixed=plan), "highs")
    assert found.status == expected.status
    if expected.objective is not None:
        assert found.objective == pytest.approx(expected.objective, abs=1e-7)


def test_an_index_that_the_model_excludes(tmp_path: Path) -> None:
    workspace = loaded(capacity_cases.write_cases(tmp_path, range(1)))
    chosen, _ = check_solvable(workspace, "Seed0", {})
    built = build(workspace, chosen, aggregated=True)
    assert built.aggregated is not None
    outside = VariableValues(tuple(np.array([c]) for c in (0, 0, 0, 99)), np.ones(1))
    assert fixed_plan_problem(built.aggregated.quotient, {"run": outside}) is None
