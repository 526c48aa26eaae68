"""The realised quantities, known only to the world: arrivals of jobs, their real work, failures of nodes.

Every draw has a stream of its own, named, so that one more draw elsewhere changes nothing here.
"""

from __future__ import annotations

import zlib
from copy import copy
from dataclasses import dataclass

import numpy as np
from msgspec import structs

from gpusched_dsl.compiling.data.distributions import laws_of
from gpusched_dsl.compiling.evaluation.evaluator import Evaluator
from gpusched_dsl.compiling.evaluation.frames import Frame
from gpusched_dsl.compiling.evaluation.store import Param, RandomLaws, ValueStore
from gpusched_dsl.ir.arrays import Bools, Floats, Ints
from gpusched_dsl.ir.distributions.base import Distribution
from gpusched_dsl.ir.domains import IntervalDomain
from gpusched_dsl.language.checked import CheckedRandom, Numeric, TypedIndexing, TypedLaw
from gpusched_dsl.language.checked_online import CheckedOnline, CheckedOutage
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.online.data.base import Base

NEVER = np.inf


@dataclass(frozen=True, eq=False)
class Realisation:
    """Arrays over all jobs: times in the unit of the world's clock, work in its own unit.

    `arrival` is infinite for jobs that never come. `stretch` multiplies the time that a job needs.
    """

    arrival: Floats
    work: Floats
    ends: Floats
    stretch: Floats


def stream(seed: int, name: str) -> np.random.Generator:
    """The random stream of one purpose."""
    return np.random.default_rng([seed, zlib.crc32(name.encode())])


def realisation_of(online: CheckedOnline, base: Base, seed: int, slot_hours: float) -> Realisation:
    """Draws and reads the truth of all jobs of a base. `slot_hours`: the length of a slot, with a window."""
    if online.arrival is None:
        nothing = np.zeros(0)
        return Realisation(nothing, nothing, nothing, nothing)
    root = online.arrival.jobs
    count = len(base.store.universes[root].labels)
    codes = np.arange(count, dtype=np.int64)
    ev = Evaluator(online.model, _with_event_values(online, base), base.limits)
    frame = Frame(count, {online.arrival.job: codes})
    arrival = ev.number_column(online.arrival.at, frame)
    if online.window is not None:
        arrival = _slot_starts(online, base, arrival, slot_hours)
    work = np.ones(count) if online.work is None else ev.number_column(online.work, frame)
    ends = _ends(online, base, ev, frame, work, seed)
    return Realisation(arrival, work, ends, _stretch(online, base, ev, frame, seed))


def _with_event_values(online: CheckedOnline, base: Base) -> ValueStore:
    """Return the data with the values brought by events, 0 without one."""
    if not online.brought or online.arrival is None:
        return base.store
    jobs = base.store.universes[online.arrival.jobs]
    every = IntervalDomain(0, len(jobs.labels) - 1, 1, jobs)
    brought = {name: Param(every, np.zeros(len(jobs.labels))) for name in online.brought}
    return structs.replace(base.store, params=base.store.params | brought)


def _slot_starts(online: CheckedOnline, base: Base, labels: Floats, slot_hours: float) -> Floats:
    """Numbers of slots as the times at which they start; slots before the first one count as the first."""
    assert online.window is not None
    universe = base.store.universes[online.base.sets[online.window.slots].root or ""]
    numbers = universe.integer_labels
    if numbers is None:
        numbers = np.arange(len(universe.labels), dtype=np.int64)
    place = np.searchsorted(numbers, np.ceil(labels - 1e-9))
    return np.where(place < len(numbers), place * slot_hours, NEVER)


def _ends(online: CheckedOnline, base: Base, ev: Evaluator, frame: Frame, work: Floats, seed: int) -> Floats:
    if online.ends is None:
        return work.copy()
    if isinstance(online.ends, str):
        laws = base.store.randoms[online.ends]
        return _draw(laws, frame, stream(seed, f"ends {online.ends}"))
    return ev.number_column(online.ends, frame)


def _stretch(online: CheckedOnline, base: Base, ev: Evaluator, frame: Frame, seed: int) -> Floats:
    if online.stretch is None:
        return np.ones(frame.size)
    if isinstance(online.stretch, TypedLaw):
        assert online.arrival is not None
        laws = _laws(base, ev, online.stretch, online.arrival.indexing, "stretch")
        return np.maximum(_draw(laws, frame, stream(seed, "stretch")), 1e-9)
    return ev.number_column(online.stretch, frame)


def _laws(base: Base, ev: Evaluator, law: TypedLaw, indexing: TypedIndexing, name: str) -> RandomLaws:
    found = Diagnostics()
    laws = laws_of(CheckedRandom(name, law.span, Numeric(), indexing), law, ev, base.instance.reader, found)
    found.raise_if_errors()
    assert laws is not None
    return laws


def _draw(laws: RandomLaws, frame: Frame, rng: np.random.Generator) -> Floats:
    """Return one draw for each job, from its distribution: job j uses the j-th uniform number."""
    uniform = rng.random(frame.size)
    position = np.arange(frame.size) if laws.domain.arity else np.zeros(frame.size, dtype=np.int64)
    return np.array(laws.each(position, lambda law, u: law.inv_lo(u), uniform), dtype=np.float64)


