"""Decides whether untried pairs fit into memory: by other pairs of the job, else by predicted memory."""

from __future__ import annotations

import numpy as np

from gpusched_dsl.ir.arrays import Floats, Ints
from gpusched_dsl.profiles.profile import NO, UNKNOWN, YES, Profile


def fit_of(profile: Profile, job: Ints, type_: Ints, used: Floats | None) -> Ints:
    """YES, NO or UNKNOWN for some pairs; `used` is their predicted memory in MB, if there is such a prediction.

    A job that ran fits wherever there is as much memory, one that did not fit does not fit where there is no more; what
    was seen goes before what is predicted. Where the capacity is not known, nothing is decided.
    """
    capacity = profile.memory[type_]
    enough = np.full(len(profile.jobs), np.inf)  # least memory in which a job ran
    short = np.full(len(profile.jobs), -np.inf)  # most memory in which it did not fit
    for fits, least, best in ((YES, True, enough), (NO, False, short)):
        measured_pairs = (profile.fits == fits) & np.isfinite(profile.memory[profile.type])
        (np.minimum if least else np.maximum).at(
            best, profile.job[measured_pairs], profile.memory[profile.type[measured_pairs]]
        )
    found = np.full(len(job), UNKNOWN)
    has_capacity = np.isfinite(capacity)
    if used is not None:
        found[has_capacity] = np.where(used[has_capacity] <= capacity[has_capacity], YES, NO)
    with np.errstate(invalid="ignore"):
        found[has_capacity & (capacity <= short[job])] = NO
        found[has_capacity & (capacity >= enough[job])] = YES
    return found
