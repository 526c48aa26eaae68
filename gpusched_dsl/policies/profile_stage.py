"""The single-job problem of policies: many jobs on many kinds of GPU, each with its allowed rungs.

A rung is one way to run a job on a kind of GPU. The best profile starts on its first used rung; what a policy reads
is which rung that is, what the profile costs, whether it meets the due date, and when the job will want a faster rung.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gpusched_dsl.ir.arrays import Codes, Floats
from gpusched_dsl.policies.distributions import Laws
from gpusched_dsl.policies.expected_tardiness import tardiness_profiles
from gpusched_dsl.policies.speed_levels import filter_levels
from gpusched_dsl.policies.speed_profile import ProfileStatus, speed_profiles

# `status` of a problem.
MEETS, MISSES, NO_RUNG = 0, 1, 2


@dataclass(frozen=True, eq=False)
class ProfileResults:
    """The results of P problems with R rungs in total; in the units of the input.

    Where a problem has no rung, `status` is `NO_RUNG`, `cost`, `late` and `switch` are infinite.
    """

    status: Floats  # (P,) MEETS: the due date holds for sure, MISSES: it may be missed even on the fastest rung
    cost: Floats  # (P,) expected cost of what is left, with the tardiness cost if there is one
    time: Floats  # (P,) expected duration of what is left
    late: Floats  # (P,) time by which the due date is missed if all work up to the limit is needed
    price: Floats  # (P,) what one unit of time more until the due date would save
    switch: Floats  # (P,) time until the first used rung is left; infinite if never
    first: Floats  # (R,) 1: the first used rung of its problem, else 0
    leaves: Floats  # (R,) time until a job started on this rung leaves it; infinite if never, or if it is no good


def profile_stage(
    problems: int,
    of: Codes,
    speed: Floats,
    rate: Floats,
    laws: Laws,
    limit: Floats,
    done: Floats,
    time_left: Floats,
    shortest: Floats,
    tardiness: Floats | None = None,
) -> ProfileResults:
    """The best profiles of all problems.

    Rung r belongs to problem `of[r]` (which does not decrease) and has `speed[r]` (work per time) and `rate[r]` (cost
    per time). Arrays of problems have the shape (problems,): the law of the whole work, the most work there can be, the
    work done, the time until the due date; a rung used for no more than `shortest` work is passed over. Without
    `tardiness` profiles meet the due date even if all work is needed; with it (a cost per time) they may miss it.
    """
    counts = np.bincount(of, minlength=problems)
    some = np.flatnonzero(counts)
    row = np.cumsum(counts > 0) - 1  # of each problem among those that have rungs
    starts = np.cumsum(counts) - counts
    column = np.arange(len(of)) - starts[of]
    unbounded = np.full(problems, np.inf)
    found = ProfileResults(
        np.full(problems, float(NO_RUNG)), unbounded, unbounded.copy(), unbounded.copy(), np.zeros(problems),
        unbounded.copy(), np.zeros(len(of)), np.full(len(of), np.inf),
    )  # fmt: skip
    if not len(some):
        return found
    table = np.full((2, len(some), int(counts.max())), np.nan)
    table[0, row[of], column], table[1, row[of], column] = speed, rate
    ladders = filter_levels(table[0], table[1])
    if tardiness is None:
        best = speed_profiles(ladders, laws.take(some), time_left[some], limit[some], done[some])
    else:
        best = tardiness_profiles(ladders, laws.take(some), time_left[some], limit[some], tardiness[some], done[some])
    found.status[some] = np.where(best.status == ProfileStatus.INFEASIBLE, MISSES, MEETS)
    found.cost[some], found.time[some] = best.energy, best.time
    found.late[some], found.price[some] = best.lateness, best.deadline_price
    used = best.first_used(shortest[some])
    found.switch[some] = best.next_switch(used)
    first = np.take_along_axis(ladders.rung, used[:, None], axis=1)[:, 0]
    found.first[starts[some] + first] = 1.0
    # Every rung of a filtered ladder, so that a job that was put on another one knows when it leaves that.
    real = np.arange(ladders.speed.shape[1]) < ladders.counts[:, None]
    where, place = np.nonzero(real)
    work = best.switch_at[where, place] - best.done[where]
    stays = best.switch_at[where, place] >= best.limit[where]
    after = np.where(stays, np.inf, np.maximum(work, 0.0) / ladders.speed[where, place])
    found.leaves[starts[some][where] + ladders.rung[where, place]] = after
    return found
