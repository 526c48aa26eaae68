"""Sums over sparse variables visit only the elements that exist, and give the same problem as the full product."""

from __future__ import annotations

import random
import tracemalloc
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec import Struct

from gpusched_dsl.compiling.data.instance import build_instance
from gpusched_dsl.compiling.evaluation import joins, sparse_bodies
from gpusched_dsl.compiling.evaluation.evaluator import Evaluator
from gpusched_dsl.compiling.evaluation.limits import MemoryLimits
from gpusched_dsl.compiling.lowering.fixing import PlanValues, VariableValues
from gpusched_dsl.compiling.lowering.ground import ground
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.language.checked import ComparisonChain, Iterator
from gpusched_dsl.language.diagnostics.errors import DiagnosticError, Diagnostics
from gpusched_dsl.language.scenarios.scenario import CheckedScenario, check_scenario
from gpusched_dsl.language.workspace import workspace_from_text

SETS = """
  set J; set N; set K; set H ordered; param kind[J] within K; param type[N] within K; param w[J]; param u[N];
  param c[J, N]; param d[J] integer; param last integer; param lag integer;
  set Some within J;
  set Fit within J cross N; set Of[k in K] = { n in N where type[n] == k };
"""
# The same elements each time; `y` has others, `v` is dense, `s` has integers and `z` places in time.
VARIABLES = {
    "where": "var x[j in J, n in N where kind[j] == type[n]] binary;",
    "indexed": "var x[j in J, n in Of[kind[j]]] binary;",
    "tuples": "set E = { (j, n) : j in J, n in N where kind[j] == type[n] }; var x[E] binary;",
}
OTHERS = """
  var y[j in J, n in N where (j, n) in Fit] binary; var v[J, N] >= 0;
  var s[j in J, t in 0..last where t >= 3 * d[j] and t <= 3 * d[j] + 1] binary;
  set Starts = { (j, t) : j in J, t in 0..last where t == d[j] }; var r[Starts] binary;
  var o[j in Some, n in Of[kind[j]]] binary; var p[j in Some, n in N where kind[j] == type[n]] binary;
  var z[j in J, h in H where ord(h) == d[j]] binary;
  var q[j in J, n in N, t in 0..last where kind[j] == type[n] and t == d[j]] >= 0;
  let load[j in J, n in N] = w[j] * x[j, n]; let swapped[n in N, j in J] = load[j, n] + y[j, n];
  let later[j in J, t in 0..last - 1] = s[j, t + 1];
  param far[j in J, n in N] = w[j] + u[n];
"""
SPARSE = [  # each visits fewer rows than the product
    "constraint a[j in J]: sum[n in N] x[j, n] <= 1",
    "constraint a[n in N]: sum[j in J] x[j, n] <= u[n]",
    "constraint a: sum[j in J, n in N] c[j, n] * x[j, n] >= 1",
    "constraint a: sum[n in N, j in J] (w[j] * u[n] - 2) * x[j, n] / 4 >= 1",
    "constraint a[n in N]: sum[j in J] (x[j, n] - c[j, n] * y[j, n]) <= 1",
    "constraint a[j in J]: sum[n in N where u[n] >= w[j]] x[j, n] <= 1",
    "constraint a[j in J, k in K]: sum[n in N where type[n] != k] x[j, n] <= 1",
    "constraint a[k in K]: sum[j in J, n in N] (if type[n] == k then x[j, n] else -y[j, n]) <= 1",
    "constraint a[j in J]: sum[n in N] load[j, n] <= 1",
    "constraint a[n in N]: sum[j in J] 2 * swapped[n, j] <= 1",
    "constraint a[j in J]: sum[t in 0..last] s[j, t] == 1",
    "constraint a[j in J]: sum[t in 0..last - 1] s[j, t + 1] <= 1",
    "constraint a[j in J]: sum[t in 0..last - lag] (s[j, t + lag] + r[j, t]) <= 1",
    "constraint a[n in N]: sum[j in Some] (o[j, n] + p[j, n]) <= 1",
    "constraint a[j in J]: sum[t in 0..last] (s[j, t + 1] else 0) <= 1",
    "constraint a[t in 0..last - 1]: sum[j in J] later[j, t] <= 1",
    "constraint a[t in 0..last]: sum[j in J, i in 0..last where i <= t and t < i + 2 + d[j]] s[j, i] <= 2",
    "constraint a[j in J]: sum[h in H] z[j, h] <= 1",
    "constraint a[j in J]: sum[h in H where h < last(H)] z[j, h + 1] <= 1",
    "constraint a[n in N, t in 0..last]: sum[j in J] q[j, n, t] <= 1",
    "constraint a[j in J]: sum[t in 0..last] ord(first(H)) * sum[n in N] q[j, n, t] <= 1",
    "constraint a[j in J]: count[n in N] x[j, n] <= 1",
    "constraint a[j in J]: any[n in N] x[j, n]",
    "constraint a[j in J]: sum[n in N] far[j, n] * x[j, n] <= 1",
    "constraint a[j in J, i in J where i != j]: sum[n in N] (x[j, n] + x[i, n]) <= 1",
    "constraint a[j in J]: sum[n in Of[kind[j]], t in 0..last] q[j, n, t] <= 1",
    "constraint a[j in J]: sum[n in N, t in d[j]..last] q[j, n, t] <= 1",
    "constraint a[j in J]: max(sum[n in N] x[j, n], sum[n in N] y[j, n]) <= 1",
    "constraint a[j in J]: (sum[n in N] x[j, n]) * (sum[n in N] y[j, n]) <= 1",
]
FULL = [  # each visits the product: rows without `x` matter, or might have an error
    "constraint a[j in J]: sum[n in N] (x[j, n] + v[j, n]) <= 1",
    "constraint a[j in J]: sum[n in N] (x[j, n] + u[n]) <= 1",
    "constraint a[j in J]: sum[n in N] x[j, n] / (w[j] - u[n]) <= 1",
    "param gone[j in J, n in N] = 1 / (w[j] - u[n]); constraint a[j in J]: sum[n in N] gone[j, n] * x[j, n] <= 1",
    "constraint a[j in J]: sum[n in N where 1 / (w[j] - u[n]) > 0] x[j, n] <= 1",
    "constraint a[j in J]: sum[n in N] x[j, n] * (1e200 * w[j] * 1e200) <= 1",
    "constraint a[j in J]: sum[t in 0..last] s[j, t + d[j]] <= 1",
    "constraint a[j in J]: sum[t in 0..last] s[j, t + lag] <= 1",
    "constraint a[j in J]: sum[t in 0..last] r[j, t + lag] <= 1",
    "constraint a[j in J]: sum[h in H] z[j, h + lag] <= 1",
    "constraint a[n in N]: sum[j in J] o[j, n] <= 1",
    "constraint a[n in N]: sum[j in J] p[j, n] <= 1",
    "constraint a[j in J]: sum[n in N] (x[j, n] else u[n]) <= 1",
    "constraint a[j in J]: max[n in N] x[j, n] <= 1",
    "constraint a[j in J]: all[n in N] x[j, n]",
    "constraint a[j in J]: count[n in N] (x[j, n] + y[j, n] >= 1) <= 1",
    "constraint a[j in J]: sum[n in N] abs(x[j, n] - y[j, n]) <= 1",
]


