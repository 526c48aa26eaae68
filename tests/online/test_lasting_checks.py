"""Checks that hold in every part of the data: which they are, and that others are evaluated for every plan."""

from __future__ import annotations

import numpy as np
import pytest

import gpusched_dsl as gs
from gpusched_dsl.compiling.data.instance import _Builder
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.online.data.lasting_checks import lasting_checks
from gpusched_dsl.online.loops.events import EventLoop
from gpusched_dsl.online.open import open_run
from gpusched_dsl.online.run_config import RunConfig

TEXT = """
model Machines {
  set Jobs; set Machines; set Types;
  set Ways within Jobs cross Types;
  set Both = Ways union { (j, t) : j in Jobs, t in Types where size[j] > 2 };
  set Large within Jobs = { j in Jobs where size[j] > 1 };
  param size[Jobs]; param price[Types] default 1; param cost[j in Jobs] = 2 * size[j];
  param type[Machines] within Types;
  param left[Jobs] default 1; param clock in h default 0; param total = sum[j in Jobs] size[j];
  param hours[Jobs] in h; param first[Jobs] within Machines; param twice[j in Jobs] = 2 * left[j];
  let ways[j in Jobs] = count[(i, t) in Ways where j == i] (price[t] > 0);
  let dear[j in Jobs] = cost[j] + price["a"];
  CHECK
  var run[Jobs, Machines] binary;
  maximize busy: sum[j in Jobs, m in Machines] run[j, m];
  constraint one[m in Machines]: sum[j in Jobs] run[j, m] <= 1;
  constraint once[j in Jobs]: sum[m in Machines] run[j, m] <= 1;
  placement run[j, m] { job j; node m; lasts left[j] * hours[j]; uses 1; }
}
scenario S for Machines {
  Jobs = { x, y, z }; Machines = { m1, m2 }; Types = { a };
  table Jobs: size hours[h] first = x 1 1 m1  y 2 2 m1  z 3 1 m2;
  Ways = { (x, a), (y, a), (z, a) };
  type[m in Machines] = "a";
}
online Events for Machines {
  replan on arrival, completion;
  arrive j in Jobs at 0[h];
  carry left[j] = remaining[j];
  carry clock = now;
}
policy Queue for Machines { order j in Jobs by size[j]; place first_fit, new_node, postpone; }
"""


def loop_with(check: str) -> EventLoop:
    text = TEXT.replace("CHECK", check)
    loop = open_run(gs.loads(text)._workspace, RunConfig(online="Events", scenario="S", method="highs"))
    assert isinstance(loop, EventLoop)
    return loop


@pytest.mark.parametrize(
    ("check", "lasts"),
    [
        ("check [j in Jobs]: size[j] <= 3;", True),
        ("check [j in Jobs]: cost[j] <= 6;", True),
        ("check [j in Jobs]: dear[j] <= 9;", True),
        ("check [j in Jobs where size[j] > 1]: price[\"a\"] < size[j];", True),
        ("check [j in Jobs]: any[t in Types] (j, t) in Ways;", True),
        ("check [(j, t) in Ways]: size[j] >= price[t];", True),
        ("check [j in Large]: size[j] > 1;", True),
        ("check [j in Jobs]: left[j] <= 1;", False),  # carried
        ("check [j in Jobs]: twice[j] <= 2;", False),
        ("check: clock < 100[h];", False),
        ("check: total >= 1;", False),  # of fewer jobs
        ("check: sum[j in Jobs] size[j] <= 6;", False),
        ("check: count(Large) >= 0;", False),
        ("check: all[(j, t) in Ways] size[j] > 0;", False),
        ("check [j in Jobs]: type[first[j]] == \"a\";", True),
        ("check [j in Jobs]: any[(i, t) in Ways where i == j] true;", True),
        ("check [j in Jobs]: any[(i, t) in Both where price[t] > 0 and i == j] size[i] > 0;", True),
        ("check [j in Jobs]: ways[j] == 1;", True),
        ("check [j in Jobs]: sum[i in Jobs where i == j] size[i] <= 3;", True),
        ("check [j in Jobs]: sum[(i, t) in Ways where i == j] left[i] <= 1;", False),
        ("check [j in Jobs]: count[(i, t) in Ways where i != j] (size[i] > 0) <= 2;", False),
        ("check [j in Jobs]: all[(i, t) in Ways where i == j or size[i] > 0] true;", False),
        ("check [j in Jobs]: sum[(i, t) in Ways, (k, u) in Ways where i == j] size[k] >= 1;", False),
        ("check [j in Jobs]: sum[(i, t) in Ways, (k, u) in Ways where i == k] size[k] >= 1;", False),
        ("check [j in Jobs]: count(Both) >= 1;", False),
    ],
)  # fmt: skip
def test_which_checks_last(check: str, lasts: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """A check that lasts is not evaluated for a part; the other ones are."""
    loop = loop_with(check)
    seen: list[bool] = []
    original = _Builder.run

    def run(self: _Builder) -> None:
        seen.append(0 in self.fulfilled)
        original(self)

    monkeypatch.setattr(_Builder, "run", run)
    loop.run()
    assert len(seen) >= 2
    assert set(seen) == {lasts}


def test_a_node_that_may_be_down() -> None:
    loop = loop_with('check [j in Jobs]: type[first[j]] == "a";')
    model, given = loop.base.model, loop.base.input_names
    assert lasting_checks(model, given, {"left", "clock"}, {"Jobs"}) == {0}
    assert lasting_checks(model, given, {"left", "clock"}, {"Jobs", "Machines"}) == frozenset()
    assert lasting_checks(model, given, {"first"}, {"Jobs"}) == frozenset()


def test_a_check_that_fails_in_a_part_is_told() -> None:
    """All three jobs together are large enough, those that are left are not."""
    with pytest.raises(DiagnosticError, match="too few") as raised:
        loop_with('check: sum[j in Jobs] size[j] >= 6 "too few";').run()
    assert raised.value.diagnostics[0].code.startswith("GSM22")


def test_a_check_of_a_carried_value_is_told() -> None:
    with pytest.raises(DiagnosticError, match="too late"):
        loop_with('check [j in Jobs]: clock + hours[j] <= 2.5[h] "too late";').run()


def test_parts_are_as_before() -> None:
    assert np.isfinite(loop_with("check [j in Jobs]: size[j] <= 3;").run().world.end).all()
