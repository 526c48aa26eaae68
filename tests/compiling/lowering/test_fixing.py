"""A problem with fixed variables has the optimum of the full problem with these values as bounds."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import gpusched_dsl as gs
from gpusched_dsl.compiling.build import Built, build, check_solvable
from gpusched_dsl.compiling.lowering.fixing import VariableValues
from gpusched_dsl.compiling.lowering.ground import ground
from gpusched_dsl.ir.solver_result import Status
from gpusched_dsl.language.diagnostics.errors import DiagnosticError, Diagnostics
from gpusched_dsl.language.workspace import workspace_from_text
from gpusched_dsl.solving.solve import solve_problem
from gpusched_dsl.workflows.solve_by_policy import with_own_columns
from gsdsl_backends.protocol import SolveOptions

TEXT = """import "gsdsl:capacity_planning/scenarios/figure1.gsm";
scenario Small extends Figure1Synthetic { Nodes = { n1, n2 }; }"""
LEVELS = """
model Levels {
  set Items = 1..4;
  option rule in { linear, products } default linear;
  var level[i in Items] integer >= 0 <= 3;
  var on[i in Items where i != 2] binary;
  var spill >= 0;
  let out[i in Items] = (on[i] else 0);
  minimize cost: sum[i in Items] (i * level[i] + 5 * out[i]) + 100 * spill;
  constraint demand: sum[i in Items] level[i] + spill >= 5;
  constraint linked[i in Items where i != 2]: level[i] <= 3 * on[i];
  when rule == products { constraint both: on[1] * on[3] <= 0; }
}
scenario S for Levels { }
"""


def built(text: str, scenario: str, **settings: str) -> Built:
    found = Diagnostics()
    workspace = workspace_from_text(text, "<text>", found)
    found.raise_if_errors()
    return build(workspace, check_solvable(workspace, scenario, settings)[0])


def optimum(problem: object) -> tuple[Status, float | None]:
    solved = solve_problem(problem, "highs", SolveOptions(gap=0.0))  # type: ignore[arg-type]
    solved.close()
    return solved.status, solved.objective


def compare(one: Built, name: str, values: np.ndarray) -> Status:
    """Both ways for a variable with these values per column; gives the status that both have."""
    whole = one.problem
    (family,) = [f for f in whole.variables if f.name == name]
    lower, upper = whole.lower.copy(), whole.upper.copy()
    lower[family.slice] = upper[family.slice] = values
    expected = optimum(replace(whole, lower=lower, upper=upper))
    given = VariableValues(family.domain.columns(), values)
    own = with_own_columns(one)
    fixed = ground(own.scenario.model, own.instance.store, own.permissions.limits(), {name: given})
    status, objective = optimum(fixed)
    assert status == expected[0]
    assert (objective is None) == (expected[1] is None)
    if objective is not None:
        assert objective == pytest.approx(expected[1], rel=1e-7, abs=1e-7)
    return status


@pytest.mark.quick(2)
@pytest.mark.parametrize("rule", ["paper", "force", "at_most"])
@pytest.mark.parametrize("terms", ["corrected", "printed"])
def test_plans_of_binaries(rule: str, terms: str) -> None:
    one = built(TEXT, "Small", node_rule=rule, deadline_terms=terms)
    (family,) = [f for f in one.problem.variables if f.name == "run"]
    rng = np.random.default_rng([len(rule), len(terms)])
    seen = set()
    for runs in (0, 1, 2, 2, 3, 3, 3, 4):
        values = np.zeros(family.size)
        values[rng.choice(family.size, runs, replace=False)] = 1.0
        seen.add(compare(one, "run", values))
    assert Status.OPTIMAL in seen


@pytest.mark.slow
def test_all_plans_of_one_job_and_none() -> None:
    one = built(TEXT, "Small", node_rule="at_most", work_conserving="yes")
    (family,) = [f for f in one.problem.variables if f.name == "run"]
    seen = {compare(one, "run", np.eye(family.size)[at]) for at in range(0, family.size, 5)}
    seen.add(compare(one, "run", np.zeros(family.size)))
    assert Status.INFEASIBLE in seen


@pytest.mark.quick(3)
@pytest.mark.parametrize("rule", ["linear", "products"])
@pytest.mark.parametrize("name", ["level", "on"])
def test_whole_numbers_conditions_and_products(rule: str, name: str) -> None:
    one = built(LEVELS, "S", rule=rule)
    (family,) = [f for f in one.problem.variables if f.name == name]
    rng = np.random.default_rng(7)
    most = one.problem.upper[family.slice]
    seen = {compare(one, name, np.floor(rng.random(family.size) * (most + 1))) for _ in range(12)}
    assert Status.OPTIMAL in seen


def test_what_the_model_does_not_have() -> None:
    one = built(LEVELS, "S")
    given = VariableValues((np.array([1, 2]),), np.array([1.0, 1.0]))
    with pytest.raises(DiagnosticError) as error:
        ground(one.scenario.model, one.instance.store, None, {"on": given})
    (finding,) = error.value.diagnostics
    assert finding.code == "GSM4014"
    assert "`on`" in finding.message
    # A zero says nothing of an element that is not there.
    ground(
        one.scenario.model, one.instance.store, None, {"on": VariableValues((np.array([1, 2]),), np.array([1.0, 0.0]))}
    )


def test_results_of_several_problems_of_one_instance_do_not_disturb_each_other() -> None:
    one = built(TEXT, "Small", node_rule="at_most")
    _ = one.problem
    before = dict(one.instance.store.variables)
    own = with_own_columns(one)
    given = VariableValues(tuple(c[:1] for c in own.problem.variables[1].domain.columns()), np.ones(1))
    ground(own.scenario.model, own.instance.store, None, {"run": given})
    assert one.instance.store.variables == before
    assert own.instance.store.variables["run"].domain.size == 1


@pytest.mark.parametrize(
    ("bounds", "is_broken", "is_cut"),
    [
        (">= 0", False, True),
        (">= 0 <= most[i]", False, True),
        (">= 0 <= 3", False, True),
        (">= 0 >= -1 <= most[i]", False, True),
        (">= 0 <= few[i]", True, False),
        (">= 0 <= pair[i, k]", True, False),
        (">= 0 >= least[i]", True, False),
        (">= 1", True, False),
        (">= least[i]", True, False),
        ("== 1", True, False),
        ("", False, False),
    ],
)
def test_elements_at_0_have_no_column_where_bounds_admit_0(bounds: str, is_broken: bool, is_cut: bool) -> None:
    """They read as 0 in rows, and a bound that excludes 0 is found as before."""
    text = f"""
    model M {{
      set I ordered;  set K = 1..2;
      param most[I] default 2;  param few[i in I] = if i == last(I) then -1 else 2;
      param pair[i in I, k in K] = few[i] + k - 1;
      param least[i in I] = if i == last(I) then 1 else 0;
      var x[i in I, k in K] integer {bounds};
      minimize total: sum[i in I, k in K] x[i, k];
      constraint row[i in I]: sum[k in K] x[i, k] <= 2;
    }}
    scenario S for M {{ I = {{ a, b, c }}; }}
    """
    built = gs.loads(text)._build("S", {})
    plan = {"x": VariableValues((np.array([0]), np.array([1])), np.array([2.0]))}
    problem = ground(built.scenario.model, built.instance.store, None, plan)
    assert problem.variable("x").domain.size == (1 if is_cut else 6)
    assert bool((problem.lower > problem.upper).any()) == is_broken
    values = problem.matrix.activity(np.minimum(problem.upper, np.maximum(problem.lower, 0.0)))
    assert is_broken or values.tolist() == [2.0, 0.0, 0.0]
