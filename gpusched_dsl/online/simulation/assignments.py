"""A plan for the world: the place of each job, its speed there, and its cost per time."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass

import numpy as np

from gpusched_dsl.compiling.data.slicing import InstanceView
from gpusched_dsl.compiling.evaluation.evaluator import Evaluator
from gpusched_dsl.compiling.evaluation.frames import Frame
from gpusched_dsl.compiling.evaluation.limits import MemoryLimits
from gpusched_dsl.compiling.evaluation.store import ValueStore
from gpusched_dsl.compiling.gangs import GangRows, gang_rows
from gpusched_dsl.compiling.placement import PlacementEvaluator
from gpusched_dsl.ir.arrays import Codes, Floats, Ints
from gpusched_dsl.language.checked import Element, TypedExpr
from gpusched_dsl.language.checked_online import CheckedOnline
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.language.units import UNITS, Unit, number_factor
from gpusched_dsl.online.simulation.job_parts import JobParts


@dataclass(frozen=True, eq=False)
class Allocations(JobParts):
    """The places that a plan gives to E jobs, in codes of the complete run. Times are in the unit of the clock.

    `place` is the node, or the type of node where nodes are counted; `kind` the type of the node (the place itself
    where types are not named). `way` are the index codes of the placement's family but for the slot, one row each.
    `slot` is -1 where decisions have none. The nodes of a gang have its `way`, without the node, its `lasts` and its
    `speed`; `uses` and `rate` are those of its workers on the node.
    """

    slot: Ints
    way: Ints  # (E, indices but for the slot)
    lasts: Floats  # planned time from now to the end (of a slot: its length)
    speed: Floats  # planned work by time; NaN where the block does not state it
    gangs: bool = False


class AllocationReader(PlacementEvaluator):
    """Evaluates the roles of a placement for the entries of a plan. Times are in the unit of the clock."""

    def __init__(self, online: CheckedOnline, store: ValueStore, limits: MemoryLimits, part: InstanceView) -> None:
        super().__init__(online.base, store, limits)
        self.online, self.part = online, part
        self.clock: Unit = UNITS["h"] if online.window is not None else online.unit
        self.hours = number_factor(self.time, self.clock)  # the clock's unit in one unit of `lasts`

    def for_instance(self, store: ValueStore, part: InstanceView) -> AllocationReader:
        """The same for another plan of the run."""
        found = copy(self)
        found.store, found.part, found.ev = store, part, Evaluator(self.model, store, self.limits)
        return found

    @property
    def components(self) -> tuple[object, ...]:
        return tuple(self.store.component(i.type) for i in self.placement.indices)

    def allocations_of_plan(self, columns: Sequence[Codes], values: Floats) -> Allocations:
        """The elements of the placement's family that a plan by events chooses, by job, with their values.

        Raises DiagnosticError (GSM7011) for a part of a gang, and for a job on several nodes that is none.
        """
        if self.placement.has_gangs:
            return self.allocations_of(columns, gang_rows(self, columns, values))
        at = self.placement.position("job")
        job = columns[at or 0]
        if at is not None and (again := np.flatnonzero(job[1:] == job[:-1])).size:
            raise self._several_places(at, int(job[again[0]]))
        return self.allocations_of(columns)

    def allocations_of(self, columns: Sequence[Codes], gangs: GangRows | None = None) -> Allocations:
        """Elements of the placement's family, in codes of the part; without `gangs` each has all workers of its job."""
        frame = self.frame(columns)
        components = tuple(self.store.component(i.type) for i in self.placement.indices)
        outer = self.part.outer_codes(components, columns)
        at = self.placement.position
        job, node, slot = at("job"), at("node"), at("slot")
        none = np.full(frame.size, -1, dtype=np.int64)
        kind = self._kind(frame, outer)
        place = outer[node] if node is not None else kind if kind is not None else none
        lasts = self.times("lasts", frame, 1.0) * self.hours
        speed, workers = self._speed(frame, lasts), np.ones(frame.size)
        if gangs is not None:
            slowdown = gangs.slowdown[gangs.of_job]
            lasts, speed, workers = gangs.largest(lasts) * slowdown, gangs.smallest(speed) / slowdown, gangs.workers
            outer = tuple(none if position == node else column for position, column in enumerate(outer))
        elif self.placement.has_gangs:
            workers = self.gang_workers(frame).astype(np.float64)
        uses = self.placement.value("uses")
        return Allocations(
            job=outer[job] if job is not None else none,
            place=place,
            kind=place if kind is None else kind,
            slot=none if slot is None else outer[slot],
            way=np.stack([c for position, c in enumerate(outer) if position != slot], axis=1),
            lasts=lasts,
            speed=speed,
            uses=workers * (np.ones(frame.size) if uses is None else self.ev.number_column(uses, frame)),
            rate=workers * self.rates(frame, lasts / self.hours) / self.hours,
            node_price=self.money_of("node_price", frame, per_time=True) / self.hours,
            gangs=gangs is not None,
        )

    def _several_places(self, at: int, code: int) -> DiagnosticError:
        component = self.store.component(self.placement.indices[at].type)
        job = code if component is None else component.labels[code]
        message = f"the plan runs the job `{job}` in several places at once"
        help = (
            "add `workers NUMBER;` to the placement if jobs are gangs, or let the model choose one place for each job"
        )
        return DiagnosticError([Diagnostic("GSM7011", message, self.placement.span, help=help)])

    def due_and_weight(self, codes: Codes) -> tuple[Floats, Floats]:
        """Time until due and price of tardiness of jobs (codes of the part), whether they run or not."""
        job = self.placement.index("job")
        assert job is not None
        frame = Frame(len(codes), {job: codes})
        due = self.times("due", frame, np.inf) * self.hours
        return due, self.money_of("weight", frame, per_time=True) / self.hours

    def node_rates(self, columns: Sequence[Codes], rows: Ints, gpus: Ints) -> Floats:
        """Return money per time of nodes by their number of used GPUs; `rows` are entries, one on each node."""
        item = self.placement.item("node_rate")
        assert item is not None
        frame = self.frame(columns).take(rows)
        frame = frame.bind(dict.fromkeys(self.counting_indices(item)[:1], gpus))
        return self.money_of("node_rate", frame, per_time=True) / self.hours

    def changes(self, columns: Sequence[Codes]) -> tuple[dict[str, Floats], dict[str, Floats]]:
        """Return the delay and cost of each kind of change for each entry, for the kinds in the block."""
        delays: dict[str, Floats] = {}
        costs: dict[str, Floats] = {}
        if self.online.changes:
            frame = self.frame(columns)
            ev = Evaluator(self.online.model, self.store, self.limits)
            for name, change in self.online.changes.items():
                for expr, found in ((change.delay, delays), (change.costs, costs)):
                    if expr is not None:
                        found[name] = ev.number_column(expr, frame)
        return delays, costs

    @property
    def has_node_rates(self) -> bool:
        return self.placement.item("node_rate") is not None

    def _kind(self, frame: Frame, outer: tuple[Codes, ...]) -> Codes | None:
        value = self.placement.value("node_type")
        if value is None or not isinstance(value.type, Element):
            return None
        codes = np.broadcast_to(self.ev.codes(value, frame), (frame.size,))
        return self.part.outer_codes((self.store.component(value.type),), (codes,))[0]

    def _speed(self, frame: Frame, lasts: Floats) -> Floats:
        expr: TypedExpr | None = self.online.speed
        if expr is None:
            return np.full(frame.size, np.nan)
        ev = Evaluator(self.online.model, self.store, self.limits)
        speed = ev.number_column(expr, frame)
        return speed / lasts if self.online.per_entry else speed
