"""The unit of money of a model and of a run; a rate in `$/h` and an amount in `$` have the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusched_dsl.language.checked import CheckedModel, Numeric, Role
from gpusched_dsl.language.units import DIMENSIONLESS, UNITS, Unit, convertible, has_dimension

if TYPE_CHECKING:
    from gpusched_dsl.language.checked_online import CheckedOnline


MONEY_ROLES: tuple[Role, ...] = ("costs", "node_price", "node_rate", "weight", "late", "postponed", "idle")


def is_rate(unit: Unit) -> bool:
    """Whether a unit is an amount per time, such as `$/h` or `kW`."""
    return dict(unit.dimension).get("time", 0) < 0


def money_unit(model: CheckedModel) -> Unit:
    """Return the unit of amounts of money: of the objective, or of an objective per time over that time.

    If the placement states money of another dimension, as under an objective in `h`, it is the first of the placement.
    """
    own = _amount(next((objective.unit for objective in model.objectives), DIMENSIONLESS))
    stated = [unit for unit in _stated_money(model) if not unit.is_dimensionless]
    return own if not stated or convertible(own, stated[0]) else stated[0].base


def run_money(online: CheckedOnline) -> Unit:
    """Return the unit of the total of a run: of the model or, if only the charges of the block are money, of these."""
    unit = money_unit(online.base)
    changes = [change for change in online.changes.values() if change.costs is not None]
    if has_dimension(unit, money=1) or _stated_money(online.base) or changes:
        return unit
    charges = (charged_amount(online, charge.unit) for charge in online.charges)
    return next((each.base for each in charges if has_dimension(each, money=1)), unit)


def charged_amount(online: CheckedOnline, unit: Unit) -> Unit:
    """Return the unit of the sum of a stated charge: by events charges are rates, per time of the clock."""
    return unit if online.window is not None else unit * online.unit


def costs_are_amounts(costs: Unit) -> bool:
    """Whether `costs` of a placement is an amount of money; a rate, or a number without a unit, is money per time."""
    return not is_rate(costs) and not costs.is_dimensionless


def _stated_money(model: CheckedModel) -> list[Unit]:
    """Return the units of the amounts of money that the placement states, itself or per time."""
    items = () if model.placement is None else model.placement.all(*MONEY_ROLES)
    return [_amount(item.value.type.unit) for item in items if isinstance(item.value.type, Numeric)]


def _amount(unit: Unit) -> Unit:
    return unit * _time_below(unit) if is_rate(unit) else unit


def _time_below(unit: Unit) -> Unit:
    """Return the time by which a unit is divided: `min` of `$/min`; an hour if it has none, as `kW`."""
    below = (UNITS[symbol] for symbol, exponent in unit.factors if exponent < 0 and symbol in UNITS)
    return next((each for each in below if convertible(each, UNITS["s"])), UNITS["h"])
