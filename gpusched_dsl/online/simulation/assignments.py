"""A plan as the world takes it: which job has which place, how fast it is there, and what that costs by time."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass

import numpy as np

from gpusched_dsl.compiling.data.slicing import InstanceView
from gpusched_dsl.compiling.evaluation.evaluator import Evaluator
from gpusched_dsl.compiling.evaluation.frames import Frame
from gpusched_dsl.compiling.evaluation.free_variables import free_variables
from gpusched_dsl.compiling.evaluation.limits import MemoryLimits
from gpusched_dsl.compiling.evaluation.store import ValueStore
from gpusched_dsl.ir.domains import Codes
from gpusched_dsl.language.checked import CheckedPlacementItem, Element, IndexRef, IndexVar, TypedExpr
from gpusched_dsl.language.checked_online import CheckedOnline
from gpusched_dsl.language.units import UNITS, Unit
from gpusched_dsl.policies.roles import Roles, scale
from gpusched_dsl.policies.workload import Floats, Ints


@dataclass(frozen=True, eq=False)
class Allocations:
    """E jobs that run, in codes of the whole run. Times and rates are by the unit of the clock.

    `place` is the node, or the type of node where nodes are counted; `kind` the type of the node (the place itself
    where types are not named). `way` are the index codes of the placement's family but for the slot, one row each.
    `slot` is -1 where decisions have none.
    """

    job: Ints
    place: Ints
    kind: Ints
    slot: Ints
    way: Ints  # (E, indices but for the slot)
    lasts: Floats  # planned time from now to the end (of a slot: its length)
    speed: Floats  # planned work by time; NaN where the block does not state it
    uses: Floats
    rate: Floats  # money by time
    node_price: Floats  # money by time of the whole node

    def take(self, rows: Ints) -> Allocations:
        return Allocations(*(getattr(self, name)[rows] for name in self.__dataclass_fields__))

    def __len__(self) -> int:
        return len(self.job)


class AllocationReader(Roles):
    """Evaluates the roles of a placement for the entries of a plan. Times come out in the unit of the clock."""

    def __init__(self, online: CheckedOnline, store: ValueStore, limits: MemoryLimits, part: InstanceView) -> None:
        super().__init__(online.base, store, limits)
        self.online, self.part = online, part
        self.clock: Unit = UNITS["h"] if online.window is not None else online.unit
        self.hours = scale(self.time, self.clock)  # the clock's unit in one unit of `lasts`

    def on(self, store: ValueStore, part: InstanceView) -> AllocationReader:
        """The same for another plan of the run."""
        found = copy(self)
        found.store, found.part, found.ev = store, part, Evaluator(self.model, store, self.limits)
        return found

    def index_of(self, role: str) -> int | None:
        item = self.items.get(role)
        if item is None or not isinstance(item.value, IndexRef):
            return None
        return self.placement.indices.index(item.value.variable)

    @property
    def components(self) -> tuple[object, ...]:
        return tuple(self.store.component(i.type) for i in self.placement.indices)

    def entries(self, columns: Sequence[Codes]) -> Allocations:
        """The chosen elements of the placement's family, in codes of the part."""
        frame = self._frame(columns)
        components = tuple(self.store.component(i.type) for i in self.placement.indices)
        outer = self.part.outer(components, columns)
        job, node, slot = (self.index_of(r) for r in ("job", "node", "slot"))
        none = np.full(frame.size, -1, dtype=np.int64)
        kind = self._kind(frame, outer)
        place = outer[node] if node is not None else kind if kind is not None else none
        lasts = self._times("lasts", frame, 1.0) * self.hours
        uses = self._quantities("uses")
        return Allocations(
            job=outer[job] if job is not None else none,
            place=place,
            kind=place if kind is None else kind,
            slot=none if slot is None else outer[slot],
            way=np.stack([c for at, c in enumerate(outer) if at != slot], axis=1),
            lasts=lasts,
            speed=self._speed(frame, lasts),
            uses=self._numbers(uses[0].value, frame) if uses else np.ones(frame.size),
            rate=self._rates(frame, lasts / self.hours) / self.hours,
            node_price=self._money("node_price", frame, per_time=True) / self.hours,
        )

    def jobs(self, codes: Codes) -> tuple[Floats, Floats]:
        """Time until due and price of tardiness of jobs (codes of the part), whether they run or not."""
        job = self.index_of("job")
        assert job is not None
        frame = self._job_frame(job, codes)
        due = self._times("due", frame, np.inf) * self.hours
        return due, self._money("weight", frame, per_time=True) / self.hours

    def node_rates(self, columns: Sequence[Codes], rows: Ints, gpus: Ints) -> Floats:
        """Money by time of nodes of which so many GPUs are in use; `rows` are entries, one on each node."""
        [item] = [i for i in self.placement.items if i.role == "node_rate"][:1]
        frame = self._frame(columns).take(rows)
        counting = self._counting(item)
        if counting is not None:
            frame = frame.bind({counting: gpus})
        return self._money("node_rate", frame, per_time=True) / self.hours

    def changes(self, columns: Sequence[Codes]) -> tuple[dict[str, Floats], dict[str, Floats]]:
        """What each kind of change would delay and cost each entry, of those kinds that the block states."""
        delays: dict[str, Floats] = {}
        costs: dict[str, Floats] = {}
        if self.online.changes:
            frame = self._frame(columns)
            ev = Evaluator(self.online.model, self.store, self.limits)
            for name, change in self.online.changes.items():
                for expr, found in ((change.delay, delays), (change.costs, costs)):
                    if expr is not None:
                        found[name] = np.broadcast_to(ev.numbers(expr, frame), (frame.size,)).astype(np.float64)
        return delays, costs

    @property
    def rated(self) -> bool:
        return "node_rate" in self.items

    def _counting(self, item: CheckedPlacementItem) -> IndexVar | None:
        """The index of the placement that stands for the number of GPUs in use."""
        fixed = [self.items[r].value for r in ("job", "node", "node_type") if r in self.items]
        known = [expr.variable for expr in fixed if isinstance(expr, IndexRef)]
        found = [v for v in free_variables(item.value) if v not in known]
        return found[0] if found else None

    def _kind(self, frame: Frame, outer: tuple[Codes, ...]) -> Codes | None:
        item = self.items.get("node_type")
        if item is None or not isinstance(item.value.type, Element):
            return None
        codes = np.broadcast_to(self.ev.codes(item.value, frame), (frame.size,))
        return self.part.outer((self.store.component(item.value.type),), (codes,))[0]

    def _speed(self, frame: Frame, lasts: Floats) -> Floats:
        expr: TypedExpr | None = self.online.speed
        if expr is None:
            return np.full(frame.size, np.nan)
        ev = Evaluator(self.online.model, self.store, self.limits)
        speed = np.array(np.broadcast_to(ev.numbers(expr, frame), (frame.size,)), dtype=np.float64)
        return speed / lasts if self.online.per_entry else speed
