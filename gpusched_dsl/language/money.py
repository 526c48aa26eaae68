"""The unit of money of a model, from the unit of its objective: a rate in `$/h` and an amount in `$` have the same."""

from __future__ import annotations

from gpusched_dsl.language.checked import CheckedModel
from gpusched_dsl.language.units import DIMENSIONLESS, UNITS, Unit, convertible


def objective_unit(model: CheckedModel) -> Unit:
    """Return the unit of the first objective."""
    return next((objective.unit for objective in model.objectives), DIMENSIONLESS)


def is_rate(unit: Unit) -> bool:
    """Whether a unit is an amount per time, such as `$/h` or `kW`."""
    return dict(unit.dimension).get("time", 0) < 0


def money_unit(model: CheckedModel) -> Unit:
    """Return the unit of amounts of money: of the objective, or of an objective per time over that time."""
    unit = objective_unit(model)
    return unit * _time_below(unit) if is_rate(unit) else unit


def costs_are_amounts(costs: Unit, money: Unit) -> bool:
    """Whether `costs` of a placement is an amount of money; in another dimension it is money per time."""
    return convertible(costs, money) and costs != DIMENSIONLESS


def _time_below(unit: Unit) -> Unit:
    """Return the time by which a unit is divided: `min` of `$/min`; an hour if it has none, as `kW`."""
    below = (UNITS[symbol] for symbol, exponent in unit.factors if exponent < 0 and symbol in UNITS)
    return next((each for each in below if convertible(each, UNITS["s"])), UNITS["h"])
