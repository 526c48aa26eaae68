"""Grounded rows and terms equal the formulas: at a random point, the evaluator agrees with the matrix."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import gpusched_dsl as gs
from gpusched_dsl.compiling.data.instance import Instance, build_instance
from gpusched_dsl.compiling.evaluation.evaluator import Evaluator
from gpusched_dsl.compiling.evaluation.frames import EMPTY_FRAME, Frame
from gpusched_dsl.compiling.evaluation.limits import MemoryLimits
from gpusched_dsl.compiling.lowering.ground import ground
from gpusched_dsl.compiling.passes.pipeline import reformulate
from gpusched_dsl.compiling.passes.steps import Target
from gpusched_dsl.ir.blocks import blocks_of
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.language.checked import CheckedModel, ComparisonChain, Logic
from gpusched_dsl.language.diagnostics.errors import DiagnosticError, Diagnostics
from gpusched_dsl.language.scenarios.scenario import CheckedScenario, check_scenario
from gpusched_dsl.language.workspace import load_workspace, workspace_from_text

ROOT = Path(__file__).resolve().parents[3]

EVERYTHING = """
model Everything {
  set Jobs; set Nodes; set Slots ordered;
  set Pairs within Jobs cross Nodes;
  param due[Jobs] in h; param opens[Jobs] integer; param speed[Nodes] > 0; param was[Jobs] default 0; param slot in min;
  param cost[Pairs] in $;
  set Late = { j in Jobs where due[j] < 3[h] };

  var x[Jobs, Nodes, Slots] >= 0 <= 5;
  var y[j in Jobs, n in Nodes where (j, n) in Pairs] binary;
  var z[j in Jobs, h in Slots where h >= opens[j]] integer >= -2 <= 7;
  var total in h >= 0;

  let load[n in Nodes, h in Slots] = sum[j in Jobs] x[j, n, h];
  let twice[j in Jobs] = 2 * sum[n in Nodes] y[j, n] + 1;

  minimize cost_and_time in $ {
    pay:   sum[(j, n) in Pairs] cost[j, n] * y[j, n] + 3[$];
    time:  total * 2[$/h] - sum[j in Jobs, h in Slots] 0.25[$] * z[j, h];
  }
  constraint absent[j in Jobs, n in Nodes]: y[j, n] + 1 <= 2;
  constraint previous[j in Jobs, n in Nodes, h in Slots]:
    x[j, n, h] - (x[j, n, h-1] else was[j]) <= 1 + (x[j, n, next(h)] else 0.5);
  constraint branches[j in Jobs, h in Slots]:
    (if due[j] > 2[h] then z[j, h] / 2 else sum[n in Nodes] speed[n] * x[j, n, h]) >= -4;
  constraint range[n in Nodes, h in Slots]: -1 <= load[n, h] - load[n, first(Slots)] <= 8;
  constraint chain[j in Jobs]: twice[j] <= 2 * twice[j] <= 9;
  constraint repeated[j in Jobs]: sum[n in Nodes, h in Slots] (x[j, n, h] + x[j, n, last(Slots)] - x[j, n, h]) == 3;
  constraint units[j in Jobs]: total >= slot * sum[n in Nodes, h in Slots where h > 1] x[j, n, h];
  constraint only_late[j in Jobs]: j in Late => sum[n in Nodes] y[j, n] <= 1;
  constraint both[j in Jobs]: sum[h in Slots] z[j, h] <= 20 and sum[h in Slots] z[j, h] >= -20;
  constraint squares[j in Jobs]: sum[n in Nodes, k in Nodes] (if n == k then speed[n] ^ 2 else 0) * y[j, k] <= 50;
}
scenario S for Everything {
  Nodes = { n1, n2 }; Slots = { 1, 2, 4 }; slot = 15[min];
  table Jobs: due[h] opens = a 1 1 b 2 2 c 4 4;
  was["b"] = 1.5;
  table Nodes: speed = n1 2 n2 3;
  table Pairs: cost[$] = a n1 1.5 b n1 2 b n2 3 c n2 4;
}
"""


def scenario_of(text: str) -> CheckedScenario:
    diagnostics = Diagnostics()
    scenario = check_scenario(workspace_from_text(text, "test", diagnostics, None), "S", {}, diagnostics)
    diagnostics.raise_if_errors()
    assert scenario is not None
    return scenario


def assert_matches_formulas(scenario: CheckedScenario, instance: Instance, problem: Problem) -> None:
    """Compare every row and every term with the formula at random points."""
    model: CheckedModel = scenario.model
    store = instance.store
    rng = np.random.default_rng(7)
    for _ in range(3):
        store.point = rng.integers(-3, 4, problem.columns).astype(float) / 2
        evaluator = Evaluator(model, store, MemoryLimits())
        activity = problem.matrix.activity(store.point)
        for name, constraint in model.constraints.items():
            for family in problem.constraint(name):
                frame = Frame(
                    family.size, dict(zip(constraint.indexing.variables, family.domain.columns(), strict=True))
                )
                body = constraint.body
                if isinstance(body, Logic):
                    body = body.operands[1] if body.op == "=>" else body.operands[family.part]
                assert isinstance(body, ComparisonChain)
                values = [np.broadcast_to(evaluator.numbers(o, frame), (frame.size,)) for o in body.operands]
                if len(problem.constraint(name)) == 1 and len(values) == 3:
                    lower, middle, upper = values
                    shift = middle - activity[family.slice]
                    np.testing.assert_allclose(problem.row_lower[family.slice], lower - shift, atol=1e-9)
                    np.testing.assert_allclose(problem.row_upper[family.slice], upper - shift, atol=1e-9)
                    continue
                part = family.part if len(body.ops) > 1 else 0
                left, right, op = values[part], values[part + 1], body.ops[part]
                side = problem.row_lower if op != "<=" else problem.row_upper
                np.testing.assert_allclose(activity[family.slice] - side[family.slice], left - right, atol=1e-9)
                if op != "==":
                    free = problem.row_upper if op != "<=" else problem.row_lower
                    assert np.isinf(free[family.slice]).all()
        for checked, objective in zip(model.objectives, problem.objectives, strict=True):
            for term, made in zip(checked.terms, objective.terms, strict=True):
                expected = float(evaluator.numbers(term.value, EMPTY_FRAME).reshape(-1)[0])
                assert made.value(store.point) == pytest.approx(expected, abs=1e-9)
    store.point = None


def test_everything_linear_is_grounded_as_written() -> None:
    scenario = scenario_of(EVERYTHING)
    instance = build_instance(scenario, folder=Path())
    problem = ground(scenario.model, instance.store)
    assert_matches_formulas(scenario, instance, problem)
    assert [f.size for f in problem.variables] == [18, 4, 6, 1]
    assert problem.constraint("only_late")[0].domain.label_columns() == [["a", "b"]]
    assert len(problem.constraint("chain")) == 2
    assert problem.integer.tolist() == [False] * 18 + [True] * 10 + [False]
    z = problem.variable("z")
    assert (problem.lower[z.slice].tolist(), problem.upper[z.slice].tolist()) == ([-2.0] * 6, [7.0] * 6)


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("models/capacity_planning/tests/decisions.gsm", "BiggerVm"),
        ("models/capacity_planning/tests/packing.gsm", "ThreeFamilies"),
        ("models/capacity_planning/scenarios/figure1.gsm", "Figure1"),
    ],
)
def test_shipped_models_are_grounded_as_written(file: str, name: str) -> None:
    diagnostics = Diagnostics()
    workspace = load_workspace(ROOT / file, diagnostics)
    scenario = check_scenario(workspace, name, {}, diagnostics)
    diagnostics.raise_if_errors()
    assert scenario is not None
    instance = build_instance(scenario, folder=(ROOT / file).parent, roots=workspace.roots)
    assert_matches_formulas(scenario, instance, ground(scenario.model, instance.store))


def refused(declarations: str, given: str = "", limits: MemoryLimits | None = None) -> tuple[str, str]:
    """The code and the underlined text of the first error in grounding a small model."""
    text = f"""
