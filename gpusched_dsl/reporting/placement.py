"""The placement of a solution: the `placement` items of variables that are 1."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import Struct, field

from gpusched_dsl.compiling.evaluation.limits import MemoryLimits
from gpusched_dsl.compiling.evaluation.store import ValueStore
from gpusched_dsl.compiling.placement import PlacementEvaluator
from gpusched_dsl.ir.arrays import Codes, Floats, Values
from gpusched_dsl.ir.domains import Universe
from gpusched_dsl.ir.tolerances import CHOSEN
from gpusched_dsl.language.checked import (
    CheckedModel,
    CheckedPlacement,
    CheckedPlacementItem,
    Element,
    Numeric,
    ParamRef,
    Role,
    TextType,
    TypedExpr,
)
from gpusched_dsl.language.checking.conversion import unit_in
from gpusched_dsl.language.units import DIMENSIONLESS, Unit, convertible, factor

if TYPE_CHECKING:
    import polars as pl

    from gpusched_dsl.online.clock_time import RunClock

SLOT_DATE = "slot_date"
# Policies and runs use the other roles. Tables have the lateness of each job instead.
SHOWN: tuple[Role, ...] = (
    "job", "node", "node_type", "rack", "slot", "mode", "place_from_end", "uses", "lasts", "costs",
)  # fmt: skip


class Placement(Struct, frozen=True, eq=False, dict=True):
    """A row per chosen element and a column per role (`job`, `node`, `uses`, `of`, `lasts`, `costs`, ...).

    `columns` has arrays of `rows` numbers, or of objects: text, None where there is none.

    `late` is the time from `due` to the end of a late job, if the placement declares both. `cost` is the total cost of
    the row: `costs` itself, or `costs * lasts` if `costs` is money per time. `units` has the units of columns,
    `codes` the sort keys of label columns in the order of the sets. A gang has a row for each of its nodes: `workers`
    are those on the node, `uses` and `costs` are theirs, and `lasts` is the time of the gang. `clock` counts the slots
    if they have dates: then `slot_date` is the date in ISO 8601 at which `slot` begins.
    """

    columns: dict[str, Values]
    rows: int
    units: dict[str, str] = field(default_factory=dict)
    codes: dict[str, Values] = field(default_factory=dict)
    clock: RunClock | None = None

    @cached_property
    def table(self) -> pl.DataFrame:
        import polars as pl

        return pl.DataFrame(
            [
                pl.Series(name, values.tolist(), dtype=pl.String) if is_text(values) else pl.Series(name, values)
                for name, values in self.columns.items()
            ]
        )

    def records(self) -> list[dict[str, Any]]:
        """Return a dictionary for each row."""
        return self.table.to_dicts()


def is_text(values: Values) -> bool:
    return bool(values.dtype == object)


def placement_of(
    model: CheckedModel, store: ValueStore, point: Floats, limits: MemoryLimits | None = None
) -> Placement | None:
    """Return the placement at a point, None if the model declares none; raise DiagnosticError as evaluation does."""
    declared = model.placement
    if declared is None:
        return None
    family = store.variables[declared.variable]
    values = point[family.first : family.first + family.domain.size]
    positions = np.flatnonzero(values > CHOSEN)
    evaluator = PlacementEvaluator(model, store, limits or MemoryLimits())
    reader = _Reader(evaluator, positions, values[positions] if declared.has_gangs else None)
    clock = None
    if store.calendar is not None:
        from gpusched_dsl.reporting.slot_clock import slot_clock

        clock = slot_clock(model, store, limits)
    for name, item, expr in _columns(declared):
        if item.role == "uses" and expr is item.value:
            reader.add_workers()
        reader.add_column(name, expr, item)
        if name == "slot" and clock is not None:
            reader.add_slot_dates(clock)
    reader.add_workers()
    reader.add_lateness()
    reader.add_cost()
    return Placement(reader.columns, len(positions), reader.units, reader.codes, clock)


def _columns(declared: CheckedPlacement) -> Iterator[tuple[str, CheckedPlacementItem, TypedExpr]]:
    """Yield column names with their items and expressions: the names of roles.

    Several `uses` also have the capacity's name.
    """
    taken: set[str] = set()
    for item in declared.all(*SHOWN):
        several = len(declared.all(item.role)) > 1
        ending = f"_{_capacity_name(item)}" if several else ""
        yield _free_name(item.role + ending, taken), item, item.value
        if item.of is not None:
            yield _free_name("of" + ending, taken), item, item.of


def _capacity_name(item: CheckedPlacementItem) -> str:
    return item.of.name if isinstance(item.of, ParamRef) else "part"


def _free_name(name: str, taken: set[str]) -> str:
    number, candidate = 2, name
    while candidate in taken:
        candidate, number = f"{name}_{number}", number + 1
    taken.add(candidate)
    return candidate


def labels_of(universe: Universe, codes: Codes) -> Values:
    """The labels of codes: integers, or text as objects."""
    found: Values = (universe.label_array if universe.integer_labels is None else universe.integer_labels)[codes]
    return found


class _Reader:
    """Evaluates expressions over the chosen elements into columns; `workers` are the values of elements of gangs."""

    def __init__(self, evaluator: PlacementEvaluator, positions: Codes, workers: Floats | None) -> None:
        self.evaluator, self.declared, self.store = evaluator, evaluator.placement, evaluator.store
        family = self.store.variables[self.declared.variable]
        columns = [c[positions] for c in family.domain.columns()]
        self.frame = evaluator.frame(columns)
        self.workers = None if workers is None else np.rint(workers)
        self._has_workers = False
        self.columns: dict[str, Values] = {}
        self.units: dict[str, str] = {}
        self.codes: dict[str, Values] = {}

    def add_workers(self) -> None:
        """Add the column `workers` of gangs, once."""
        if self.workers is not None and not self._has_workers:
            self._has_workers = True
            self._add("workers", self.workers.astype(np.int64), DIMENSIONLESS)

    def add_column(self, name: str, expr: TypedExpr, item: CheckedPlacementItem) -> None:
        factor = np.ones(self.frame.size)
        if self.workers is not None and expr is item.value:
            if item.role in ("uses", "costs"):
                factor = self.workers
            elif item.role == "lasts":
                self._add(name, self.times("lasts"), unit_in(expr))
                return
        if isinstance(expr.type, Element):
            codes = np.broadcast_to(self.evaluator.ev.codes(expr, self.frame), (self.frame.size,))
            self.codes[name] = codes
            self.columns[name] = labels_of(self.store.universes[expr.type.root], codes)
        elif isinstance(expr.type, TextType):
            texts = np.broadcast_to(self.evaluator.ev.values(expr, self.frame), (self.frame.size,))
            self.columns[name] = np.array(texts.tolist(), dtype=object)
        else:
            self._add_numbers(name, expr, factor)

    def times(self, role: Role) -> Floats:
        """The times of a role, in the unit of `lasts`: `lasts` of a gang is that of its slowest worker."""
        found = self.evaluator.times(role, self.frame, 0.0)
        if self.workers is None or role != "lasts" or not len(found):
            return found
        columns = [self.frame.columns[index] for index in self.declared.indices]
        from gpusched_dsl.compiling.gangs import gang_order

        order = gang_order(self.declared, columns)
        from gpusched_dsl.compiling.gangs import begins_gang

        first = np.flatnonzero(begins_gang(self.declared, [column[order] for column in columns]))
        of_job = np.repeat(np.arange(len(first)), np.diff(np.append(first, len(order))))
        from gpusched_dsl.compiling.gangs import slowdowns

        slow = slowdowns(self.evaluator, self.frame.take(order), first, of_job)
        gang = np.empty(len(found))
        gang[order] = (np.maximum.reduceat(found[order], first) * slow)[of_job]
        return gang

    def _add_numbers(self, name: str, expr: TypedExpr, factor: Floats) -> None:
        values = self.evaluator.ev.number_column(expr, self.frame) * factor + 0.0
        if isinstance(expr.type, Numeric) and expr.type.integer and np.array_equal(values, np.rint(values)):
            self.codes[name] = values
            self._add(name, values.astype(np.int64), unit_in(expr))
        else:
            self._add(name, values, unit_in(expr))

    def _add(self, name: str, values: Values, unit: Unit) -> None:
        self.columns[name] = values
        if unit != DIMENSIONLESS:
            self.units[name] = unit.text

    def add_slot_dates(self, clock: RunClock) -> None:
        """Add the column `slot_date`, and the numbers of the slots as its codes."""
        root = self.declared.root("slot")
        from gpusched_dsl.reporting.slot_clock import slot_numbers

        numbers = slot_numbers(root, self.store, np.asarray(self.codes["slot"], dtype=np.int64))
        self.codes[SLOT_DATE] = numbers
        dates = clock.isos(numbers.astype(np.float64))
        self.columns[SLOT_DATE] = np.array([date or None for date in dates], dtype=object)

    def add_lateness(self) -> None:
        """Add the column `late`: the excess of `lasts` over the time until the job is due, in the unit of `lasts`."""
        lasts, due = self.declared.value("lasts"), self.declared.value("due")
        if lasts is None or due is None or not convertible(unit_in(due), self.evaluator.time):
            return
        late = np.maximum(self.times("lasts") - self.times("due"), 0.0)
        self._add("late", late, self.evaluator.time)

    def add_cost(self) -> None:
        """Add the column `cost` if `costs` is money, or money per time and `lasts` is the duration."""
        costs, lasts = self.declared.value("costs"), self.declared.value("lasts")
        if costs is None:
            return
        values, unit, time = self.evaluator.ev.number_column(costs, self.frame), unit_in(costs), self.evaluator.time
        if self.workers is not None:
            values = values * self.workers
        if lasts is not None and ("time", -1) in unit.dimension:
            base_unit = (unit * time).base  # $/h * min is $/60: convert to $
            duration = self.times("lasts")
            values, unit = values * duration * float(factor(unit * time, base_unit)), base_unit
        self._add("cost", values, unit)
