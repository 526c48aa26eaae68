"""Prices are dual values of the complete relaxation, and the bound that they prove is below every plan."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from msgspec import structs
from priced_models import exact_bound, instance, opened, relaxed_optimum

import gpusched_dsl as gs
from gpusched_dsl.compiling.build import Built
from gpusched_dsl.compiling.evaluation.store import Param
from gpusched_dsl.policies.decide import decide
from gpusched_dsl.policies.prices.safe_bound import safe_bound
from gpusched_dsl.policies.prices.values import with_prices


def priced(text: str) -> tuple[dict[str, Param], float | None, Built]:
    policy, built = opened(text)
    found = with_prices(policy, built.instance.store, built.permissions.limits())
    names = {price.param.name for price in policy.prices}
    return {name: param for name, param in found.store.params.items() if name in names}, found.bound, built


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.quick(6)
def test_prices_are_optimal_duals_of_the_complete_relaxation(seed: int) -> None:
    prices, bound, built = priced(instance(seed))
    problem = built.problem
    by_name = {
        "once": prices["price(once)"].values,
        "capacity": prices["price(capacity)"].values,
        "few": prices["price(few)"].values,
    }
    duals = np.zeros(problem.rows)
    for family in problem.constraints:
        duals[family.slice] = -by_name[family.name]
    assert (by_name["once"] >= -1e-9).all()
    assert (by_name["capacity"] >= -1e-9).all()
    optimum = relaxed_optimum(problem)
    # Duals of any signs that the sides allow, whose Lagrangian reaches the optimum, are optimal: weak duality.
    assert float(exact_bound(problem, duals)) == pytest.approx(optimum, abs=1e-7)
    assert bound == pytest.approx(optimum, abs=1e-7)
    mean = prices["price(capacity of any node)"].values
    assert mean == pytest.approx(by_name["capacity"].mean())


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.quick(6)
def test_the_bound_is_below_the_exact_one_and_below_every_plan(seed: int) -> None:
    text = instance(seed)
    policy, built = opened(text)
    random = np.random.default_rng(seed)
    problem = built.problem
    duals = np.round(random.normal(size=problem.rows), 3) / 3
    duals[~np.isfinite(problem.row_lower)] = np.minimum(duals[~np.isfinite(problem.row_lower)], 0)
    safe, exact = safe_bound(problem, duals), exact_bound(problem, duals)
    assert safe is not None
    assert Fraction(safe) <= exact
    assert safe == pytest.approx(float(exact), rel=1e-12, abs=1e-12)
    proved = gs.loads(text).solve(backend="highs", gap=0)
    assert proved.objective is not None
    assert safe <= proved.objective + 1e-9
    decision = decide(policy, built.instance.store, built.permissions.limits())
    assert decision.bound is not None
    assert decision.bound <= proved.objective + 1e-9
    plan = gs.loads(text).solve(backend="Priced")
    assert plan.bound == decision.bound
    assert plan.objective >= proved.objective - 1e-9


def test_a_price_by_hand() -> None:
    """One GPU more saves the gain of the first job that waits: the jobs earn 5, 3 and 2, and two have room."""
    text = """
model M {
  set Jobs;  set Nodes;  param gain[Jobs] in $;
  var run[Jobs, Nodes] binary;
  constraint room: sum[j in Jobs, n in Nodes] run[j, n] * 1[GPU] <= 2[GPU];
  constraint once[j in Jobs]: sum[n in Nodes] run[j, n] <= 1;
  constraint at_least: sum[j in Jobs, n in Nodes] run[j, n] >= 1;
  maximize total in $: sum[j in Jobs, n in Nodes] gain[j] * run[j, n];
  placement run[j, n] { job j;  node n; }
}
policy Priced for M {
  let worth in $/GPU = price(room);
  let forced in $ = price(at_least);
  order j in Jobs by worth * 1[GPU] - gain[j] - forced;
  place new_node, postpone;
}
scenario S for M { Nodes = 1..3;  table Jobs: gain[$] = a 2  b 5  c 3; }
"""
    prices, bound, _ = priced(text)
    assert 2.0 - 1e-9 <= float(prices["price(room)"].values[0]) <= 3.0 + 1e-9
    assert prices["price(at_least)"].values == pytest.approx([0.0])
    assert bound == pytest.approx(8.0)
    assert bound >= 8.0
    result = gs.loads(text).solve(backend="Priced")
    assert (result.status, result.bound) == ("feasible", pytest.approx(8.0))  # it leaves the third node empty
    assert result.objective == pytest.approx(8.0)


def test_a_bound_of_zero_is_zero() -> None:
    """Not the largest number below it, which would be shown."""
    _, built = opened(instance(0))
    problem = replace(
        built.problem, row_lower=np.full(built.problem.rows, -np.inf), row_upper=np.zeros(built.problem.rows)
    )
    problem = replace(problem, objectives=(structs.replace(problem.objectives[0], terms=()),))
    assert safe_bound(problem, np.zeros(problem.rows)) == 0.0


def test_columns_without_bounds_get_them_from_rows() -> None:
    text = """
model M {
  set Jobs;  set Nodes;
  var run[Jobs, Nodes] binary;  var late[Jobs] in h >= 0;
  constraint tardy[j in Jobs]: late[j] >= 3[h] * (1 - sum[n in Nodes] run[j, n]);
  constraint room[n in Nodes]: sum[j in Jobs] run[j, n] <= 1;
  minimize total in $: sum[j in Jobs] 2[$/h] * late[j];
  placement run[j, n] { job j;  node n; }
}
policy Priced for M {
  order j in Jobs by price(tardy[j]) + price(room) * 1[1/h];
  place new_node exclusive, postpone;
}
scenario S for M { Nodes = 1..2;  Jobs = { a, b, c }; }
"""
    policy, built = opened(text)
    found = with_prices(policy, built.instance.store, built.permissions.limits())
    assert found.bound is not None
    assert found.bound <= 6.0
    assert found.bound == pytest.approx(6.0, abs=1e-4)
    endless = safe_bound(built.problem, np.zeros(built.problem.rows))
    assert endless == pytest.approx(0.0, abs=1e-9)


def test_without_prices_no_relaxation_is_solved(monkeypatch: pytest.MonkeyPatch) -> None:
    text = instance(0).replace("price(capacity[n])", "0").replace("price(capacity)", "0[$/GPU]")
    text = text.replace("price(once[j])", "0").replace("price(few)", "0")
    policy, built = opened(text)
    store = built.instance.store
    assert policy.prices == ()
    assert with_prices(policy, store, built.permissions.limits()).store is store


def test_a_solver_improves_the_bound_of_prices() -> None:
    text = instance(3)
    plan = gs.loads(text).solve(backend="Priced")
    proved = gs.loads(text).solve(backend="Priced", bound=True)
    best = gs.loads(text).solve(backend="highs", gap=0)
    assert plan.bound is not None
    assert proved.bound is not None
    assert plan.bound - 1e-9 <= proved.bound <= best.objective + 1e-9
    assert proved.objective == plan.objective
