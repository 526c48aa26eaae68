"""The real values of parameters whose expected values the plans of a run read.

Two lines say that plans expect `tariff` and that the real value is `actual`, if a charge of the block reads `actual`:

    param actual[h in Slots] in $/MWh default tariff[h];                                             (in the model)
    carry tariff[h] = if h <= committed then actual[h] else forecast[h];                             (in the block)
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gpusched_dsl.compiling.build import read_data
from gpusched_dsl.data.chunks import DataChunk
from gpusched_dsl.data.sources.python_values import pieces_of
from gpusched_dsl.ir.arrays import Floats
from gpusched_dsl.language.checked import CheckedParam, IndexRef, Numeric, ParamRef
from gpusched_dsl.language.checked_online import CheckedOnline
from gpusched_dsl.language.checking.walk import Part
from gpusched_dsl.language.units import convertible, number_factor
from gpusched_dsl.language.workspace import Workspace
from gpusched_dsl.online.data.base import Base
from gpusched_dsl.online.data.carry import names_read
from gpusched_dsl.online.run_config import RunConfig


def with_real_values(workspace: Workspace, config: RunConfig, online: CheckedOnline, base: Base) -> Base:
    """Return the data of a run with real values in place of expected ones; the same object if these are equal."""
    real = real_values(online, base)
    if not real:
        return base
    replaced = {**(config.replaced or {}), **real}
    instance = read_data(workspace, base.instance.scenario, permissions=config.permissions, replaced=replaced)
    return Base(instance, base.limits)


def real_values(online: CheckedOnline, base: Base) -> dict[str, Sequence[DataChunk]]:
    """Return the real values of parameters with other expected values, as data in their place."""
    return {
        expected: _values_as(base, expected, actual)
        for expected, actual in expected_values(online).items()
        if not np.array_equal(_in_unit_of(base, expected, actual), base.store.params[expected].values)
    }


def expected_values(online: CheckedOnline) -> dict[str, str]:
    """Return the parameters with expected values, each with the parameter of the real ones.

    A parameter that has several is left out.
    """
    params = online.base.params
    charged = _params_read([charge.value for charge in online.charges], online)
    pairs = {(expected, name) for name in charged if (expected := _name_of_default(params[name])) is not None}
    for carry in online.carries:
        known = charged & _params_read([carry.value], online)
        pairs |= {(carry.target, name) for name in known if _are_alike(params[carry.target], params[name])}
    found: dict[str, list[str]] = {}
    for expected, actual in sorted(pairs):
        if params[expected].value is None and isinstance(params[expected].type, Numeric):
            found.setdefault(expected, []).append(actual)
    return {expected: names[0] for expected, names in found.items() if len(names) == 1 and names[0] != expected}


def _params_read(values: Sequence[Part], online: CheckedOnline) -> frozenset[str]:
    """Return the parameters of the model that expressions read."""
    return names_read(values, online, ParamRef) & online.base.params.keys()


def _are_alike(expected: CheckedParam, actual: CheckedParam) -> bool:
    """Whether two parameters have the same indices, and units of one dimension."""
    if not (isinstance(expected.type, Numeric) and isinstance(actual.type, Numeric)):
        return False
    types = [[variable.type for variable in declared.indexing.variables] for declared in (expected, actual)]
    return bool(types[0]) and types[0] == types[1] and convertible(expected.type.unit, actual.type.unit)


def _name_of_default(declared: CheckedParam) -> str | None:
    """Return the parameter whose values at the same indices are the default, None for other defaults."""
    default = declared.default
    if not isinstance(default, ParamRef):
        return None
    read = [each.variable if isinstance(each, IndexRef) else None for each in default.subscripts]
    return default.name if read == list(declared.indexing.variables) else None


def _values_as(base: Base, expected: str, actual: str) -> Sequence[DataChunk]:
    """Return the values of a parameter as data of another one."""
    values = _in_unit_of(base, expected, actual)
    labels = base.store.params[actual].domain.label_columns()
    if not labels:
        return pieces_of(base.model, expected, float(values.reshape(-1)[0]))
    keys = labels[0] if len(labels) == 1 else list(zip(*labels, strict=True))
    return pieces_of(base.model, expected, dict(zip(keys, values.tolist(), strict=True)))


def _in_unit_of(base: Base, expected: str, actual: str) -> Floats:
    given, wanted = base.model.params[actual].type, base.model.params[expected].type
    assert isinstance(given, Numeric)
    assert isinstance(wanted, Numeric)
    return base.store.params[actual].values * number_factor(given.unit, wanted.unit)
