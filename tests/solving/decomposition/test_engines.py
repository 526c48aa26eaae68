"""Decomposition on engines: the same bits as without one, whatever the workers do."""

from __future__ import annotations

import os
import signal
from collections import Counter, deque
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from block_problems import any_blocks, by_type
from found_codes import message_values

from gpusched_dsl.engines.active import use_engine
from gpusched_dsl.engines.arrays import pack
from gpusched_dsl.engines.inline import InlineEngine
from gpusched_dsl.engines.local import LocalEngine
from gpusched_dsl.engines.protocol import Done, Engine, Shared, Stop, Work
from gpusched_dsl.ir.blocks import blocks_of
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.ir.solver_result import Status
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.solving.decomposition.block_share import packed_share, share_from, share_of
from gpusched_dsl.solving.decomposition.blocks import split_problem
from gpusched_dsl.solving.decomposition.engine_pricing import EnginePricer
from gpusched_dsl.solving.decomposition.monitor import DecompositionClock
from gpusched_dsl.solving.decomposition.pricing import Pricer, PricingResult
from gpusched_dsl.solving.decomposition.solve import Techniques, solve_by_blocks
from gsdsl_backends.highs.backend import HighsBackend
from gsdsl_backends.protocol import SolveOptions

HIGHS = HighsBackend()
EXACT = SolveOptions(gap=0.0)


class Shares(InlineEngine):
    """This process, which shares blocks out as several workers do, and returns them in reverse order."""

    def __init__(self, workers: int) -> None:
        self.workers = workers
        self.messages: list[bytes] = []

    def run(
        self, function: str, work: list[Work], stop: Stop = lambda: False, shared: Shared | None = None
    ) -> Iterator[Done]:
        self.messages += [each.message for each in work]
        yield from reversed(list(super().run(function, work, stop, shared)))


class Killing(LocalEngine):
    """Kills a worker that has work, again and again."""

    kills = 0

    def _assign(self, function: str, waiting: deque[Work], starts: Counter[str], shared: Shared | None) -> None:
        before = sum(starts.values())
        super()._assign(function, waiting, starts, shared)
        if sum(starts.values()) > before and self.kills < 3 and max(starts.values()) == 1:
            busy = [child for child in self._children if child.work is not None]
            os.kill(busy[-1].pid, signal.SIGKILL)
            self.kills += 1


def bits(result: PricingResult) -> tuple[object, ...]:
    values = result.points.values
    rows = np.repeat(np.arange(values.shape[0]), np.diff(values.indptr))
    order = np.lexsort((values.indices, rows))
    return (
        result.status, result.least.tobytes(), result.points.block.tolist(), np.diff(values.indptr).tolist(),
        values.shape, values.indices[order].tolist(), values.data[order].tobytes(),
    )  # fmt: skip


def solved_bits(
    problem: Problem, root: str, engine: Engine | None, patch: pytest.MonkeyPatch, *, recognise: bool = True
) -> tuple[object, ...]:
    """Everything that a solve finds, and the bounds on its way, which must never fall."""
    bounds: list[float] = []

    def report(self: DecompositionClock, objective: float | None, bound: float | None) -> None:
        if bound is not None:
            bounds.append(bound)

    patch.setattr(DecompositionClock, "report", report)
    arguments = (problem, blocks_of(problem, root), HIGHS, EXACT)
    techniques = Techniques(recognise=recognise, finish=False)
    if engine is None:
        found = solve_by_blocks(*arguments, techniques=techniques)
    else:
        with use_engine(engine) as use:
            found = solve_by_blocks(*arguments, techniques=techniques)
        assert use.used or found.statistics["by_dynamic_program"]
    assert bounds == sorted(bounds)
    values = None if found.values is None else found.values.tobytes()
    return found.status, values, found.objective, found.bound, found.statistics, bounds


def test_a_share_has_the_blocks_of_the_problem() -> None:
    """Whole, in parts, and through bytes."""
    for seed in range(6):
        problem = any_blocks(seed)
        parts = split_problem(problem, blocks_of(problem, "Parts"))
        count = parts.blocks.count
        whole = share_of(parts, 0, count)
        data = pack(packed_share(whole))
        again = share_from(data)
        assert pack(packed_share(share_of(again, 0, again.blocks.count))) == data
        for first in range(count):
            direct, twice = packed_share(share_of(parts, first, count)), packed_share(share_of(whole, first, count))
            assert direct.keys() == twice.keys()
            assert all(np.array_equal(direct[name], twice[name]) for name in direct), seed
            own = parts.own[parts.block >= first]
            share = share_of(parts, first, count)
            assert np.array_equal(share.problem.upper[share.own], problem.upper[own])
            inside = np.flatnonzero(parts.blocks.row >= first)
            point = np.random.default_rng(seed).random(problem.columns)
            inner = np.zeros(share.problem.columns)
            inner[share.own] = point[own]
            assert share.problem.matrix.activity(inner) == pytest.approx(problem.matrix.activity(point)[inside])


