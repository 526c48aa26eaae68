"""Curves of prices over the slots of a model: parameters in money per something, indexed by the slots."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from gpusched_dsl.language.checked import Element, Numeric
from gpusched_dsl.language.units import CURRENCIES, Unit
from gpusched_dsl.reporting.pages.charts import COLOURS, Chart, ChartAxis, Curve, chart, corners

if TYPE_CHECKING:
    from gpusched_dsl.compiling.evaluation.store import Param, ValueStore
    from gpusched_dsl.language.checked import CheckedModel, CheckedParam

MOST_CHARTS = 3
MOST_SLOTS = 4000


def price_charts(
    model: CheckedModel, store: ValueStore, axis: ChartAxis, unit: str, slot_length: float = 1.0, first: float = 0.0
) -> list[Chart]:
    """Return a chart per parameter that is a price of each slot; empty if the placement has no slots.

    A slot has a length on the axis, and the first one starts at `first`.
    """
    root = model.placement.root("slot") if model.placement is not None else ""
    if not root:
        return []
    charts = []
    for name, declared in model.params.items():
        param = store.params.get(name)
        if param is None or not isinstance(declared.type, Numeric) or not _is_price(declared.type.unit):
            continue
        if declared.value is not None:  # it follows from other parameters
            continue
        curves = list(_curves(declared, param, root, slot_length, first))
        if curves:
            charts.append(chart(f"Price: {name} [{declared.type.unit}]", axis, unit, curves))
    return charts[:MOST_CHARTS]


def _is_price(unit: Unit) -> bool:
    """Whether a unit is money per something."""
    dimension = dict(unit.dimension)
    return any(dimension.get(name) == 1 for name in CURRENCIES) and any(e < 0 for e in dimension.values())


def _curves(declared: CheckedParam, param: Param, root: str, length: float, first: float) -> Iterator[Curve]:
    """Yield the curve of each combination of the other indices, of the first of them."""
    types = [variable.type for variable in declared.indexing.variables]
    places = [at for at, type_ in enumerate(types) if isinstance(type_, Element) and type_.root == root]
    if len(places) != 1 or not 2 <= param.domain.size <= MOST_SLOTS * len(COLOURS):
        return
    columns = param.domain.columns()
    slot, values = columns[places[0]], param.values.astype(np.float64)
    others = [column for at, column in enumerate(columns) if at != places[0]]
    group = np.zeros(len(slot), dtype=np.int64)
    if others:
        _, group = np.unique(np.stack(others, axis=1), axis=0, return_inverse=True)
        group = group.reshape(-1)
    labels = param.domain.label_columns() if others else []
    for number in range(min(int(group.max()) + 1, len(COLOURS))):
        own = np.flatnonzero(group == number)
        own = own[np.argsort(slot[own], kind="stable")]
        if not np.isfinite(values[own]).all():
            continue
        texts = [str(column[int(own[0])]) for at, column in enumerate(labels) if at != places[0]]
        edges = first + np.append(slot[own], slot[own[-1]] + 1) * length
        yield ", ".join(texts) or "price", COLOURS[number], *corners(edges, np.append(values[own], values[own[-1]]))
