"""Linear problems beside the moves: neighbourhoods of the best point whose integers the relaxation decides.

Some integer columns are freed: those of a few rows, of a range, or any; a choice is free as a whole. The others keep
their values. The relaxation of that is solved, and some of its fractional columns are fixed at an integer nearby, until
none is fractional: each time all continuous columns take their best values at once, which moves one by one do not find
where rows couple many of them, such as balances over time. While no point satisfies the rows, each row has slack, and
the linear problems minimise it in place of the objective.

Sources: E. Danna, E. Rothberg, C. Le Pape, Exploring relaxation induced neighborhoods to improve MIP solutions (2005);
T. Berthold, Primal heuristics for mixed integer programs (2006), fractional and coefficient diving.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.sparse import csr_array, eye_array, hstack

from gpusched_dsl.ir.arrays import Bools, Floats, Ints
from gpusched_dsl.ir.domains import IntervalDomain
from gpusched_dsl.ir.matrix import Matrix
from gpusched_dsl.ir.problem import Family, Objective, Problem, Term
from gpusched_dsl.ir.solver_result import Status
from gsdsl_backends.protocol import Monitor, SolveOptions
from gsdsl_backends.search.kernels.jumps import NOTHING, SearchModel

MOST_NONZEROS = 200_000  # of a problem; beyond, one linear problem takes longer than millions of moves
LEAST_FREED, LEAST_SHARE, FIRST_SHARE, MOST_SHARE = 16, 0.05, 0.2, 0.8
# Of the share of freed columns, where the relaxation is no better than the best point; where a dive fails.
GROWTH, SHRINKAGE = 1.5, 1.1
CALL_WORK = 10_000  # of a call of the solver, in changes of rows judged
FIXED = 4  # one of so many fractional columns is fixed in one step
INTEGRALITY = 1e-6
WORTH = 1e-6  # a better objective differs by this much of the best


class LinearNeighbourhoods:
    """The relaxation of a problem in one solver, from one neighbourhood to the next.

    Values are of the objective, to be minimised, or of the slack (`elastic`). `work` is what it took so far, in about
    the units of the moves: changes of rows judged. It does not depend on time.
    """

    def __init__(self, problem: Problem, model: SearchModel, elastic: bool = False) -> None:
        from gsdsl_backends.highs.backend import HighsBackend

        self._problem, self._model = problem, model
        matrix = problem.matrix
        self._rows = csr_array((matrix.values, matrix.columns, matrix.starts), shape=(matrix.rows, problem.columns))
        self._columns = csr_array(self._rows.T)
        goal = with_slack(problem, self._rows) if elastic else problem
        self._relaxed = replace(goal, integer=np.zeros(goal.columns, dtype=np.bool_))
        self._slacks = goal.columns - problem.columns
        self._session = HighsBackend().open(self._relaxed)
        self._sign = -1.0 if goal.objectives and goal.objectives[0].sense == "maximize" else 1.0
        self._share = FIRST_SHARE
        self.work = 0

    def close(self) -> None:
        self._session.close()

    def complete(self, point: Floats, options: SolveOptions, monitor: Monitor) -> tuple[Floats, float] | None:
        """Return a point with the same integers and the best continuous columns, and its value; None: it has none."""
        lower, upper = self._fixed_at(point, np.zeros(len(point), dtype=np.bool_))
        found = self._solve(lower, upper, options, monitor)
        return None if found is None else (self._exact(found[0]), found[1])

    def improve(
        self, point: Floats, value: float, violated: Ints, options: SolveOptions, monitor: Monitor,
        rng: np.random.Generator,
    ) -> tuple[Floats, float] | None:  # fmt: skip
        """Return a point of a better value in a neighbourhood of this one, with its value; None where the dive fails.

        Integers of rows that are `violated` are free first.
        """
        limit = value - WORTH * max(abs(value), WORTH) if np.isfinite(value) else np.inf
        free = self._freed(point, violated, rng)
        lower, upper = self._fixed_at(point, free)
        found = self._solve(lower, upper, options, monitor)
        if found is None or found[1] >= limit:
            self._share = min(self._share * GROWTH, MOST_SHARE)
            return None
        upwards = rng.random() < 0.5
        while True:
            values = found[0]
            columns = np.flatnonzero(free & (np.abs(values - np.rint(values)) > INTEGRALITY))
            if not len(columns):
                return self._exact(values), found[1]
            above = np.ceil(values[columns]) - values[columns]
            distance = above if upwards else np.minimum(above, 1.0 - above)
            order = np.argsort(distance + 0.2 * rng.random(len(columns)), kind="stable")
            up = np.full(len(columns), upwards) | (above <= 0.5)
            size = max(1, len(columns) // FIXED)
            while size:  # fewer at a time, and at last the other side of the first one
                batch = order[:size]
                tighter = _bounded(lower, upper, values, columns[batch], up[batch])
                found = self._solve(*tighter, options, monitor)
                if found is not None and found[1] < limit:
                    break
                size //= FIXED
            else:
                tighter = _bounded(lower, upper, values, columns[order[:1]], ~up[order[:1]])
                found = self._solve(*tighter, options, monitor)
            if found is None or found[1] >= limit:
                self._share = max(self._share / SHRINKAGE, LEAST_SHARE)
                return None
            lower, upper = tighter

    def _freed(self, point: Floats, violated: Ints, rng: np.random.Generator) -> Bools:
        """Return which integer columns are free: of rows, of a range of columns, or any; choices as a whole."""
        model = self._model
        movable = model.movable
        wanted = min(max(int(self._share * len(movable)), LEAST_FREED), len(movable))
        free = np.zeros(len(point), dtype=np.bool_)
        kind = int(rng.integers(3))
        if kind == 0 or (len(violated) and rng.random() < 0.5):
            begin = rng.choice(violated) if len(violated) else rng.integers(self._rows.shape[0])
            free[self._around(int(begin), point, wanted, rng)] = True
        elif kind == 1:
            begin = int(rng.integers(len(movable)))
            free[np.take(movable, np.arange(begin, begin + wanted), mode="wrap")] = True
        else:
            free[rng.permutation(movable)[:wanted]] = True
        choices = np.zeros(len(model.must) + 1, dtype=np.bool_)  # the last: of columns without a choice
        choices[model.choice[free & ((point > 0.5) | (kind > 0))]] = True
        choices[NOTHING] = False
        free |= choices[model.choice]
        result: Bools = free & (model.lower < model.upper) & model.integer
        return result

    def _around(self, row: int, point: Floats, wanted: int, rng: np.random.Generator) -> Ints:
        """Return movable columns of a row, of the rows that share columns with it, and so on, about as many as wanted.

        Of a choice only the column that is 1 counts: with it the choice is free.
        """
        model = self._model
        sizes = np.append(np.diff(model.members_from), 1)  # of what a column frees; the last: without a choice
        kept = model.integer & (model.lower < model.upper) & ((model.choice == NOTHING) | (point > 0.5))
        known_rows, known = np.zeros(self._rows.shape[0], dtype=np.bool_), np.zeros(len(point), dtype=np.bool_)
        rows, found, freed = np.array([row]), [np.zeros(0, dtype=np.int64)], 0
        while len(rows) and freed < wanted:
            known_rows[rows] = True
            columns = np.unique(_entries(self._rows, rows))
            columns = rng.permutation(columns[~known[columns]])
            known[columns] = True
            some = columns[kept[columns]]
            sums = freed + np.cumsum(sizes[model.choice[some]])
            found.append(some[: int(np.searchsorted(sums, wanted)) + 1])
            freed = int(sums[-1]) if len(sums) else freed
            rows = np.unique(_entries(self._columns, columns))
            rows = rows[~known_rows[rows]]
        return np.concatenate(found)

    def _fixed_at(self, point: Floats, free: Bools) -> tuple[Floats, Floats]:
        model = self._model
        fixed = model.integer & ~free
        values = np.clip(np.rint(point), model.lower, model.upper)
        lower, upper = np.where(fixed, values, model.lower), np.where(fixed, values, model.upper)
        return np.append(lower, np.zeros(self._slacks)), np.append(upper, np.full(self._slacks, np.inf))

    def _solve(
        self, lower: Floats, upper: Floats, options: SolveOptions, monitor: Monitor
    ) -> tuple[Floats, float] | None:
        """Return point and value of the relaxation within bounds; None: it has no point, or there is no time."""
        self._session.update(replace(self._relaxed, lower=lower, upper=upper))
        answer = self._session.solve(options, None, monitor)
        iterations = int(answer.statistics.get("iterations", 0.0))
        size = self._problem.matrix.nonzeros + self._problem.columns
        self.work += CALL_WORK + iterations * self._problem.rows + 2 * size
        if answer.status is not Status.OPTIMAL or answer.values is None:
            return None
        value = self._relaxed.objectives[0].value(answer.values) if self._relaxed.objectives else 0.0
        return answer.values[: self._problem.columns], self._sign * value

    def _exact(self, values: Floats) -> Floats:
        """The point with exact integers within the bounds."""
        model = self._model
        return np.clip(np.where(model.integer, np.rint(values), values), model.lower, model.upper)


def with_slack(problem: Problem, rows: csr_array) -> Problem:
    """Return the problem with slack in both directions in each row, which is minimised, relative to the row's size."""
    count, columns = problem.rows, problem.columns
    wide = hstack((rows, eye_array(count), -eye_array(count)), format="csr")
    largest = abs(rows).max(axis=1).toarray().ravel() if rows.nnz else np.ones(count)
    weights = np.tile(1.0 / np.where(largest > 0, largest, 1.0), 2)
    slacks = np.arange(columns, columns + 2 * count, dtype=np.int32)
    return replace(
        problem,
        lower=np.append(problem.lower, np.zeros(2 * count)),
        upper=np.append(problem.upper, np.full(2 * count, np.inf)),
        integer=np.append(problem.integer, np.zeros(2 * count, dtype=np.bool_)),
        auxiliary=(*problem.auxiliary, Family("slack", columns, IntervalDomain(1, 2 * count))),
        matrix=Matrix(wide.indptr.astype(np.int64), wide.indices.astype(np.int32), wide.data.astype(np.float64)),
        objectives=(Objective("minimize", (Term(None, slacks, weights),)),),
    )


def _entries(matrix: csr_array, rows: Ints) -> Ints:
    """The columns of some rows."""
    starts = matrix.indptr
    counts = (starts[rows + 1] - starts[rows]).astype(np.int64)
    offsets = np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)
    columns: Ints = matrix.indices[np.repeat(starts[rows], counts) + offsets].astype(np.int64)
    return columns


def _bounded(lower: Floats, upper: Floats, values: Floats, columns: Ints, up: Bools) -> tuple[Floats, Floats]:
    """Return bounds where columns are at least their value above, or at most the one below."""
    lower, upper = lower.copy(), upper.copy()
    lower[columns[up]] = np.ceil(values[columns[up]])
    upper[columns[~up]] = np.floor(values[columns[~up]])
    return lower, upper