model M {{
  set A ordered; param p[A] default 1;
  var x[A] >= 0 <= 9; var b[A] binary;
  minimize value: sum[a in A] x[a];
  {declarations}
}}
scenario S for M {{ A = {{ 1, 2, 3 }}; {given} }}
"""
    scenario = scenario_of(text)
    with pytest.raises(DiagnosticError) as caught:
        ground(scenario.model, build_instance(scenario, folder=Path()).store, limits)
    first = caught.value.diagnostics[0]
    assert first.primary is not None
    return first.code, first.primary.text  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("declarations", "code", "text"),
    [
        ("constraint c[a in A]: floor(x[a]) <= 1;", "GSM3010", "floor(x[a])"),
        ("constraint c[a in A]: x[a] ^ x[a] <= 1;", "GSM3010", "x[a] ^ x[a]"),
        ("constraint c[a in A]: (p[a] - 3) ^ x[a] <= 1;", "GSM3004", "(p[a] - 3)"),
        ("constraint c: max[a in A where p[a] > 5] x[a] <= 1;", "GSM3005", "max[a in A where p[a] > 5] x[a]"),
        ("constraint c[a in A]: x[a] / (p[a] - 1) <= 1;", "GSM3003", "(p[a] - 1)"),
        ("constraint c[a in A where p[a] > 0]: x[a + 1] <= 1;", "GSM3002", "x[a + 1]"),
        ("param q[a in A] = log(p[a] - 1); constraint c[a in A]: x[a] <= q[a];", "GSM3004", "log(p[a] - 1)"),
        ("param q = min[a in A where p[a] > 5] p[a]; constraint c[a in A]: x[a] <= q;", "GSM3005", None),
    ],
)
def test_what_cannot_be_grounded_is_refused_with_its_place(declarations: str, code: str, text: str | None) -> None:
    found = refused(declarations)
    assert found[0] == code
    if text is not None:
        assert found[1].strip("()") == text.strip("()")


def test_sizes_are_refused_before_rows_are_made() -> None:
    small = MemoryLimits(memory=100_000_000)
    dense = "constraint big[a in A, i in 1..2000, k in 1..2000]: sum[c in A] x[c] >= 0;"
    assert refused(dense, limits=small) == ("GSM3001", "big")
    wide = "constraint wide: sum[a in A, i in 1..10000000, k in 1..1000] x[a] >= 0;"
    assert refused(wide, limits=small) == ("GSM3001", "wide")
    filtered = "constraint some: sum[a in A, i in 1..3000, k in 1..3000 where (i + k) * p[a] == 3] x[a] >= 0;"
    assert refused(filtered, limits=small)[0] == "GSM3001"


def test_a_join_needs_no_memory_for_the_product() -> None:
    joined = "constraint some: sum[a in A, i in 1..100000, k in 1..100000 where k == i * p[a]] x[a] >= 0;"
    scenario = scenario_of(
        f"model M {{ set A; param p[A] default 1; var x[A] >= 0; minimize sum[a in A] x[a]; {joined} }}"
        "scenario S for M { A = { a }; }"
    )
    problem = ground(scenario.model, build_instance(scenario, folder=Path()).store, MemoryLimits(memory=50_000_000))
    assert problem.matrix.values.tolist() == [100000.0]


@pytest.mark.parametrize("part", ["a < 4", "a in 1..3", "(a == 3 or a == 9)", "not (a > 3)", "a != 5"])
@pytest.mark.parametrize("value", [3, 5])
def test_a_part_of_data_alone_must_hold(part: str, value: int) -> None:
    """It becomes a row without variables, which nothing satisfies where the part is false."""
    scenario = scenario_of(
        f"model M {{ param a integer; var z >= 0; minimize z; constraint c: {part} and z >= 1; }}"
        f"scenario S for M {{ a = {value}; }}"
    )
    problem = ground(scenario.model, build_instance(scenario, folder=Path()).store)
    empty = np.flatnonzero(np.diff(problem.matrix.starts) == 0)
    assert len(empty) == 1
    assert (problem.row_lower[empty[0]] <= 0 <= problem.row_upper[empty[0]]) == (value == 3)


BLOCKS = """
model Blocks {
  set Jobs; set Nodes;
  var x[Jobs, Nodes] binary; var busy[Nodes] binary;
  minimize total: sum[j in Jobs, n in Nodes] x[j, n] * busy[n];
  constraint once[j in Jobs]: sum[n in Nodes] x[j, n] == 1;
  constraint room[n in Nodes]: sum[j in Jobs] x[j, n] <= 1;
  DECOMPOSED
}
scenario S for Blocks { Jobs = { a, b }; Nodes = { n1, n2, n3 }; }
"""


@pytest.mark.parametrize(("statement", "root"), [("", None), ("decompose by Jobs;", "Jobs")])
def test_the_set_of_blocks_goes_with_the_problem_through_all_passes(statement: str, root: str | None) -> None:
    problem = gs.compile(BLOCKS.replace("DECOMPOSED", statement))
    reformulated = reformulate(problem, Target("linear"), reduce=True, tighten=True).problem
    assert (problem.decompose, reformulated.decompose) == (root, root)
    assert reformulated.is_linear
    if root is not None:
        blocks = blocks_of(reformulated, root)
        assert (blocks.name, blocks.labels) == ("Jobs", ("a", "b"))
        once, room = reformulated.constraint("once")[0], reformulated.constraint("room")[0]
        assert blocks.row[once.slice].tolist() == [0, 1]
        assert blocks.row[room.slice].tolist() == [-1, -1, -1]
