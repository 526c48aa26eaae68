"""Derived parameters that are computed again only where their data changed: which they are, and with equal values."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest
from online_texts import CP_ON, driver

import gpusched_dsl as gs
from gpusched_dsl.compiling.data.instance import Instance
from gpusched_dsl.compiling.data.slicing import InstanceView, KnownValues
from gpusched_dsl.ir.arrays import Codes, Floats
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.online.data import row_memory
from gpusched_dsl.online.data.base import Base
from gpusched_dsl.online.data.own_rows import OwnRowsFinder
from gpusched_dsl.online.data.row_memory import PartMemory
from gpusched_dsl.online.loops.events import EventLoop
from gpusched_dsl.online.open import open_run
from gpusched_dsl.online.run_config import RunConfig

TEXT = """
model Machines {
  set Jobs ordered; set Machines; set Types;
  set Ways within Jobs cross Types;
  param size[Jobs]; param price[Types] default 1; param hours[Ways] in h; param other[Jobs] within Jobs;
  param left[Jobs] default 1; param clock in h default 0; param spare default 7;
  DERIVED
  var run[Jobs, Machines] binary;
  maximize busy: sum[j in Jobs, m in Machines] run[j, m];
  constraint one[m in Machines]: sum[j in Jobs] run[j, m] <= 1;
  constraint once[j in Jobs]: sum[m in Machines] run[j, m] <= 1;
  placement run[j, m] { job j; node m; lasts left[j] * max[(j1, t) in Ways where j1 == j] hours[j1, t]; uses 1 of 1; }
}
scenario S for Machines {
  Jobs = 1..6; Machines = { m1, m2 }; Types = { a, b };
  size[j in Jobs] = 1 + ord(j) / 4; other[j in Jobs] = first(Jobs);
  Ways = { (j, t) : j in Jobs, t in Types };
  hours[(j, t) in Ways] = 1[h] * ord(j); hours[3, b] = 5[h];
}
online Events for Machines {
  replan on arrival, completion;
  arrive j in Jobs at 0[h];
  carry left[j] = remaining[j];
  carry clock = now;
}
policy Queue for Machines { order j in Jobs by size[j]; place first_fit, new_node, postpone; }
"""
HOURS = "param need[(j, t) in Ways] in h = left[j] * hours[j, t];"
CARRIED = {"left", "clock"}


def loop_with(derived: str, order: str = "size[j]") -> EventLoop:
    text = TEXT.replace("DERIVED", derived).replace("by size[j]", f"by {order}")
    loop = open_run(gs.loads(text)._workspace, RunConfig(online="Events", scenario="S", method="Queue"))
    assert isinstance(loop, EventLoop)
    return loop


@pytest.mark.parametrize(
    ("derived", "place"),
    [
        (HOURS, 0),
        ("param x[j in Jobs] = left[j] + spare * size[j] - max(clock / 1[h], 2);", 0),
        ("param x[t in Types, j in Jobs] = left[j] * price[t];", 1),
        ("param x[j in Jobs] default 2 * left[j];", 0),
        ("param x[j in Jobs] = if left[j] < 0.5 and (j, \"a\") in Ways then abs(left[j]) else -left[j];", 0),
        ("param x[j in Jobs] >= 0 = left[j];", 0),
        ("param x[j in Jobs] <= 1 + left[j] = left[j];", 0),
        (HOURS + "param x[j in Jobs] in h = max[t in Types where (j, t) in Ways] need[j, t];", 0),
        ("param x[j in Jobs] = count[t in Types] (price[t] > left[j]);", 0),
        ("param x[j in Jobs] = size[other[j]] + left[j];", None),  # another job's
        ("param x[j in Jobs] = left[other[j]];", None),
        ("param x[j in Jobs] = left[j] + left[\"1\"];", None),
        ("param x[j in Jobs] = max[k in Jobs] left[k] - left[j];", None),  # of all jobs
        ("param x[j in Jobs] = left[j] / count(Jobs);", None),
        ("param x[j in Jobs] = if ord(j) == 1 then left[j] else 0;", None),  # the first one of a part
        ("param x[j in Jobs, k in Jobs] = left[j] * size[k];", None),  # of pairs
        ("param x[t in Types] = price[t] + clock / 1[h];", None),  # of no job
        ("param x = left[first(Jobs)];", None),
        ("param x[j in Jobs] = sum[t in Types] price[t] * left[j];", None),  # the order of terms may change bits
        ("param x[j in Jobs] = left[j] ^ 2.5;", None),  # not exactly rounded
        ("param x[j in Jobs] = exp(left[j]);", None),
        ("param x[j in Jobs] binary = if left[j] < 1 then 1 else 0;", None),
        ("set Open = { j in Jobs where left[j] > 0.5 }; param x[j in Open] = left[j];", None),  # other rows
    ],
)  # fmt: skip
def test_which_rows_follow_from_their_own_data(derived: str, place: int | None) -> None:
    base = loop_with(derived).base
    found = OwnRowsFinder(base.model, base.input_names, CARRIED, {"Jobs"}).found
    name = "x" if " x" in derived else "need"
    assert (found[name].place if name in found else None) == place


def test_what_is_read() -> None:
    base = loop_with(HOURS + "param x[j in Jobs] in h = max[t in Types] need[j, t] + clock;").base
    finder = OwnRowsFinder(base.model, base.input_names, CARRIED, {"Jobs"})
    assert finder.found["x"].reads == {"left", "clock"}
    assert finder.carried_places == {"left": 0, "clock": None}
    two_cut = OwnRowsFinder(base.model, base.input_names, CARRIED, {"Jobs", "Types"}).found
    assert two_cut.keys() == {"price"}  # others have rows of two cut sets


def compared_runs(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Build each instance of a run without anything kept too, and compare both.

    Return the numbers of rows that were computed anew, one for each parameter and plan.
    """
    rows, original, compute = list[int](), Base.instance_of, PartMemory._compute

    def instance_of(
        self: Base, part: InstanceView, carried: Mapping[str, KnownValues], earlier: Instance | None = None
    ) -> Instance:
        found = original(self, part, carried, earlier)
        alone = Base(self.instance, self.limits)
        alone._memories[frozenset(carried), frozenset(part.kept)] = NOTHING_KEPT
        fresh = original(alone, part, carried)
        for name, param in fresh.store.params.items():
            assert np.array_equal(found.store.params[name].values, param.values), name
        return found

    def counted(self: PartMemory, name: str, at: Codes) -> object:
        rows.append(len(at))
        return compute(self, name, at)

    monkeypatch.setattr(Base, "instance_of", instance_of)
    monkeypatch.setattr(PartMemory, "_compute", counted)
    return rows


