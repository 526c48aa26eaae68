"""The fewest jobs that meet all demands of a model, with their places, by a solver: where no pass finds them.

A mixed-integer program with all rows of the model, those that roles imply included. Jobs that run already stay, only
places that the policy lists are taken, and jobs at the front of the queue are preferred. The work is bounded by the
size of the program and by nodes of the search, so the result does not depend on the machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from msgspec import structs
from scipy import sparse

from gpusched_dsl.compiling.evaluation.limits import MemoryLimits
from gpusched_dsl.compiling.evaluation.store import ValueStore
from gpusched_dsl.compiling.lowering.fixing import PlanValues
from gpusched_dsl.ir.arrays import Bools, Floats, Ints
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.ir.tolerances import INTEGRALITY
from gpusched_dsl.language.checked import CheckedModel, CheckedPlacement
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.policies.cluster import Cluster
from gpusched_dsl.policies.rows.guard import Running
from gpusched_dsl.policies.rows.problem import SideProblem, columns_of_places, side_problem
from gpusched_dsl.policies.workload import NONE

MOST_PLACES = 20_000
_NODES = 2_000  # of the search of the solver


@dataclass(frozen=True, eq=False)
class PolicyRows:
    """Rows beside those of the model: what a policy never does, although the model allows it.

    `entries` are row, column and value, side by side; the columns of `more` binaries are behind those of the problem.
    """

    entries: Sequence[tuple[Ints, Ints, Floats]] = ()
    lower: Floats = field(default_factory=lambda: np.zeros(0))
    upper: Floats = field(default_factory=lambda: np.zeros(0))
    more: int = 0


@dataclass(frozen=True, eq=False)
class OpenPlaces:
    """The places that a policy lists: entries of columns, their jobs, and of how many columns a job takes there."""

    column: Ints
    job: Ints
    length: Floats


def fewest_jobs(
    side: SideProblem,
    places: OpenPlaces,
    queue: Ints,
    start: tuple[Ints, Floats],
    beside: PolicyRows | None = None,
) -> tuple[Ints, Floats] | None:
    """Return the columns, with their values, of the fewest jobs of a queue that meet all rows; None if none do.

    `start` are the columns that run already, with their values, which are not returned. None too where the solver ends
    early without a plan.
    """
    problem, beside = side.problem, beside or PolicyRows()
    turn = np.full(max(places.job.max(initial=-1), queue.max(initial=-1)) + 1, NONE)
    turn[queue] = np.arange(len(queue))
    free = turn[places.job] != NONE
    column, job, length = places.column[free], places.job[free], places.length[free]
    cost, lower, upper = np.zeros(problem.columns), problem.lower.copy(), problem.upper.copy()
    closed = np.zeros(problem.columns, dtype=np.bool_)
    closed[side.columns[side.columns != NONE]] = True
    closed[column] = False
    upper[closed] = np.maximum(lower[closed], 0.0)
    own, value = start
    lower[own] = upper[own] = value
    cost[column] = (1.0 + turn[job] / (len(queue) + 1) ** 2) / length

    point = _least(problem, cost, lower, upper, beside)
    if point is None:
        return None
    chosen = np.unique(column[point[column] > 0.5])
    chosen = chosen[~np.isin(chosen, own)]
    return chosen, np.rint(point[chosen])


def whole_problem(
    model: CheckedModel,
    placement: CheckedPlacement,
    store: ValueStore,
    limits: MemoryLimits,
    fixed: PlanValues | None = None,
) -> SideProblem:
    """Return all rows of a model, without what it costs. Raises DiagnosticError as `ground` does."""
    return side_problem(structs.replace(model, objectives=(), decompose=None), placement, store, limits, fixed)


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

    None too where the problem is too large or the solver ends early without a plan, and with slots, since a solver
    would take single ones.
    """
    if cluster.placement.position("slot") is not None:
        return None
    if len(cluster.work.job) * len(cluster.nodes) > MOST_PLACES:
        return None
    try:
        side = whole_problem(model, cluster.placement, store, limits)
    except DiagnosticError:
        return None
    first, place, column = columns_of_places(side, cluster)
    way = np.repeat(np.arange(len(first)), np.diff(np.append(first, len(column))))
    is_listed: Bools = np.zeros(len(first), dtype=np.bool_)
    is_listed[listed] = True
    free = (column != NONE) & is_listed[way] & ~np.isin(cluster.work.job[way], start.job)
    places = OpenPlaces(column[free], cluster.work.job[way][free], np.ones(int(free.sum())))
    own = column[first[start.way] + place[start.node]]
    found = fewest_jobs(side, places, queue, (own[own != NONE], start.value[own != NONE]))
    if found is None:
        return None
    known = np.flatnonzero(side.columns != NONE)
    known = known[np.argsort(side.columns[known], kind="stable")]
    chosen = known[np.searchsorted(side.columns[known], found[0])]
    codes = side.source.variable(cluster.placement.variable).domain.columns()
    jobs, nodes, ways = cluster.running_jobs([code[chosen] for code in codes])
    return Running(jobs, nodes, ways, found[1])


def _least(problem: Problem, cost: Floats, lower: Floats, upper: Floats, beside: PolicyRows) -> Floats | None:
    """Return the cheapest point of a linear problem within bounds and with more rows, None if none is found."""
    from scipy.optimize import Bounds, LinearConstraint, milp

    if (lower > upper + INTEGRALITY).any():
        return None
    matrix, more = problem.matrix, beside.more
    rows = sparse.csr_matrix((matrix.values, matrix.columns, matrix.starts), shape=(problem.rows, problem.columns))
    constraints = []
    if problem.rows:
        rows = sparse.hstack((rows, sparse.csr_matrix((problem.rows, more))), format="csr") if more else rows
        constraints.append(LinearConstraint(rows, problem.row_lower, problem.row_upper))
    if len(beside.lower):
        row, column, value = (np.concatenate(parts) for parts in zip(*beside.entries, strict=True))
        shape = (len(beside.lower), problem.columns + more)
        constraints.append(
            LinearConstraint(sparse.csr_matrix((value, (row, column)), shape), beside.lower, beside.upper)
        )
    solved = milp(
        np.append(cost, np.zeros(more)),
        constraints=constraints,
        integrality=np.append(problem.integer.astype(np.int64), np.ones(more, dtype=np.int64)),
        bounds=Bounds(np.append(lower, np.zeros(more)), np.append(upper, np.ones(more))),
        options={"node_limit": _NODES, "mip_rel_gap": 0.01},
    )
    return None if solved.x is None else np.asarray(solved.x[: problem.columns])
