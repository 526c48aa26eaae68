"""Problems solved block by block from the text to the plan, separately and again."""

from __future__ import annotations

import numpy as np
import pytest
from msgspec import structs

import gpusched_dsl as gs
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.ir.solver_result import Status
from gpusched_dsl.solving.decomposition import selection as by_blocks
from gpusched_dsl.solving.solution import Loading
from gpusched_dsl.solving.solve import resolve, solve_problem
from gsdsl_backends.protocol import SolveOptions

MODEL = """
model Assign {
  set Jobs; set Nodes;
  param work[Jobs, Nodes]; param rent[Nodes]; param room;
  var x[Jobs, Nodes] binary;
  var open[Nodes] binary;
  SENSE total {
    effort: SIGN sum[j in Jobs, n in Nodes] work[j, n] * x[j, n];
    rented: SIGN sum[n in Nodes] rent[n] * open[n];
  }
  constraint once[j in Jobs]: sum[n in Nodes] x[j, n] == 1;
  constraint rooms[n in Nodes]: sum[j in Jobs] x[j, n] <= room * open[n];
  MORE
  decompose by Jobs;
}
"""
ON, OFF = SolveOptions(gap=1e-6, decompose="on"), SolveOptions(gap=1e-6, decompose="off")


def model(seed: int = 0, jobs: int = 6, room: int = 2, sense: str = "minimize", more: str = "") -> gs.Model:
    chance = np.random.default_rng(seed)
    names, nodes = [f"j{k}" for k in range(jobs)], [f"n{k}" for k in range(4)]
    work = " ".join(f"{j} {n} {chance.integers(1, 20)}" for j in names for n in nodes)
    rent = " ".join(f"{n} {chance.integers(1, 9)}" for n in nodes)
    sign = "1 *" if sense == "minimize" else "-1 *"
    text = MODEL.replace("SENSE", sense).replace("SIGN", sign).replace("MORE", more)
    return gs.loads(
        f"{text} scenario S for Assign {{ Jobs = {{ {', '.join(names)} }}; Nodes = {{ {', '.join(nodes)} }}; "
        f"room = {room}; table Jobs, Nodes: work = {work}; table Nodes: rent = {rent}; }}"
    )


def problem(seed: int = 0, **given: object) -> Problem:
    return model(seed, **given).ground()  # type: ignore[arg-type]


PRODUCTS = "constraint apart: sum[n in Nodes] x['j0', n] * x['j1', n] == 0;".replace("'", '"')


@pytest.mark.quick(2)
@pytest.mark.parametrize("more", ["", PRODUCTS])
@pytest.mark.parametrize("sense", ["minimize", "maximize"])
@pytest.mark.parametrize("seed", range(4))
def test_both_ways_find_the_same_optimum(seed: int, sense: str, more: str) -> None:
    one = problem(seed, sense=sense, more=more)
    whole, blocks = solve_problem(one, options=OFF), solve_problem(one, options=ON)
    assert (whole.status, blocks.status) == (Status.OPTIMAL, Status.OPTIMAL)
    assert blocks.objective == pytest.approx(whole.objective, rel=1e-6)
    assert blocks.gap is not None
    assert blocks.gap <= 1e-6
    assert "rounds" in blocks.statistics
    assert "rounds" not in whole.statistics
    assert blocks.verification is not None
    assert blocks.verification.feasible
    assert blocks.session is None
    whole.close()


def test_size_decides_when_nothing_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    one = problem()
    options = structs.replace(ON, decompose="auto", without=frozenset({"all"}))
    assert "rounds" not in solve_problem(one, options=options).statistics
    monkeypatch.setattr(by_blocks, "LEAST_INTEGERS", 10)
    monkeypatch.setattr(by_blocks, "LEAST_BLOCKS", 6)
    assert "rounds" in solve_problem(one, options=options).statistics
    assert "rounds" not in solve_problem(one, options=OFF).statistics


def test_no_room_is_no_plan() -> None:
    assert solve_problem(problem(jobs=9, room=2), options=ON).status is Status.INFEASIBLE


def test_no_time_no_claim() -> None:
    solved = solve_problem(problem(), options=structs.replace(ON, time_limit=0.0))
    assert (solved.status, solved.reason) == (Status.LIMIT, "time")


def test_a_plan_to_start_from_is_kept_when_there_is_no_time() -> None:
    one = problem()
    plan = solve_problem(one, options=OFF).point
    assert plan is not None
    solved = solve_problem(one, options=structs.replace(ON, time_limit=0.0), start=plan)
    assert solved.point is not None
    assert np.array_equal(solved.point, plan)


def test_a_changed_problem_is_built_anew() -> None:
    one, other = problem(), problem(seed=1)
    first = solve_problem(one, options=ON)
    again = resolve(first, other)
    assert again.loading is Loading.NO_SESSION
    expected = solve_problem(other, options=OFF)
    assert again.objective == expected.objective
    third = resolve(expected, one, ON)  # from a session that columns are not generated in
    assert third.loading is Loading.NO_SESSION
    assert "rounds" in third.statistics
    assert third.session is None
    assert third.objective == first.objective


def test_an_engine_by_name_gives_the_same() -> None:
    with model() as one:
        alone, distributed = one.solve(decompose="on"), one.solve(decompose="on", engine="inline")
        assert distributed.objective == alone.objective
        assert distributed.solved.statistics == alone.solved.statistics
        assert np.array_equal(distributed.solved.point, alone.solved.point)
        for wrong in ({"engine": 3}, {"workers": 0}):
            with pytest.raises(gs.DiagnosticError, match="GSM4011"):
                one.solve(**wrong)


@pytest.mark.slow
def test_from_python_by_name() -> None:
    with model() as one:
        blocks, whole = one.solve(decompose="on"), one.solve(decompose="off")
        assert blocks.objective == pytest.approx(whole.objective)
        one.solve(decompose="on")
        one.set("room", 3)
        again = one.resolve()
        assert again.rebuilt == "there was no loaded problem: it needed no solver, was solved by blocks, or was closed"
        with pytest.raises(gs.DiagnosticError) as caught:
            one.solve(decompose="maybe")
        assert caught.value.diagnostics[0].code == "GSM4011"
        assert "`auto`, `on`, `off`" in caught.value.diagnostics[0].message
