"""Reuse from an earlier instance: the arrays equal those of a cold build, without stale values."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import gpusched_dsl as gs
from gpusched_dsl.compiling.build import Built
from gpusched_dsl.compiling.data.instance import Instance

TEXT = """
model M {
  set Items;
  set Slots ordered;
  set Good within Items;
  set Pairs = { (i, t) : i in Items, t in Slots where i in Good };
  param worth[Items] >= 0 default 1;
  param factor default 2;
  param scaled[i in Items] = factor * worth[i];
  param best = max[i in Items] scaled[i];
  param first[t in Slots] = count(Items);
  param limit[Slots] default best;
  param only[Slots] >= 0 default 3;
  param twice[t in Slots] = 2 * only[t];
  check [i in Items]: worth[i] <= 50 "worth too much";
  check [t in Slots]: only[t] <= 9 "too many";
  var x[Pairs] >= 0 <= 4;
  maximize g: sum[(i, t) in Pairs] scaled[i] * x[i, t];
  constraint c[t in Slots]: sum[i in Items where (i, t) in Pairs] x[i, t] <= limit[t] + twice[t];
}
scenario S for M {
  data "items.csv" { Items = item; worth[item] = worth; }
  Slots = { "s1", "s2" };
  Good = { i : i in Items where worth[i] >= 2 };
}
"""


def assert_same(ours: Built, cold: Built) -> None:
    one, other = ours.instance.store, cold.instance.store
    assert {n: u.labels for n, u in one.universes.items()} == {n: u.labels for n, u in other.universes.items()}
    assert one.sets.keys() == other.sets.keys()
    assert all(one.sets[n].label_columns() == other.sets[n].label_columns() for n in one.sets)
    assert one.params.keys() == other.params.keys()
    for name, param in one.params.items():
        assert param.domain.label_columns() == other.params[name].domain.label_columns()
        np.testing.assert_array_equal(param.values, other.params[name].values)
    for field in ("lower", "upper", "row_lower", "row_upper"):
        np.testing.assert_array_equal(getattr(ours.problem, field), getattr(cold.problem, field))
    np.testing.assert_array_equal(ours.problem.matrix.columns, cold.problem.matrix.columns)
    np.testing.assert_array_equal(ours.problem.matrix.values, cold.problem.matrix.values)
    costs = [p.objectives[0].costs(p.columns) for p in (ours.problem, cold.problem)]
    np.testing.assert_array_equal(*costs)


@pytest.fixture
def model(tmp_path: Path) -> gs.Model:
    (tmp_path / "items.csv").write_text("item,worth\na,1\nb,2\nc,5\n")
    return gs.loads(TEXT, base=tmp_path)


def again(model: gs.Model, earlier: Instance) -> Built:
    return model._build("S", {}, earlier)


@pytest.mark.quick(3)
@pytest.mark.parametrize("seed", range(12))
def test_random_changes_give_what_a_cold_build_gives(model: gs.Model, seed: int) -> None:
    draw = random.Random(seed)

    def items() -> list[str]:
        return draw.sample("abcdef", draw.randint(1, 5))

    def set_items() -> None:
        chosen = items()
        model.set("Items", chosen)
        model.set("worth", {i: draw.randint(0, 9) for i in chosen})
        model.set("Good", draw.sample(chosen, draw.randint(0, len(chosen))))

    events: list[Callable[[], None]] = [
        set_items,
        lambda: model.set("factor", draw.randint(1, 3)),
        lambda: model.set("only", draw.randint(0, 5)),
        lambda: model.set("Slots", draw.sample(["s1", "s2", "s3"], draw.randint(1, 3))),
        lambda: model.reset("factor", "only"),
        lambda: model.reset(),
        lambda: None,
    ]
    built = model._build("S", {})
    kept = 0
    for _ in range(12):
        draw.choice(events)()
        built = again(model, built.instance)
        kept += len(built.instance.kept)
        assert_same(built, model._build("S", {}))
    assert kept


def test_only_what_depends_on_a_change_is_made_anew(model: gs.Model) -> None:
    first = model._build("S", {})
    assert not first.instance.kept
    everything = again(model, first.instance).instance.kept
    assert everything == first.instance.store.sets.keys() | first.instance.store.params.keys()
    model.set("factor", 3)
    changed = everything - again(model, first.instance).instance.kept
    assert changed == {"factor", "scaled", "best", "limit"}
    model.set("only", 4)
    changed = everything - again(model, first.instance).instance.kept
    assert changed == {"factor", "scaled", "best", "limit", "only", "twice"}
    model.reset()
    assert again(model, first.instance).instance.kept == everything


def test_a_check_of_what_changed_is_made(model: gs.Model) -> None:
    first = model._build("S", {})
    model.set("only", 10)
    with pytest.raises(gs.DiagnosticError, match="too many"):
        again(model, first.instance)


def test_a_value_is_read_when_it_is_set(model: gs.Model) -> None:
    worth = {"a": 1.0, "b": 2.0, "c": 3.0}
    model.set("worth", worth)
    first = model._build("S", {})
    worth["a"] = 7.0
    assert again(model, first.instance).instance.store.params["worth"].values.tolist() == [1.0, 2.0, 3.0]
    model.set("worth", worth)
    assert again(model, first.instance).instance.store.params["worth"].values.tolist() == [7.0, 2.0, 3.0]


def test_files_read_again_and_other_scenarios_take_nothing_over(model: gs.Model, tmp_path: Path) -> None:
    model.solve("S")
    (tmp_path / "items.csv").write_text("item,worth\na,9\n")
    result = model.solve("S")
    assert result.table("scaled").rows() == [("a", 18.0)]


def test_a_formula_that_is_in_force_again_is_read_again(model: gs.Model) -> None:
    model.set("Good", ["a"])
    built = model._build("S", {})
    built = again(model, built.instance)
    model.reset("Good")
    built = again(model, built.instance)
    built = again(model, built.instance)
    model.set("worth", {"a": 9, "b": 9, "c": 0})
    built = again(model, built.instance)
    assert built.instance.store.sets["Good"].label_columns() == [["a", "b"]]
