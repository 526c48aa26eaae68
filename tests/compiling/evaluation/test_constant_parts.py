"""Parts of an expression that are the same for all elements are evaluated once."""

from __future__ import annotations

import numpy as np
import pytest
from found_codes import raises_code
from random_models import values_of

import gpusched_dsl as gs
from gpusched_dsl.compiling.evaluation import evaluator
from gpusched_dsl.compiling.evaluation.evaluator import Evaluator
from gpusched_dsl.compiling.evaluation.frames import Frame
from gpusched_dsl.ir.arrays import Values
from gpusched_dsl.language.checked import Reduction

MANY = """
model M {
  set Jobs = 1..50000;  set Few = 1..3;
  param weight[j in Jobs] = 1 + j mod 7;
  param share[j in Jobs] = weight[j] / max[i in Jobs] weight[i];
  param rank[j in Jobs] = if any[i in Jobs] weight[i] > 7 then 0 else weight[j] - count[i in Jobs] (weight[i] == 7);
  let total = sum[j in Jobs] weight[j];
  let mean = total / count(Jobs);
  var x[Few] >= 0;
  minimize f: sum[k in Few] x[k];
  constraint least[k in Few]: x[k] >= k * mean;
  report excess = max[j in Jobs] (weight[j] - mean);
}
scenario S for M { }
"""


def test_a_sum_over_all_jobs_is_no_product_of_jobs() -> None:
    """As products these would have 2.5e9 combinations each, which no memory limit admits."""
    result = gs.loads(MANY).solve()
    weight = 1 + np.arange(1, 50001) % 7
    assert result.objective == pytest.approx(6 * weight.mean())
    assert result.reports["excess"].item() == pytest.approx(7 - weight.mean())
    store = result.provenance.store
    assert store is not None
    assert store.params["share"].values == pytest.approx(weight / 7)
    assert store.params["rank"].values == pytest.approx(weight - (weight == 7).sum())


def test_a_constant_part_that_fails_is_told_where_it_is_needed() -> None:
    sets = "set K = 1..3; set None = { k in K where k > 3 };"
    with raises_code("GSM3005", "max", at="max[i in None] i"):
        values_of(sets, {"p[k in K]": "k + max[i in None] i"})
    found = values_of(sets, {"p[k in K]": "if k < 9 then k else max[i in None] i"})
    assert found["p[k in K]"].tolist() == [1, 2, 3]


def test_outcomes_are_not_constant() -> None:
    """The largest of three lengths differs from outcome to outcome."""
    declared = "set K = 1..3; random length[k in K] ~ discrete({ (k, 0.5), (10 * k, 0.5) });"
    found = values_of(declared, {"p[k in K]": "E(k * max[i in K] length[i])"})
    expected = 0.5 * 30 + 0.25 * 20 + 0.125 * 10 + 0.125 * 3
    assert found["p[k in K]"] == pytest.approx([k * expected for k in (1, 2, 3)])


def test_an_aggregate_is_evaluated_once_for_each_of_its_elements(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 40 x 100 rows that ask for the largest size of each of 40 jobs."""
    sets = "set Jobs = 1..40; set Ways = { (j, w) : j in Jobs, w in 1..100 where (j + w) mod 3 > 0 };"
    sets += " let largest[j in Jobs] = max[(i, w) in Ways where i == j] ((7 * w) mod (j + 60));"
    sets += " let few[j in Jobs] = max[(i, w) in Ways where i == j and w > 2 * j] w;"
    formulas = {"p[(j, w) in Ways]": "w / largest[j]", "q[(j, w) in Ways where j != 7]": "largest[41 - j] - w"}
    rows: list[int] = []
    original = Evaluator._Reduction

    def reduce(self: Evaluator, expr: Reduction, frame: Frame) -> Values:
        rows.append(frame.size)
        return original(self, expr, frame)

    monkeypatch.setattr(Evaluator, "_Reduction", reduce)
    found = values_of(sets, formulas)
    assert max(rows) == 40
    monkeypatch.setattr(evaluator, "_MANY", 10**9)
    rows.clear()
    for name, values in values_of(sets, formulas).items():
        assert found[name].tolist() == values.tolist()
    assert max(rows) > 2000
    monkeypatch.undo()
    assert values_of(sets, {"p[(j, w) in Ways where j < 50]": "if j <= 49 then w else few[j]"})
    with raises_code("GSM3005", "max", "50"):
        values_of(sets.replace("1..40", "1..60"), {"p[(j, w) in Ways]": "w / few[j]"})
