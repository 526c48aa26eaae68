"""Derived values that are made when they are first read."""

from __future__ import annotations

import copy
import gc
import pickle
import weakref
from pathlib import Path

import numpy as np
import pytest
from found_codes import raises_code

from gpusched_dsl.compiling.data.instance import Instance, build_instance
from gpusched_dsl.compiling.evaluation.on_demand import OnDemand
from gpusched_dsl.ir.deadline import StoppedEarly, limit
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.scenarios.scenario import check_scenario
from gpusched_dsl.language.workspace import workspace_from_text

TEXT = """
model M {
  set Jobs; set Types; set Large = { j in Jobs where size[j] > 1 }; set Pairs = { (j, t) : j in Large, t in Types };
  param size[Jobs]; param factor default 2;
  param double[j in Jobs] = factor * size[j];
  param sums[t in Types] = sum[(j, u) in Pairs where u == t] double[j];
  param bounded[j in Jobs] <= 10 = double[j];
  param wrong[j in Jobs] = 1 / (size[j] - 2);
  param worse = sum[j in Jobs] wrong[j];
  check [j in Jobs]: double[j] > 0;
  var x binary;
  minimize cost: x;
}
scenario S for M { Jobs = { a, b, c }; Types = { t }; size[a] = 1; size[b] = 2; size[c] = 3; }
"""


def instance(text: str = TEXT, earlier: Instance | None = None, *, on_demand: bool = True) -> Instance:
    if earlier is not None:
        kept = {"scenario": earlier.scenario, "folder": Path(), "reader": earlier.reader, "earlier": earlier}
        return build_instance(**kept, on_demand=on_demand)  # type: ignore[arg-type]
    found = Diagnostics()
    scenario = check_scenario(workspace_from_text(text, "test", found), "S", {}, found)
    found.raise_if_errors()
    assert scenario is not None
    return build_instance(scenario, folder=Path(), on_demand=on_demand)


def made(found: Instance) -> set[str]:
    sets, params = found.store.sets, found.store.params
    assert isinstance(sets, OnDemand)
    assert isinstance(params, OnDemand)
    return {*sets.made(), *params.made()}


def test_a_dictionary_on_demand() -> None:
    asked = list[str]()
    found = OnDemand({"a": 1}, {"b": lambda: asked.append("b") or 2, "c": lambda: asked.append("c") or 3})  # type: ignore[func-returns-value]
    assert "b" in found
    assert "d" not in found
    assert found.get("d", 7) == 7
    assert not asked
    assert found["b"] + found["b"] == 4
    assert asked == ["b"]
    joined = found | {"c": 5, "e": 6}
    assert asked == ["b"]
    assert joined == {"a": 1, "b": 2, "c": 5, "e": 6}
    assert OnDemand(found, {"z": lambda: 9}).made() == {"a": 1, "b": 2}
    assert asked == ["b"]
    assert {**found} == dict(found.items()) == {"a": 1, "b": 2, "c": 3}
    assert asked == ["b", "c"]
    with pytest.raises(KeyError):
        found["d"]


def test_copies_have_all_values() -> None:
    found = OnDemand({"a": 1}, {"b": int})
    assert pickle.loads(pickle.dumps(found)) == copy.deepcopy(found) == {"a": 1, "b": 0}
    assert len(found) == 2


def test_only_what_is_read_is_made() -> None:
    """A check reads `double`, and a bound has to be examined."""
    text = TEXT.replace("(size[j] - 2)", "size[j]")
    found = instance(text)
    assert made(found) == {"Jobs", "Types", "size", "factor", "double", "bounded"}
    assert found.store.params["sums"].values.tolist() == [10.0]
    assert made(found) == {"Jobs", "Types", "size", "factor", "double", "bounded", "Large", "Pairs", "sums"}


def test_values_are_the_same() -> None:
    text = TEXT.replace("(size[j] - 2)", "size[j]")
    now, later = instance(text, on_demand=False), instance(text)
    assert now.store.params
    assert now.store.sets
    for name in reversed(list(now.store.params)):
        assert np.array_equal(later.store.params[name].values, now.store.params[name].values)
    for name, domain in now.store.sets.items():
        assert list(later.store.sets[name].label_columns()) == list(domain.label_columns())


def test_an_error_is_told_when_it_is_read() -> None:
    with raises_code("GSM3003", at="size[j] - 2"):
        instance(on_demand=False)
    found = instance()
    for _ in range(2):
        with raises_code("GSM3003", at="size[j] - 2") as raised:
            found.store.params["worse"]
        assert [d.code for d in raised.value.diagnostics] == ["GSM3003"]


def test_bounds_are_checked_at_once() -> None:
    with raises_code("GSM2109", 'bounded["c"]', "6", "5", at="<= 5"):
        instance(TEXT.replace("<= 10", "<= 5"))


def test_what_an_earlier_instance_made_is_taken_over() -> None:
    first = instance()
    sums = first.store.params["sums"]
    second = instance(earlier=first)
    assert second.store.params["sums"] is sums
    assert "Pairs" in made(second)
    assert "worse" not in made(second)
    third = instance(earlier=second)
    assert third.store.params["double"] is first.store.params["double"]


def test_an_instance_is_freed_at_once() -> None:
    """Without the collector of cycles, which comes late: each plan of a run has an instance."""
    found = instance()
    assert found.store.params["sums"].values.tolist() == [10.0]
    watched = weakref.ref(found.store.params)
    gc.disable()
    try:
        del found
        assert watched() is None
    finally:
        gc.enable()


def test_no_instance_holds_an_earlier_one() -> None:
    class Watched(dict[str, object]):
        __slots__ = ("__weakref__",)

    first = instance()
    first.store.randoms = Watched()  # type: ignore[assignment]
    watched = weakref.ref(first.store.randoms)
    second = instance(earlier=first)
    third = instance(earlier=second)
    del first, second
    gc.collect()
    assert watched() is None
    assert third.store.params["sums"].values.tolist() == [10.0]


def test_a_statement_of_symmetry_is_no_input() -> None:
    """What follows from a set of identical elements is taken over, although the set names a parameter of them."""
    text = TEXT.replace("set Types;", "set Types; set Nodes identical by kind; param kind[Nodes] within Types;")
    text = text.replace("set Large", "set Kinds = { t in Types where any[n in Nodes] kind[n] == t }; set Large")
    text = text.replace("Types = { t };", 'Types = { t, u }; Nodes = { x, y }; kind[n in Nodes] = "t";')
    first = instance(text)
    kinds = first.store.sets["Kinds"]
    second = instance(earlier=first)
    assert second.store.sets["Kinds"] is kinds
    assert second.store.params["kind"] is first.store.params["kind"]


def test_a_time_limit_of_one_reader_does_not_end_the_next() -> None:
    """A solver without time gives up while `sums` needs `Pairs` and `Large`; the fallback policy reads them."""
    found = instance()
    before = made(found)
    for _ in range(2):
        with limit(0.0), pytest.raises(StoppedEarly):
            _ = found.store.params["sums"]
    assert made(found) == before
    assert found.store.params["sums"].values.tolist() == instance().store.params["sums"].values.tolist() == [10.0]
