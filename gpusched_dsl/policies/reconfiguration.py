"""The time at which a running job needs a new plan, and its allowed rungs then."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from gpusched_dsl.ir.arrays import Bools, Codes, Floats
from gpusched_dsl.ir.tolerances import ROUNDING
from gpusched_dsl.policies.speed_profile import SpeedProfiles

# Speeds that differ relatively by less are the same speed.
SAME_SPEED = ROUNDING


def at_least(speed: Floats, planned: ArrayLike, strictly: ArrayLike = False) -> Bools:
    """The rungs that jobs may use without slowing down, shape as `speed` (jobs, rungs; NaN: no rung).

    `planned[j]` is the speed of the rung that the model chose before, 0 for a job that never ran; a job that has
    reached its switch must become `strictly` faster. Where no rung is left, the fastest one stays allowed.
    """
    floor, strict = (np.asarray(a).reshape(-1, 1) for a in (planned, strictly))
    with np.errstate(invalid="ignore"):
        allowed = np.where(strict & (floor > 0), speed > floor * (1 + SAME_SPEED), speed >= floor * (1 - SAME_SPEED))
    fastest = speed == np.nanmax(speed, axis=1, keepdims=True)
    return np.asarray(np.where(allowed.any(axis=1, keepdims=True), allowed, fastest))


def next_switch(
    profiles: SpeedProfiles, now: float, rung: Codes | None = None, shortest: ArrayLike = 0.0, gap: float = 0.0
) -> Floats:
    """The time at which each job, started now, leaves its rung; infinite when it stays to the end.

    `rung[p]` is the place in the ladder of the rung that it was placed on, -1 if that is not on the ladder (then it
    stays); by default the first one used for more than `shortest` work. No switch comes sooner than `gap`.
    """
    placed = profiles.first_used(shortest) if rung is None else rung
    at = np.maximum(placed, 0)[:, None]
    leaves = np.take_along_axis(profiles.switch_at, at, axis=1)[:, 0]
    speed = np.take_along_axis(profiles.ladders.speed, at, axis=1)[:, 0]
    stays = (placed < 0) | (leaves >= profiles.limit)
    return np.where(stays, np.inf, now + np.maximum((leaves - profiles.done) / speed, gap))