def redraw(
    online: CheckedOnline, base: Base, ends: Floats, stretch: Floats, done: Floats, has_started: Bools, seed: int
) -> tuple[Floats, Floats]:
    """Draw the ends and stretches of all jobs that are still unknown again, by another seed.

    Where a job ends is drawn from what is left of its law beyond the work `done`. The stretch of jobs
    that have started is known. Values that the block states by an expression stay.
    """
    if online.arrival is None:
        return ends, stretch
    count = len(ends)
    if isinstance(online.ends, str):
        laws = base.store.randoms[online.ends]
        uniform = stream(seed, f"ends {online.ends}").random(count)
        position = np.arange(count) if laws.domain.arity else np.zeros(count, dtype=np.int64)
        ends = np.array(
            laws.each(position, lambda law, u, known: law.inv_lo(u * law.survival(known)), uniform, done),
            dtype=np.float64,
        )
    if isinstance(online.stretch, TypedLaw):
        ev = Evaluator(online.model, _with_event_values(online, base), base.limits)
        frame = Frame(count, {online.arrival.job: np.arange(count, dtype=np.int64)})
        stretch = np.where(has_started, stretch, _stretch(online, base, ev, frame, seed))
    return ends, stretch


def stretch_beyond(online: CheckedOnline, base: Base, known: Floats, seed: int) -> Floats | None:
    """Draw the stretch of each job from its law, given that it is larger than `known`; None without a law."""
    if online.arrival is None or not isinstance(online.stretch, TypedLaw):
        return None
    count = len(known)
    ev = Evaluator(online.model, _with_event_values(online, base), base.limits)
    laws = _laws(base, ev, online.stretch, online.arrival.indexing, "stretch")
    uniform = stream(seed, "stretch").random(count)
    position = np.arange(count) if laws.domain.arity else np.zeros(count, dtype=np.int64)
    drawn = laws.each(position, lambda law, u, least: law.inv_lo(u * law.survival(least)), uniform, known)
    return np.maximum(np.array(drawn, dtype=np.float64), 1e-9)


@dataclass(frozen=True, eq=False)
class OutageLaws:
    """The laws of the outages of a set of nodes: how long each node is up, and how long it is down."""

    root: str
    labels: tuple[str | int, ...]
    every: RandomLaws
    lasting: RandomLaws

    @staticmethod
    def of(outage: CheckedOutage, online: CheckedOnline, base: Base) -> OutageLaws:
        """Raises DiagnosticError as evaluation does."""
        ev = Evaluator(online.model, base.store, base.limits)
        every = _laws(base, ev, outage.every, outage.indexing, "every")
        lasting = _laws(base, ev, outage.lasting, outage.indexing, "lasting")
        return OutageLaws(outage.nodes, base.store.universes[outage.nodes].labels, every, lasting)


class Outages:
    """When each node of a set fails and how long it is down, drawn one after the other for each node by itself."""

    def __init__(self, laws: OutageLaws, seed: int) -> None:
        self.root, self.labels = laws.root, laws.labels
        self.every, self.lasting = laws.every, laws.lasting
        labels = self.labels
        self.rngs = [stream(seed, f"outage {self.root} {label}") for label in labels]
        self.since = np.zeros(len(labels))  # when the times that come next began
        self.next: Floats = np.array([self._draw(self.every, n, 0.0) for n in range(len(labels))])
        self.down: Ints = np.zeros(len(labels), dtype=np.int64)

    def at(self, now: float, tolerance: float) -> tuple[Ints, Ints]:
        """Nodes that are down and were not before, and nodes that are up again; each then has its next time.

        While nobody looked, nodes went on failing and coming back at their own times.
        """
        before = self.down.copy()
        due = np.flatnonzero(self.next <= now + tolerance)
        while len(due):
            for n in due.tolist():
                happens = float(self.next[n])
                self.down[n] = 1 - self.down[n]
                laws = self.lasting if self.down[n] else self.every
                later = max(self._draw(laws, n, happens), float(np.nextafter(happens, np.inf)))
                self.next[n], self.since[n] = later, happens
            due = due[self.next[due] <= now + tolerance]
        return np.flatnonzero(self.down > before), np.flatnonzero(self.down < before)

    def redraw(self, now: float, seed: int) -> Outages:
        """Return the same at this time, with later quantities drawn by another seed."""
        other = copy(self)
        labels = self.labels
        other.rngs = [stream(seed, f"outage {self.root} {label}") for label in labels]
        other.next, other.down, other.since = self.next.copy(), self.down.copy(), self.since.copy()
        for n in range(len(labels)):
            law = self._law(self.lasting if self.down[n] else self.every, n)
            passed = np.array([now - self.since[n]])
            left = law.inv_lo(other.rngs[n].random(1) * law.survival(passed))
            other.next[n] = max(now, self.since[n] + float(left[0]))
        return other

    def _draw(self, laws: RandomLaws, node: int, now: float) -> float:
        return now + float(self._law(laws, node).inv_lo(np.array([self.rngs[node].random()]))[0])

    @staticmethod
    def _law(laws: RandomLaws, node: int) -> Distribution:
        law: Distribution = laws.laws[laws.which[node if laws.domain.arity else 0]]
        return law
