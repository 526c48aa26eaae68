"""The single-job problem: worked instances, one by one and together, and properties of any solution."""

from __future__ import annotations

import numpy as np
import pytest
from oracles import ORACLES, Oracle

from gpusched_dsl.policies.speed_levels import filter_levels
from gpusched_dsl.policies.speed_profile import ProfileStatus, speed_profile, speed_profiles


def check(oracle: Oracle, status: str, rungs: tuple[int, ...], switches: np.ndarray, numbers: np.ndarray) -> None:
    assert status == oracle.status
    assert rungs == oracle.rungs
    assert switches == pytest.approx([*oracle.switches, 100.0], abs=1e-4)
    if oracle.price is not None:
        assert numbers[0] == pytest.approx(oracle.price, abs=6e-7)
    assert numbers[1] == pytest.approx(oracle.energy, rel=1e-6)
    assert numbers[2] == pytest.approx(oracle.time, rel=1e-6)
    assert numbers[3] == pytest.approx(oracle.worst, rel=1e-6)
    assert numbers[4] == pytest.approx(oracle.due if status == "OK" else numbers[4], rel=1e-6)
    assert numbers[5] == pytest.approx(oracle.lateness, abs=1e-6)


@pytest.mark.parametrize("oracle", ORACLES, ids=lambda o: o.name)
def test_worked_instances(oracle: Oracle) -> None:
    found = speed_profile(oracle.speed, oracle.rate, oracle.law, oracle.due, 100.0, oracle.done)
    numbers = (found.deadline_price, found.energy, found.time, found.worst_energy, found.worst_time, found.lateness)
    check(oracle, found.status.name, found.rungs, np.array(found.switch_at), np.array(numbers))


def test_worked_instances_in_one_call() -> None:
    widest = max(len(o.speed) for o in ORACLES)

    def padded(of: tuple[float, ...]) -> list[float]:
        return [*of, *[np.nan] * (widest - len(of))]

    ladders = filter_levels([padded(o.speed) for o in ORACLES], [padded(o.rate) for o in ORACLES])
    due, done = [o.due for o in ORACLES], [o.done for o in ORACLES]
    found = speed_profiles(ladders, [o.law for o in ORACLES], due, 100.0, done)
    columns = (found.deadline_price, found.energy, found.time, found.worst_energy, found.worst_time, found.lateness)
    for row, oracle in enumerate(ORACLES):
        count = int(ladders.counts[row])
        check(
            oracle, ProfileStatus(found.status[row]).name, tuple(ladders.rung[row, :count].tolist()),
            found.switch_at[row, :count], np.array([c[row] for c in columns]),
        )  # fmt: skip
