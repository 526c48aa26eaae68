"""Incremental parts of a run's data equal freshly built parts."""

from __future__ import annotations

import numpy as np
from online_texts import CP_ON, driver

from gpusched_dsl.compiling.data.instance import Instance
from gpusched_dsl.ir.arrays import Codes
from gpusched_dsl.online.data.base import Base

MORE_NODES = CP_ON.replace("period =", "Nodes = { n1, n2, n3 }; period =")


def base() -> Base:
    return driver(MORE_NODES, "EveryEvent", method="FIFO").base


def same(ours: Instance, fresh: Instance) -> None:
    assert ours.store.sets.keys() == fresh.store.sets.keys()
    for name, domain in fresh.store.sets.items():
        assert list(ours.store.sets[name].label_columns()) == list(domain.label_columns()), name
    assert ours.store.params.keys() == fresh.store.params.keys()
    for name, param in fresh.store.params.items():
        assert np.array_equal(ours.store.params[name].values, param.values), name


def test_parts_in_a_row_are_as_made_alone() -> None:
    run, before = base(), None
    rng = np.random.default_rng(1)
    kept: dict[str, Codes] = {"Jobs": np.arange(3), "Nodes": np.arange(3)}
    for step in range(40):
        root = ("Jobs", "Nodes", "")[int(rng.integers(3))]  # one of them changes, or none
        if root:
            kept = {**kept, root: rng.choice(3, int(rng.integers(1, 4)), replace=False)}
        if step % 10 == 9:
            kept = {"Jobs": kept.get("Jobs", np.arange(3))}  # no node is down
        before = run.instance_of(run.part(kept), {}, before)
        alone = Base(run.instance, run.limits)
        same(before, alone.instance_of(alone.part(kept), {}))


def test_nothing_is_made_again_for_the_same_elements() -> None:
    run = base()
    first = run.instance_of(run.part({"Jobs": np.array([0, 2])}), {})
    late = first.store.params["late"]  # made now
    again = run.instance_of(run.part({"Jobs": np.array([2, 0])}), {}, first)
    assert again.store.params["late"] is late
    assert again.store.sets["Runnable"] is first.store.sets["Runnable"]
    other = run.instance_of(run.part({"Jobs": np.array([0, 1])}), {}, again)
    assert other.store.params["late"] is not late
    assert other.store.params["price"] is first.store.params["price"]
