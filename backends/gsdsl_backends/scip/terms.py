"""Nonlinear definitions as SCIP constraints: `result - f(arguments)`, constrained on the needed sides.

PySCIPOpt takes nonlinear constraints one by one (measured: 36 microseconds a product; reading the same from a CIP file
takes longer, and time that grows with the square of their number). Where the problem gains only from a small result,
`result >= f` says enough, which leaves SCIP a convex constraint where f is convex.

Convex functions of several arguments are stated so that SCIP sees that they are: it knows cones of squares and sums of
exponentials, but no curvature of quotients and of logarithms of sums.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import pyscipopt
from pyscipopt.scip import buildGenExprObj, quicksum

from gpusched_dsl.compiling.passes.steps import CONVEX_FORMS, Analysis
from gpusched_dsl.ir.definitions import (
    Affines,
    Definition,
    ExponentialPerspective,
    LogSumExp,
    Norm,
    Power,
    Product,
    QuadraticForm,
    QuadraticOverLinear,
    RelativeEntropy,
    Unary,
)
from gpusched_dsl.ir.definitions.convex import ConvexDefinition
from gpusched_dsl.ir.problem import Problem
from gsdsl_backends.scip.poles import off_poles

# The operations `add_terms` understands, named as in `Target`.
TAKEN = frozenset({"product", "power", "exp", "log", "abs"}) | CONVEX_FORMS

_FUNCTIONS: dict[str, Callable[[Any], Any]] = {"exp": pyscipopt.exp, "log": pyscipopt.log, "abs": abs}


def add_terms(model: pyscipopt.Model, variables: list[Any], problem: Problem) -> bool:
    """Add every definition of `problem`; `variables[j]` is SCIP's object for column j.

    Columns are kept off poles; returns whether an argument can reach one.
    """
    if not problem.definitions:
        return False
    analysis = Analysis(problem)
    directions = analysis.directions
    for definition in problem.definitions:
        if not definition.size:
            continue  # whatever its kind: passes leave a definition without entries as it is
        down, up = directions.down[definition.results], directions.up[definition.results]
        # A result that nobody needs is held from both sides: where the function has no value there is no point.
        below, above = (down | ~up).tolist(), (up | ~down).tolist()
        arguments = _expressions(definition.arguments, variables)
        if isinstance(definition, ConvexDefinition):
            results = [variables[result] for result in definition.results.tolist()]
            for constraint in _convex(definition, results, arguments):
                model.addCons(constraint)
            continue
        terms = _terms(definition, arguments)
        for entry, (result, term) in enumerate(zip(definition.results.tolist(), terms, strict=True)):
            difference = variables[result] - term
            if below[entry] and above[entry]:
                model.addCons(difference == 0.0)
            else:
                model.addCons(difference >= 0.0 if below[entry] else difference <= 0.0)
    off = off_poles(problem, analysis.bounds)
    if off is None:
        return False
    for column in np.flatnonzero((off.lower > problem.lower) & ~problem.integer).tolist():
        model.chgVarLb(variables[column], float(off.lower[column]))
    for column in np.flatnonzero((off.upper < problem.upper) & ~problem.integer).tolist():
        model.chgVarUb(variables[column], float(off.upper[column]))
    return True


def _expressions(affines: Affines, variables: list[Any]) -> list[Any]:
    """SCIP's expression of every argument; the object of the column itself where it is just one.

    A sum is made a node of its own, as PySCIPOpt would multiply out powers and products of it.
    """
    starts, columns = affines.matrix.starts.tolist(), affines.matrix.columns.tolist()
    values, constants, single = affines.matrix.values.tolist(), affines.constants.tolist(), affines.single.tolist()
    return [
        variables[column]
        if column >= 0
        else buildGenExprObj(
            quicksum(value * variables[j] for value, j in zip(values[a:b], columns[a:b], strict=True)) + constant
        )
        for column, constant, a, b in zip(single, constants, starts[:-1], starts[1:], strict=True)
    ]


def _terms(definition: Definition, arguments: list[Any]) -> list[Any]:
    """The expression of every entry."""
    match definition:
        case Product(starts=starts):
            return [_multiply(arguments[a:b]) for a, b in pairwise(starts.tolist())]
        case Power(exponents=exponents):
            integer = np.rint(exponents) == exponents
            powers = [int(e) if w else e for e, w in zip(exponents.tolist(), integer.tolist(), strict=True)]
            return [argument**power for argument, power in zip(arguments, powers, strict=True)]
        case Unary(function=function):
            return [_FUNCTIONS[function](argument) for argument in arguments]
    raise AssertionError(definition.op)  # the target of this backend does not accept it


def _multiply(factors: list[Any]) -> Any:
    product = factors[0]
    for factor in factors[1:]:
        product = product * factor
    return product


def _convex(definition: ConvexDefinition, results: list[Any], arguments: list[Any]) -> Iterator[Any]:
    """`result >= f(arguments)` for every entry: passes make these functions only where no other half is needed."""
    ends = list(pairwise(definition.starts.tolist()))
    match definition:
        case QuadraticForm(pairs=pairs):
            first, second, coefficients = (v.tolist() for v in (pairs.first, pairs.second, pairs.coefficients))
            inside = list(pairwise(pairs.starts.tolist()))
            for result, (a, _), (i, j) in zip(results, ends, inside, strict=True):
                yield (
                    quicksum(coefficients[k] * arguments[a + first[k]] * arguments[a + second[k]] for k in range(i, j))
                    <= result
                )
        case Norm():
            for result, (a, b) in zip(results, ends, strict=True):
                yield result >= 0
                yield quicksum(argument * argument for argument in arguments[a:b]) <= result * result
        case QuadraticOverLinear():
            for result, (a, b) in zip(results, ends, strict=True):
                yield quicksum(argument * argument for argument in arguments[a : b - 1]) <= result * arguments[b - 1]
                yield result >= 0
                yield arguments[b - 1] >= 0
        case RelativeEntropy():
            for result, (a, _) in zip(results, ends, strict=True):
                x, y = arguments[a], arguments[a + 1]
                yield x * pyscipopt.log(x / y) <= result
        case ExponentialPerspective():
            for result, (a, _) in zip(results, ends, strict=True):
                x, y = arguments[a], arguments[a + 1]
                yield y * pyscipopt.exp(x / y) <= result
        case LogSumExp():
            for result, (a, b) in zip(results, ends, strict=True):
                yield quicksum(pyscipopt.exp(argument - result) for argument in arguments[a:b]) <= 1
        case _:
            raise AssertionError(definition.op)
