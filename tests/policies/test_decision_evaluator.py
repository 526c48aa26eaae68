"""A policy's lines: a `let` that several keys name is evaluated once for the same rows."""

from __future__ import annotations

import numpy as np
import pytest
from found_codes import raises_code

import gpusched_dsl as gs
from gpusched_dsl.compiling.evaluation.evaluator import Evaluator
from gpusched_dsl.compiling.evaluation.frames import Frame
from gpusched_dsl.compiling.evaluation.limits import MemoryLimits
from gpusched_dsl.ir.arrays import Values
from gpusched_dsl.language.blocks.policies.policy import check_policy
from gpusched_dsl.language.checked import LetRef, TypedExpr
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.policies.decision_evaluator import DecisionEvaluator

TEXT = """
model M {
  set Jobs; set Types; set Nodes; param kind[Nodes] within Types;
  set Ways = { (j, t) : j in Jobs, t in Types where hours[j, t] > 0[h] };
  param hours[Jobs, Types] in h; param due[Jobs] in h;
  let late[(j, t) in Ways] in h = max(0, hours[j, t] - due[j]);
  let other[(j, t) in Ways] in h = late[j, t] + hours[j, t];
  var run[Jobs, Nodes] binary;
  maximize f: sum[j in Jobs, n in Nodes] run[j, n];
  placement run[j, n] { job j; node n; node_type kind[n]; lasts hours[j, kind[n]]; uses 1 of 1; }
}
policy P for M {
  order j in Jobs by due[j];
  choose t in Types where (j, t) in Ways by other[j, t], late[j, t], hours[j, t];
  place first_fit, postpone;
}
scenario S for M {
  table Jobs, Types: hours[h] = a k 1  a l 5  b k 4  b l 2;  Jobs = { a, b }; Types = { k, l };
  due[j in Jobs] = 3[h]; Nodes = { n }; kind[n] = "k";
}
"""


class Read:
    """The keys of the policy for some ways, by an evaluator that remembers and by one that does not."""

    def __init__(self, text: str) -> None:
        model = gs.loads(text)
        built = model._build("S", {})
        found = Diagnostics()
        policy = check_policy(model._workspace, model._workspace.policies["P"], found, built.scenario.model)
        found.raise_if_errors()
        assert policy is not None
        assert policy.choose is not None
        self.model, self.store = policy.model, built.instance.store
        self.keys = [key.value for key in policy.choose.keys]
        variables = (policy.order.indexing.variables[0], policy.choose.indexing.variables[0])
        self.frame = Frame(
            self.store.sets["Ways"].size, dict(zip(variables, self.store.sets["Ways"].columns(), strict=True))
        )
        self.plain, self.remembering = (
            kind(policy.model, self.store, MemoryLimits()) for kind in (Evaluator, DecisionEvaluator)
        )

    def numbers(self, ev: Evaluator, frame: Frame) -> list[list[float]]:
        return [ev.number_column(key, frame).tolist() for key in self.keys]


def test_lets_are_evaluated_once(monkeypatch: pytest.MonkeyPatch) -> None:
    read = Read(TEXT)
    name_of = {id(let.value): name for name, let in read.model.lets.items()}
    calls: list[str] = []
    original = Evaluator.values

    def values(self: Evaluator, expr: TypedExpr, frame: Frame) -> Values:
        if id(expr) in name_of:
            calls.append(name_of[id(expr)])
        return original(self, expr, frame)

    monkeypatch.setattr(Evaluator, "values", values)
    expected = read.numbers(read.plain, read.frame)
    assert calls == ["other", "late", "late"]
    calls.clear()
    assert read.numbers(read.remembering, read.frame) == expected
    assert calls == ["other", "late"]
    turned = read.frame.take(np.arange(read.frame.size)[::-1])
    assert read.numbers(read.remembering, turned) == [column[::-1] for column in expected]
    assert read.numbers(read.remembering, read.frame.take(np.array([2, 0]))) == [[c[2], c[0]] for c in expected]
    assert calls == ["other", "late"]


def test_few_rows_of_a_large_let_are_evaluated_by_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    jobs = [f"j{number}" for number in range(40)]
    rows = "  ".join(f"{job} k 1  {job} l 2" for job in jobs)
    text = TEXT.replace("a k 1  a l 5  b k 4  b l 2", rows).replace("{ a, b }", f"{{ {', '.join(jobs)} }}")
    read = Read(text)
    sizes: list[int] = []
    original = Evaluator._LetRef

    def values(self: Evaluator, expr: LetRef, frame: Frame) -> Values:
        sizes.append(frame.size)
        return original(self, expr, frame)

    monkeypatch.setattr(Evaluator, "_LetRef", values)
    few = read.frame.take(np.array([3, 70]))
    assert read.numbers(read.remembering, few) == [[2.0, 1.0], [0.0, 0.0], [2.0, 1.0]]
    assert sizes == [2, 2]


def test_elements_without_a_value_are_refused_where_they_are_read() -> None:
    read = Read(TEXT.replace("hours[j, t] - due[j]);", "1[h^2] / (hours[j, t] - 4[h]) - due[j]);"))
    at_four = int(np.flatnonzero(read.plain.number_column(read.keys[2], read.frame) == 4)[0])
    others = read.frame.take(np.delete(np.arange(read.frame.size), at_four))
    assert read.numbers(read.remembering, others) == read.numbers(read.plain, others)
    for ev in (read.plain, read.remembering):
        with raises_code("GSM3003", at="hours[j, t] - 4[h]"):
            read.numbers(ev, read.frame)
