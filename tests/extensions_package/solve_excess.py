"""Solves `cost * x + excess(x)` over a range of x: a problem with a definition that the language cannot spell.

Arguments: `stored` (through a problem file) or `fresh`, the ends of the range, 1 where x is whole, the sense, the cost.
"""

import sys

import numpy as np
from extras import Excess

from gpusched_dsl import Problem
from gpusched_dsl.ir.definitions import Affines, unary_starts
from gpusched_dsl.ir.domains import IntervalDomain
from gpusched_dsl.ir.json.codec import from_json, to_json
from gpusched_dsl.ir.matrix import Matrix
from gpusched_dsl.ir.problem import Family, Objective, Term
from gpusched_dsl.solving.solve import solve_problem
from gsdsl_backends.registry import backend

way, lower, upper, whole, sense, cost = sys.argv[1:]
x, result = (np.array([column], np.int32) for column in (0, 1))
problem = Problem(
    "outside",
    (Family("x", 0, IntervalDomain(1, 1)),),
    np.array([float(lower), -np.inf]),
    np.array([float(upper), np.inf]),
    np.array([whole == "1", False]),
    (),
    Matrix.empty(),
    np.zeros(0),
    np.zeros(0),
    (Objective(sense, (Term(None, np.concatenate((x, result)), np.array([float(cost), 1.0])),)),),
    (Family("excess", 1, IntervalDomain(1, 1)),),
    (Excess(result, unary_starts(1), Affines.of_columns(x), name="excess(x)"),),
)
if way == "stored":
    problem = from_json(to_json(problem))
solved = solve_problem(problem, backend("highs"))
print(solved.status, round(float(solved.objective), 6), [note.pass_name for note in solved.reformulated.notes])