OBJECTIVE = "sum[j in J, n in N] x[j, n]"


def _text(variables: str, constraint: str, size: int, seed: int, kinds: int = 6) -> str:
    draw = random.Random(seed)
    jobs, nodes = [f"j{i}" for i in range(size)], [f"n{i}" for i in range(size)]
    names = [f"k{i}" for i in range(kinds)]

    def table(head: str, keys: list[str], *values: Callable[[], object]) -> str:
        cells = (f"{key} " + " ".join(str(value()) for value in values) for key in keys)
        return f"table {head} = {' '.join(cells)};"

    small = partial(draw.randint, 1, 6)
    data = [
        f"K = {{ {', '.join(names)} }}; H = {{ {', '.join(map(str, range(1, size + 1)))} }};",
        f"last = {size + 2}; lag = 1; Some = {{ j1, j2, j5 }};",
        table("J: kind w d", jobs, partial(draw.choice, names), small, partial(draw.randint, 1, 3)),
        table("N: type u", nodes, partial(draw.choice, names), small),
        table("J, N: c", [f"{j} {n}" for j in jobs for n in nodes], partial(draw.choice, [0, 1.5, -2, 7])),
        "Fit = { " + ", ".join(f"({j}, {n})" for j in jobs for n in nodes if draw.random() < 0.1) + " };",
    ]
    model = f"model M {{ {SETS} {variables} {OTHERS} minimize total: {OBJECTIVE}; {constraint}; }}"
    return f"{model} scenario S for M {{ {' '.join(data)} }}"


