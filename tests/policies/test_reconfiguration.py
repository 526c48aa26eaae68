"""Floors of speed and next switches, on worked instances."""

from __future__ import annotations

import numpy as np
import pytest
from oracles import ORACLES, P, S

from gpusched_dsl.policies.reconfiguration import at_least, next_switch
from gpusched_dsl.policies.speed_levels import filter_levels
from gpusched_dsl.policies.speed_profile import SpeedProfiles, speed_profiles


def solved(*names: str) -> SpeedProfiles:
    cases = [next(o for o in ORACLES if o.name == name) for name in names]
    ladders = filter_levels([c.speed for c in cases], [c.rate for c in cases])
    return speed_profiles(ladders, [c.law for c in cases], [c.due for c in cases], 100.0, [c.done for c in cases])


def test_the_first_used_rung_is_left_next() -> None:
    found = solved("SJ-1", "SJ-2", "SJ-2b", "SJ-6", "SJ-7", "SJ-15", "SJ-9")
    assert found.first_used().tolist() == [0, 1, 2, 3, 0, 1, 0]
    times = next_switch(found, now=10.0)
    np.testing.assert_allclose(
        times - 10, [17.377049, 33.5 / 1.8, 2.0, np.inf, np.inf, 29.344262 / 1.8, np.inf], atol=1e-5
    )


def test_switches_that_come_too_soon() -> None:
    """Used for less than `shortest` work a rung is skipped; and no switch comes sooner than the gap."""
    found = solved("SJ-2b")
    assert found.first_used(5.0).tolist() == [3]
    assert next_switch(found, 0.0, shortest=5.0).tolist() == [np.inf]
    assert next_switch(found, 0.0, gap=3.0).tolist() == [3.0]


def test_another_rung_than_the_first_used() -> None:
    found = solved("SJ-1", "SJ-1", "SJ-1")
    times = next_switch(found, 0.0, rung=np.array([1, 3, -1]))
    np.testing.assert_allclose(times, [79.344262 / 1.8, np.inf, np.inf], atol=1e-5)


def test_walking_along_a_profile() -> None:
    """From switch to switch, planned again each time with a floor: the switches of the first plan come back."""
    case = next(o for o in ORACLES if o.name == "SJ-1")
    now, done, planned, seen = 0.0, 0.0, 0.0, []
    while np.isfinite(now):
        allowed = at_least(np.array([S]), planned, strictly=planned > 0)
        found = speed_profiles(filter_levels([S], [P], allowed), [case.law], 60.0 - now, 100.0, done)
        rung = int(found.first_used()[0])
        planned = float(found.ladders.speed[0, rung])
        then = float(next_switch(found, now)[0])
        done = float(found.switch_at[0, rung])
        seen.append(then)
        now = then
    assert seen == pytest.approx([17.377049, 51.803279, 57.540984, np.inf], abs=1e-5)


def test_floors() -> None:
    speed = np.array([S, S, S, [1.0, 1.8, np.nan, np.nan], S])
    allowed = at_least(speed, [0.0, 1.8, 1.8, 3.0, 2.8], [False, False, True, False, True])
    assert allowed.tolist() == [
        [True, True, True, True],
        [False, True, True, True],
        [False, False, True, True],
        [False, True, False, False],
        [False, False, False, True],
    ]