class _NothingKept:
    names = ()

    def in_part(self, part: InstanceView) -> _NothingKept:
        return self

    def compared(self, carried: Mapping[str, KnownValues]) -> Mapping[str, KnownValues]:
        return carried


NOTHING_KEPT: object = _NothingKept()


@pytest.mark.parametrize("large", [0, 4096])
@pytest.mark.parametrize("online", ["EveryEvent", "NoisyTimes"])
def test_values_are_the_same_in_a_run(online: str, large: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_memory, "LARGE", large)
    rows = compared_runs(monkeypatch)
    text = CP_ON.replace("period =", "Nodes = { n1, n2, n3 }; period =")
    assert np.isfinite(driver(text, online, method="FIFO").run().world.end).all()
    assert rows


def test_only_rows_of_running_jobs_are_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two of six jobs run, on two types of machine; the last three plans have two jobs or fewer."""
    rows = compared_runs(monkeypatch)
    derived = HOURS + "param longest[j in Jobs] in h = max[t in Types] need[j, t];"
    loop_with(derived).run()
    assert rows
    assert max(rows) <= 4


def given(values: Floats) -> KnownValues:
    return KnownValues(lambda domain: values)


@pytest.mark.parametrize("large", [0, 4096])
def test_any_parts_with_any_values(large: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Jobs come and go in any order, machines too, and between no and all values change."""
    monkeypatch.setattr(row_memory, "LARGE", large)
    rows = compared_runs(monkeypatch)
    derived = (
        HOURS
        + """
      param longest[j in Jobs] in h = max[t in Types] need[j, t];
      param margin[j in Jobs] in h = longest[j] - clock;
      param best[j in Jobs] = max[t in Types] price[t] * left[j] + spare;
      param load[j in Jobs, m in Machines] = left[j] * size[j];
    """
    )
    base, rng, earlier = loop_with(derived).base, np.random.default_rng(3), None
    left, clock = np.ones(6), np.zeros(1)
    for step in range(300):
        kept = {"Jobs": np.flatnonzero(rng.random(6) < 0.8)}
        if step % 3 == 0:
            kept["Machines"] = np.flatnonzero(rng.random(2) < 0.7)
        part = base.part(kept)
        left = np.where(rng.random(6) < rng.choice([0, 0.1, 0.3, 1]), rng.random(6), left)
        clock = clock + rng.choice([0, 0, 1])
        carried = {"left": given(left[kept["Jobs"]]), "clock": given(clock)}
        earlier = base.instance_of(part, carried, earlier)
    assert len(rows) > 200


