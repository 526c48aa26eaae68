"""Starts by name: plans of yesterday's jobs, and plans with the places of only some jobs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpusched_dsl as gs
from gpusched_dsl.solving import run as solving
from gpusched_dsl.solving.primal.start import MipStart, find_mip_start

TEXT = """
model Packing {
  set Jobs;
  set Nodes;
  param size[Jobs] >= 0;
  param room[Nodes] >= 0;
  param cost[Jobs, Nodes] >= 0;
  var run[Jobs, Nodes] binary;
  var used[Nodes] binary;
  minimize total: sum[j in Jobs, n in Nodes] cost[j, n] * run[j, n] + 5 * sum[n in Nodes] used[n];
  constraint placed[j in Jobs]: sum[n in Nodes] run[j, n] == 1;
  constraint fits[n in Nodes]: sum[j in Jobs] size[j] * run[j, n] <= room[n] * used[n];
}
scenario Day for Packing {
  Jobs = { a, b, c, d };
  Nodes = { n1, n2, n3 };
  size = 2;
  room = 4;
  cost = 1;
}
"""


@pytest.fixture
def starts(monkeypatch: pytest.MonkeyPatch) -> list[MipStart]:
    """What solves begin with."""
    seen: list[MipStart] = []

    def noted(*given: Any, **named: Any) -> MipStart:
        seen.append(find_mip_start(*given, **named))
        return seen[-1]

    monkeypatch.setattr(solving, "find_mip_start", noted)
    return seen


def run_of(model: gs.Model, beginning: MipStart) -> Any:
    """The start's `run`, a row per job."""
    assert beginning.point is not None
    assert beginning.objective is not None  # it is known to be feasible
    problem = model.ground("Day")
    family = problem.variable("run")
    return beginning.point[family.slice].reshape(-1, 3)


def plan(**places: str) -> dict[str, Any]:
    return {"run": dict.fromkeys(places.items(), 1)}


def solved(model: gs.Model, start: Any) -> gs.Result:
    return model.solve("Day", warm_start=start, without=("all",))


def test_what_is_new_is_placed_around_what_was(starts: list[MipStart]) -> None:
    model = gs.loads(TEXT)
    result = solved(model, plan(a="n3", b="n3", gone="n1"))
    assert result.objective == 14
    run = run_of(model, starts[0])
    assert run[:2].tolist() == [[0, 0, 1], [0, 0, 1]]
    assert run.sum(axis=1).tolist() == [1, 1, 1, 1]
    assert any("no index in this model" in w.message for w in result.warnings)


def test_a_plan_that_no_longer_fits_is_mended(starts: list[MipStart]) -> None:
    model = gs.loads(TEXT)
    model.set("size", {"a": 2, "b": 3, "c": 1, "d": 1})
    result = solved(model, plan(a="n3", b="n3", c="n1", d="n1"))
    assert result.objective == 14
    run = run_of(model, starts[0])
    assert run[2:].tolist() == [[1, 0, 0], [1, 0, 0]]  # only one of those that are too large together moved
    assert run[:2, 2].sum() == 1
    assert not result.warnings


def test_a_result_of_other_data_and_a_file_of_it(starts: list[MipStart], tmp_path: Path) -> None:
    model = gs.loads(TEXT)
    first = model.solve("Day", without=("all",))
    first.to_json(tmp_path / "first.json")
    model.set("Jobs", ["b", "c", "d", "e", "f"])
    for earlier in (first, tmp_path / "first.json"):
        starts.clear()
        result = solved(model, earlier)
        assert result.objective == 20
        run = run_of(model, starts[0])
        kept = first["run"].filter(first["run"]["Jobs"] != "a").rows()
        at = {job: row for row, job in enumerate(["b", "c", "d", "e", "f"])}
        assert all(run[at[job], int(node[1]) - 1] == 1 for job, node, _ in kept)


def test_a_plan_that_cannot_be_mended_is_dropped_with_its_row(starts: list[MipStart]) -> None:
    model = gs.loads(TEXT)
    model.set("room", 3)
    result = solved(model, plan(a="n1", b="n1", c="n2", d="n2"))
    assert not result.has_point
    assert starts[0].point is None
    (warning,) = [w for w in result.warnings if w.code == "GSM4010"]
    assert "was dropped" in warning.message
    assert "fits[n1]" in warning.message


def test_an_unchanged_plan_is_the_start(starts: list[MipStart]) -> None:
    model = gs.loads(TEXT)
    first = model.solve("Day", without=("all",))
    again = solved(model, first)
    assert again.objective == first.objective
    assert first.solved.point is not None
    np.testing.assert_array_equal(starts[-1].point, first.solved.point)
