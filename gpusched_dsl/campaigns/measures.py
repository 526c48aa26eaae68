"""The numbers of a result that a campaign stores: all scalars by name, with their units."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from gpusched_dsl.campaigns.tasks import Number
from gpusched_dsl.language.blocks.campaigns.measures import COST
from gpusched_dsl.language.checked import Numeric

if TYPE_CHECKING:
    from gpusched_dsl.reporting.result import Result
    from gpusched_dsl.reporting.runs.result import RunResult

Measures = tuple[dict[str, Number], dict[str, str]]


def measures_of_solve(result: Result) -> Measures:
    """Return objectives, their terms, scalar lets and reports, and times; empty but for times without a solution."""
    found: dict[str, Number] = {}
    units: dict[str, str] = {}
    for objective in result.objectives:
        own = {objective.name or "objective": objective.value}
        own |= {term.name: term.value for term in objective.terms if term.name is not None}
        found |= {name: _finite(value) for name, value in own.items()}
        units |= {name: objective.unit for name in own if objective.unit != "1"}
    model = result.provenance.model
    if model is not None and result.has_point:
        for name, let in {**model.lets, **model.reports}.items():
            if not let.indexing.iterators and isinstance(let.type, Numeric):
                found[name] = _finite(result.value(name))
                if let.type.unit.text != "1":
                    units[name] = let.type.unit.text
    times = {"build_seconds": result.build_seconds, "solve_seconds": result.solve_seconds}
    found |= {name: round(seconds, 6) for name, seconds in times.items()}
    return found, units | dict.fromkeys(times, "s")


def measures_of_run(result: RunResult) -> Measures:
    """Return all metrics of a run, its costs by term (`cost_execution`), and charges that are not money."""
    found = {name: _finite(value) for name, value in result.metrics.items()}
    units = {name: unit for name in found if (unit := result.unit_of(name))}
    for name, cost in result.costs.items():
        found[COST + name] = _finite(cost)
        units[COST + name] = result.money
    for name, amount in result.quantities.items():
        found.setdefault(name, _finite(amount))
        units.setdefault(name, result.outcome.quantities[name])
    return found, {name: unit for name, unit in units.items() if unit}


def _finite(value: Number) -> Number:
    """Return a number for JSON: None for NaN and infinite ones."""
    if value is None or isinstance(value, int):
        return None if value is None else int(value)
    return float(value) if math.isfinite(value) else None
