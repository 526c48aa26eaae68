"""The nonlinear part of the list: each case gives its terms a second time, as plain Python."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import exp, log, sqrt

import numpy as np
from building import INF, at_least, at_most, equal, maximize, minimize
from defining import (
    expected_least,
    function,
    holds,
    largest,
    nonlinear,
    of,
    piecewise,
    power,
    product,
    smallest,
)
from problems import Case, _needs

from gpusched_dsl.ir.distributions import discrete
from gpusched_dsl.ir.problem import Problem

Point = Sequence[float]

# Terms that are not convex where they stand, and terms beside integers, are more than some backends take.
NOT_CONVEX, BESIDE_INTEGERS = "not_convex", "nonlinear_integers"


@dataclass(frozen=True)
class NonlinearCase(Case):
    """`terms` gives the values of all terms at the declared columns."""

    terms: Callable[[Point], Sequence[float]] = lambda x: ()


def case(
    name: str,
    one: Problem,
    objective: float | None,
    terms: Callable[[Point], Sequence[float]],
    *needs: str,
    status: str = "optimal",
    point: Sequence[float] | None = None,
) -> NonlinearCase:
    """`needs` are what the case asks of a backend after everything that can be made linear has been."""
    return NonlinearCase(
        name, one, status, objective, point=point, needs=_needs(one, {}) | frozenset(needs), terms=terms
    )


BINARY = [
    case(
        "product_of_binaries",
        nonlinear(
            maximize(-2, -2, -2, 5, 4, 3),
            columns=3,
            terms=[product(of(1), of(0, 1)), product(of(0, 1), of(0, 0, 1)), product(of(1), of(0, 0, 1))],
            rows=[at_most(2, 1, 1, 1)],
            upper=1,
            integer=True,
        ),
        1.0,
        lambda x: (x[0] * x[1], x[1] * x[2], x[0] * x[2]),
        point=[1, 1, 0, 1, 0, 0],
    ),
    case(
        "product_of_three_binaries",
        nonlinear(
            maximize(-3, -3, -3, 0, 10),
            columns=3,
            terms=[product(of(1), of(0, 1)), product(of(0, 0, 0, 1), of(0, 0, 1))],
            upper=1,
            integer=True,
        ),
        1.0,
        lambda x: (x[0] * x[1], x[0] * x[1] * x[2]),
        point=[1, 1, 1, 1, 1],
    ),
    case(
        "binary_times_continuous",
        nonlinear(
            maximize(0, -3, 1),
            columns=2,
            terms=[product(of(1), of(0, 1))],
            rows=[at_most(6, 1, 2)],
            upper=[5, 1],
            integer=[1],
        ),
        1.0,
        lambda x: (x[0] * x[1],),
        point=[4, 1, 4],
    ),
    case(
        "binary_times_negative",
        nonlinear(
            minimize(0.5, 0, 1),
            columns=2,
            terms=[product(of(1), of(0, 1))],
            rows=[at_least(-3, 1, 0)],
            lower=[-4, 0],
            upper=[3, 1],
            integer=[1],
        ),
        -4.5,
        lambda x: (x[0] * x[1],),
        point=[-3, 1, -3],
    ),
    case(
        "integer_times_continuous",
        nonlinear(
            maximize(0, -0.5, 1),
            columns=2,
            terms=[product(of(1), of(0, 1))],
            rows=[at_most(4, 1, 1)],
            upper=[3, 2.5],
            integer=[0],
        ),
        3.0,
        lambda x: (x[0] * x[1],),
        point=[2, 2, 4],
    ),
    case(
        "squares_of_integers",
        nonlinear(
            minimize(0, 0, 1, 1),
            columns=2,
            terms=[power(of(1, plus=-2.4), 2), power(of(0, 1, plus=-1.2), 2)],
            rows=[at_most(3, 1, 1)],
            upper=9,
            integer=True,
        ),
        0.2,
        lambda x: ((x[0] - 2.4) ** 2, (x[1] - 1.2) ** 2),
        point=[2, 1, 0.16, 0.04],
    ),
    case(
        "products_that_exclude_each_other",
        nonlinear(
            minimize(1, 1),
            columns=2,
            terms=[product(of(1), of(0, 1))],
            rows=[at_least(1, 0, 0, 1), at_most(1, 1, 1, 0)],
            upper=1,
            integer=True,
        ),
        None,
        lambda x: (x[0] * x[1],),
        status="infeasible",
    ),
]

EXTREMES = [
    case(
        "least_maximum",
        nonlinear(minimize(0, 0, 1), columns=2, terms=[largest(of(1), of(0, 1), of(-1, -1, plus=4))], upper=9),
        4 / 3,
        lambda x: (max(x[0], x[1], 4 - x[0] - x[1]),),
    ),
    case(
        "greatest_maximum",
        nonlinear(maximize(-1, -1, 1), columns=2, terms=[largest(of(1), of(0, 2))], upper=[5, 4]),
        4.0,
        lambda x: (max(x[0], 2 * x[1]),),
        "integers",
        point=[0, 4, 8],
    ),
    case(
        "greatest_minimum",
        nonlinear(maximize(0, 0, 1), columns=2, terms=[smallest(of(1), of(0, 2))], rows=[at_most(3, 1, 1)], upper=9),
        2.0,
        lambda x: (min(x[0], 2 * x[1]),),
        point=[2, 1, 2],
    ),
    case(
        "least_minimum",
        nonlinear(
            minimize(0.1, 0.2, 1),
            columns=2,
            terms=[smallest(of(1), of(0, 1))],
            rows=[at_least(5, 1, 1)],
            lower=1,
            upper=3,
        ),
        2.7,
        lambda x: (min(x[0], x[1]),),
        "integers",
        point=[3, 2, 2],
    ),
    case(
        "least_distance",
        nonlinear(
            minimize(0, 0, 1, 1),
            columns=2,
            terms=[function("abs", of(1, plus=-3)), function("abs", of(0, 1, plus=1))],
            rows=[equal(0, 1, 1)],
            lower=-5,
            upper=5,
        ),
        2.0,
        lambda x: (abs(x[0] - 3), abs(x[1] + 1)),
    ),
    case(
        "greatest_distance",
        nonlinear(maximize(0.1, 1), columns=1, terms=[function("abs", of(1, plus=-1))], lower=-3, upper=4),
        3.7,
        lambda x: (abs(x[0] - 1),),
        "integers",
        point=[-3, 4],
    ),
    case(
        "maximum_without_an_end",
        nonlinear(minimize(0, 0, 1), columns=2, terms=[largest(of(1), of(0, 1))], lower=-INF),
        None,
        lambda x: (max(x[0], x[1]),),
        status="unbounded",
    ),
]

CONDITIONS = [
    case(
        "row_where_a_binary_is_0",
        nonlinear(
            minimize(1, 2), columns=2, rows=[at_least(7, 1, 0)], upper=[9, 1], integer=[1], only_if=[(0, 1, False)]
        ),
        2.0,
        lambda x: (),
        point=[0, 1],
    ),
    case(
        "equation_where_a_binary_is_1",
        nonlinear(maximize(1, 9), columns=2, rows=[equal(2, 1, 0)], upper=[10, 1], integer=[1], only_if=[(0, 1, True)]),
        11.0,
        lambda x: (),
        point=[2, 1],
    ),
    case(
        "row_under_a_condition_without_a_bound",
        nonlinear(
            maximize(-1, 10),
            columns=2,
            rows=[at_most(2, 1, 0), at_least(5, 1, 0)],
            upper=[INF, 1],
            integer=[1],
            only_if=[(0, 1, True)],
        ),
        -5.0,
        lambda x: (),
        "indicator",
        point=[5, 0],
    ),
    case(
        "sides_that_cross_under_a_condition",
        nonlinear(maximize(1, 9), columns=2, rows=[(3, (1, 0), 2)], upper=[10, 1], integer=[1], only_if=[(0, 1, True)]),
        10.0,
        lambda x: (),
        point=[10, 0],
    ),
    case(
        "counting_what_holds",
        nonlinear(
            maximize(0, 0, 1, 1),
            columns=2,
            terms=[holds(of(1), lower=2), holds(of(0, 1), lower=1, upper=2)],
            rows=[at_most(2, 1, 1)],
            upper=5,
            integer=[0, 1],
        ),
        1.0,
        lambda x: (float(x[0] >= 2), float(1 <= x[1] <= 2)),
    ),
]

CURVES = [
    case(
        "convex_curve",
        nonlinear(minimize(0.25, 1), columns=1, terms=[piecewise(of(1), [(0, 3), (2, 1), (5, 4)], -1, 1)], upper=9),
        1.5,
        lambda x: (3 - x[0] if x[0] <= 2 else x[0] - 1,),
        point=[2, 1],
    ),
    case(
        "economies_of_scale",
        nonlinear(
            minimize(0, 0, 1, 1),
            columns=2,
            terms=[
                piecewise(of(1), [(0, 0), (4, 4), (10, 5)], 1, 0.1),
                piecewise(of(0, 1), [(0, 0), (4, 4), (10, 5)], 1, 0.1),
            ],
            rows=[equal(6, 1, 1)],
            upper=9,
        ),
        13 / 3,
        lambda x: tuple(v if v <= 4 else 4 + (v - 4) / 6 for v in x),
        "integers",
    ),
    case(
        "expected_least_of_two_values",
        nonlinear(
            maximize(-0.4, 1), columns=1, terms=[expected_least(of(1), discrete(np.array([1.0, 3.0])))], upper=9
        ),
        0.8,
        lambda x: ((min(1, x[0]) + min(3, x[0])) / 2,),
        point=[3, 2],
    ),
    case(
        "expected_least_must_reach",
        nonlinear(
            minimize(1), columns=1, terms=[expected_least(of(1), discrete(np.array([1.0, 3.0])))],
            rows=[at_least(1.75, 0, 1)], upper=9,
        ),
        2.5,
        lambda x: ((min(1, x[0]) + min(3, x[0])) / 2,),
        point=[2.5, 1.75],
    ),
]  # fmt: skip

SMOOTH = [
    case(
        "convex_quadratic",
        nonlinear(
            minimize(0, 0, 1, 1),
            columns=2,
            terms=[power(of(1, plus=-2), 2), power(of(0, 1, plus=-1), 2)],
            rows=[at_most(2, 1, 1)],
            upper=9,
        ),
        0.5,
        lambda x: ((x[0] - 2) ** 2, (x[1] - 1) ** 2),
        "power",
    ),
    case(
        "greatest_logarithm",
        nonlinear(maximize(-0.25, 1), columns=1, terms=[function("log", of(1, plus=1))], upper=9),
        log(4) - 0.75,
        lambda x: (log(1 + x[0]),),
        "log",
    ),
    case(
        "least_exponential",
        nonlinear(minimize(0.5, 1), columns=1, terms=[function("exp", of(-1))], upper=9),
        0.5 + 0.5 * log(2),
        lambda x: (exp(-x[0]),),
        "exp",
    ),
    case(
        "reciprocal",
        nonlinear(minimize(1, 4), columns=1, terms=[power(of(1), -1)], upper=9),
        4.0,
        lambda x: (1 / x[0],),
        "power",
    ),
    case(
        "root",
        nonlinear(maximize(-1, 2), columns=1, terms=[power(of(1), 0.5)], upper=9),
        1.0,
        lambda x: (sqrt(x[0]),),
        "power",
    ),
    case(
        "reciprocal_of_a_sum_beside_binaries",
        nonlinear(
            minimize(1, 1, 1, 8),
            columns=3,
            terms=[power(of(1, 1, 1, plus=0.25), -1)],
            upper=1,
            integer=[0, 1],
        ),
        2 * sqrt(8) - 0.25,
        lambda x: (1 / (x[0] + x[1] + x[2] + 0.25),),
        "power",
        BESIDE_INTEGERS,
    ),
    case(
        "least_sum_of_given_product",
        nonlinear(minimize(1, 1, 0), columns=2, terms=[product(of(1), of(0, 1))], rows=[at_least(4, 0, 0, 1)], upper=9),
        4.0,
        lambda x: (x[0] * x[1],),
        "product",
    ),
    case(
        "greatest_product",
        nonlinear(maximize(0, 0, 1), columns=2, terms=[product(of(1), of(0, 1))], rows=[at_most(8, 1, 2)], upper=9),
        8.0,
        lambda x: (x[0] * x[1],),
        "product",
    ),
    case(
        "cube_on_both_sides_of_0",
        nonlinear(minimize(-3, 1), columns=1, terms=[power(of(1), 3)], lower=-1.5, upper=3),
        -2.0,
        lambda x: (x[0] ** 3,),
        "power",
        NOT_CONVEX,
    ),
    case(
        "square_must_be_negative",
        nonlinear(
            minimize(1), columns=1, terms=[power(of(1, plus=-1), 2)], rows=[at_most(-1, 0, 1)], lower=-9, upper=9
        ),
        None,
        lambda x: ((x[0] - 1) ** 2,),
        "power",
        status="infeasible",
    ),
    case(
        "square_without_an_end",
        nonlinear(maximize(0, 1), columns=1, terms=[power(of(1), 2)]),
        None,
        lambda x: (x[0] ** 2,),
        "power",
        NOT_CONVEX,
        status="unbounded",
    ),
    case(
        "product_without_an_end",
        nonlinear(maximize(0, 0, 1), columns=2, terms=[product(of(1), of(0, 1))], rows=[equal(0, 1, -1)]),
        None,
        lambda x: (x[0] * x[1],),
        "product",
        status="unbounded",
    ),
    case(
        "logarithm_without_an_end",
        nonlinear(maximize(0, 1), columns=1, terms=[function("log", of(1))], lower=1),
        None,
        lambda x: (log(x[0]),),
        "log",
        NOT_CONVEX,  # a conic solver sees that it grows, but finds no direction that proves it
        status="unbounded",
    ),
]

LOST = [
    case(
        "lost_by_propagation",  # SCIP 10.0.2 says 0 where the term is stated as an equation
        nonlinear(
            maximize(0, 4, -1, -2),
            columns=4,
            terms=[function("exp", of(0, 0.25, -0.5, 0.25, plus=0.25))],
            rows=[(-12, (0, 0, 0, -3, -3), 0), at_most(-4, 3, -1, 0, 0)],
            lower=[0, 0, 0, -1],
            upper=[1, 1, 2, 0],
            integer=True,
            only_if=[(1, 1, True)],
        ),
        2.0,
        lambda x: (exp(0.25 * x[1] - 0.5 * x[2] + 0.25 * x[3] + 0.25),),
        "exp",
        BESIDE_INTEGERS,
        point=[0, 0, 0, -1, 1],
    ),
    case(
        "called_infeasible_by_presolve_with_products",  # SCIP 10.0.2
        nonlinear(
            minimize(-2, 3, -3, -4, 0, -1, offset=1),
            columns=4,
            terms=[product(of(1), of(0, 1)), product(of(1, 1, -1, plus=1), of(1, 0, 2, plus=-2))],
            rows=[
                at_least(-8, -3, -3),
                at_least(-14, 0, -1, -1, 0, 3, -2),
                at_most(-3, 0, 0, 2, 1, 3, -3),
            ],
            lower=[0, 0, 0, -2],
            upper=[1, 1, 3, 2],
            integer=True,
            only_if=[(0, 1, False), (1, 1, True)],
        ),
        -3.0,
        lambda x: (x[0] * x[1], (x[0] + x[1] - x[2] + 1) * (x[0] + 2 * x[2] - 2)),
        point=[1, 1, 2, -1, 1, 3],
    ),
]

NONLINEAR = [*BINARY, *EXTREMES, *CONDITIONS, *CURVES, *SMOOTH, *LOST]
