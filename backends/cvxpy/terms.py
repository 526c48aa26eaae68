"""Convex halves of definitions as CVXPY constraints, all entries of a kind at once."""

from __future__ import annotations

from typing import Any

import cvxpy as cp
import numpy as np

from gpusched_dsl.backends.cvxpy.halves import Halves
from gpusched_dsl.ir.definitions import Power, Unary

# The operations `halves_constraints` understands, named as in `Target`.
TAKEN = frozenset({"power", "exp", "log"})

# Powers with these denominators and sizes are stated by second-order cones exactly; others need power cones.
DENOMINATOR, LARGEST_POWER = 16, 16.0

_FUNCTIONS: dict[str, Any] = {"exp": cp.exp, "log": cp.log}


def halves_constraints(halves: Halves, x: cp.Variable, arguments: cp.Expression) -> list[cp.Constraint]:
    """`result >= f` and `result <= f` for the entries that need them."""
    definition = halves.definition
    if isinstance(definition, Unary):
        entries = np.arange(definition.size)
        return _constraints_of(halves, x, _FUNCTIONS[definition.function](arguments), entries)
    assert isinstance(definition, Power)
    made = []
    # One atom for all entries with the same exponent and side of 0.
    kinds, kind_of = np.unique(
        np.stack((definition.exponents, halves.negative.astype(np.float64))), axis=1, return_inverse=True
    )
    for number, (exponent, negative) in enumerate(kinds.T.tolist()):
        entries = np.flatnonzero(kind_of.reshape(-1) == number)
        made += _constraints_of(halves, x, _power(arguments[entries], exponent, bool(negative)), entries)
    return made


def _power(arguments: cp.Expression, exponent: float, negative: bool) -> cp.Expression:
    """Return the power; for negative arguments, that of the negated argument with its sign."""
    if exponent in (0.0, 1.0):
        return arguments if exponent else cp.Constant(np.ones(arguments.shape))
    is_integer = exponent.is_integer()
    exact = (exponent * DENOMINATOR).is_integer() and abs(exponent) <= LARGEST_POWER
    opposite = negative and is_integer and not (exponent > 0 and exponent % 2 == 0)
    atom = cp.power(-arguments if opposite else arguments, int(exponent) if is_integer else exponent, approx=exact)
    return -atom if opposite and exponent % 2 else atom


def _constraints_of(halves: Halves, x: cp.Variable, values: cp.Expression, entries: Any) -> list[cp.Constraint]:
    results = halves.definition.results[entries]
    made = []
    above, below = np.flatnonzero(halves.above[entries]), np.flatnonzero(halves.below[entries])
    if len(above):
        made.append(x[results[above]] >= values[above])
    if len(below):
        made.append(x[results[below]] <= values[below])
    return made