@pytest.mark.quick(3)
@pytest.mark.parametrize("seed", range(12))
def test_shares_are_priced_as_the_whole_is(seed: int, tmp_path: Path) -> None:
    problems = [(any_blocks(seed), "Parts")]
    if seed % 4 == 0:
        problems += [(problem, "Batch") for problem in by_type(tmp_path, range(seed, seed + 1)).values()]
    statuses = set()
    for problem, root in problems:
        parts = split_problem(problem, blocks_of(problem, root))
        random = np.random.default_rng(seed)
        for recognise in (True, False):
            whole = Pricer(parts, HIGHS, recognise)
            pricers = [EnginePricer(parts, HIGHS, Shares(workers), whole) for workers in (1, 2, 9)]
            assert all(np.array_equal(pricer.recognised, whole.recognised) for pricer in pricers)
            for turn in range(3):
                costs = parts.block_costs(random.normal(0, 1 if root == "Parts" else 0.01, parts.uses))
                some = None if turn < 2 else np.flatnonzero(random.random(parts.blocks.count) < 0.6)
                expected = whole.price(costs, every_lane=turn == 1, some=some)
                statuses.add(expected.status)
                for pricer in pricers:
                    priced = pricer.price(costs, every_lane=turn == 1, some=some)
                    if expected.status is Status.OPTIMAL and some is None:
                        assert bits(priced) == bits(expected), (seed, turn)
                    else:
                        assert priced.status is expected.status
                        assert np.array_equal(priced.points.block, expected.points.block) or expected.status is not (
                            Status.OPTIMAL
                        )
    assert statuses


@pytest.mark.quick(2)
@pytest.mark.parametrize("seed", range(10))
def test_a_solve_is_the_same_however_blocks_are_shared_out(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    problem = any_blocks(seed)
    expected = solved_bits(problem, "Parts", None, monkeypatch)
    for workers in (1, 3):
        assert solved_bits(problem, "Parts", Shares(workers), monkeypatch) == expected


def test_only_costs_are_sent_in_each_round() -> None:
    problem = any_blocks(1)
    parts = split_problem(problem, blocks_of(problem, "Parts"))
    engine = Shares(1)
    pricer = EnginePricer(parts, HIGHS, engine, Pricer(parts, HIGHS))
    for _ in range(3):
        pricer.price(parts.own_cost)
    sizes = {len(message) for message in engine.messages}
    assert max(sizes) < 8 * len(parts.own) + 200


def test_a_backend_without_a_name_is_refused() -> None:
    class Own(HighsBackend):
        name = "my own"

    problem = any_blocks(0)
    parts = split_problem(problem, blocks_of(problem, "Parts"))
    with pytest.raises(DiagnosticError, match="GSM5309") as caught:
        EnginePricer(parts, Own(), InlineEngine(), Pricer(parts, HIGHS))
    assert {"my own"} <= set(message_values(caught.value.diagnostics[0].message))


def test_workers_with_other_versions_are_refused() -> None:
    class Newer(HighsBackend):
        def versions(self) -> dict[str, str]:
            return {**super().versions(), "HiGHS": "99"}

    problem = any_blocks(0)
    parts = split_problem(problem, blocks_of(problem, "Parts"))
    with pytest.raises(DiagnosticError, match="GSM5309") as caught:
        EnginePricer(parts, Newer(), InlineEngine(), Pricer(parts, HIGHS)).price(parts.own_cost)
    assert "instead of 99" in caught.value.diagnostics[0].message


@pytest.mark.slow
def test_processes_that_are_killed_change_no_figure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One, two and three workers, blocks of the backend and recognised ones; workers killed in the midst."""
    problems = [(any_blocks(seed), "Parts", True) for seed in (1, 2, 5)]
    (problem,) = by_type(tmp_path, range(3, 4)).values()
    problems += [(problem, "Batch", True), (problem, "Batch", False)]
    expected = [solved_bits(p, root, None, monkeypatch, recognise=r) for p, root, r in problems]
    assert any(found[4]["rounds"] > 2 for found in expected)  # type: ignore[index]
    for engine in (LocalEngine(1), LocalEngine(2), LocalEngine(3), Killing(2)):
        with engine:
            found = [solved_bits(p, root, engine, monkeypatch, recognise=r) for p, root, r in problems]
        assert found == expected
        assert not isinstance(engine, Killing) or engine.kills == 3


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_dask_gives_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("distributed", reason="the package distributed is not installed")
    from gpusched_dsl.engines.dask import DaskEngine

    (problem,) = by_type(tmp_path, range(3, 4)).values()
    problems = [(any_blocks(2), "Parts", True), (problem, "Batch", False)]
    expected = [solved_bits(p, root, None, monkeypatch, recognise=r) for p, root, r in problems]
    with DaskEngine(workers=2) as engine:
        assert [solved_bits(p, root, engine, monkeypatch, recognise=r) for p, root, r in problems] == expected
        pids = list(engine._client.run(os.getpid).values())
        os.kill(pids[0], signal.SIGKILL)
        assert [solved_bits(p, root, engine, monkeypatch, recognise=r) for p, root, r in problems] == expected


def test_the_time_limit_ends_a_solve_on_workers() -> None:
    problem = any_blocks(1)
    with use_engine(InlineEngine()):
        found = solve_by_blocks(problem, blocks_of(problem, "Parts"), HIGHS, SolveOptions(time_limit=0.0))
    assert (found.status, found.reason) == (Status.LIMIT, "time")
