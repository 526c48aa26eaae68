"""Plans as plain data and back: labels instead of codes, so that a journal can be read and trusted by itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from gpusched_dsl.compiling.lowering.fixing import VariableValues
from gpusched_dsl.ir.domains import Component, Universe, decode_column
from gpusched_dsl.language.checked import Element, ValueType
from gpusched_dsl.policies.plan import Plan

Data = dict[str, Any]


def plan_data(plan: Plan, types: Mapping[str, tuple[ValueType, ...]], universes: Mapping[str, Universe]) -> Data:
    """Return a plan (codes of `universes`) as lists of labels and values, with the data of its method."""
    return {
        "method": plan.method,
        "status": plan.status,
        "seconds": plan.seconds,
        "objective": plan.objective,
        "bound": plan.bound,
        "values": {name: columns_of(given, types[name], universes) for name, given in plan.values.items()},
        "again": None if plan.again is None else columns_of(plan.again, types[""], universes),
        "remembered": {name: columns_of(g, types[""], universes) for name, g in plan.remembered.items()},
        "notes": list(plan.notes),
    }


def plan_from(data: Data, types: Mapping[str, tuple[ValueType, ...]], universes: Mapping[str, Universe]) -> Plan:
    """Return the plan of such data. Raises KeyError or ValueError if it does not fit the universes."""
    again = data["again"]
    return Plan(
        values={name: values_from(given, types[name], universes) for name, given in data["values"].items()},
        method=data["method"],
        status=data["status"],
        seconds=data["seconds"],
        objective=data["objective"],
        bound=data["bound"],
        again=None if again is None else values_from(again, types[""], universes),
        remembered={name: values_from(g, types[""], universes) for name, g in data["remembered"].items()},
        notes=tuple(data["notes"]),
    )


def columns_of(
    given: VariableValues, types: tuple[ValueType, ...], universes: Mapping[str, Universe]
) -> list[list[Any]]:
    """A column of labels for each index, and one of values."""
    columns: list[list[Any]] = [
        decode_column(_component(kind, universes), codes) for kind, codes in zip(types, given.codes, strict=True)
    ]
    return [*columns, given.values.tolist()]


def values_from(
    data: list[list[Any]], types: tuple[ValueType, ...], universes: Mapping[str, Universe]
) -> VariableValues:
    codes = []
    for kind, labels in zip(types, data, strict=False):
        component = _component(kind, universes)
        known = labels if component is None else [component.code_of[label] for label in labels]
        codes.append(np.array(known, dtype=np.int64))
    return VariableValues(tuple(codes), np.array(data[-1], dtype=np.float64))


def _component(kind: ValueType, universes: Mapping[str, Universe]) -> Component:
    return universes[kind.root] if isinstance(kind, Element) else None
