"""A small problem, written out as arrays: two jobs on two nodes, each job once, and a scalar that counts the nodes."""

from collections.abc import Callable

import numpy as np
import pytest

from gpusched_dsl.compiling.provenance import Provenance
from gpusched_dsl.ir.domains import IntervalDomain, ProductDomain, ScalarDomain, Universe
from gpusched_dsl.ir.problem import Family, Matrix, Objective, Problem, Term
from gpusched_dsl.reporting.result import Result
from gpusched_dsl.solving.solve import solve_problem
from gsdsl_backends.protocol import SolveOptions

JOBS = Universe("Jobs", ("j1", "=2+3"))
NODES = Universe("Nodes", (4, 7))


def assignment(*, integer: bool = True) -> Problem:
    """Columns run[j1,4] run[j1,7] run[=2+3,4] run[=2+3,7] spread; rows once[j], limit; cheapest: both on node 4."""
    jobs, nodes = IntervalDomain(0, 1, 1, JOBS), IntervalDomain(0, 1, 1, NODES)
    run = ProductDomain((jobs, nodes))
    return Problem(
        name="Assignment",
        variables=(Family("run", 0, run), Family("spread", 4, ScalarDomain(), unit="h")),
        lower=np.zeros(5),
        upper=np.array([2, 2, 2, 2, np.inf]),
        integer=np.array([True] * 4 + [False]) & integer,
        constraints=(Family("once", 0, jobs), Family("floor", 2, ScalarDomain())),
        matrix=Matrix(
            np.array([0, 2, 4, 6]),
            np.array([0, 1, 2, 3, 4, 0], dtype=np.int32),
            np.array([1.0, 1.0, 1.0, 1.0, 1.0, -0.5]),
        ),
        row_lower=np.array([1.0, 1.0, 0.25]),
        row_upper=np.array([1.0, 1.0, np.inf]),
        objectives=(
            Objective(
                "minimize",
                (
                    Term("rent", np.arange(4, dtype=np.int32), np.array([1.0, 3.0, 2.0, 5.0])),
                    Term("late", np.array([4], dtype=np.int32), np.array([0.5]), 1.0),
                ),
                "total",
                "$",
            ),
        ),
    )


@pytest.fixture
def problem() -> Problem:
    return assignment()


@pytest.fixture
def linear() -> Problem:
    return assignment(integer=False)


@pytest.fixture
def solved() -> Callable[..., Result]:
    """Solve a problem with HiGHS, as a result without a model."""

    def solve(problem: Problem, **options: float) -> Result:
        return Result(solve_problem(problem, "highs", SolveOptions(gap=0.0, **options)), Provenance(build_seconds=0.5))

    return solve
