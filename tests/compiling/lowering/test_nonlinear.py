"""Definitions and conditional rows equal the formulas: at random points, the evaluator and the rows agree."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

from gpusched_dsl.compiling.data.instance import build_instance
from gpusched_dsl.compiling.evaluation.evaluator import Evaluator
from gpusched_dsl.compiling.evaluation.frames import EMPTY_FRAME
from gpusched_dsl.compiling.evaluation.limits import MemoryLimits
from gpusched_dsl.compiling.lowering.ground import ground
from gpusched_dsl.ir.arrays import Floats
from gpusched_dsl.ir.definitions import complete
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.scenarios.scenario import CheckedScenario, check_scenario
from gpusched_dsl.language.workspace import workspace_from_text

HEAD = """
model M {{
  set A ordered; set B;
  param p[A]; param q[B] default 2; param flag[A] binary;
  var x[A] >= -3 <= 4; var b[A] binary; var c[A, B] binary; var n[B] integer >= -2 <= 3;
  let steps[a in A] = max(x[a] - 1, 0) + 2 * x[a];
  let busy[a in A, u in B] = c[a, u] and b[a];
  {body}
}}
scenario S for M {{ A = {{ 1, 2, 3 }}; B = {{ u, v }}; table A: p flag = 1 1 0 2 -2 1 3 3 1; q["v"] = 3; }}
"""


def scenario_of(body: str) -> CheckedScenario:
    diagnostics = Diagnostics()
    workspace = workspace_from_text(HEAD.format(body=body), "<text>", diagnostics, Path())
    scenario = check_scenario(workspace, "S", {}, diagnostics)
    diagnostics.raise_if_errors()
    assert scenario is not None
    return scenario


def satisfied(problem: Problem, name: str, point: Floats) -> list[bool]:
    """For each index tuple of a constraint whether all its rows hold at a complete point; True without rows."""
    activity = problem.matrix.activity(point)
    slack = 1e-9 * (1 + np.abs(activity))
    holds = (activity >= problem.row_lower - slack) & (activity <= problem.row_upper + slack)
    holds |= ~problem.conditions.active(problem.rows, point)
    by_index: dict[object, bool] = {}
    for family in [f for f in problem.constraints if f.name == name]:
        for row in range(family.first, family.stop):
            index = family.index_of(row)
            by_index[index] = by_index.get(index, True) and bool(holds[row])
    return [by_index.get((a,), True) for a in (1, 2, 3)]


def assert_rows_mean_the_formulas(body: str, rng: np.random.Generator, points: int = 12) -> None:
    scenario = scenario_of(body)
    instance = build_instance(scenario, folder=Path())
    problem = ground(scenario.model, instance.store)
    evaluator = Evaluator(scenario.model, instance.store, MemoryLimits())
    declared = problem.variables[-1].stop
    for _ in range(points):
        point = np.zeros(problem.columns)
        low, high = problem.lower[:declared], problem.upper[:declared]
        point[:declared] = rng.integers(low.astype(int), high.astype(int) + 1)
        full = complete(problem.definitions, point)
        assert not np.isnan(full).any()
        instance.store.point = full
        for constraint in scenario.model.constraints.values():
            frame = evaluator.domain_frame(constraint.indexing, instance.store.sets["A"])
            expected = evaluator.mask(constraint.body, frame).tolist()
            assert satisfied(problem, constraint.name, full) == expected, (body, point)
        for objective, checked in zip(problem.objectives, scenario.model.objectives, strict=True):
            for term, formula in zip(objective.terms, checked.terms, strict=True):
                value = float(evaluator.numbers(formula.value, EMPTY_FRAME).reshape(-1)[0])
                assert term.value(full) == pytest.approx(value, rel=1e-9, abs=1e-9), (body, point)
        instance.store.point = None


class Formulas:
    """Random formulas over the model above, as text; `a` is bound. Whole numbers are compared only, so exactly."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.bound = 0
        self.compared = 0

    def number(self, depth: int) -> str:
        pick = self.rng.random() if depth > 0 else 0.0
        if pick < 0.3:
            return self.rng.choice(
                ["x[a]", "b[a]", "steps[a]", 'n["u"]', 'c[a, "v"]', "p[a]", "2", "(x[a-1] else 1)", "x[first(A)]"]
            )
        one = self.number(depth - 1)
        other = self.number(depth - 1)
        real = [
            f"sqrt(abs({one}))", f"exp({one} / 50)", f"log(1 + abs({one}))", f"{one} / (1 + abs({other}))",
            f"1.5 ^ ({one} / 20)",
        ]  # fmt: skip
        return self.rng.choice(
            [
                *([] if self.compared else real),
                f"({one} + {other})", f"({one} - 2 * {other})", f"{one} * {other}", f"{one} * {other}",
                f"max({one}, {other})", f"min({one}, {other}, 1)", f"abs({one})", f"({one}) ^ 2",
                f"(if {self.condition(depth - 1)} then {one} else {other})", self.over("sum", depth),
                self.over("max", depth), self.over("min", depth),
                self.counted(depth),
            ]
        )  # fmt: skip

    def counted(self, depth: int) -> str:
        self.bound += 1
        return f"(count[w{self.bound} in B] ({self.condition(depth - 1)}))"

    def over(self, op: str, depth: int) -> str:
        self.bound += 1
        w = f"w{self.bound}"
        body = self.rng.choice([f"c[a, {w}] * {self.number(depth - 1)}", f"(n[{w}] + {self.number(depth - 1)})"])
        return f"({op}[{w} in B] {body})"

    def condition(self, depth: int) -> str:
        pick = self.rng.random() if depth > 0 else 0.2
        if pick < 0.15:
            return self.rng.choice(["b[a]", 'c[a, "u"]', "flag[a] == 1", 'busy[a, "v"]', "b[a] == 0", 'c[a, "v"] >= 1'])
        if pick < 0.5:
            op = self.rng.choice(["<=", ">=", "=="])
            self.compared += 1
            text = f"({self.number(depth - 1)} {op} {self.number(depth - 1)})"
            self.compared -= 1
            return text
        one, other = self.condition(depth - 1), self.condition(depth - 1)
        self.compared += 1
        between = f"(-2 <= {self.number(depth - 1)} <= 3)"
        self.compared -= 1
        self.bound += 1
        w = f"w{self.bound}"
        return self.rng.choice(
            [
                f"({one} and {other})", f"({one} or {other})", f"(not {one})", f"({one} => {other})",
                f"({one} <=> {other})", f"(any[{w} in B] (c[a, {w}] and {one}))",
                f"(all[{w} in B] (c[a, {w}] or {one}))", f"(any[{w} in B where q[{w}] > 5] c[a, {w}])",
                f"({one} => ({other} => {self.condition(depth - 1)}))",
                f"(all[{w} in B where q[{w}] > 5] c[a, {w}])", between,
            ]
        )  # fmt: skip


