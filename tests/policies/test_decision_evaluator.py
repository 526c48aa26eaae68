"""A policy's lines: a `let` that several keys name is evaluated once for the same rows."""

from __future__ import annotations

import pytest

import gpusched_dsl as gs
from gpusched_dsl.compiling.evaluation.evaluator import Evaluator
from gpusched_dsl.compiling.evaluation.frames import Frame
from gpusched_dsl.compiling.evaluation.limits import MemoryLimits
from gpusched_dsl.ir.arrays import Values
from gpusched_dsl.language.blocks.policies.policy import check_policy
from gpusched_dsl.language.checked import LetRef
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


def test_lets_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    model = gs.loads(TEXT)
    built = model._build("S", {})
    found = Diagnostics()
    policy = check_policy(model._workspace, model._workspace.policies["P"], found, built.scenario.model)
    found.raise_if_errors()
    assert policy is not None
    assert policy.choose is not None
    store = built.instance.store
    calls: list[str] = []
    original = Evaluator._LetRef

    def read(self: Evaluator, expr: LetRef, frame: Frame) -> Values:
        calls.append(expr.name)
        return original(self, expr, frame)

    monkeypatch.setattr(Evaluator, "_LetRef", read)
    keys = policy.choose.keys
    variables = (policy.order.indexing.variables[0], policy.choose.indexing.variables[0])
    columns = dict(zip(variables, store.sets["Ways"].columns(), strict=True))
    plain, remembering = (kind(policy.model, store, MemoryLimits()) for kind in (Evaluator, DecisionEvaluator))
    frame = Frame(store.sets["Ways"].size, columns)
    expected = [plain.numbers(key.value, frame).tolist() for key in keys]
    assert calls == ["other", "late", "late"]
    calls.clear()
    assert [remembering.numbers(key.value, frame).tolist() for key in keys] == expected
    assert calls == ["other", "late"]
    # Other rows are evaluated anew, even if they have as many.
    turned = frame.take(store.sets["Ways"].columns()[0].argsort()[::-1])
    assert [remembering.numbers(key.value, turned).tolist() for key in keys] == [e[::-1] for e in expected]