@pytest.mark.parametrize(
    ("derived", "code"),
    [
        ("param x[j in Jobs] = 1 / max(left[j] - 0.75, 0);", "GSM3003"),
        ("param x[j in Jobs] >= 0.6 = left[j];", "GSM2109"),
        ("param x[j in Jobs] = left[j]; param y[j in Jobs] >= 0.6 = x[j];", "GSM2109"),
    ],
)
def test_values_that_become_wrong_are_reported(derived: str, code: str) -> None:
    with pytest.raises(DiagnosticError) as raised:
        loop_with(derived, order="x[j]").run()
    assert {d.code for d in raised.value.diagnostics} == {code}


def test_what_nobody_reads_is_not_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A maximum that is read every third time only: it and what it reads are then computed for all that changed."""
    monkeypatch.setattr(row_memory, "LARGE", 0)
    base = loop_with(HOURS + "param longest[j in Jobs] in h = max[t in Types] need[j, t];").base
    counted = list[tuple[str, int]]()
    compute = PartMemory._compute

    def count(self: PartMemory, name: str, at: Codes) -> object:
        counted.append((name, len(at)))
        return compute(self, name, at)

    monkeypatch.setattr(PartMemory, "_compute", count)
    part, left, earlier = base.part({"Jobs": np.arange(6)}), np.ones(6), None
    for step in range(7):
        left = left.copy()
        left[step % 2] /= 2
        earlier = base.instance_of(part, {"left": given(left), "clock": given(np.zeros(1))}, earlier)
        if step % 3 == 0:
            expected = (left * np.arange(1, 7)).tolist()
            expected[2] = 5 * left[2]
            assert earlier.store.params["longest"].values.tolist() == expected
    assert counted == [("need", 2), ("longest", 1), ("need", 4), ("longest", 2), ("need", 4), ("longest", 2)]


def test_an_earlier_instance_keeps_its_values(monkeypatch: pytest.MonkeyPatch) -> None:
    """A parameter that is first read after the next instance was built has the values of its own instance."""
    monkeypatch.setattr(row_memory, "LARGE", 0)
    base = loop_with(HOURS).base
    part = base.part({"Jobs": np.arange(6)})
    first = base.instance_of(part, {"left": given(np.ones(6)), "clock": given(np.zeros(1))})
    second = base.instance_of(part, {"left": given(np.full(6, 0.5)), "clock": given(np.zeros(1))}, first)
    assert second.store.params["need"].values.max() == 3.0
    assert first.store.params["need"].values.max() == 6.0
