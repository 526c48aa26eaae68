"""Starts of problems with nodes counted: earlier results, files and values by name, and such that do not fit."""

from __future__ import annotations

from pathlib import Path

import pytest
import small_cluster

import gpusched_dsl as gs
from gpusched_dsl.compiling.build import build, check_solvable
from gpusched_dsl.compiling.passes.names import AGGREGATION
from gpusched_dsl.ir.arrays import Floats
from gpusched_dsl.ir.verify import verify
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.workspace import workspace_from_text
from gpusched_dsl.solving.aggregated import _aggregated_start
from gpusched_dsl.solving.starts import Entry
from gsdsl_backends.highs.session import HighsSession
from gsdsl_backends.protocol import SolveOptions


@pytest.fixture
def heard(monkeypatch: pytest.MonkeyPatch) -> list[Floats | None]:
    """The starts that the solver was given."""
    starts: list[Floats | None] = []
    solve = HighsSession.solve

    def hearing(self: HighsSession, options: SolveOptions, start: Floats | None = None, *more: object) -> object:
        starts.append(start)
        return solve(self, options, start, *more)  # type: ignore[arg-type]

    monkeypatch.setattr(HighsSession, "solve", hearing)
    return starts


def test_from_an_earlier_result_and_its_file(tmp_path: Path, heard: list[Floats | None]) -> None:
    model = gs.load(small_cluster.write(tmp_path))
    first = model.solve(gap=0)
    first.to_json(tmp_path / "plan.json")
    named = model.solve(gap=0, without=[AGGREGATION])
    for start in (first, tmp_path / "plan.json", str(tmp_path / "plan.json"), named):
        heard.clear()
        again = model.solve(gap=0, warm_start=start)
        assert again.objective == pytest.approx(first.objective)
        assert not [w for w in again.warnings if w.code != "GSM2001"]
        assert any(point is not None for point in heard)


def test_from_values_by_name(tmp_path: Path, heard: list[Floats | None]) -> None:
    model = gs.load(small_cluster.write(tmp_path))
    best = model.solve(gap=0).objective
    kinds = {"n1": "small", "n2": "large", "n3": "small", "n4": "middle"}
    run = {("a", "n2", "large", 2): 1, ("c", "n2", "large", 2): 1, ("b", "n4", "middle", 2): 1}
    heard.clear()
    result = model.solve(gap=0, warm_start={"hosts": dict.fromkeys(kinds.items(), 1), "run": run})
    assert result.objective == pytest.approx(best)
    assert any(point is not None for point in heard)


def test_nodes_of_a_start_count_by_what_they_do() -> None:
    """Whichever nodes do it, it is the same point."""
    found = Diagnostics()
    loaded = workspace_from_text(small_cluster.text(), "four.gsm", found, Path.cwd())
    found.raise_if_errors()
    made = build(loaded, check_solvable(loaded, "Four")[0], aggregated=True)
    assert made.aggregated is not None
    points = []
    for one, other in (("n1", "n2"), ("n4", "n1"), ("n3", "n4")):
        rest = sorted({"n1", "n2", "n3", "n4"} - {one, other})
        start: dict[str, list[Entry]] = {
            "hosts": [((one, "large"), 1.0), ((other, "small"), 1.0), *(((n, "small"), 1.0) for n in rest)],
            "run": [(("a", one, "large", 2), 1.0), (("e", one, "large", 1), 1.0), (("d", other, "small", 1), 1.0)],
        }
        point, told = _aggregated_start(made.aggregated, start)
        assert point is not None
        assert not told
        points.append(point.tolist())
        assert verify(made.aggregated.problem, point).feasible
    assert points[0] == points[1] == points[2]


BROKEN = {
    "two types": {"hosts": {("n1", "small"): 1, ("n1", "large"): 1}},
    "not hosted": {"hosts": {("n1", "small"): 1}, "run": {("a", "n1", "large", 1): 1}},
    "too many GPUs": {
        "hosts": {("n1", "middle"): 1},
        "run": {("a", "n1", "middle", 2): 1, ("b", "n1", "middle", 1): 1},
    },
}


@pytest.mark.parametrize("why", BROKEN)
def test_starts_that_break_rows_of_a_node_start_nothing(tmp_path: Path, why: str) -> None:
    model = gs.load(small_cluster.write(tmp_path))
    best = model.solve(gap=0).objective
    assert model.solve(gap=0, warm_start=BROKEN[why]).objective == pytest.approx(best)


def test_what_has_no_place_is_told(tmp_path: Path) -> None:
    model = gs.load(small_cluster.write(tmp_path))
    for start in (
        {"hots": {("n1", "small"): 1}},
        {"hosts": {("n9", "small"): 1}},
        {"run": {("a", "n1", "small", 9): 1}},
    ):
        plain = model.solve(gap=0, warm_start=start, without=[AGGREGATION])
        result = model.solve(gap=0, warm_start=start)
        assert result.objective == pytest.approx(plain.objective)
        assert [w.code for w in result.warnings] == [w.code for w in plain.warnings], start
