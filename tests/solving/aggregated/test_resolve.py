"""Re-solving with aggregated nodes: jobs arrive, nodes leave, numbers change; results equal a cold start."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import small_cluster
from small_cluster import HOURS, times

import gpusched_dsl as gs
from gpusched_dsl.compiling.passes.names import AGGREGATION


@pytest.fixture
def models(tmp_path: Path) -> Iterator[tuple[gs.Model, gs.Model]]:
    path = small_cluster.write(tmp_path)
    with gs.load(path) as one, gs.load(path) as other:
        yield one, other


def tell(model: gs.Model, hours: dict[str, float]) -> None:
    model.set("Jobs", list(hours))
    model.set("deadline", {job: 0.8 * alone for job, alone in hours.items()})
    model.set("weight", dict.fromkeys(hours, 0.7))
    model.set("Runnable", list(times(hours)))
    model.set("exec_time", times(hours))


def check(model: gs.Model, cold: gs.Model, backend: str) -> gs.Result:
    again = model.resolve()
    fresh = cold.solve(backend=backend, gap=0, without=[AGGREGATION])
    assert again.status == fresh.status == "optimal"
    assert again.objective == pytest.approx(fresh.objective, rel=1e-6)
    assert again.solved.aggregated is not None
    assert fresh.solved.aggregated is None
    assert again.solved.verification is not None
    assert again.solved.verification.feasible
    return again


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["highs", "scip"])
def test_jobs_and_nodes_come_and_go(models: tuple[gs.Model, gs.Model], backend: str) -> None:
    model, cold = models
    first = model.solve(backend=backend, gap=0)
    assert first.solved.aggregated is not None
    hours = dict(HOURS)
    for step in ("a job arrives", "a job ends", "a node leaves", "two nodes come", "time passes"):
        if step == "a job arrives":
            hours["f"] = 3.0
        elif step == "a job ends":
            del hours["b"]
        elif step == "time passes":
            hours = {job: alone * 0.75 for job, alone in hours.items()}
        for one in models:
            tell(one, hours)
            if "node" in step:
                one.set("Nodes", ["n1", "n3", "n4"] if "leaves" in step else ["n0", "n1", "n3", "n4", "n5"])
        again = check(model, cold, backend)
        nodes = {row[0] for row in again["hosts"].rows()}
        assert "n2" not in nodes or "node" not in step


def test_prices_change_in_place(models: tuple[gs.Model, gs.Model]) -> None:
    model, cold = models
    model.solve(gap=0)
    for price in (0.5, 3.0):
        for one in models:
            one.set("price", {"small": price, "middle": 1.0, "large": 2.0})
        assert check(model, cold, "highs").rebuilt is None


def test_nodes_that_are_no_longer_alike_are_named_again() -> None:
    """And counted again when they are."""
    text = """model Rented {
  set Nodes;
  param price[Nodes];
  var on[Nodes] binary;
  constraint two: sum[n in Nodes] on[n] >= 2;
  minimize cost: sum[n in Nodes] price[n] * on[n];
}
scenario S for Rented { table Nodes: price = a 2 b 2 c 2 ; }
"""
    with gs.loads(text) as model:
        assert model.solve(gap=0).solved.aggregated is not None
        model.set("price", {"a": 1, "b": 2, "c": 3})
        named = model.resolve()
        assert named.objective == pytest.approx(3)
        assert named.solved.aggregated is None
        model.set("price", {"a": 5, "b": 5, "c": 4})
        counted = model.resolve()
        assert counted.objective == pytest.approx(9)
        assert counted.solved.aggregated is not None
        assert counted.value("on", "c") == 1
        model.set("Nodes", ["c", "d"])
        model.set("price", {"c": 1, "d": 1})
        assert model.resolve().objective == pytest.approx(2)


def test_what_was_left_out_stays_left_out(models: tuple[gs.Model, gs.Model]) -> None:
    model, _ = models
    model.solve(gap=0, without=[AGGREGATION])
    model.set("period", 2.0)
    assert model.resolve().solved.aggregated is None


def test_a_start_for_the_next_solve(models: tuple[gs.Model, gs.Model]) -> None:
    model, cold = models
    first = model.solve(gap=0)
    for one in models:
        tell(one, {**HOURS, "f": 3.0})
    again = model.resolve(warm_start=first)
    assert again.objective == pytest.approx(cold.solve(gap=0).objective)
