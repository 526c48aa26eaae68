"""Patterns added to an aggregated problem until no other improves its linear relaxation.

Column generation: the relaxation is solved over the patterns known, the dual values price the uses of one element of
each class, and the cheapest ones join (P. C. Gilmore, R. E. Gomory, 1961). In the end nothing left out has a negative
reduced cost, so the relaxation's value bounds the problem with all patterns; before the end it does so less what the
cheapest uses could gain, times the number of elements.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from gpusched_dsl.backends.driver import solve_problem
from gpusched_dsl.backends.protocol import Monitor, SolveOptions
from gpusched_dsl.compiling.aggregation.assembling import Aggregated, assembled
from gpusched_dsl.compiling.aggregation.parts import Part
from gpusched_dsl.ir.answer import Status
from gpusched_dsl.ir.domains import Interval
from gpusched_dsl.ir.matrix import Floats, Matrix
from gpusched_dsl.ir.problem import Family, Objective, Problem, Term

LINEAR = "highs"  # the relaxations and the small pricing problems are solved by it, whatever the backend is
PRECISION = 1e-7  # a reduced cost above minus this, relative to the largest price, counts as none
MOST_ROUNDS = 500


@dataclass(frozen=True, eq=False)
class Grown:
    """`bound` holds for the problem with all patterns; None where nothing is proved. `infeasible`: it has no point."""

    aggregated: Aggregated
    bound: float | None
    infeasible: bool = False


def grown(aggregated: Aggregated, options: SolveOptions, monitor: Monitor | None, until: float | None) -> Grown:
    """The aggregated problem with the patterns that its relaxation needs; stops at the time `until`."""
    sign = -1.0 if aggregated.problem.objectives[0].sense == "maximize" else 1.0
    best: float | None = None
    first = True
    for _ in range(MOST_ROUNDS):
        if (until is not None and time.perf_counter() > until) or (monitor is not None and monitor.stop_requested):
            break
        relaxed = _relaxed(aggregated.problem, sign)
        solved = solve_problem(relaxed, LINEAR, _quick(options, until), None, monitor)
        solved.close()
        repairing = solved.status is Status.INFEASIBLE
        if repairing:
            if not first:
                break
            relaxed = _elastic(relaxed)
            solved = solve_problem(relaxed, LINEAR, _quick(options, until), None, monitor)
            solved.close()
        if solved.row_duals is None or solved.objective is None:
            break
        duals = solved.row_duals[: aggregated.problem.rows]
        parts, gain = _priced(aggregated, relaxed, duals, options)
        bound = solved.objective + gain
        if not repairing:
            best = bound if best is None else max(best, bound)
        if parts is None:
            if repairing and solved.objective > PRECISION:
                return Grown(aggregated, None, infeasible=True)
            break
        aggregated = assembled(aggregated.quotient, parts)
    return Grown(aggregated, None if best is None else sign * best)


def _quick(options: SolveOptions, until: float | None) -> SolveOptions:
    left = None if until is None else max(0.1, until - time.perf_counter())
    return SolveOptions(time_limit=left, threads=options.threads, seed=options.seed)


def _relaxed(problem: Problem, sign: float) -> Problem:
    """The linear relaxation, minimised."""
    objective = problem.objectives[0]
    terms = tuple(replace(t, coefficients=sign * t.coefficients, constant=sign * t.constant) for t in objective.terms)
    return replace(
        problem,
        integer=np.zeros(problem.columns, dtype=np.bool_),
        objectives=(replace(objective, sense="minimize", terms=terms),),
    )


def _elastic(problem: Problem) -> Problem:
    """What rows lack is bought at 1 a unit, and nothing else costs anything."""
    rows, columns = problem.rows, problem.columns
    matrix = problem.matrix
    own = sparse.csr_matrix((matrix.values, matrix.columns, matrix.starts), shape=(rows, columns))
    whole = sparse.hstack((own, sparse.eye(rows), -sparse.eye(rows))).tocsr()
    bought = Term(None, np.arange(columns, columns + 2 * rows, dtype=np.int32), np.ones(2 * rows))
    return replace(
        problem,
        lower=np.concatenate((problem.lower, np.zeros(2 * rows))),
        upper=np.concatenate((problem.upper, np.full(2 * rows, np.inf))),
        integer=np.zeros(columns + 2 * rows, dtype=np.bool_),
        auxiliary=(*problem.auxiliary, Family("lack", columns, Interval(1, 2 * rows))),
        matrix=Matrix(whole.indptr.astype(np.int64), whole.indices.astype(np.int32), whole.data.astype(np.float64)),
        objectives=(Objective("minimize", (bought,)),),
    )


def _priced(
    aggregated: Aggregated, relaxed: Problem, duals: Floats, options: SolveOptions
) -> tuple[list[Part] | None, float]:
    """The parts with better columns (None when there are none), and the most that all others could gain (negative)."""
    quotient = aggregated.quotient
    costs = _quotient_costs(aggregated, relaxed)
    matrix = quotient.problem.matrix
    whole = sparse.csr_matrix(
        (matrix.values, matrix.columns, matrix.starts), shape=(matrix.rows, quotient.problem.columns)
    )
    prices = costs - whole[aggregated.rows].T @ duals[: len(aggregated.rows)]
    sizes = quotient.classes.sizes
    parts: list[Part] = []
    gain = 0.0
    found = False
    at = len(aggregated.rows)
    for part in aggregated.parts:
        own = []
        for rows in part.rows:
            own.append(duals[at : at + rows.domain.size])
            at += rows.domain.size
        if part.growing is None:
            parts.append(part)
            continue
        size = int(sizes[part.component.kind])
        numbers, constant = part.growing.costs(prices[part.component.columns] / size, tuple(own))
        scale = max(1.0, float(np.abs(numbers).max(initial=0.0)))
        pricing = part.growing.problem
        term = Term(None, np.flatnonzero(numbers).astype(np.int32), numbers[numbers != 0], constant)
        solved = solve_problem(
            replace(pricing, objectives=(Objective("minimize", (term,)),)),
            LINEAR,
            SolveOptions(threads=options.threads, seed=options.seed, gap=1e-6, heuristic="off", tighten=False),
        )
        solved.close()
        more: Part | None = None
        if solved.point is not None and solved.bound is not None:
            gain += size * min(0.0, solved.bound)
            if solved.objective is not None and solved.objective < -PRECISION * scale:
                more = part.growing.grown(np.rint(solved.point).astype(np.int64)[None, :])
        found |= more is not None
        parts.append(more or part)
    return (parts if found else None), gain


def _quotient_costs(aggregated: Aggregated, relaxed: Problem) -> Floats:
    """The cost of every column of the quotient, as it counts there; 0 where the relaxation only looks for a point."""
    objective, stated = relaxed.objectives[0], aggregated.quotient.problem.objectives[0]
    if len(objective.terms) != len(stated.terms) or relaxed.columns != aggregated.problem.columns:
        return np.zeros(aggregated.quotient.problem.columns)
    sign = -1.0 if stated.sense == "maximize" else 1.0
    return sign * stated.costs(aggregated.quotient.problem.columns)
