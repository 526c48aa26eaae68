"""Passes of the kernels against the rules written out slowly, on small random clusters."""

from __future__ import annotations

import numpy as np
import pytest
from random_clusters import some_policy, some_workload
from reference import Pass

from gpusched_dsl.policies.kernels.construct import look_up, make_scratch
from gpusched_dsl.policies.kernels.drawing import draw_passes, make_pool, pooled_schedule
from gpusched_dsl.policies.kernels.pricing import TOTAL
from gpusched_dsl.policies.verifying import violations
from gpusched_dsl.policies.workload import NONE, Instructions, Schedule, Workload, empty_schedule


def one_pass(work: Workload, lines: Instructions, start: Schedule, turn: int, rng: np.random.Generator) -> Schedule:
    plan = Schedule._make(array.copy() for array in start)
    pool = make_pool(plan, 1)
    look, scratch = look_up(work), make_scratch(work, lines.node_list)
    draw_passes(work, look, lines, scratch, start, plan, pool, turn, turn + 1, TOTAL, rng, None, True)
    kept = pooled_schedule(pool, 0, plan)
    assert all(np.array_equal(one, other) for one, other in zip(kept, plan, strict=True))
    return plan


def some_start(rng: np.random.Generator, work: Workload) -> Schedule:
    """Nothing, or some jobs that run already."""
    if rng.random() < 0.6:
        return empty_schedule(work)
    told, _ = some_policy(rng, work)
    told.order = told.order[: int(rng.integers(1, 5))]
    return Pass(work, told).run(empty_schedule(work))


def compare(seed: int) -> Schedule:
    rng = np.random.default_rng(seed)
    work = some_workload(rng)
    start = some_start(rng, work)
    assert violations(work, start) == []
    told, lines = some_policy(rng, work)
    turn = int(rng.integers(0, 2))
    expected = Pass(work, told, np.random.default_rng(seed) if turn else None).run(start)
    plan = one_pass(work, lines, start, turn, np.random.default_rng(seed))
    assert violations(work, plan) == []
    for name, one, other in zip(plan._fields, plan, expected, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-9, err_msg=f"{name}, seed {seed}, {told.place} {told.finish}")
    running = start.node != NONE
    assert np.array_equal(plan.way[running], start.way[running])
    assert np.array_equal(plan.node[running], start.node[running])
    return plan


@pytest.mark.quick(2)
@pytest.mark.parametrize("batch", range(4))
def test_passes_place_jobs_as_the_rules_say(batch: int) -> None:
    for seed in range(250 * batch, 250 * (batch + 1)):
        compare(seed)


@pytest.mark.slow
@pytest.mark.parametrize("batch", range(8))
def test_many_passes_place_jobs_as_the_rules_say(batch: int) -> None:
    for seed in range(100_000 + 2_000 * batch, 100_000 + 2_000 * (batch + 1)):
        compare(seed)
