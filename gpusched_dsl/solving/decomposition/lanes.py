"""Cheapest plans of many lanes at once: which slots of a window to be active in, when starting has a cost.

A lane has `n` slots in a row. Being active in slot t costs `slot_cost[t]` (of any sign), becoming active costs
`start_cost[t] >= 0`; at the end exactly, or at least, `work` slots must have been active. The optimum is found over
states (slot, count, active), where the count is of the active slots or of the idle ones, whichever are fewer:

    go active:  A[k] = min(V1[k], V0[k] + start_cost[t]) + slot_cost[t]
    stay idle:  I[k] = min(V0[k], V1[k])

and the counted of the two moves to k + 1. Lanes of similar count are computed together, longest first, so that those
whose window has ended are a suffix that is left alone. A lane takes `n * (min(work, n - work) + 1)` steps.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gpusched_dsl.ir.arrays import Bools, Codes, Floats

# States of lanes that are computed together are at most this multiple of what they need.
PADDING = 1.3


@dataclass(frozen=True, eq=False)
class Lanes:
    """Lanes as arrays: slots `starts[a] .. starts[a+1]-1` of the arrays per slot belong to lane a, in order of time.

    `work`: slots to be active in, exactly so or at least (`exact`); `running`: active before the first slot.
    """

    starts: Codes
    work: Codes
    exact: Bools
    running: Bools

    @property
    def count(self) -> int:
        return len(self.work)

    @property
    def lengths(self) -> Codes:
        return np.diff(self.starts)


@dataclass(frozen=True, eq=False)
class _Bucket:
    """Lanes computed together, the longest first; all count idle slots or all active ones. `alive[t]` have a slot t."""

    lanes: Codes
    lengths: Codes
    alive: Codes
    last: Codes  # the largest count of each lane
    counts_idle: bool
    exact: Bools
    running: Bools
    slot: Codes  # place of slot t of each lane in the arrays per slot, [slots, lanes]; 0 where there is none


class LanePlanner:
    """Solves the lanes for changing costs. Lanes with more work than slots cost infinity."""

    def __init__(self, lanes: Lanes) -> None:
        self.lanes = lanes
        lengths, work = lanes.lengths, np.maximum(lanes.work, 0)
        idle = lengths - work
        possible = (idle >= 0) & (lengths > 0)
        counts_idle = idle <= work
        last = np.where(counts_idle, idle, work)
        self._buckets = [
            self._bucket(chosen, lengths, last, idle)
            for idle in (True, False)
            for chosen in _groups(last, lengths, possible & (counts_idle == idle))
        ]

    def _bucket(self, chosen: Codes, lengths: Codes, last: Codes, counts_idle: bool) -> _Bucket:
        own, lanes = lengths[chosen], self.lanes
        times = np.arange(int(own.max()))
        slot = lanes.starts[chosen][None, :] + times[:, None]
        return _Bucket(
            chosen,
            own,
            np.searchsorted(-own, -times, side="left"),
            last[chosen],
            counts_idle,
            lanes.exact[chosen],
            lanes.running[chosen],
            np.where(times[:, None] < own[None, :], slot, 0),
        )

    def solve(self, slot_cost: Floats, start_cost: Floats) -> tuple[Floats, Bools]:
        """The least cost of every lane (infinity where it has no plan), and whether each slot is active then.

        `slot_cost` and `start_cost` are per slot of the lanes; a slot of infinite cost is never used.
        """
        values = np.full(self.lanes.count, np.inf)
        values[(self.lanes.lengths == 0) & (self.lanes.work <= 0)] = 0.0
        active = np.zeros(len(slot_cost), dtype=np.bool_)
        for bucket in self._buckets:
            _solve(bucket, slot_cost, start_cost, values, active)
        return values, active


def _groups(last: Codes, lengths: Codes, possible: Bools) -> list[Codes]:
    """Lanes to be computed together: of similar count, each group with the longest first."""
    order = np.flatnonzero(possible)
    order = order[np.argsort(last[order], kind="stable")]
    groups: list[Codes] = []
    at = 0
    while at < len(order):
        limit = PADDING * (int(last[order[at]]) + 1) + 4
        end = int(np.searchsorted(last[order], limit, side="right"))
        group = order[at:end]
        groups.append(group[np.argsort(-lengths[group], kind="stable")])
        at = end
    return groups


def _solve(bucket: _Bucket, slot_cost: Floats, start_cost: Floats, values: Floats, active: Bools) -> None:
    """One group of lanes; writes into `values` (per lane) and `active` (per slot)."""
    lanes, width = len(bucket.lanes), int(bucket.last.max()) + 1
    counts_idle = bucket.counts_idle
    off = np.full((lanes, width), np.inf)
    on = np.full((lanes, width), np.inf)
    off[~bucket.running, 0] = 0.0
    on[bucket.running, 0] = 0.0
    steps = len(bucket.alive)
    came_off = np.zeros((steps, lanes, width), dtype=np.bool_)  # an active slot follows an idle one
    came_on = np.zeros((steps, lanes, width), dtype=np.bool_)  # an idle slot follows an active one
    room = np.empty((lanes, width))
    ends = np.flatnonzero(~bucket.exact) if not counts_idle else np.zeros(0, dtype=np.int64)
    costs, starts = slot_cost[bucket.slot], start_cost[bucket.slot]
    stuck = np.zeros((steps, lanes), dtype=np.bool_)  # a slot beyond the work that was needed, in the last count
    with np.errstate(invalid="ignore"):
        for t, n in enumerate(bucket.alive.tolist()):
            v0, v1, begun = off[:n], on[:n], room[:n]
            np.add(v0, starts[t, :n, None], out=begun)
            np.less(begun, v1, out=came_off[t, :n])
            np.less(v1, v0, out=came_on[t, :n])
            np.minimum(begun, v1, out=begun)
            begun += costs[t, :n, None]
            np.minimum(v0, v1, out=v0)
            if counts_idle:
                v1[:] = begun
                v0[:, 1:] = v0[:, :-1].copy()
                v0[:, 0] = np.inf
            else:
                v1[:, 1:] = begun[:, :-1]
                v1[:, 0] = np.inf
                own = ends[ends < n]
                if len(own):
                    at = bucket.last[own]
                    over = begun[own, at]
                    better = over < v1[own, at]
                    stuck[t, own] = better
                    v1[own, at] = np.where(better, over, v1[own, at])
    _trace(bucket, off, on, came_off, came_on, stuck, values, active)


def _trace(
    bucket: _Bucket,
    off: Floats,
    on: Floats,
    came_off: Bools,
    came_on: Bools,
    stuck: Bools,
    values: Floats,
    active: Bools,
) -> None:
    """Values at the ends of the lanes, and the way back from there."""
    lanes, counts_idle = np.arange(len(bucket.lanes)), bucket.counts_idle
    count = bucket.last.copy()
    if counts_idle and not bucket.exact.all():
        # At least so much work: any smaller number of idle slots will do.
        least = np.minimum(off, on)
        least[np.arange(off.shape[1])[None, :] > bucket.last[:, None]] = np.inf
        count = np.where(bucket.exact, count, least.argmin(axis=1))
    is_on = on[lanes, count] < off[lanes, count]
    found = np.minimum(on[lanes, count], off[lanes, count])
    values[bucket.lanes] = found
    for t in range(len(bucket.alive) - 1, -1, -1):
        n = int(bucket.alive[t])
        own, flag = lanes[:n], is_on[:n].copy()
        active[bucket.slot[t, :n][flag & np.isfinite(found[:n])]] = True
        moved = ~flag if counts_idle else flag & ~(stuck[t, :n] & (count[:n] == bucket.last[:n]))
        count[:n] = np.maximum(count[:n] - moved, 0)
        before = count[:n]
        is_on[:n] = np.where(flag, ~came_off[t, own, before], came_on[t, own, before])
