"""Speed profiles of least expected cost and tardiness cost: the due date may be missed, at a cost per time.

A job has done w0 of a random work W, with F(x) = P(W > x given W > w0). On rung k a unit of work takes the time r[k]
and costs Q[k]; the job is due after the time d, and tardiness costs c per time. The only news while a job runs is that
it still runs, so a control is a function of the work done: the rung at work x. With t(x), the time at which work x is
done, integration by parts of E(t(W) - d)+ gives the expected cost

    integral of F(x) (Q(x) + c r(x) [t(x) > d]) dx.

Let m be the work at which the due date falls, t(m) = d. Work beyond m has the rung that minimises Q + c r, the late
rung; its unit costs L = Q + c r there and takes no time before the due date. So beyond m the job works on a rung of
pace 0 and cost L, and what is left is the problem of `speed_profile` with this rung added and the same limit: time d,
minimise the integral of F Q. Any profile of that problem is a control of this one at the same cost, and reversely any
control costs at least as much as the one with the late rung beyond its m.

The added rung is the next one of the convex hull after the late rung, because the line of slope -c through the late
rung in the plane of pace and cost supports the hull and meets pace 0 at L. Its price of time saved is c, so rungs with
larger prices (faster ones than the late rung) fall off the hull, no due date is infeasible, and m is where F falls to
p / c at the price p of time left: p = c P(W > m given W > w0), what an hour less before the due date costs. The time
needed up to m does not increase with p, so the search for the price is that of `speed_profile`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from gpusched_dsl.ir.arrays import Codes, Floats
from gpusched_dsl.policies.distributions import Laws
from gpusched_dsl.policies.speed_levels import Ladders
from gpusched_dsl.policies.speed_profile import ProfileStatus, SpeedProfiles, speed_profiles


def tardiness_profiles(
    ladders: Ladders, laws: Laws, time_left: ArrayLike, limit: ArrayLike, tardiness: ArrayLike, done: ArrayLike = 0.0
) -> SpeedProfiles:
    """The best profiles of all problems, one per ladder and law; see `speed_profiles`.

    `tardiness`: finite cost per time after the due date, at least 0. The ladders of the result end with the late
    rungs. Its `energy` and `worst_energy` include the cost of tardiness, also of what has passed since the due date;
    `INFEASIBLE` means that the due date may be missed, `lateness` by how much if all work is needed.
    """
    left, cost = (
        np.array(np.broadcast_to(np.asarray(a, dtype=np.float64), ladders.size)) for a in (time_left, tardiness)
    )
    rows, late = np.arange(ladders.size), _late_rungs(ladders, cost)
    free, overdue = cost == 0, np.maximum(-left, 0.0)
    until_due = np.where(free, np.inf, np.maximum(left, 0.0))
    best = speed_profiles(_with_tardy_rung(ladders, cost, late), laws, until_due, limit, done)
    cut = _cut(ladders, late, ladders.speed.shape[1])

    last = np.arange(cut.speed.shape[1]) >= late[:, None]
    switch_at = np.where(last, best.limit[:, None], best.switch_at[:, :-1])
    due_at = np.where(free, best.limit, best.switch_at[rows, late])
    late_work = np.where(free, 0.0, best.expected_work[rows, late + 1])
    expected_work = np.where(last, 0.0, best.expected_work[:, :-1])
    expected_work[rows, late] = best.expected_work[rows, late] + late_work

    # Summed by rung: a large cost of tardiness would take digits from differences.
    pace = cut.pace[rows, late]
    there = best.status != ProfileStatus.DONE
    overdue = np.where(there, overdue, 0.0)
    energy = np.einsum("ij,ij->i", cut.cost, expected_work) + cost * (pace * late_work + overdue)
    time = np.einsum("ij,ij->i", cut.pace, expected_work)
    most = np.where(there[:, None], np.diff(switch_at, axis=1, prepend=best.done[:, None]), 0.0)
    worst_late = np.where(there, (best.limit - due_at) * pace, 0.0)
    worst_energy = np.einsum("ij,ij->i", cut.cost, most) + cost * (worst_late + overdue)
    worst_time = np.einsum("ij,ij->i", cut.pace, most)
    lateness = overdue + np.where(late_work > 0, worst_late, 0.0)
    # Without a cost of tardiness the slowest rung is used, whether or not it meets the due date.
    lateness = np.where(there & free, np.maximum(worst_time - left, 0.0), lateness)
    status = np.where(there & (lateness > 0), ProfileStatus.INFEASIBLE, best.status).astype(np.int8)
    price = np.where(there & (left <= 0), cost, best.deadline_price)
    return SpeedProfiles(
        cut, status, best.done, best.limit, switch_at, expected_work, price,
        energy, time, worst_energy, worst_time, lateness,
    )  # fmt: skip


def _late_rungs(ladders: Ladders, tardiness: Floats) -> Codes:
    """The rung of each ladder that minimises the cost of a unit of work, with its time at the cost of tardiness."""
    return np.asarray((ladders.time_price < tardiness[:, None]).sum(axis=1))


def _cut(ladders: Ladders, late: Codes, width: int) -> Ladders:
    """The ladders up to their late rungs, which are repeated up to a width."""
    column = np.minimum(np.arange(width), late[:, None])
    rung = np.take_along_axis(ladders.rung, column, axis=1)
    speed, rate, cost = (np.take_along_axis(a, column, axis=1) for a in (ladders.speed, ladders.rate, ladders.cost))
    return Ladders(speed, rate, cost, rung, late + 1)


def _with_tardy_rung(ladders: Ladders, tardiness: Floats, late: Codes) -> Ladders:
    """The ladders up to the late rungs, followed by the rung of late work where tardiness costs."""
    cut = _cut(ladders, late, ladders.speed.shape[1] + 1)
    tardy = (np.arange(cut.speed.shape[1]) > late[:, None]) & (tardiness > 0)[:, None]
    cost = np.where(tardy, cut.cost + tardiness[:, None] * cut.pace, cut.cost)
    speed, rate = np.where(tardy, np.inf, cut.speed), np.where(tardy, np.inf, cut.rate)
    return Ladders(speed, rate, cost, cut.rung, cut.counts + (tardiness > 0))