class _Outcome(Struct):
    """The problem of a scenario, the values of its constraint at a random point, and its errors."""

    problem: Problem | None = None
    values: tuple[bytes, ...] = ()
    errors: tuple[str, ...] = ()


def _scenario(text: str) -> CheckedScenario:
    found = Diagnostics()
    scenario = check_scenario(workspace_from_text(text, "sparse.gsm", found), "S", {}, found)
    found.raise_if_errors()
    assert scenario is not None
    return scenario


def _ground(scenario: CheckedScenario, limits: MemoryLimits | None = None, fixed: PlanValues | None = None) -> _Outcome:
    model = scenario.model
    try:
        store = build_instance(scenario, folder=Path.cwd(), on_demand=True).store
        problem = ground(model, store, limits, fixed)
        store.point = np.random.default_rng(5).normal(size=problem.columns)
        ev = Evaluator(model, store, MemoryLimits())
        constraint = model.constraints["a"]
        frame = ev.domain_frame(constraint.indexing, problem.constraints[0].domain)
        body = constraint.body
        operands = body.operands if isinstance(body, ComparisonChain) else (body,)
        return _Outcome(problem, tuple(np.array(ev.values(o, frame)).tobytes() for o in operands))
    except DiagnosticError as error:
        return _Outcome(errors=tuple(f"{d.code} {d.message} {d.label} {d.notes}" for d in error.diagnostics))


def _facts(outcome: _Outcome) -> list[object]:
    """Everything of an outcome, for comparisons bit by bit."""
    problem = outcome.problem
    if problem is None:
        return [outcome.errors]
    matrix = problem.matrix
    arrays = [problem.lower, problem.upper, problem.integer, matrix.starts, matrix.columns, matrix.values]
    arrays += [problem.row_lower, problem.row_upper]
    for term in problem.objectives[0].terms:
        arrays += [term.columns, term.coefficients, np.array(term.constant)]
    for definition in problem.definitions:
        arrays += [definition.results, definition.starts, definition.arguments.constants]
        arrays += [definition.arguments.matrix.starts, definition.arguments.matrix.columns]
    families = [(f.name, f.first, f.size) for f in (*problem.variables, *problem.constraints, *problem.auxiliary)]
    return [families, outcome.values, *(array.tobytes() for array in arrays)]


def _full(scenario: CheckedScenario, monkeypatch: pytest.MonkeyPatch, **options: Any) -> _Outcome:
    """The outcome if all sums visit their product."""
    with monkeypatch.context() as patch:
        patch.setattr(sparse_bodies, "sparse_references", lambda *_: None)
        return _ground(scenario, **options)


def _sparse(scenario: CheckedScenario, monkeypatch: pytest.MonkeyPatch, **options: Any) -> tuple[_Outcome, set[str]]:
    """The outcome if even small sums leave out rows, and the texts of the index lists that did."""
    shorter: set[str] = set()
    plain = joins._Plan._iterate_needed

    def recorded(plan: joins._Plan, iterator: Iterator, rows: int) -> bool:
        done = plain(plan, iterator, rows)
        if done:
            shorter.add(plan.span.text)
        return done

    with monkeypatch.context() as patch:
        patch.setattr(joins._Plan, "_iterate_needed", recorded)
        patch.setattr(sparse_bodies, "FEW", 0)
        return _ground(scenario, **options), shorter


