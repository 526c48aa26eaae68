"""Convex halves of definitions as CVXPY constraints, all entries of a kind at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cvxpy as cp
import numpy as np
import scipy.sparse as sp

from gpusched_dsl.compiling.convexity.polynomials import Polynomials
from gpusched_dsl.compiling.convexity.semidefinite import square_roots
from gpusched_dsl.ir.arrays import Codes
from gpusched_dsl.ir.definitions import (
    Definition,
    ExponentialPerspective,
    LogSumExp,
    Norm,
    Power,
    QuadraticForm,
    QuadraticOverLinear,
    RelativeEntropy,
    Unary,
)
from gsdsl_backends.cvxpy.halves import Halves

# Powers with these denominators and sizes are stated by second-order cones exactly; others need power cones.
DENOMINATOR, LARGEST_POWER = 16, 16.0

_FUNCTIONS: dict[str, Any] = {"exp": cp.exp, "log": cp.log}

Cones = Callable[[Any, cp.Expression, cp.Expression], list[cp.Constraint]]


def halves_constraints(halves: Halves, x: cp.Variable, arguments: cp.Expression) -> list[cp.Constraint]:
    """`result >= f` and `result <= f` for the entries that need them."""
    definition = halves.definition
    cones = _CONES.get(type(definition))
    if cones is not None:
        return cones(definition, x[definition.results], arguments)
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


# --- convex functions of several arguments: `t >= f(arguments)` ------------------------------------------------------


def _norms(definition: Norm, t: cp.Expression, arguments: cp.Expression) -> list[cp.Constraint]:
    """`|a| <= t`, a second-order cone for each entry, those of one size together."""
    return [
        cp.SOC(t[entries], _columns(arguments, definition.starts[entries], size))
        for size, entries in _by_size(np.diff(definition.starts))
    ]


def _over_linear(definition: QuadraticOverLinear, t: cp.Expression, arguments: cp.Expression) -> list[cp.Constraint]:
    """`|a|^2 <= d t` as `|(2 a, d - t)| <= d + t`."""
    made = []
    for size, entries in _by_size(np.diff(definition.starts) - 1):
        above = _columns(arguments, definition.starts[entries], size)
        made.append(_rotated_cone(above, arguments[definition.last[entries]], t[entries]))
    return made


def _forms(definition: QuadraticForm, t: cp.Expression, arguments: cp.Expression) -> list[cp.Constraint]:
    """`x' Q x <= t` with the square roots of Q, as in `_over_linear` with the denominator 1."""
    one, other = definition.pair_places
    count = definition.size
    polynomials = Polynomials.of(count, definition.pair_entry, one, other, definition.pairs.coefficients)
    of, roots = square_roots(polynomials)
    rows = sp.csr_array((roots.values, (roots.rows, roots.second)), shape=(roots.count, arguments.shape[0]))
    squared = rows @ arguments
    starts = np.searchsorted(of, np.arange(count + 1))
    made = []
    for size, entries in _by_size(np.diff(starts)):
        made.append(_rotated_cone(_columns(squared, starts[entries], size), np.ones(len(entries)), t[entries]))
    return made


def _rotated_cone(above: cp.Expression, below: Any, t: cp.Expression) -> cp.Constraint:
    rest = cp.reshape(below - t, (1, t.shape[0]), order="C")
    return cp.SOC(below + t, cp.vstack([2 * above, rest]))


def _entropies(definition: RelativeEntropy, t: cp.Expression, arguments: cp.Expression) -> list[cp.Constraint]:
    """`x log(x / y) <= t` as `x exp(-t / x) <= y`."""
    places = 2 * np.arange(definition.size)
    return [cp.ExpCone(-t, arguments[places], arguments[places + 1])]


def _perspectives(
    definition: ExponentialPerspective, t: cp.Expression, arguments: cp.Expression
) -> list[cp.Constraint]:
    """`y exp(x / y) <= t`."""
    places = 2 * np.arange(definition.size)
    return [cp.ExpCone(arguments[places], arguments[places + 1], t)]


def _logs_of_sums(definition: LogSumExp, t: cp.Expression, arguments: cp.Expression) -> list[cp.Constraint]:
    """`exp(a_k - t) <= u_k` with `sum u_k <= 1`."""
    count = arguments.shape[0]
    shares = cp.Variable(count)
    sums = sp.csr_array((np.ones(count), (definition.entry_of, np.arange(count))), shape=(definition.size, count))
    return [
        cp.ExpCone(arguments - t[definition.entry_of], np.ones(count), shares),
        sums @ shares <= np.ones(definition.size),
    ]


_CONES: dict[type[Definition], Cones] = {
    Norm: _norms,
    QuadraticOverLinear: _over_linear,
    QuadraticForm: _forms,
    RelativeEntropy: _entropies,
    ExponentialPerspective: _perspectives,
    LogSumExp: _logs_of_sums,
}

# The operations `halves_constraints` understands, named as in `Target`.
TAKEN = frozenset({"power", "exp", "log", *(kind.op for kind in _CONES)})


def _by_size(sizes: Codes) -> list[tuple[int, Codes]]:
    """The sizes that occur, and the entries of each."""
    return [(int(size), np.flatnonzero(sizes == size)) for size in np.unique(sizes)]


def _columns(values: cp.Expression, starts: Codes, size: int) -> cp.Expression:
    """A matrix with a column for each start: `size` values from there on."""
    places = (starts[None, :] + np.arange(size)[:, None]).reshape(-1)
    return cp.reshape(values[places], (size, len(starts)), order="C")
