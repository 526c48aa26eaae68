"""Next switches of profiles, on worked instances."""

from __future__ import annotations

import numpy as np
from oracles import ORACLES

from gpusched_dsl.policies.speed_levels import filter_levels
from gpusched_dsl.policies.speed_profile import SpeedProfiles, speed_profiles


def solved(*names: str) -> SpeedProfiles:
    cases = [next(o for o in ORACLES if o.name == name) for name in names]
    ladders = filter_levels([c.speed for c in cases], [c.rate for c in cases])
    return speed_profiles(ladders, [c.law for c in cases], [c.due for c in cases], 100.0, [c.done for c in cases])


def test_the_first_used_rung_is_left_next() -> None:
    found = solved("SJ-1", "SJ-2", "SJ-2b", "SJ-6", "SJ-7", "SJ-15", "SJ-9")
    assert found.first_used().tolist() == [0, 1, 2, 3, 0, 1, 0]
    times = found.next_switch(found.first_used())
    np.testing.assert_allclose(times, [17.377049, 33.5 / 1.8, 2.0, np.inf, np.inf, 29.344262 / 1.8, np.inf], atol=1e-5)


def test_rungs_that_are_used_for_little_work() -> None:
    found = solved("SJ-2b")
    assert found.first_used(5.0).tolist() == [3]
    assert found.next_switch(found.first_used(5.0)).tolist() == [np.inf]


def test_another_rung_than_the_first_used() -> None:
    found = solved("SJ-1", "SJ-1", "SJ-1")
    times = found.next_switch(np.array([1, 3, -1]))
    np.testing.assert_allclose(times, [79.344262 / 1.8, np.inf, np.inf], atol=1e-5)
