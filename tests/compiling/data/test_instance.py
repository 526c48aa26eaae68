"""Scenario values become arrays: computed texts, elements and labels, and derived values."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpusched_dsl.compiling.data.instance import build_instance
from gpusched_dsl.compiling.evaluation.store import ValueStore
from gpusched_dsl.language.diagnostics.errors import DiagnosticError, Diagnostics
from gpusched_dsl.language.scenarios.scenario import check_scenario
from gpusched_dsl.language.workspace import workspace_from_text

MODEL = """
model M {
  set A ordered; set Good within A;
  param n; param mode symbol; param w[A] default 1; param home[A] within Good default first(Good);
  param next_best[a in A] within A = argmax[b in A where b != a] w[b];
  var x >= 0; minimize x; constraint c: x >= n;
}
"""


def store_of(given: str) -> ValueStore:
    diagnostics = Diagnostics()
    text = MODEL + "scenario S for M { A = { a, b, c }; Good = { b, c }; n = 2; " + given + " }"
    scenario = check_scenario(workspace_from_text(text, "test", diagnostics, None), "S", {}, diagnostics)
    diagnostics.raise_if_errors()
    assert scenario is not None
    return build_instance(scenario, folder=Path()).store


def test_computed_texts_elements_and_keys() -> None:
    store = store_of('mode = if n > 1 then "many" else "one"; w[if n > 1 then "b" else "a"] = 4; home["a"] = "c";')
    assert store.params["mode"].values.reshape(-1).tolist() == ["many"]
    assert store.params["w"].values.tolist() == [1.0, 4.0, 1.0]
    labels = store.universes["A"].labels
    assert [labels[int(code)] for code in store.params["home"].values] == ["c", "b", "b"]
    assert [labels[int(code)] for code in store.params["next_best"].values] == ["b", "a", "b"]


def test_one_element_for_every_key() -> None:
    store = store_of('mode = fast; home = "c";')
    assert [store.universes["A"].labels[int(code)] for code in store.params["home"].values] == ["c"] * 3


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ('mode = fast; home["b"] = "a";', "GSM2112"),
        ('mode = fast; home = "a";', "GSM2112"),
        ("n = 3;", "GSM1506"),
    ],
)
def test_values_outside_their_set_are_refused(given: str, code: str) -> None:
    with pytest.raises(DiagnosticError) as caught:
        store_of(given)
    assert code in {d.code for d in caught.value.diagnostics}