def random_body(seed: int) -> str:
    formulas = Formulas(seed)
    guards = ["b[a] => ", "not b[a] or ", "x[a] <= 9 and "]  # so that a decision occurs in each
    constraints = [f"constraint k{i}[a in A]: {g}{formulas.condition(3)};" for i, g in enumerate(guards)]
    formulas.bound += 1
    terms = [f"t{i}: sum[a in A] {formulas.number(3)};" for i in range(2)]
    return "minimize value {{ {} }} {}".format(" ".join(terms), "\n  ".join(constraints))


@pytest.mark.quick(7)
@pytest.mark.parametrize("seed", range(40))
def test_random_formulas(seed: int) -> None:
    assert_rows_mean_the_formulas(random_body(seed), np.random.default_rng(seed))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1000, 2500))
def test_many_random_formulas(seed: int) -> None:
    assert_rows_mean_the_formulas(random_body(seed), np.random.default_rng(seed))


def test_strict_comparisons_of_integers() -> None:
    """Also of terms, under conditions, in chains, and of rows that data leave without a variable."""
    body = """
      let most = max[u in B] n[u];
      minimize t: sum[a in A] (if n["u"] > p[a] then 2 else 3) + count[u in B] (n[u] != 1) + (0.5 * most < 1);
      constraint plain[a in A]: 0.25 * n["u"] - 0.5 * n["v"] < 0.5 * p[a];
      constraint chain[a in A]: -2 < n["u"] - n["v"] <= p[a] < 2 * n["u"] + 3;
      constraint unequal[a in A]: 2 * n["u"] != p[a] + n["v"];
      constraint under[a in A]: b[a] => n["u"] > n["v"];
      constraint only[a in A]: b[a] => (c[a, "u"] < 1 and most != 2);
      constraint terms[a in A]: 0 < most / 2 < 2 or b[a] != c[a, "v"];
      constraint counts[a in A]: (count[u in B] (x[a] <= n[u])) < 2 <=> b[a];
      constraint nothing[a in A]: flag[a] * n["u"] > p[a] - 2;
      constraint squares[a in A]: n["u"] * n["v"] > p[a] => b[a];
    """
    assert_rows_mean_the_formulas(body, np.random.default_rng(0), points=100)


