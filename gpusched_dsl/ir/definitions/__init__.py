"""Nonlinear terms of a problem: auxiliary columns defined as functions of affine expressions of earlier columns.

A `Definition` is a block of entries, each `point[result] == f(arguments)`; arguments are rows of one `Affines`. What a
problem means is its rows together with these equations; passes replace them by rows, or a backend takes them as they
are. Definitions stand in an order in which each reads only declared columns and results of those before it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gpusched_dsl.ir.arrays import Floats
    from gpusched_dsl.ir.definitions.affine import Affines
    from gpusched_dsl.ir.definitions.base import Definition, unary_starts
    from gpusched_dsl.ir.definitions.conditions import Conditions
    from gpusched_dsl.ir.definitions.curves import Curves
    from gpusched_dsl.ir.definitions.distinct import Distinct
    from gpusched_dsl.ir.definitions.exponential_perspective import ExponentialPerspective
    from gpusched_dsl.ir.definitions.log_sum_exp import LogSumExp
    from gpusched_dsl.ir.definitions.min_max import MinMax
    from gpusched_dsl.ir.definitions.norm import Norm
    from gpusched_dsl.ir.definitions.partial_expectation import PartialExpectation
    from gpusched_dsl.ir.definitions.piecewise import Piecewise
    from gpusched_dsl.ir.definitions.power import Power
    from gpusched_dsl.ir.definitions.product import Product
    from gpusched_dsl.ir.definitions.quadratic_form import Pairs, QuadraticForm
    from gpusched_dsl.ir.definitions.quadratic_over_linear import QuadraticOverLinear
    from gpusched_dsl.ir.definitions.quotient import IntegerQuotient
    from gpusched_dsl.ir.definitions.reified import Reified, within_steps
    from gpusched_dsl.ir.definitions.relative_entropy import RelativeEntropy
    from gpusched_dsl.ir.definitions.scheduling import Cumulative, IntervalDefinition, NoOverlap
    from gpusched_dsl.ir.definitions.unary import Unary

# The module of each name: loaded at its first use, as linear problems need few of them.
_HOMES = {
    "Affines": "affine",
    "Conditions": "conditions",
    "Cumulative": "scheduling",
    "Curves": "curves",
    "Definition": "base",
    "Distinct": "distinct",
    "ExponentialPerspective": "exponential_perspective",
    "IntegerQuotient": "quotient",
    "IntervalDefinition": "scheduling",
    "LogSumExp": "log_sum_exp",
    "MinMax": "min_max",
    "NoOverlap": "scheduling",
    "Norm": "norm",
    "Pairs": "quadratic_form",
    "PartialExpectation": "partial_expectation",
    "Piecewise": "piecewise",
    "Power": "power",
    "Product": "product",
    "QuadraticForm": "quadratic_form",
    "QuadraticOverLinear": "quadratic_over_linear",
    "Reified": "reified",
    "RelativeEntropy": "relative_entropy",
    "Unary": "unary",
    "unary_starts": "base",
    "within_steps": "reified",
}

__all__ = [
    "Affines",
    "Conditions",
    "Cumulative",
    "Curves",
    "Definition",
    "Distinct",
    "ExponentialPerspective",
    "IntegerQuotient",
    "IntervalDefinition",
    "LogSumExp",
    "MinMax",
    "NoOverlap",
    "Norm",
    "Pairs",
    "PartialExpectation",
    "Piecewise",
    "Power",
    "Product",
    "QuadraticForm",
    "QuadraticOverLinear",
    "Reified",
    "RelativeEntropy",
    "Unary",
    "complete",
    "unary_starts",
    "within_steps",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    return found


def complete(definitions: tuple[Definition, ...], point: Floats, comparison_tolerance: float | None = None) -> Floats:
    """The point with every result column set to the value its definition gives.

    Truth values in the point are accepted if their comparisons hold within `comparison_tolerance` (None: recomputed).
    """
    if not definitions:
        return point
    full = point.copy()
    for definition in definitions:
        values = (
            definition.values(full)
            if comparison_tolerance is None
            else definition.values_with_tolerance(full, comparison_tolerance)
        )
        full[definition.results] = values
    return full
