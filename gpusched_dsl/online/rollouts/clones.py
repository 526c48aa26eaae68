"""Jobs that arrive in a drawn future: copies of jobs that have arrived before, at the times of a Poisson process.

The rate is that of the past of the run: the jobs that came after the first arrival and before now, by the time between.
Those that come first or now are not counted, as they begin and end the time: with them the rate after few arrivals, or
after many at the start, would be far too high. Each arriving job is a copy of one that has arrived, all equally likely.
So nothing of the real future is read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from gpusched_dsl.compiling.data.instance import Instance
from gpusched_dsl.compiling.data.slicing import InstanceView, KnownValues, ParamSlice
from gpusched_dsl.compiling.evaluation.frames import ranges
from gpusched_dsl.ir.arrays import Codes, Floats, Ints, Values
from gpusched_dsl.ir.domains import Component, Domain, TupleDomain, Universe
from gpusched_dsl.language.checked import ParamRef
from gpusched_dsl.online.loops.events import EventLoop
from gpusched_dsl.online.rollouts.formulas import NotOnArrays
from gpusched_dsl.online.simulation.world import FUTURE, TOLERANCE

MOST_ARRIVALS = 1000  # of one future


@dataclass(frozen=True, eq=False)
class DrawnArrivals:
    """Codes of the jobs that are copied, and when the copies arrive."""

    template: Codes
    time: Floats


def draw_arrivals(loop: EventLoop, until: float, seed: int) -> DrawnArrivals:
    """Return the arrivals after now until a time, by a stream of their own; none if none came since the first one."""
    world = loop.world
    past = np.flatnonzero(world.status != FUTURE)
    came = world.arrival[past]
    first = float(came.min(initial=world.now))
    tolerance = TOLERANCE * max(1.0, abs(world.now))
    count = int(np.count_nonzero((came > first + tolerance) & (came < world.now - tolerance)))
    if not count:
        return DrawnArrivals(np.zeros(0, dtype=np.int64), np.zeros(0))
    rng = np.random.default_rng([seed, 0xA5])
    gaps = rng.exponential((world.now - first) / count, MOST_ARRIVALS)
    time = world.now + np.cumsum(gaps)
    time = time[time <= until]
    return DrawnArrivals(past[rng.integers(len(past), size=len(time))], time)


def repeated_arrivals(loop: EventLoop, count: int) -> DrawnArrivals:
    """Return the first jobs that arrived in the run, as if the run began now."""
    world = loop.world
    came = np.flatnonzero(world.status != FUTURE)
    came = came[np.argsort(world.arrival[came], kind="stable")][:count]
    time = world.arrival[came]
    return DrawnArrivals(came, world.now + time - time[0])


def real_arrivals(loop: EventLoop, until: float) -> DrawnArrivals:
    """Return the jobs that really arrive after now until a time: each is its own copy."""
    world = loop.world
    codes = np.flatnonzero((world.status == FUTURE) & np.isfinite(world.arrival) & (world.arrival <= until))
    return DrawnArrivals(codes, world.arrival[codes])


@dataclass(frozen=True, eq=False)
class ViewWithCopies(InstanceView):
    """A part with copies of jobs: the codes of `root` may repeat, in any order. Copies have labels of their own."""

    root: str = ""
    _copies: dict[str, tuple[Codes, Codes]] = field(default_factory=dict)  # places by code, and their codes

    def __post_init__(self, earlier: InstanceView | None) -> None:
        codes = self.kept[self.root]
        others = {root: kept for root, kept in self.kept.items() if root != self.root}
        plain = InstanceView(self.universes, others, earlier=earlier)
        self.small.update(plain.small)
        self._place.update(plain._place)
        universe = self.universes[self.root]
        place = np.argsort(codes, kind="stable")
        self._copies[self.root] = (place, codes[place])
        self.small[self.root] = Universe(self.root, _labels(universe, codes))

    def slice_domain(self, full: Domain) -> Domain:
        """Return the elements of a domain with all components kept, once for every copy of their job."""
        at = [i for i, component in enumerate(full.components) if component is not None and component.name == self.root]
        if not at:
            return super().slice_domain(full)
        if len(at) > 1:
            raise NotOnArrays("a set of the data has pairs of jobs")
        columns = full.columns()
        place, codes = self._copies[self.root]
        first = np.searchsorted(codes, columns[at[0]])
        counts = np.searchsorted(codes, columns[at[0]], side="right") - first
        rows = np.repeat(np.arange(full.size), counts)
        copies = place[np.repeat(first, counts) + ranges(counts)]
        others = [i for i in range(len(columns)) if i != at[0]]
        components = [full.components[i] for i in others]
        inner = dict(zip(others, self.inner_codes(components, [columns[i][rows] for i in others]), strict=True))
        restricted = [inner[i] >= 0 for i in others if self.is_restricted((full.components[i],))]
        kept = np.logical_and.reduce(restricted) if restricted else np.ones(len(rows), dtype=np.bool_)
        order = np.flatnonzero(kept)
        order = order[np.argsort(copies[order], kind="stable")]
        left = tuple(copies[order] if i == at[0] else inner[i][order] for i in range(len(columns)))
        found = TupleDomain(tuple(self.component(c) for c in full.components), left)
        self._rows[id(found)] = (found, full, rows[order])
        return found

    def inner_codes(self, components: Sequence[Component], columns: Sequence[Codes]) -> tuple[Codes, ...]:
        """Convert codes of the full data to codes of the part; jobs have no code of their own. Raises NotOnArrays."""
        if any(component is not None and component.name == self.root for component in components):
            raise NotOnArrays("data name jobs")
        return super().inner_codes(components, columns)


def _labels(universe: Universe, codes: Codes) -> tuple[str | int, ...]:
    """Return the labels of jobs; those of copies are new."""
    original = np.zeros(len(codes), dtype=np.bool_)
    original[np.unique(codes, return_index=True)[1]] = True
    numbers = universe.integer_labels
    after = 0 if numbers is None else int(numbers.max(initial=0)) + 1
    return tuple(
        label if own else after + at if numbers is not None else f"{label} (copy {at})"
        for at, (label, own) in enumerate(zip(universe.label_array[codes].tolist(), original.tolist(), strict=True))
    )


def instance_with_copies(
    loop: EventLoop, part: InstanceView, drawn: DrawnArrivals, fractions: frozenset[str], slopes: Mapping[str, float]
) -> Instance:
    """Return the instance of the present jobs and of copies, which read as they will at their arrival.

    Jobs have the codes of `part`, copies follow. Raises NotOnArrays where data do not allow it, DiagnosticError as
    `build_instance` does.
    """
    base, root = loop.base, loop.jobs_root
    present = part.kept[root]
    codes = np.concatenate((present, drawn.template))
    kept = {**{name: given for name, given in part.kept.items() if name != root}, root: codes}
    view = ViewWithCopies(base.store.universes, kept, root=root)
    plain = base.part({**part.kept, root: np.unique(codes)})
    carried = dict(loop.carrier.carried_values(plain, loop.clock(), loop.past, onto=view))
    waits = np.concatenate((np.zeros(len(present)), drawn.time - loop.world.arrival[drawn.template]))
    came = np.concatenate((np.full(len(present), loop.world.now), loop.world.arrival[drawn.template]))
    for name, values in list(carried.items()):
        if name in fractions:
            carried[name] = KnownValues(_Whole(values, root, len(present)))
        elif name in slopes:
            carried[name] = KnownValues(_AtArrival(values, root, slopes[name] * (came - loop.world.now)))
        else:
            raise NotOnArrays(f"`{name}` is carried, and is neither the work left nor a time")
    arrival = loop.online.arrival
    if arrival is not None and isinstance(arrival.at, ParamRef) and arrival.at.name in base.input_names:
        ready = base.given(arrival.at.name, view)
        assert isinstance(ready, ParamSlice)
        carried[arrival.at.name] = KnownValues(_AtArrival(ready, root, waits))
    return base.instance_of(view, carried)


def _jobs(domain: Domain, root: str) -> Ints | None:
    """The job of each element of a domain, None if it has none."""
    for component, column in zip(domain.components, domain.columns(), strict=True):
        if component is not None and component.name == root:
            return column
    return None


@dataclass(frozen=True, eq=False)
class _Whole:
    """The values of present jobs, and 1 for copies."""

    values: KnownValues
    root: str
    present: int

    def __call__(self, domain: Domain) -> Values:
        jobs, found = _jobs(domain, self.root), self.values.values(domain)
        return found if jobs is None else np.where(jobs < self.present, found, 1.0)


@dataclass(frozen=True, eq=False)
class _AtArrival:
    """Values that change with the clock, as they were when the copied job arrived."""

    values: KnownValues | ParamSlice
    root: str
    change: Floats  # by job

    def __call__(self, domain: Domain) -> Values:
        jobs, found = _jobs(domain, self.root), self.values.values(domain)
        return found if jobs is None else found + self.change[jobs]
