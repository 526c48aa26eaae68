"""Why a job waits, or where it runs, as data and in words of GPUs, jobs and nodes.

`free_room.py` computes it. Here is no model and no policy: `gsdsl why` adds constraints and the order of a queue.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from gpusched_dsl.language.text.numbers import count_text, short, with_unit

NEVER = "never"  # no place is large enough, also without other jobs
NO_ROOM = "no room"  # other jobs use what it needs
ROW = "row"  # places have room, but a constraint of the model excludes all of them
ROOM = "room"  # a place has room, and no single constraint excludes it
RUNS = "runs"

MOST_NAMES = 5
MOST_NEEDS = 3
WHOLE_NODE = "node"


@dataclass(frozen=True)
class Resource:
    """What places have of: `GPU`, or `memory` in a `unit`. One without a name is not shown."""

    name: str
    unit: str = ""

    def amount(self, value: float) -> str:
        """Return `4 GPUs`, `0.5 GPUs`, or `40 GB of memory`."""
        if self.unit:
            return with_unit(short(value), self.unit) + (f" of {self.name}" if self.name != self.unit else "")
        return f"{short(value)} {self.name if value == 1 else plural(self.name)}"


@dataclass(frozen=True)
class Need:
    """One way to run: the amount of each resource, for each of the `workers`, on places of one of the `types`.

    `types` is empty if all types will do. `spread`: each worker needs a place of its own.
    """

    amounts: tuple[float, ...]
    types: tuple[str, ...] = ()
    workers: int = 1
    spread: bool = False


@dataclass(frozen=True)
class PlaceRoom:
    """A place with its free amount of each resource, the workers of the job that it has room for, and its jobs."""

    name: str
    type: str
    free: tuple[float, ...]
    workers: int
    jobs: tuple[str, ...] = ()


@dataclass(frozen=True)
class NextEnd:
    """The first end of a running job on a place that the job can use. `enough`: then there is room for the job.

    Where a row excludes the job, it is the first end of a job in the row, without `places`; `enough` is about the row.
    """

    job: str
    time: float
    places: tuple[str, ...]
    enough: bool


@dataclass(frozen=True)
class JobAhead:
    """A job before this one in the queue that can use the same places; `state` is `starts`, `runs` or `waits`."""

    job: str
    state: str


@dataclass(frozen=True)
class RowLimit:
    """A row of the model that excludes the job: `jobs` use `used` of at most `limit`, each `uses`, and it `adds` more.

    `doc` is the description of the constraint, `places` are those from which the row excludes the job, empty for all.
    Amounts are None for a row that other variables link to jobs. `combined`: it excludes the job only together with
    others.
    """

    row: str
    doc: str = ""
    used: float | None = None
    limit: float | None = None
    adds: float | None = None
    unit: str = ""
    jobs: tuple[str, ...] = ()
    uses: tuple[float, ...] = ()
    places: tuple[str, ...] = ()
    combined: bool = False

    def text(self) -> str:
        """Return a sentence about the row."""
        name = f"`{self.row}`" + (f" ({self.doc})" if self.doc else "")
        if self.combined:
            return f"there it would violate at least the constraint {name}"
        text = f"the constraint {name} excludes it" + (f" from {names_text(self.places)}" if self.places else "")
        if self.used is None or self.limit is None or self.adds is None:
            return text + (f", because of {names_text(self.jobs)}" if self.jobs else "")
        used, limit, adds = (with_unit(short(v), self.unit) for v in (self.used, self.limit, self.adds))
        if not self.jobs:
            return f"{text}: at most {limit}, the job needs {adds}"
        return f"{text}: {names_text(self.jobs)} {_verb(self.jobs)} {used} of at most {limit}, the job adds {adds}"

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "row": self.row, "doc": self.doc or None, "used": self.used, "limit": self.limit, "adds": self.adds,
            "unit": self.unit, "jobs": list(self.jobs), "uses": list(self.uses), "places": list(self.places),
            "combined": self.combined,
        }  # fmt: skip


@dataclass(frozen=True)
class SlotOutlook:
    """The slots of a job from now on, by their times: those of the plan, and those with room besides other jobs.

    `slots` are those in which the job may run until it is `due`, if that is known.
    """

    planned: tuple[float, ...]
    fitting: tuple[float, ...]
    slots: int
    due: float | None = None

    def lines(self, time: Callable[[float], str]) -> list[str]:
        """Return sentences; `time` writes a time of the run."""
        until = "of the plan" if self.due is None else f"until it is due at {time(self.due)}"
        count, slots = len(self.fitting), count_text(self.slots, "slot")
        if not self.slots:
            return [f"no slot {until} is left for it"]
        if not count:
            return [f"no room in {slots} {until}"]
        lines = [f"{count:,} of {slots} {until} {'has' if count == 1 else 'have'} room for it"]
        if self.planned:
            return [f"the plan runs it at {names_text([time(at) for at in self.planned])}", *lines]
        return ["the plan runs it in no slot", *lines]

    def to_dict(self, iso: Callable[[float], str | None]) -> dict[str, Any]:
        """Return plain data; `iso` writes a time as a date, if it has one."""
        return {
            "planned": list(self.planned),
            "planned_dates": [iso(at) for at in self.planned],
            "fitting": list(self.fitting),
            "slots": self.slots,
            "due": self.due,
            "due_date": None if self.due is None else iso(self.due),
        }


@dataclass(frozen=True)
class JobReason:
    """Why a job waits, or where it runs.

    `needs` are its ways to run, the one that lacks least first. `places` of the cluster can run it when they are empty.
    `best` is the place with most of the first need (kind `never`: the largest place). `rooms`: for a gang, the places
    with room for a worker; for a running job, its places. `fitting` are the places with room for the job, for a running
    one those besides its own. `together`: the free amounts of all places where the first need is the same. `room_at`:
    the first time at which enough running jobs have ended, if no other job takes their place. `end` is the planned end
    of a running job, and `blocks` are the waiting jobs that would have room without it. With `slots`, the other amounts
    are those of the present slot. `note` adds a sentence about the method. Of a job whose parts start together, `needs`
    are those of all parts, and `lacking` those of the parts that have no room by themselves (kind `never`: not even in
    an empty cluster); None for other jobs.
    """

    kind: str
    resources: tuple[Resource, ...]
    needs: tuple[Need, ...] = ()
    places: int = 0
    best: PlaceRoom | None = None
    rooms: tuple[PlaceRoom, ...] = ()
    fitting: tuple[str, ...] = ()
    together: tuple[float, ...] = ()
    ahead: tuple[JobAhead, ...] = ()
    next_end: NextEnd | None = None
    room_at: float | None = None
    rows: tuple[RowLimit, ...] = ()
    end: float | None = None
    blocks: tuple[str, ...] = ()
    slots: SlotOutlook | None = None
    note: str = ""
    lacking: tuple[Need, ...] | None = None

    def lines(self, time: Callable[[float], str]) -> list[str]:
        """Return sentences; `time` writes a time of the run."""
        return _Writer(self, time).lines()

    def to_dict(self, iso: Callable[[float], str | None]) -> dict[str, Any]:
        """Return plain data; `iso` writes a time as a date, if it has one."""
        names = [r.name for r in self.resources]

        def amounts(values: Sequence[float]) -> dict[str, float]:
            return {n: v for n, v in zip(names, values, strict=True) if n}

        def place(room: PlaceRoom) -> dict[str, Any]:
            return {
                "place": room.name, "type": room.type or None, "free": amounts(room.free), "workers": room.workers,
                "jobs": list(room.jobs),
            }  # fmt: skip

        def needed(needs: Sequence[Need]) -> list[dict[str, Any]]:
            return [{"amounts": amounts(n.amounts), "types": list(n.types), "workers": n.workers} for n in needs]

        end, at = self.next_end, self.room_at
        together = {} if self.lacking is None else {"lacking": needed(self.lacking)}
        return {
            "kind": self.kind,
            "units": {r.name: r.unit for r in self.resources if r.name},
            "needs": needed(self.needs),
            **together,
            "places": self.places,
            "best": None if self.best is None else place(self.best),
            "rooms": [place(room) for room in self.rooms],
            "fitting": list(self.fitting),
            "free_together": amounts(self.together) if self.together else None,
            "ahead": [{"job": a.job, "state": a.state} for a in self.ahead],
            "next_end": None
            if end is None
            else {
                "job": end.job, "at": end.time, "at_date": iso(end.time), "places": list(end.places),
                "enough": end.enough,
            },
            "room_at": at,
            "room_at_date": None if at is None else iso(at),
            "rows": [row.to_dict() for row in self.rows],
            "end": self.end,
            "end_date": None if self.end is None else iso(self.end),
            "blocks": list(self.blocks),
            "slots": None if self.slots is None else self.slots.to_dict(iso),
            "note": self.note or None,
        }  # fmt: skip


@dataclass(frozen=True)
class _Writer:
    reason: JobReason
    time: Callable[[float], str]

    def lines(self) -> list[str]:
        kind = self.reason.kind
        lines = self._running() if kind == RUNS else self._never() if kind == NEVER else self._waiting()
        lines += [row.text() for row in self.reason.rows]
        if self.reason.slots is not None:
            lines += self.reason.slots.lines(self.time)
        return [*lines, *([self.reason.note] if self.reason.note else [])]

    # --- waiting -----------------------------------------------------------------------------------------------------

    def _waiting(self) -> list[str]:
        reason = self.reason
        if not reason.needs:
            return []
        parts = [f"needs {self._needs()}{self._free()}"]
        if reason.ahead:
            parts.append(f"ahead of it: {names_text([a.job for a in reason.ahead])}")
        if reason.next_end is not None and reason.kind != ROOM:
            parts.append(self._next_end(reason.next_end))
        lines = ["; ".join(parts)]
        at, best = reason.room_at, reason.best
        is_known = at is not None and reason.next_end is not None and not reason.next_end.enough
        if at is not None and is_known and reason.kind == NO_ROOM and not reason.rows:
            lines.append(f"there is room for it at {self.time(at)}, if no other job takes it")
        if reason.kind == NO_ROOM and best is not None and best.jobs and not self._is_gang:
            lines.append(f"{best.name} runs {names_text(best.jobs)}")
        return lines

    @property
    def _is_gang(self) -> bool:
        return bool(self.reason.needs) and self.reason.needs[0].workers > 1 and self.reason.lacking is None

    def _needs(self) -> str:
        needs = self.reason.needs
        if self.reason.lacking is not None:
            return f"{self._parts(needs)} at once"
        texts = [self._need(need) for need in needs[:MOST_NEEDS]]
        if len(needs) > MOST_NEEDS:
            texts.append(f"has {count_text(len(needs) - MOST_NEEDS, 'other way')}")
        return _joined(texts, "or")

    def _parts(self, needs: Sequence[Need]) -> str:
        """Return the needs of parts that start together; equal ones are counted."""
        counts = Counter(self._need(need) for need in needs)
        texts = [text if count == 1 else f"{count} times {text}" for text, count in counts.items()]
        more = len(texts) - MOST_NAMES
        return _joined([*texts[:MOST_NAMES], *([f"{count_text(more, 'other need')}"] if more > 0 else [])], "and")

    def _need(self, need: Need) -> str:
        pairs = zip(self.reason.resources, need.amounts, strict=True)
        amounts = [r.amount(v) for r, v in pairs if r.name and v] or ["no resource"]
        if need.types:
            amounts[0] += f" of type {_joined(need.types[:MOST_NAMES], 'or')}"
        if need.workers == 1:
            return _joined(amounts, "and")
        what = "nodes with" if need.spread else "workers of"
        return f"{need.workers:,} {what} {_joined(amounts, 'and')} each"

    def _free(self) -> str:
        reason, best = self.reason, self.reason.best
        if reason.lacking is not None:
            if reason.kind == ROOM:
                return f", and there is room for it on {_places_text(reason.fitting)}"
            if reason.lacking:
                return f", there is no room for {self._parts(reason.lacking)}"
            return ", there is room for each of them but not for all at once"
        if reason.kind in (ROOM, ROW):
            if self._is_gang:
                return f", and there is room for it on {_places_text([room.name for room in reason.rooms])}"
            return f", and {_places_text(reason.fitting, 'has', 'have')} room for it"
        if best is None:
            return ""
        if self._is_gang:
            need = reason.needs[0]
            total = sum(room.workers for room in reason.rooms)
            if need.spread:
                names = [room.name for room in reason.rooms]
                return f", {_places_text(names, 'has', 'have')} room for one" if total else ", no node has room for one"
            return f", there is room for {f'{total}: {self._rooms()}' if total else 'none'}"
        wanted = reason.needs[0].amounts
        shown = [at for at, r in enumerate(reason.resources) if r.name and wanted[at]]
        here = " in this slot" if reason.slots is not None else ""
        if len(shown) > 1:
            lacking = [at for at in shown if best.free[at] < wanted[at]]
            amounts = [_free_amount(reason.resources[at], best.free[at]) for at in lacking]
            return f", {best.name} has {_joined(amounts, 'and')} free{here}"
        if not shown:
            return ""
        [at] = shown
        free = best.free[at]
        if free <= 0:
            return f", none is free{here}"
        more = reason.together[at] if reason.together else free
        together = f" ({short(more)} on all nodes together)" if more >= wanted[at] else ""
        resource = reason.resources[at]
        verb = "is" if free == 1 or resource.unit else "are"
        return f", {with_unit(short(free), resource.unit)} {verb} free on {best.name}{together}{here}"

    def _rooms(self) -> str:
        """Return the places with workers of a gang, or with room for them."""
        rooms = self.reason.rooms
        if self.reason.needs[0].spread:
            return names_text([room.name for room in rooms])
        texts = [f"{room.workers} on {room.name}" for room in rooms[:MOST_NAMES]]
        rest = sum(room.workers for room in rooms[MOST_NAMES:])
        return ", ".join(texts) + (
            f" and {rest} on {count_text(len(rooms) - MOST_NAMES, 'other node')}" if rest else ""
        )

    def _next_end(self, end: NextEnd) -> str:
        where = f" on {names_text(end.places)}" if end.places else ""
        text = f"next end: {end.job} at {self.time(end.time)}{where}"
        if self.reason.kind == NO_ROOM and self.reason.rows:
            return text
        then = ", then there is room for it" if end.places else ", then the constraint leaves room for it"
        return text + (then if end.enough else ", which is not enough")

    # --- never, and running ------------------------------------------------------------------------------------------

    def _never(self) -> list[str]:
        reason, best = self.reason, self.reason.best
        if reason.lacking is not None:
            what = self._parts(reason.lacking) if reason.lacking else "all of them at once"
            return [f"can never run: it needs {self._needs()}, and the empty cluster has no room for {what}"]
        if best is None or not reason.needs:
            return ["can never run: there is no place for it"]
        text = f"can never run: it needs {self._needs()}"
        need = reason.needs[0]
        if need.workers > 1:
            return [f"{text}, and the empty cluster has room for {best.workers}"]
        wanted = zip(reason.resources, need.amounts, best.free, strict=True)
        lacking = [r.amount(free) for r, amount, free in wanted if r.name and amount > free]
        return [f"{text}, and the largest place, {best.name}, has {_joined(lacking, 'and')}"]

    def _running(self) -> list[str]:
        reason = self.reason
        gang = reason.needs[0].workers > 1
        where = self._rooms() if gang else reason.rooms[0].name
        end = "" if reason.end is None else f", and ends at {self.time(reason.end)} by its stated length"
        whole = all(resource.name in ("", WHOLE_NODE) for resource in reason.resources)
        if gang:
            lines = [f"runs as {self._needs()}: {where}{end}"]
        else:
            lines = [f"runs on {where} {'alone' if whole else f'with {self._needs()}'}{end}"]
        if reason.fitting:
            lines.append(f"{_places_text(reason.fitting, 'has', 'have')} room for it too")
        elif reason.places > len(reason.rooms):
            lines.append("no other node has room for it")
        else:
            lines.append("no other node can run it")
        if reason.blocks:
            lines.append(f"without it there would be room for {names_text(reason.blocks)}")
        return lines


def plural(noun: str) -> str:
    """Return the plural of a noun that has a regular one."""
    return noun if noun.endswith("s") else f"{noun}s"


def _verb(subjects: Sequence[str]) -> str:
    return "uses" if len(subjects) == 1 else "use"


def _free_amount(resource: Resource, free: float) -> str:
    """Return `1 GPU`, or `no memory`."""
    return resource.amount(free) if free > 0 else f"no {resource.name if resource.unit else plural(resource.name)}"


def names_text(names: Sequence[str]) -> str:
    """Return `a, b`, and the number of those after the first ones."""
    shown = ", ".join(names[:MOST_NAMES])
    return shown + (f" and {len(names) - MOST_NAMES:,} more" if len(names) > MOST_NAMES else "")


def _places_text(names: Sequence[str], one: str = "", several: str = "") -> str:
    """Return the places and a verb: `n1 has`, `2 nodes (n1, n2) have`."""
    if len(names) == 1:
        return f"{names[0]} {one}".rstrip()
    return f"{count_text(len(names), 'node')} ({names_text(names)}) {several}".rstrip()


def _joined(texts: Sequence[str], word: str) -> str:
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} {word} {texts[-1]}" if texts else ""
