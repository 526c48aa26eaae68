"""The fewest jobs that meet all demands of a model, with their places, by a solver: where no pass finds them.

A mixed-integer program with all rows of the model, those that roles imply included. Jobs that run already stay, only
ways that the policy lists are taken, and jobs at the front of the queue are preferred. The work is bounded by the size
of the program and by nodes of the search, so the result does not depend on the machine.
"""

from __future__ import annotations

import numpy as np
from msgspec import structs
from scipy import sparse

from gpusched_dsl.compiling.evaluation.limits import MemoryLimits
from gpusched_dsl.compiling.evaluation.store import ValueStore
from gpusched_dsl.ir.arrays import Floats, Ints
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.ir.tolerances import INTEGRALITY
from gpusched_dsl.language.checked import CheckedModel
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.policies.cluster import Cluster
from gpusched_dsl.policies.rows.guard import Running
from gpusched_dsl.policies.rows.problem import columns_of_places, side_problem
from gpusched_dsl.policies.workload import NONE

MOST_PLACES = 20_000
_NODES = 2_000  # of the search of the solver


def jobs_that_meet(
    model: CheckedModel,
    cluster: Cluster,
    store: ValueStore,
    limits: MemoryLimits,
    queue: Ints,
    listed: Ints,
    start: Running,
) -> Running | None:
    """Return the fewest jobs of a queue, in `listed` ways, that meet all rows beside those of `start`; None if none do.

    None too where the problem is too large or the solver ends early without a plan, and with slots, of which a solver
    would take single ones.
    """
    if cluster.placement.position("slot") is not None:
        return None
    if len(cluster.work.job) * len(cluster.nodes) > MOST_PLACES:
        return None
    try:
        side = side_problem(structs.replace(model, objectives=(), decompose=None), cluster.placement, store, limits)
    except DiagnosticError:
        return None
    first, place, column = columns_of_places(side, cluster)
    way = np.repeat(np.arange(len(first)), np.diff(np.append(first, len(column))))
    problem, job = side.problem, cluster.work.job[way]

    turn = np.full(len(cluster.work.first_way) - 1, NONE)
    turn[queue] = np.arange(len(queue))
    turn[start.job] = NONE
    is_listed = np.zeros(len(first), dtype=np.bool_)
    is_listed[listed] = True
    free = (column != NONE) & is_listed[way] & (turn[job] != NONE)
    cost, lower, upper = np.zeros(problem.columns), problem.lower.copy(), problem.upper.copy()
    family = side.columns[side.columns != NONE]
    closed = np.ones(problem.columns, dtype=np.bool_)
    closed[column[free]] = False
    closed = np.isin(np.arange(problem.columns), family) & closed
    upper[closed] = np.maximum(lower[closed], 0.0)
    own = column[first[start.way] + place[start.node]]
    lower[own[own != NONE]] = upper[own[own != NONE]] = start.value[own != NONE]
    cost[column[free]] = 1.0 + turn[job[free]] / (len(queue) + 1) ** 2

    point = _least(problem, cost, lower, upper)
    if point is None:
        return None
    is_free = np.zeros(problem.columns, dtype=np.bool_)
    is_free[column[free]] = True
    known = np.flatnonzero(side.columns != NONE)
    chosen = known[is_free[side.columns[known]] & (point[side.columns[known]] > 0.5)]
    codes = side.source.variable(cluster.placement.variable).domain.columns()
    jobs, nodes, ways = cluster.running_jobs([code[chosen] for code in codes])
    return Running(jobs, nodes, ways, np.rint(point[side.columns[chosen]]))


def _least(problem: Problem, cost: Floats, lower: Floats, upper: Floats) -> Floats | None:
    """Return the cheapest point of a linear problem within bounds, None if none is found."""
    from scipy.optimize import Bounds, LinearConstraint, milp

    if (lower > upper + INTEGRALITY).any():
        return None
    matrix = problem.matrix
    rows = sparse.csr_matrix((matrix.values, matrix.columns, matrix.starts), shape=(problem.rows, problem.columns))
    solved = milp(
        cost,
        constraints=[LinearConstraint(rows, problem.row_lower, problem.row_upper)] if problem.rows else [],
        integrality=problem.integer.astype(np.int64),
        bounds=Bounds(lower, upper),
        options={"node_limit": _NODES, "mip_rel_gap": 0.01},
    )
    return None if solved.x is None else np.asarray(solved.x)
