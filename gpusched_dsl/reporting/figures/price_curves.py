"""Prices over the slots of a model: parameters in money per something, indexed by the slots."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from gpusched_dsl.ir.arrays import Floats
from gpusched_dsl.language.checked import Element, Numeric
from gpusched_dsl.language.units import CURRENCIES, Unit
from gpusched_dsl.reporting.figures.curves_figure import Curve, CurvesFigure
from gpusched_dsl.reporting.figures.figure import TimeAxis, compact

if TYPE_CHECKING:
    from gpusched_dsl.compiling.evaluation.store import Param, ValueStore
    from gpusched_dsl.language.checked import CheckedModel, CheckedParam

MOST_PARAMETERS = 3
MOST_CURVES = 6  # of one parameter
MOST_SLOTS = 4000


@dataclass(frozen=True, eq=False)
class PriceCurve:
    """The price `values[i]` from `times[i]` to `times[i + 1]`; `name` is its parameter, `label` its other indices."""

    name: str
    label: str
    unit: str
    times: Floats
    values: Floats

    def document(self) -> dict[str, Any]:
        name = f"{self.name}, {self.label}" if self.label else self.name
        return {"name": name, "unit": self.unit, "times": compact(self.times), "values": compact(self.values)}


def price_curves(
    model: CheckedModel, store: ValueStore, slot_length: float = 1.0, first: float = 0.0
) -> list[PriceCurve]:
    """Return the curves of the parameters that are prices of slots; empty if the placement has no slots.

    A slot has a length on the axis, and the first one starts at `first`.
    """
    root = model.placement.root("slot") if model.placement is not None else ""
    if not root:
        return []
    found: list[PriceCurve] = []
    names: set[str] = set()
    for name, declared in model.params.items():
        param = store.params.get(name)
        if param is None or not isinstance(declared.type, Numeric) or not _is_price(declared.type.unit):
            continue
        if declared.value is not None or len(names) == MOST_PARAMETERS:  # derived parameters repeat the others
            continue
        curves = list(_curves(name, declared, param, root, slot_length, first))
        if curves:
            names.add(name)
            found += curves
    return found


def price_figures(curves: Sequence[PriceCurve], axis: TimeAxis) -> list[CurvesFigure]:
    """Return a figure for each parameter."""
    names = dict.fromkeys((curve.name, curve.unit) for curve in curves)
    return [
        CurvesFigure(
            title=f"Price: {name} [{unit}]",
            axis=axis,
            unit=unit,
            curves=[Curve(c.label or name, c.times, c.values, steps=True) for c in curves if c.name == name],
        )
        for name, unit in names
    ]


def _is_price(unit: Unit) -> bool:
    """Whether a unit is money per something."""
    dimension = dict(unit.dimension)
    return any(dimension.get(name) == 1 for name in CURRENCIES) and any(e < 0 for e in dimension.values())


def _curves(
    name: str, declared: CheckedParam, param: Param, root: str, length: float, first: float
) -> Iterator[PriceCurve]:
    """Yield the curves of the first combinations of the other indices."""
    assert isinstance(declared.type, Numeric)
    types = [variable.type for variable in declared.indexing.variables]
    places = [at for at, type_ in enumerate(types) if isinstance(type_, Element) and type_.root == root]
    if len(places) != 1 or not 2 <= param.domain.size <= MOST_SLOTS * MOST_CURVES:
        return
    columns = param.domain.columns()
    slot, values = columns[places[0]], param.values.astype(np.float64)
    others = [column for at, column in enumerate(columns) if at != places[0]]
    group = np.zeros(len(slot), dtype=np.int64)
    if others:
        _, group = np.unique(np.stack(others, axis=1), axis=0, return_inverse=True)
        group = group.reshape(-1)
    labels = param.domain.label_columns() if others else []
    for number in range(min(int(group.max()) + 1, MOST_CURVES)):
        own = np.flatnonzero(group == number)
        own = own[np.argsort(slot[own], kind="stable")]
        if not np.isfinite(values[own]).all():
            continue
        texts = [str(column[int(own[0])]) for at, column in enumerate(labels) if at != places[0]]
        times = first + np.append(slot[own], slot[own[-1]] + 1) * length
        yield PriceCurve(
            name, ", ".join(texts), declared.type.unit.text, times, np.append(values[own], values[own[-1]])
        )
