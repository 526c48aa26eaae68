"""The generated week: its numbers, its files, and its decomposition."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import gpusched_dsl as gs
from benchmarks.price_aware.week import (
    MODELS,
    TYPES,
    Week,
    draw_jobs,
    minutes_per_epoch,
    prices,
    rates,
    requests_served_per_minute,
    slots_needed,
    write,
)
from gpusched_dsl.ir.blocks import blocks_of
from gpusched_dsl.ir.solver_result import relative_gap
from gpusched_dsl.ir.verify import verify
from gpusched_dsl.solving.decomposition.solve import Techniques, solve_by_blocks
from gsdsl_backends.highs.backend import HighsBackend
from gsdsl_backends.protocol import SolveOptions

KINDS = range(len(TYPES))

# Minutes an epoch, service rate and rate within the bound (requests a minute), by service and type.
EXPECTED = {
    "ResNet152": ((35.0, 774.2, 284.4), (30.0, 872.7, 415.6), (12.5, 1920.0, 1564.4), (20.0, 1714.3, 1350.6)),
    "VGG19": ((29.4, 921.7, 476.9), (25.2, 1039.0, 617.2), (10.5, 2285.7, 1940.4), (16.8, 2040.8, 1689.1)),
    "InceptionV3": ((19.6, 1382.5, 999.3), (16.8, 1558.4, 1186.9), (7.0, 3428.6, 3099.8), (11.2, 3061.2, 2728.6)),
}


def test_times_and_rates_are_those_of_the_tables() -> None:
    for model, name in enumerate(MODELS):
        for kind in KINDS:
            rate = requests_served_per_minute(model, kind)
            within = rate * (0.2 / 60 * rate - 2) / (0.2 / 60 * rate - 1)
            assert (minutes_per_epoch(model, kind), rate, within) == pytest.approx(EXPECTED[name][kind], abs=0.06)


def test_slack_changes_windows_and_nothing_else() -> None:
    tight, loose = draw_jobs(Week(slack=0.5)), draw_jobs(Week(slack=3.0))
    assert len(tight) == 280
    slack = []
    for one, other in zip(tight, loose, strict=True):
        assert (one.name, one.epochs) == (other.name, other.epochs)
        fastest = min(slots_needed(one.model, kind, one.epochs) for kind in KINDS)
        assert 0 <= one.arrives <= one.due < 672
        assert one.due - one.arrives <= other.due - other.arrives
        slack.append((one.due - one.arrives + 1) / fastest - 1)
    assert np.mean(slack) == pytest.approx(0.52, abs=0.03)  # rounded up to whole slots


def test_load_and_prices() -> None:
    load = np.array(rates(Week()))
    assert load.sum(axis=0).mean() == pytest.approx(100_000)
    assert load.sum(axis=0).max() == pytest.approx(135_000, rel=1e-3)
    drawn = prices(Week())
    assert drawn.mean() == pytest.approx(24, abs=0.3)
    assert (drawn == prices(Week(slack=1.0))).all()
    assert (drawn != prices(Week(seed=2))).any()
    assert (len(prices(Week(real=True))), prices(Week(real=True))[0]) == (672, 18.5892)


SMALL = Week(jobs=5, nodes=4, slots=48, rate=8000.0)


def test_a_small_week_is_decomposed(tmp_path: Path) -> None:
    """A certified gap of the size that the whole week has, without the backend's own branch and bound."""
    problem = gs.load(write(tmp_path, SMALL)).ground("WeekExclusive")
    options = SolveOptions(60.0, gap=0.001)
    answer = solve_by_blocks(
        problem, blocks_of(problem, "Batch"), HighsBackend(), options, techniques=Techniques(finish=False)
    )
    assert answer.values is not None
    assert answer.bound is not None
    assert answer.objective is not None
    assert verify(problem, answer.values).feasible
    assert answer.statistics["by_dynamic_program"] == 5
    assert relative_gap(answer.objective, answer.bound) < 0.05


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize(("slack", "gap"), [(0.5, 0.009), (1.0, 0.01), (3.0, 0.02)])
def test_the_week_is_planned_within_its_gap(tmp_path: Path, slack: float, gap: float) -> None:
    problem = gs.load(write(tmp_path, Week(slack=slack))).ground("WeekExclusive")
    options = SolveOptions(600.0, gap=gap)
    answer = solve_by_blocks(
        problem, blocks_of(problem, "Batch"), HighsBackend(), options, techniques=Techniques(finish=False)
    )
    assert answer.values is not None
    assert answer.bound is not None
    assert answer.objective is not None
    assert verify(problem, answer.values).feasible
    assert relative_gap(answer.objective, answer.bound) <= gap
