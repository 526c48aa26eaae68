"""How solves with elements counted can end, by the interface of Python and by the command line."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path

import pytest
import sharing_cases
import small_cluster
from sharing_reference import Options
from small_cluster import store

import gpusched_dsl as gs
from gpusched_dsl.compiling.passes.names import AGGREGATION, EVERY

Run = Callable[..., tuple[int, str, str]]
BACKENDS = ("highs", "scip")


@pytest.mark.quick(3)
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    ("row", "term", "status"),
    [
        ("", "", "optimal"),
        ("constraint few: sum[b in Boxes] open[b] <= 1;", "", "infeasible"),
        ("", "- more", "unbounded"),
    ],
)
def test_statuses(backend: str, row: str, term: str, status: str) -> None:
    model = gs.loads(store(row, term))
    counted = model.solve(backend=backend, gap=0)
    named = model.solve(backend=backend, gap=0, without=[AGGREGATION])
    assert counted.solved.aggregated is not None
    assert named.solved.aggregated is None
    told = {status, "infeasible_or_unbounded"} if status != "optimal" else {status}
    assert {counted.status, named.status} <= told
    assert counted.has_point == named.has_point == (status == "optimal")
    if counted.has_point:
        assert counted.objective == named.objective == pytest.approx(2)
        assert sorted(counted["holds"].columns) == sorted(named["holds"].columns)


@pytest.mark.parametrize("left_out", [AGGREGATION, EVERY])
def test_aggregation_can_be_left_out(tmp_path: Path, gsdsl: Run, left_out: str) -> None:
    path = small_cluster.write(tmp_path)
    counted = gsdsl("solve", path, "--gap", "0", "--json", tmp_path / "counted.json")
    named = gsdsl("solve", path, "--gap", "0", "--without", left_out, "--json", tmp_path / "named.json")
    assert counted[0] == named[0] == 0
    assert "with Nodes aggregated: " in counted[1]
    assert "counted" not in named[1]
    size = next(line for line in named[1].splitlines() if "columns" in line)
    assert size in counted[1].splitlines()
    one, other = (json.loads((tmp_path / f"{n}.json").read_text(encoding="utf-8")) for n in ("counted", "named"))
    assert one["objectives"][0]["value"] == pytest.approx(other["objectives"][0]["value"])
    assert set(one) == set(other)
    assert set(one["variables"]) == set(other["variables"])


def test_sizes_are_those_of_the_problems(tmp_path: Path, gsdsl: Run) -> None:
    path = small_cluster.write(tmp_path)
    whole = gs.load(path).ground().size
    small = gs.load(path).solve(gap=0)
    _, out, _ = gsdsl("solve", path, "--gap", "0")
    lines = out.splitlines()
    counted = next(line for line in lines if line.startswith("with Nodes aggregated"))
    assert f"{whole.columns} columns" in lines[lines.index(counted) - 1]
    assert small.solved.aggregated is not None
    assert f"{small.solved.aggregated.problem.columns} columns" in counted
    assert small.solved.size == whole
    assert small.solved.aggregated.problem.columns < whole.columns


def test_infeasible_problems_are_explained_in_terms_of_all(tmp_path: Path, gsdsl: Run) -> None:
    path = tmp_path / "store.gsm"
    path.write_text(store("constraint few: sum[b in Boxes] open[b] <= 1;"), encoding="utf-8")
    code, out, err = gsdsl("solve", path)
    assert code == 3
    assert "infeasible" in out + err
    _, out, _ = gsdsl("explain", path)
    assert "few" in out
    assert "4 elements of Boxes, all interchangeable: aggregated" in out


@pytest.mark.slow
@pytest.mark.parametrize("backend", BACKENDS)
def test_several_objectives(tmp_path: Path, backend: str) -> None:
    """As many jobs as can be, then as cheap as can be."""
    model = gs.load(sharing_cases.write_cases(tmp_path, range(7)))
    counted = 0
    for seed in range(7):
        own = Options(**sharing_cases.settings(seed))
        if own.energy_horizon == "system_first_end":
            continue
        settings = asdict(replace(own, node_rule="max_running"))
        one = model.solve(f"Seed{seed}", backend, gap=0, settings=settings)
        other = model.solve(f"Seed{seed}", gap=0, settings=settings, without=[AGGREGATION])
        counted += one.solved.aggregated is not None
        assert one.status == other.status == "optimal", seed
        assert [o.name for o in one.objectives] == ["jobs_running", "total"]
        assert [o.value for o in one.objectives] == [pytest.approx(o.value, rel=1e-6) for o in other.objectives], seed
    assert counted > 3


@pytest.mark.slow
@pytest.mark.parametrize("backend", BACKENDS)
def test_capacity_planning(tmp_path: Path, backend: str) -> None:
    model = gs.load(small_cluster.write(tmp_path))
    for settings in ({}, {"node_rule": "force"}, {"node_rule": "at_most", "deadline_terms": "printed"}):
        one = model.solve(backend=backend, gap=0, settings=settings)
        other = model.solve(backend=backend, gap=0, settings=settings, without=[AGGREGATION])
        assert one.solved.aggregated is not None
        assert one.objective == pytest.approx(other.objective, rel=1e-6)
        assert sum(one.terms.values()) == pytest.approx(one.objective)
