"""What a solution means in the cluster: the items of the `placement` declaration where its variables are 1."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

from gpusched_dsl.compiling.evaluation.evaluator import Evaluator
from gpusched_dsl.compiling.evaluation.frames import Frame
from gpusched_dsl.compiling.evaluation.limits import MemoryLimits
from gpusched_dsl.compiling.evaluation.store import ValueStore
from gpusched_dsl.ir.problem import Floats
from gpusched_dsl.language.checked import (
    CheckedModel,
    CheckedPlacement,
    CheckedPlacementItem,
    Element,
    Numeric,
    ParamRef,
    TextType,
    TypedExpr,
)
from gpusched_dsl.language.units import DIMENSIONLESS, Unit, convertible, factor
from gpusched_dsl.reporting.tables import label_column

CHOSEN = 0.5  # a binary above this is 1
# Roles for policies and the loop; of these, tables show what follows: how late each job ends.
NOT_SHOWN = ("family", "stock", "node_price", "due", "weight", "postponed", "idle", "late", "node_rate")


@dataclass(frozen=True, eq=False)
class Placement:
    """`table` has a row per chosen element and a column per role (`job`, `node`, `uses`, `of`, `lasts`, `costs`, ...).

    `late` is by how much a job ends after it is `due`, where the placement tells. `cost` is what the row costs
    altogether: `costs` itself, or `costs * lasts` where `costs` is money per time. `units` gives the unit of the
    columns that have one, `codes` the sort keys of label columns by the order of sets.
    """

    table: pl.DataFrame
    units: dict[str, str] = field(default_factory=dict)
    codes: dict[str, np.ndarray[Any, Any]] = field(default_factory=dict)

    def records(self) -> list[dict[str, Any]]:
        """One dictionary per row."""
        return self.table.to_dicts()


def placement_of(
    model: CheckedModel, store: ValueStore, point: Floats, limits: MemoryLimits | None = None
) -> Placement | None:
    """The placement at a point, or None where the model declares none. Raises DiagnosticError as evaluation does."""
    declared = model.placement
    if declared is None:
        return None
    family = store.variables[declared.variable]
    values = point[family.first : family.first + family.domain.size]
    positions = np.flatnonzero(values > CHOSEN)
    columns = [c[positions] for c in family.domain.columns()]
    frame = Frame(len(positions), dict(zip(declared.indices, columns, strict=True)))
    evaluator = Evaluator(model, store, limits or MemoryLimits())
    reader = _Reader(evaluator, frame, store)
    for name, item, expr in _columns(declared):
        reader.read(name, expr, item.unit if expr is item.value else None)
    due = next((i for i in declared.items if i.role == "due"), None)
    if due is not None:
        reader.lateness(due.value)
    reader.total_cost()
    return Placement(pl.DataFrame(reader.series), reader.units, reader.codes)


def _columns(declared: CheckedPlacement) -> Iterator[tuple[str, CheckedPlacementItem, TypedExpr]]:
    """Column names with their expressions: a role's own name, and of several `uses` each with its capacity's."""
    shown = [item for item in declared.items if item.role not in NOT_SHOWN]
    roles = [item.role for item in shown]
    taken: set[str] = set()
    for item in shown:
        several = roles.count(item.role) > 1
        ending = f"_{_capacity_name(item)}" if several else ""
        name = _free(item.role + ending, taken)
        yield name, item, item.value
        if item.of is not None:
            yield _free("of" + ending, taken), item, item.of


def _capacity_name(item: CheckedPlacementItem) -> str:
    return item.of.name if isinstance(item.of, ParamRef) else "part"


def _free(name: str, taken: set[str]) -> str:
    number, chosen = 2, name
    while chosen in taken:
        chosen, number = f"{name}_{number}", number + 1
    taken.add(chosen)
    return chosen


class _Reader:
    """Evaluates items over the chosen rows into columns."""

    def __init__(self, evaluator: Evaluator, frame: Frame, store: ValueStore) -> None:
        self.evaluator, self.frame, self.store = evaluator, frame, store
        self.series: list[pl.Series] = []
        self.units: dict[str, str] = {}
        self.codes: dict[str, np.ndarray[Any, Any]] = {}
        self._numbers: dict[str, tuple[Floats, Unit]] = {}

    def read(self, name: str, expr: TypedExpr, unit: Unit | None) -> None:
        if isinstance(expr.type, Element):
            codes = np.broadcast_to(self.evaluator.codes(expr, self.frame), (self.frame.size,))
            self.codes[name] = codes
            self.series.append(label_column(self.store.universes[expr.type.root], codes, name))
        elif isinstance(expr.type, TextType):
            texts = np.broadcast_to(self.evaluator.values(expr, self.frame), (self.frame.size,))
            self.series.append(pl.Series(name, texts.tolist(), dtype=pl.String))
        else:
            self._number(name, expr, unit)

    def _number(self, name: str, expr: TypedExpr, unit: Unit | None) -> None:
        values = np.broadcast_to(self.evaluator.numbers(expr, self.frame), (self.frame.size,)) + 0.0
        own = expr.type.unit if isinstance(expr.type, Numeric) else DIMENSIONLESS
        if unit is not None and convertible(own, unit):
            values, own = values * float(factor(own, unit)), unit
        if isinstance(expr.type, Numeric) and expr.type.integer and np.array_equal(values, np.rint(values)):
            self.codes[name] = values
            self.series.append(pl.Series(name, values.astype(np.int64)))
        else:
            self.series.append(pl.Series(name, values))
        self._numbers[name] = (values, own)
        if own != DIMENSIONLESS:
            self.units[name] = own.text

    def lateness(self, due: TypedExpr) -> None:
        """The column `late`: by how much `lasts` goes beyond what is left until the job is due, in its unit."""
        own = due.type.unit if isinstance(due.type, Numeric) else DIMENSIONLESS
        if "lasts" not in self._numbers or any(s.name == "late" for s in self.series):
            return
        lasts, unit = self._numbers["lasts"]
        if not convertible(own, unit):
            return
        left = np.broadcast_to(self.evaluator.numbers(due, self.frame), (self.frame.size,)) * float(factor(own, unit))
        self.series.append(pl.Series("late", np.maximum(lasts - left, 0.0)))
        if unit != DIMENSIONLESS:
            self.units["late"] = unit.text

    def total_cost(self) -> None:
        """The column `cost`, where `costs` is money, or money per time and `lasts` says for how long."""
        if "costs" not in self._numbers or any(s.name == "cost" for s in self.series):
            return
        values, unit = self._numbers["costs"]
        if "lasts" in self._numbers and _per_time(unit):
            duration, time = self._numbers["lasts"]
            whole = (unit * time).base  # $/h times min is a sixtieth of a $: in $
            values, unit = values * duration * float(factor(unit * time, whole)), whole
        self.series.append(pl.Series("cost", values))
        if unit != DIMENSIONLESS:
            self.units["cost"] = unit.text


def _per_time(unit: Unit) -> bool:
    return ("time", -1) in unit.dimension