def test_products_over_sets_and_conditions_as_constraints() -> None:
    """Products of conditions, of numbers, of both with data, over nothing; binaries and nested choices as rows."""
    body = """
      minimize t: sum[a in A] (prod[u in B] c[a, u] + 2 * prod[u in B] (n[u] >= 1)
          + p[a] * prod[u in B] (n[u] + x[a] * b[a])
          + prod[u in B where q[u] > 5] n[u] + prod[u in B, e in A] (1 - 0.25 * q[u] * c[e, u])
          + prod[u in B] q[u] * n[u]);
      let sure[a in A] = c[a, "u"] and n["u"] > 0;
      constraint one[a in A]: b[a];
      constraint none[a in A]: not c[a, "v"];
      constraint both[a in A]: b[a] => c[a, "u"];
      constraint named[a in A]: sure[a];
      constraint product[a in A]: b[a] => prod[u in B] (1 - c[a, u]) >= 1;
      constraint nested[a in A]: if b[a] then (if c[a, "u"] then n["u"] >= 2 else n["v"] <= 1)
        else if flag[a] then c[a, "v"] else (if n["u"] > p[a] then x[a] <= 2 else x[a] >= n["u"]);
      constraint chosen[a in A]: if c[a, "u"] then b[a] else sure[a];
      constraint before[a in A]: (b[a-1] else c[a, "u"]);
    """
    assert_rows_mean_the_formulas(body, np.random.default_rng(2), points=60)


def test_references_at_decisions() -> None:
    """Of parameters, variables, conditions and `let`s, at integers and at elements of an ordered set."""
    body = """
      param first[1..3, B] = 2; param jump[-2..3] integer = 1;
      var place[A] integer >= 1 <= 3; var pair[A, 0..1] binary;
      let half[a in A, u in B] = x[a] / 2 + c[a, u] * n[u];
      let full[k in 1..3] = k * n["v"] >= 2;
      minimize t: sum[a in A] (p[place[a]] * n["u"] + q["u"] * first[place[a], "v"] + 2 * (x[place[a] + 1] else p[a]))
        + (half[n["u"], "v"] else n["u"]) + (jump[jump[n["v"]]] else 5) * n["u"] + p[2 * b[2] + 1];
      constraint chosen[a in A]: c[place[a], "u"];
      constraint pairs[a in A]: pair[place[a], b[a]] or (c[n["u"], "v"] else b[a]);
      constraint under[a in A]: b[a] => x[place[a]] + x[a] <= 3;
      constraint truths[a in A]: full[place[a]] or flag[place[a]] => (x[n["u"] * n["v"]] else 7) >= p[a];
    """
    assert_rows_mean_the_formulas(body, np.random.default_rng(1), points=60)


def test_a_strict_comparison_of_integers_is_a_row() -> None:
    problem = grounded(
        'minimize t: 0; constraint k[a in A]: 0.25 * n["u"] + 0.5 * n["v"] > 0.1 * p[a]; constraint l: 2 * n["u"] < 3;'
        'constraint m[a in A]: b[a] => 3 > 2 * n["u"]; constraint o: n["v"] < 3 * 0.1 * 10;'
    )
    assert not problem.definitions
    assert problem.row_lower[:3].tolist() == [0.25, 0.0, 0.5]  # p is 1, -2, 3
    assert problem.row_upper[3] == 2.0
    assert problem.row_lower[4:7].tolist() == [-2.0, -2.0, -2.0]
    assert problem.row_upper[7] == 2.0


def grounded(body: str) -> Problem:
    scenario = scenario_of(body)
    return ground(scenario.model, build_instance(scenario, folder=Path()).store)


def test_a_repeated_product_has_one_column() -> None:
    problem = grounded(
        'minimize t: sum[a in A] b[a] * c[a, "u"] * x[a]; '
        'constraint k[a in A]: c[a, "u"] * b[a] + x[a] * b[a] * c[a, "u"] <= 2;'
    )
    assert [(d.op, d.size) for d in problem.definitions] == [("product", 3), ("product", 3)]


def test_a_term_that_needs_fewer_indices_is_defined_once_for_each_of_them() -> None:
    problem = grounded("minimize t: sum[a in A, u in B] (q[u] * max(x[a], 0) + steps[a] + steps[a]);")
    assert [(d.op, d.size) for d in problem.definitions] == [("extreme", 3), ("extreme", 3)]


def test_binaries_need_no_definitions_in_clauses() -> None:
    problem = grounded(
        'minimize t: 0; constraint k[a in A]: b[a] => c[a, "u"]; constraint l[a in A]: b[a] or not c[a, "v"];'
        'constraint m[a in A]: b[a] == 1 => c[a, "u"] + x[a] <= 2; constraint o[a in A]: b[a] * b[a] <= 1;'
    )
    assert not problem.definitions
    assert len(problem.conditions.rows) == 3


def test_definitions_remember_their_index_and_their_words() -> None:
    problem = grounded("minimize t: sum[a in A where p[a] > 0] max(x[a], b[a]);")
    (family,) = problem.auxiliary
    assert (family.name, family.doc) == ("objective.max", "max(x[a], b[a])")
    assert family.domain.label_columns() == [[1, 3]]
