"""The results of the single-job problem for a policy, on worked cases."""

from __future__ import annotations

import numpy as np
import pytest
from oracles import ORACLES, U

from gpusched_dsl.policies.distributions import Laws
from gpusched_dsl.policies.stages import MEETS, MISSES, NO_RUNG, ProfileResults, profile_stage

K80 = ((1.0, 1.8, 2.4, 2.8), (0.9, 1.8, 2.7, 3.6))
A100 = ((3.0, 5.4, 7.2, 8.4), (3.67, 7.35, 11.02, 14.69))


def solved(ladders: list, laws: list, due: list[float], done: float = 0.0, shortest: float = 1e-4) -> ProfileResults:
    of = np.repeat(np.arange(len(ladders)), [len(speed) for speed, _ in ladders])
    speed, rate = (np.concatenate([np.asarray(ladder[i], dtype=float) for ladder in ladders]) for i in (0, 1))
    count = len(ladders)
    return profile_stage(
        count, of, speed, rate, Laws.of(laws), np.full(count, 100.0), np.full(count, done), np.asarray(due, float),
        np.full(count, shortest),
    )  # fmt: skip


def test_three_jobs_on_two_kinds() -> None:
    """Each job on K80 and A100, due in 60, 45 and 30."""
    found = solved([K80, A100] * 3, [U] * 6, [60, 60, 45, 45, 30, 30])
    assert found.status.tolist() == [MEETS, MEETS, MEETS, MEETS, MISSES, MEETS]
    np.testing.assert_allclose(
        found.cost[[0, 1, 2, 3, 5]], [48.718033, 61.166667, 53.158750, 61.166667, 61.486407], atol=1e-6
    )
    first = found.first.reshape(6, 4)
    assert first.argmax(axis=1).tolist() == [0, 0, 1, 0, 3, 0]
    assert first.sum(axis=1).tolist() == [1.0] * 6
    np.testing.assert_allclose(found.switch, [17.377049, np.inf, 18.611111, np.inf, np.inf, 26.457197], atol=1e-6)
    assert found.late[4] == pytest.approx(100 / 2.8 - 30)
    assert found.late[[0, 1, 2, 3, 5]].tolist() == [0.0] * 5
    # A job put on two K80 instead leaves them where the profile of the ladder does.
    assert found.leaves.reshape(6, 4)[0, 1] == pytest.approx(79.344262 / 1.8, abs=1e-6)


def test_ladders_of_different_lengths_and_none() -> None:
    """Problems 0 and 3 have no rung; the others are SJ-1 and SJ-16, whose ladder skips rungs."""
    cases = {case.name: case for case in ORACLES}
    one, half = cases["SJ-1"], cases["SJ-16"]
    of = np.repeat([1, 2], [4, 5])
    found = profile_stage(
        4, of, np.concatenate((one.speed, half.speed)), np.concatenate((one.rate, half.rate)), Laws.of([U] * 4),
        np.full(4, 100.0), np.zeros(4), np.full(4, 60.0), np.zeros(4),
    )  # fmt: skip
    assert found.status.tolist() == [NO_RUNG, MEETS, MEETS, NO_RUNG]
    assert np.isinf(found.cost[[0, 3]]).all()
    np.testing.assert_allclose(found.cost[1:3], [one.energy, half.energy], rtol=1e-6)
    np.testing.assert_allclose(found.price[1:3], [one.price, half.price], atol=1e-6)
    assert np.flatnonzero(found.first).tolist() == [0, 4]
    np.testing.assert_allclose(found.leaves[4:], [31.407287 * 1.05, np.inf, np.inf, 73.826465 / 2.4, np.inf], atol=1e-5)


def test_a_rung_used_too_shortly_is_passed_over() -> None:
    case = next(c for c in ORACLES if c.name == "SJ-2b")
    ladder = (case.speed, case.rate)
    assert solved([ladder], [U], [case.due]).first.argmax() == 2
    assert solved([ladder], [U], [case.due], shortest=5.0).first.argmax() == 3


def test_nothing_to_solve() -> None:
    empty = np.zeros(0)
    found = profile_stage(
        1, np.zeros(0, dtype=np.int64), empty, empty, Laws.of([U]), np.ones(1), np.zeros(1), np.ones(1), np.zeros(1)
    )
    assert found.status.tolist() == [NO_RUNG]
    assert found.first.shape == (0,)
