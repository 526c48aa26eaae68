"""Where a job has room in a cluster now, and when it will have: from capacities and running jobs alone.

A job is a gang of `workers`, most jobs of one. Each of its options is a place with the amounts that a worker needs
there; the workers are spread over the options of one way. Sums over sorted ends replace a simulation of the cluster.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from gpusched_dsl.explaining.job_reason import (
    NEVER,
    NO_ROOM,
    ROOM,
    RUNS,
    JobAhead,
    JobReason,
    Need,
    NextEnd,
    PlaceRoom,
    Resource,
)
from gpusched_dsl.ir.arrays import Bools, Floats, Ints, numbered_by_first

TOLERANCE = 1e-6  # of an amount


@dataclass(frozen=True, eq=False)
class PlaceOptions:
    """K options of one job: a way on a place, with the amounts (K, R) of each worker.

    `most` workers may be on the place. Options of the same number `way` share the `workers` of the job.
    """

    place: Ints
    amounts: Floats
    way: Ints
    workers: Ints
    most: Floats

    @staticmethod
    def of_one_node(place: Ints, amounts: Floats) -> PlaceOptions:
        """Return the options of a job that runs on one place."""
        ones = np.ones(len(place))
        return PlaceOptions(place, amounts, np.arange(len(place)), ones.astype(np.int64), ones)


@dataclass(frozen=True, eq=False)
class ClusterRoom:
    """P places with R resources, and E parts of running jobs.

    `capacity` is (P, R). A part of the job `jobs[job[e]]` uses `uses[e]` (R) on `place[e]` until `end[e]`; inf or NaN
    if that is not known. `all_types` are the types that places of the cluster may have.
    """

    resources: tuple[Resource, ...]
    places: Sequence[str]
    types: Sequence[str]
    capacity: Floats
    jobs: Sequence[str]
    job: Ints
    place: Ints
    uses: Floats
    end: Floats
    all_types: tuple[str, ...] = ()

    @cached_property
    def free(self) -> Floats:
        """The free amounts (P, R) now."""
        free = self.capacity.copy()
        np.subtract.at(free, self.place, self.uses)
        return free

    @cached_property
    def _available(self) -> Floats:
        """The free amounts (P, R) that a job may use: nothing where a hidden resource is missing."""
        closed: Bools = np.any(self.free[:, self._is_hidden] < -TOLERANCE, axis=1, keepdims=True)
        found: Floats = np.where(closed, 0.0, np.maximum(self.free, 0.0))
        return found

    @cached_property
    def _by_place(self) -> tuple[Ints, Ints, Floats, Floats]:
        """The parts by place and end: first of each place (P + 1), their numbers, ends, and free amounts after each."""
        end = np.where(np.isnan(self.end), np.inf, self.end)
        order = np.lexsort((end, self.place))
        first = np.searchsorted(self.place[order], np.arange(len(self.places) + 1))
        total = np.concatenate((np.zeros((1, self.uses.shape[1])), np.cumsum(self.uses[order], axis=0)))
        place = self.place[order]
        return first, order, end[order], self.free[place] + total[1:] - total[first[place]]

    def without(self, job: int) -> ClusterRoom:
        """Return the cluster without one running job."""
        kept = self.job != job
        return replace(
            self, job=self.job[kept], place=self.place[kept], uses=self.uses[kept], end=self.end[kept]
        )  # fmt: skip

    # --- room --------------------------------------------------------------------------------------------------------

    def workers_now(self, options: PlaceOptions) -> Ints:
        """Return how many workers each option has room for now."""
        return _workers(options, np.arange(len(options.place)), self.free[options.place])

    def workers_empty(self, options: PlaceOptions) -> Ints:
        """Return how many workers each option has room for without other jobs."""
        return _workers(options, np.arange(len(options.place)), self.capacity[options.place])

    def fits(self, options: PlaceOptions) -> Bools:
        """Return the options with room for workers of ways with room for the job."""
        now = self.workers_now(options)
        return _ways_with_room(options, now)[options.way] & (now > 0)

    def fitting_places(self, options: PlaceOptions) -> tuple[str, ...]:
        """Return the names of the places with room for the job."""
        return self._names(options.place[self.fits(options)])

    def has_room(self, options: PlaceOptions) -> bool:
        """Whether the job has room now."""
        return bool(self.fits(options).any())

    def room_at(self, options: PlaceOptions) -> float | None:
        """Return the first end of a running job after which there is room for the job, if none takes it."""
        first, _, end, free = self._by_place
        counts = np.diff(first)[options.place]
        option = np.repeat(np.arange(len(options.place)), counts)
        starts = np.cumsum(counts) - counts
        at = np.arange(len(option)) - starts[option] + first[options.place][option]
        fit = _workers(options, option, free[at])
        before = np.empty_like(fit)
        before[1:] = fit[:-1]
        now = self.workers_now(options)
        begins = starts[counts > 0]
        before[begins] = now[counts > 0]
        way, time, gain = options.way[option], end[at], fit - before
        kept = np.isfinite(time)
        order = np.lexsort((time[kept], way[kept]))
        way, time, gain = way[kept][order], time[kept][order], gain[kept][order]
        ways = int(options.way.max(initial=-1)) + 1
        present = np.bincount(options.way, weights=now, minlength=ways)
        needed = np.zeros(ways)
        needed[options.way] = options.workers
        total = np.concatenate((np.zeros(1), np.cumsum(gain)))
        begin = np.searchsorted(way, np.arange(ways))
        reached = present[way] + total[1:] - total[begin][way] >= needed[way]
        return float(time[reached].min()) if reached.any() else None

    def next_end(self, options: PlaceOptions) -> tuple[int, float] | None:
        """Return the job that ends first of those that use what the job needs on one of its places, and the time."""
        wanted = np.zeros((len(self.places), len(self.resources)), dtype=np.bool_)
        np.logical_or.at(wanted, options.place, (options.amounts > 0) | self._is_hidden)
        parts = np.flatnonzero((wanted[self.place] & (self.uses > 0)).any(axis=1) & np.isfinite(self.end))
        if not len(parts):
            return None
        part = parts[np.lexsort((self.job[parts], self.end[parts]))[0]]
        return int(self.job[part]), float(self.end[part])

    @property
    def _is_hidden(self) -> Bools:
        return np.array([not resource.name for resource in self.resources], dtype=np.bool_)

    # --- reasons -----------------------------------------------------------------------------------------------------

    def waiting_reason(self, options: PlaceOptions, ahead: Sequence[JobAhead] = ()) -> JobReason:
        """Return why a job waits, as far as capacities explain it: `never`, `no room`, or `room` if they do not."""
        empty = self.workers_empty(options)
        possible = _ways_with_room(options, empty)[options.way] & (empty > 0) if len(empty) else empty > 0
        if not possible.any():
            return self._never(options, empty)
        usable = take(options, possible)
        now = self.workers_now(usable)
        fits = _ways_with_room(usable, now)[usable.way]
        best = self._best(usable, now)
        ordered = self._lack_least_first(usable, now)
        needs = self._needs(usable, self.workers_empty(usable), ordered)
        place = int(usable.place[best])
        kind = ROOM if fits.any() else NO_ROOM
        at = None if fits.any() else self.room_at(usable)
        end = self.next_end(usable)
        return JobReason(
            kind,
            self.resources,
            needs,
            places=len(self._names(usable.place)),
            best=self._place_room(place, int(now[best])),
            rooms=self._rooms(usable, now, int(usable.way[best])) if usable.workers[best] > 1 else (),
            fitting=self._names(usable.place[fits & (now > 0)]),
            together=self._together(usable, best),
            ahead=tuple(ahead),
            next_end=None if end is None else self._next_end(*end, usable, at),
            room_at=at,
        )

    def running_reason(self, options: PlaceOptions, job: int, blocks: Sequence[str] = ()) -> JobReason:
        """Return where a job (its number in `jobs`) runs, and which other places have room for it now.

        `options` are all that the job has, the parts that it has now among them.
        """
        visible = np.where(self._is_hidden, 0.0, self.uses)
        own = np.flatnonzero((self.job == job) & (visible > 0).any(axis=1))
        rest = self.without(job)
        here = np.isin(options.place, self.place[own])
        here_names = self._names(self.place[own])
        elsewhere = take(options, ~here)
        fits = rest.fits(elsewhere)
        rooms, amounts, total = [], None, 0
        for part in own.tolist():
            place = int(self.place[part])
            at = np.flatnonzero((options.place == place) & _multiples(options, visible[part]))
            count = 1
            if len(at):
                amounts = options.amounts[at[0]]
                count = _count(visible[part], amounts)
            total += count
            rooms.append(self._place_room(place, count))
        used = visible[own[0]] if amounts is None else amounts
        types = tuple(dict.fromkeys(room.type for room in rooms))
        types = types if len(types) == 1 < len(self.all_types) else ()
        spread = all(room.workers == 1 for room in rooms)
        end = float(self.end[own].max())
        return JobReason(
            RUNS,
            self.resources,
            (Need(tuple(used.tolist()), types, total, spread),),
            places=len(self._names(options.place)),
            rooms=tuple(rooms),
            fitting=tuple(name for name in self._names(elsewhere.place[fits]) if name not in here_names),
            end=end if np.isfinite(end) else None,
            blocks=tuple(blocks),
        )

    def _never(self, options: PlaceOptions, empty: Ints) -> JobReason:
        """Return the reason of a job that no place can run, with the largest place."""
        if not len(options.place):
            return JobReason(NEVER, self.resources)
        ratio = _ratios(options, self.capacity[options.place])
        sums = np.bincount(options.way, weights=empty)
        gang = sums[options.way] / options.workers
        best = int(np.lexsort((-ratio, -gang))[0])
        room = self._place_room(int(options.place[best]), int(sums[options.way[best]]))
        room = replace(room, free=tuple(self.capacity[options.place[best]].tolist()), jobs=())
        order = np.lexsort((-ratio, -gang))
        return JobReason(NEVER, self.resources, self._needs(options, empty, order), best=room)

    def _best(self, options: PlaceOptions, now: Ints) -> int:
        return int(self._lack_least_first(options, now)[0])

    def _lack_least_first(self, options: PlaceOptions, now: Ints) -> Ints:
        """Return the options in the order of the share of what the job needs that is free; then by the free amounts."""
        found = np.bincount(options.way, weights=now)
        gang = np.minimum(found[options.way] / options.workers, 1.0)
        ratio = np.minimum(_ratios(options, self.free[options.place]), 1.0)
        shown = np.where(options.amounts > 0, self._available[options.place], 0.0).sum(axis=1)
        return np.lexsort((np.arange(len(shown)), -shown, -ratio, -gang))

    def _together(self, options: PlaceOptions, best: int) -> tuple[float, ...]:
        """Return the free amounts of all places where the job needs the same as in an option."""
        places = np.unique(options.place[(options.amounts == options.amounts[best]).all(axis=1)])
        if self._is_hidden.any():  # a node may be several places, but is one of them
            own = self.types[int(options.place[best])]
            places = places[[self.types[place] == own for place in places.tolist()]]
        return tuple(self._available[places].sum(axis=0).tolist())

    def _needs(self, options: PlaceOptions, empty: Ints, order: Ints) -> tuple[Need, ...]:
        """Return the distinct needs, in the order of their first options."""
        rows = np.column_stack((options.amounts, options.workers))
        first, of = numbered_by_first(rows[order])
        needs = []
        for number in range(len(first)):
            own = order[of == number]
            at = int(own[0])
            found = {self.types[place] for place in np.unique(options.place[own]).tolist()}
            types = tuple(t for t in self.all_types if t in found)
            if len(types) == len(self.all_types):
                types = ()
            spread = bool((empty[own] <= 1).all())
            needs.append(Need(tuple(options.amounts[at].tolist()), types, int(options.workers[at]), spread))
        return tuple(needs)

    def _next_end(self, job: int, time: float, options: PlaceOptions, room_at: float | None) -> NextEnd:
        parts = np.flatnonzero((self.job == job) & np.isin(self.place, options.place))
        visible = parts[(self.uses[parts] * ~self._is_hidden).any(axis=1)]
        parts = visible if len(visible) else parts
        enough = room_at is not None and room_at <= time
        return NextEnd(self.jobs[job], time, self._names(self.place[parts]), enough)

    def _place_room(self, place: int, workers: int) -> PlaceRoom:
        jobs = dict.fromkeys(self.job[self.place == place].tolist())
        return PlaceRoom(
            self.places[place],
            self.types[place],
            tuple(self._available[place].tolist()),
            workers,
            tuple(self.jobs[j] for j in jobs),
        )

    def _rooms(self, options: PlaceOptions, now: Ints, way: int) -> tuple[PlaceRoom, ...]:
        """Return the places with room for workers, those with most first."""
        own = np.flatnonzero((options.way == way) & (now > 0))
        own = own[np.argsort(-now[own], kind="stable")]
        return tuple(self._place_room(int(options.place[k]), int(now[k])) for k in own)

    def _names(self, places: Ints) -> tuple[str, ...]:
        """Return the distinct names of places, in their order."""
        return tuple(dict.fromkeys(self.places[place] for place in np.unique(places).tolist()))


def take(options: PlaceOptions, rows: Bools | Ints) -> PlaceOptions:
    """Return some of the options."""
    return PlaceOptions(
        options.place[rows], options.amounts[rows], options.way[rows], options.workers[rows], options.most[rows]
    )  # fmt: skip


def _ratios(options: PlaceOptions, free: Floats) -> Floats:
    """Return the least share of an amount that is free; 0 where a resource that it needs none of is overused."""
    wanted = options.amounts > 0
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(wanted, np.maximum(free, 0.0) / options.amounts, np.where(free >= -TOLERANCE, np.inf, 0.0))
    found: Floats = share.min(axis=1, initial=np.inf)
    return found


def _workers(options: PlaceOptions, option: Ints, free: Floats) -> Ints:
    """Return the workers that fit into free amounts (., R), for one option each."""
    taken = take(options, option)
    ratio = _ratios(taken, free)
    found: Ints = np.minimum(np.floor(ratio + TOLERANCE), taken.most).astype(np.int64)
    return found


def _ways_with_room(options: PlaceOptions, workers: Ints) -> Bools:
    """Return which ways have room for all workers."""
    needed = np.zeros(int(options.way.max(initial=-1)) + 1)
    needed[options.way] = options.workers
    found: Bools = np.bincount(options.way, weights=workers, minlength=len(needed)) >= np.maximum(needed, 1)
    return found


def _multiples(options: PlaceOptions, uses: Floats) -> Bools:
    """Return which options have amounts that a part uses once, or, of a gang, several times."""
    with np.errstate(divide="ignore", invalid="ignore"):
        times = np.where(options.amounts > 0, uses / options.amounts, 1.0)
    counts = np.where(options.workers > 1, np.maximum(np.rint(times.max(axis=1, initial=1.0)), 1.0), 1.0)
    equal = np.abs(options.amounts * counts[:, None] - uses) <= TOLERANCE * np.maximum(1.0, uses)
    found: Bools = np.all(equal, axis=1, keepdims=True)
    return found[:, 0]


def _count(uses: Floats, amounts: Floats) -> int:
    wanted = amounts > 0
    return int(np.rint((uses[wanted] / amounts[wanted]).max())) if wanted.any() else 1