@pytest.mark.quick(36)
@pytest.mark.parametrize("variables", VARIABLES)
@pytest.mark.parametrize("constraint", SPARSE)
def test_fewer_rows_and_the_same_problem(variables: str, constraint: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in range(2):
        scenario = _scenario(_text(VARIABLES[variables], constraint, 12, seed))
        full = _full(scenario, monkeypatch)
        sparse, shorter = _sparse(scenario, monkeypatch)
        assert not sparse.errors
        assert _facts(sparse) == _facts(full)
        assert shorter - {OBJECTIVE}


@pytest.mark.quick(16)
@pytest.mark.parametrize("variables", VARIABLES)
@pytest.mark.parametrize("constraint", FULL)
def test_other_bodies_visit_the_product(variables: str, constraint: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in range(2):
        scenario = _scenario(_text(VARIABLES[variables], constraint, 12, seed))
        sparse, shorter = _sparse(scenario, monkeypatch)
        assert _facts(sparse) == _facts(_full(scenario, monkeypatch))
        assert shorter <= {OBJECTIVE}


@pytest.mark.parametrize(
    ("constraint", "fewer"),
    [
        ("sum[n in N] v[j, n] <= 1", True),
        ("sum[n in N] (2 * b[j, n] - y[j, n]) <= 1", True),
        ("sum[n in N] f[j, n] <= 1", False),
    ],
)
def test_variables_with_given_values(constraint: str, fewer: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a dense family whose elements are at least 0 only the given ones have columns."""
    constraint = f"var b[J, N] binary; var f[J, N] >= -1; constraint a[j in J]: {constraint}"
    scenario = _scenario(_text(VARIABLES["where"], constraint, 12, 1))
    given = VariableValues((np.array([1, 4, 4]), np.array([0, 3, 5])), np.ones(3))
    fixed = {"b": given, "v": given, "f": given}
    sparse, shorter = _sparse(scenario, monkeypatch, fixed=fixed)
    assert _facts(sparse) == _facts(_full(scenario, monkeypatch, fixed=fixed))
    assert bool(shorter - {OBJECTIVE}) == fewer


LARGE = """model M { set J; set N; set K; param kind[J] within K; param type[N] within K; param w[J]; param u[N];
  set Of[k in K] = { n in N where type[n] == k };
  VARIABLES let load[j in J, n in N] = w[j] * x[j, n] / 3;
  maximize total: OBJECTIVE;
  constraint a[j in J]: SUM_N <= 1;
  constraint b[n in N]: SUM_J <= u[n];
} scenario S for M { DATA }"""
SIZE, EACH = 1500, 5


@pytest.fixture(scope="module")
def large_data() -> str:
    keys = " ".join(f"k{i}" for i in range(SIZE // EACH))
    jobs = " ".join(f"j{i} k{i // EACH} 2" for i in range(SIZE))
    nodes = " ".join(f"n{i} k{i // EACH} 3" for i in range(SIZE))
    return f"K = {{ {keys.replace(' ', ', ')} }}; table J: kind w = {jobs}; table N: type u = {nodes};"


@pytest.mark.parametrize("variables", VARIABLES)
@pytest.mark.parametrize("body", ["x[j, n]", "(w[j] + u[n]) * x[j, n]", "load[j, n]", "(2 * x[j, n] - load[j, n])"])
def test_memory_grows_with_the_elements(
    variables: str, body: str, large_data: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """7,500 of 2,250,000 pairs exist."""
    text = LARGE.replace("OBJECTIVE", f"sum[j in J, n in N] {body}").replace("SUM_N", f"sum[n in N] {body}")
    text = text.replace("SUM_J", f"sum[j in J] {body}").replace("VARIABLES", VARIABLES[variables])
    scenario = _scenario(text.replace("DATA", large_data))
    store = build_instance(scenario, folder=Path.cwd()).store
    limits = MemoryLimits(memory=24 << 20)
    tracemalloc.start()
    problem = ground(scenario.model, store, limits)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert problem.columns == SIZE * EACH
    assert problem.matrix.nonzeros == 2 * SIZE * EACH
    assert peak < 16 << 20
    monkeypatch.setattr(sparse_bodies, "sparse_references", lambda *_: None)
    with pytest.raises(DiagnosticError) as caught:
        ground(scenario.model, store, limits)
    assert {d.code for d in caught.value.diagnostics} == {"GSM3001"}
