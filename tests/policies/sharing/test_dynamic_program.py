"""The recursion that admits jobs, against every choice there is."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from gpusched_dsl.policies.kernels.dynamic_program import allot
from gpusched_dsl.policies.stages import admit

NONE = -1
S = np.array([1.0, 1.8, 2.4, 2.8])


def arrays(*values: list[int]) -> list[np.ndarray]:
    return [np.array(v, dtype=np.int64) for v in values]


def cost(job: np.ndarray, run: np.ndarray, wait: np.ndarray, chosen: np.ndarray) -> float:
    return float(sum(wait[j] if o == NONE else run[o] for j, o in enumerate(chosen.tolist())))


def least(job: np.ndarray, amount: np.ndarray, run: np.ndarray, wait: np.ndarray, capacity: int) -> float:
    """By enumeration: every option or none for every job."""
    options = [[NONE, *np.flatnonzero(job == j).tolist()] for j in range(len(wait))]
    fits = (c for c in product(*options) if sum(amount[o] for o in c if o != NONE) <= capacity)
    return min(cost(job, run, wait, np.array(c)) for c in fits)


def test_three_jobs_on_four_gpus() -> None:
    """One K80 node; times of all 100 epochs; the optimum runs all, the most urgent one on two GPUs."""
    time = 100.0 / S
    due, weight = np.array([60.0, 45, 30]), np.array([1.0, 1, 1.5])
    run = weight[:, None] * np.maximum(time - due[:, None], 0) + 0.9 * np.arange(1, 5)
    wait = 10 * weight * np.maximum(1 + time[0] - due, 0)
    expected = [[40.9, 1.8, 2.7, 3.6], [55.9, 12.355556, 2.7, 3.6], [105.9, 40.133333, 20.2, 12.171429]]
    np.testing.assert_allclose(run, expected, atol=1e-6)
    assert wait.tolist() == [410, 560, 1065]
    job, amount = np.repeat(np.arange(3), 4), np.tile(np.arange(1, 5), 3)
    queue, kinds, capacity = arrays([0, 1, 2], [0], [4])
    found = admit(job, np.zeros(12, dtype=np.int64), amount, run.ravel(), wait, capacity, queue, kinds)
    assert amount[found].tolist() == [1, 1, 2]
    assert cost(job, run.ravel(), wait, found) == pytest.approx(136.933333, abs=1e-6)


@pytest.mark.parametrize("seed", range(60))
def test_against_enumeration(seed: int) -> None:
    rng = np.random.default_rng(seed)
    jobs, capacity = int(rng.integers(1, 6)), int(rng.integers(1, 9))
    job = np.sort(rng.integers(0, jobs, int(rng.integers(1, 4 * jobs))))
    amount = rng.integers(1, 6, len(job))
    # Whole numbers make equal prices common.
    run, wait = rng.integers(0, 9, len(job)).astype(float), rng.integers(0, 12, jobs).astype(float)
    kind = np.zeros(len(job), dtype=np.int64)
    found = admit(job, kind, amount, run, wait, np.array([capacity]), np.arange(jobs), np.zeros(1, dtype=np.int64))
    taken = found[found != NONE]
    assert amount[taken].sum() <= capacity
    assert (job[taken] == np.flatnonzero(found != NONE)).all()
    assert cost(job, run, wait, found) == pytest.approx(least(job, amount, run, wait, capacity))


def test_ties() -> None:
    """Equally cheap: run rather than wait, then the smaller amount."""
    job, kind, amount, queue, kinds, capacity = arrays([0, 0], [0, 0], [2, 1], [0], [0], [2])
    assert admit(job, kind, amount, np.array([3.0, 3.0]), np.array([3.0]), capacity, queue, kinds).tolist() == [1]


def test_kinds_one_after_another() -> None:
    """Two jobs want the one fast GPU; the one that it is worth more to gets it, the other one the slow GPU."""
    job, kind, amount = arrays([0, 0, 1, 1], [1, 0, 1, 0], [1, 1, 1, 1])
    run, wait = np.array([1.0, 5.0, 1.0, 2.0]), np.array([20.0, 30.0])
    queue, kinds, capacity = arrays([0, 1], [1, 0], [1, 1])
    assert admit(job, kind, amount, run, wait, capacity, queue, kinds).tolist() == [1, 2]


def test_jobs_outside_the_queue_wait() -> None:
    job, kind, amount, queue, kinds, capacity = arrays([0, 1], [0, 0], [1, 1], [1], [0], [2])
    assert admit(job, kind, amount, np.ones(2), np.full(2, 9.0), capacity, queue, kinds).tolist() == [NONE, 1]


def test_capacity_without_use() -> None:
    first, amount = arrays([0, 1], [5])
    assert allot(first, amount, np.array([1.0]), np.array([9.0]), 4).tolist() == [NONE]
    job, kind, amount, queue, kinds, capacity = arrays([0], [0], [5], [0], [0], [0])
    assert admit(job, kind, amount, np.array([1.0]), np.array([9.0]), capacity, queue, kinds).tolist() == [NONE]


def test_refused() -> None:
    job, kind, amount, queue, kinds, capacity = arrays([0], [0], [0], [0], [0], [1])
    with pytest.raises(ValueError, match="at least one unit"):
        admit(job, kind, amount, np.ones(1), np.ones(1), capacity, queue, kinds)
    with pytest.raises(ValueError, match="finite"):
        admit(job, kind, amount + 1, np.ones(1), np.array([np.inf]), capacity, queue, kinds)
