"""The single-job problem: when to add the next GPU at least expected cost such that the due date is always met.

A job has done w0 of at most w work; the total W is random. On rung k of its ladder it works at speed s[k] and costs
P[k] per time. The profile that is best among all that meet the due date d even if W = w leaves the rungs, from slow
to fast, at work x[1] <= x[2] <= ... Source: Filippini et al. (2024), section 5, corrected and extended to any law.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from enum import IntEnum

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gpusched_dsl.ir.arrays import Codes, Floats
from gpusched_dsl.ir.distributions import Distribution
from gpusched_dsl.policies.distributions import Laws
from gpusched_dsl.policies.price_search import PriceSearch, RemainingWork
from gpusched_dsl.policies.speed_levels import Ladders, filter_levels

# Lateness below this share of the time that is needed is none.
IN_TIME = 1e-10


class ProfileStatus(IntEnum):
    """`OK`: the due date binds; `LOOSE`: every rung meets it; `INFEASIBLE`: no rung does; `DONE`: no work left."""

    OK = 0
    LOOSE = 1
    INFEASIBLE = 2
    DONE = 3


@dataclass(frozen=True, eq=False)
class SpeedProfiles:
    """The best profile of each problem; arrays have a row per problem, matrices a column per rung of `ladders`.

    `switch_at[p, k]`: the work at which problem p leaves rung k (the limit from the last used rung on).
    `expected_work[p, k]`: the expected work on rung k.
    `deadline_price`: what one unit of time more until the due date would save. `energy` and `time`: expected cost and
    duration; `worst_energy` and `worst_time`: those of a job that needs all work up to the limit. `lateness`: how
    far `worst_time` lies beyond the due date. Units are those of the input.
    """

    ladders: Ladders
    status: NDArray[np.int8]
    done: Floats
    limit: Floats
    switch_at: Floats
    expected_work: Floats
    deadline_price: Floats
    energy: Floats
    time: Floats
    worst_energy: Floats
    worst_time: Floats
    lateness: Floats

    def take(self, rows: Codes) -> SpeedProfiles:
        """The profiles of some problems."""
        arrays = {f.name: getattr(self, f.name)[rows] for f in fields(self) if f.name != "ladders"}
        return SpeedProfiles(self.ladders.take(rows), **arrays)

    def next_switch(self, rung: Codes) -> Floats:
        """The time in which each job, started now, leaves a rung; infinite where it stays to the end.

        `rung` is the place in the ladder of the rung that it was placed on, -1 if that is not on the ladder (then it
        stays).
        """
        at = np.maximum(rung, 0)[:, None]
        leaves = np.take_along_axis(self.switch_at, at, axis=1)[:, 0]
        speed = np.take_along_axis(self.ladders.speed, at, axis=1)[:, 0]
        return np.where((rung < 0) | (leaves >= self.limit), np.inf, np.maximum((leaves - self.done) / speed, 0.0))

    def first_used(self, shortest: ArrayLike = 0.0) -> Codes:
        """The place in `ladders` of the first rung that is used for more than `shortest` work; the last if none is."""
        worked = self.switch_at - self.done[:, None]
        used = worked > np.broadcast_to(np.asarray(shortest, dtype=np.float64), self.done.shape)[:, None]
        return np.where(used.any(axis=1), used.argmax(axis=1), self.ladders.counts - 1)


def speed_profiles(
    ladders: Ladders,
    laws: Laws | Sequence[Distribution],
    time_left: ArrayLike,
    limit: ArrayLike,
    done: ArrayLike = 0.0,
    law_of: Codes | None = None,
) -> SpeedProfiles:
    """The best profiles of all problems, one per ladder.

    `laws[law_of[p]]` is the law of the whole work of problem p (by default, law p), cut off at `limit[p]` and
    conditioned on more than `done[p]`, which has been done. `time_left`: time until the due date; may be negative.
    """
    gathered = laws if isinstance(laws, Laws) else Laws.of(laws)
    count = ladders.size
    if law_of is not None:
        gathered = gathered.take(law_of)
    if gathered.size != count:
        raise ValueError(f"{gathered.size} laws for {count} ladders")
    left, top, begun = (
        np.array(np.broadcast_to(np.asarray(a, dtype=np.float64), count)) for a in (time_left, limit, done)
    )
    if not (np.isfinite(top) & np.isfinite(begun) & ~np.isnan(left)).all():
        raise ValueError("limits and work done must be finite, times left numbers")
    order = np.argsort(gathered.family, kind="stable")
    if (order[1:] < order[:-1]).any():
        sorted_ones = speed_profiles(ladders.take(order), gathered.take(order), left[order], top[order], begun[order])
        return sorted_ones.take(np.argsort(order))
    work = RemainingWork(gathered, np.minimum(begun, top), top)
    status = _statuses(ladders, work, left)
    switches = np.where((status == ProfileStatus.LOOSE)[:, None], work.limit[:, None], work.done[:, None])
    switches = np.repeat(switches, ladders.speed.shape[1] - 1, axis=1)
    price = np.zeros(count)
    binding = np.flatnonzero(status == ProfileStatus.OK)
    if len(binding):
        found, price[binding] = _binding_switches(ladders.take(binding), work.take(binding), left[binding])
        switches[binding] = found
    return _price(ladders, work, left, status, switches, price)


def _statuses(ladders: Ladders, work: RemainingWork, left: Floats) -> NDArray[np.int8]:
    remaining = work.limit - work.done
    status = np.full(len(left), ProfileStatus.OK, dtype=np.int8)
    status[remaining * ladders.pace[:, 0] <= left] = ProfileStatus.LOOSE
    # A job that is on its way on the fastest rung may lack time by what rounding makes.
    status[remaining * ladders.pace[:, -1] * (1 - IN_TIME) > left] = ProfileStatus.INFEASIBLE
    status[~work.possible] = ProfileStatus.DONE
    return status


def _binding_switches(ladders: Ladders, work: RemainingWork, left: Floats) -> tuple[Floats, Floats]:
    """Switches and prices where the due date binds."""
    search = PriceSearch(ladders, work, left)
    prices = search.run()
    early, late = search.switches(prices.high)[0], search.switches(prices.low)[1]
    shortest = search.fastest + np.einsum("ij,ij->i", ladders.pace_gain, early - work.done[:, None])
    slack = np.einsum("ij,ij->i", ladders.pace_gain, late - early)
    share = np.where(slack > 0, np.clip((left - shortest) / np.where(slack > 0, slack, 1.0), 0.0, 1.0), 0.0)
    # At a jump every profile between the two is best; this one takes all the time there is.
    return early + share[:, None] * (late - early), prices.high + share * (prices.low - prices.high)


def _price(
    ladders: Ladders, work: RemainingWork, left: Floats, status: NDArray[np.int8], switches: Floats, price: Floats
) -> SpeedProfiles:
    """Expected and worst cost and time, by summation by parts: of G, the expected work below a switch."""
    over = (status == ProfileStatus.DONE)[:, None]
    switches = np.where(over, work.done[:, None], switches)
    ends = np.concatenate((switches, work.limit[:, None]), axis=1)
    with np.errstate(all="ignore"):
        below = np.where(over, 0.0, work.work(ends))
    most = np.where(over, 0.0, ends - work.done[:, None])

    def total(amounts: Floats) -> tuple[Floats, Floats]:
        cost = ladders.cost[:, -1] * amounts[:, -1] - np.einsum("ij,ij->i", ladders.cost_gain, amounts[:, :-1])
        time = ladders.pace[:, -1] * amounts[:, -1] + np.einsum("ij,ij->i", ladders.pace_gain, amounts[:, :-1])
        return cost, time

    energy, time = total(below)
    worst_energy, worst_time = total(most)
    last = np.arange(ends.shape[1]) >= ladders.counts[:, None] - 1
    return SpeedProfiles(
        ladders, status, work.done, work.limit, np.where(last, work.limit[:, None], ends),
        np.diff(below, axis=1, prepend=0.0), price, energy, time, worst_energy, worst_time,
        np.where(status == ProfileStatus.INFEASIBLE, worst_time - left, 0.0),
    )  # fmt: skip


@dataclass(frozen=True)
class SpeedProfile:
    """The best profile of one job; fields as in `SpeedProfiles`, `rungs` are the positions of the rungs in
    the input.
    """

    status: ProfileStatus
    rungs: tuple[int, ...]
    switch_at: tuple[float, ...]
    deadline_price: float
    energy: float
    time: float
    worst_energy: float
    worst_time: float
    lateness: float


def speed_profile(
    speed: ArrayLike, rate: ArrayLike, law: Distribution, time_left: float, limit: float, done: float = 0.0
) -> SpeedProfile:
    """Return the best profile of one job on the rungs `speed`, `rate` (any order); see `speed_profiles`."""
    found = speed_profiles(filter_levels(speed, rate), [law], time_left, limit, done)
    rungs = tuple(found.ladders.rung[0].tolist())
    numbers = (
        float(a[0])
        for a in (found.deadline_price, found.energy, found.time, found.worst_energy, found.worst_time, found.lateness)
    )
    return SpeedProfile(ProfileStatus(found.status[0]), rungs, tuple(found.switch_at[0].tolist()), *numbers)
