"""Looking for a better point near the best one: most integer columns stay, a solver decides about the others.

Four kinds of neighbourhood. *Guided*: columns are free where best point and LP point differ (RINS), and those that the
LP finds least dear to change, by reduced cost; where they differ in too much, around such a column. *Along* an index:
the columns of some elements of a set (`elements.py`). *Related*: the columns around a column drawn by lot, ring by ring
through the rows. *Near* (local branching): all are free, but only so many may change.
The first three come in turn, the last where these bring nothing any more. How many columns are free follows from how
long the last one took: fewer when it was not solved in time, more when it brought nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from msgspec import structs

from gpusched_dsl.ir.arrays import Bools, Floats, Ints, unique
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.ir.solver_result import Status
from gpusched_dsl.ir.variants import with_row
from gpusched_dsl.solving.primal.budget import HeuristicBudget
from gpusched_dsl.solving.primal.incumbent import Incumbent
from gpusched_dsl.solving.primal.neighbourhoods import Direction, choose, directions_of
from gpusched_dsl.solving.primal.restriction import Restriction, has_point, restrict, solve_part
from gpusched_dsl.solving.primal.rows import PropagationRows, entries
from gsdsl_backends.protocol import Backend, SolveOptions

FEWEST, FIRST, MOST = 50, 1_000, 20_000  # free integer columns
LEAST_SECONDS, SHARE = 0.5, 0.15  # of what is left, for one neighbourhood
FRUITLESS = 4  # neighbourhoods of each kind in a row that brought nothing, before it is given up
LARGEST_ROW = 2_000  # a row with more entries relates its columns to none
NEAR_CHANGES = 20
WORTH = 1e-3  # the gap that the solver need not close in a neighbourhood


@dataclass(eq=False)
class Neighbourhoods:
    """Improves `incumbent` as long as that works; `relaxed` and `reduced` are point and reduced costs of the LP."""

    incumbent: Incumbent
    rows: PropagationRows
    backend: Backend
    options: SolveOptions
    relaxed: Floats | None
    reduced: Floats | None
    random: np.random.Generator

    def improve(self, budget: HeuristicBudget) -> None:
        problem = self.incumbent.problem
        integers = int(problem.integer.sum())
        directions = directions_of(problem)
        kinds = [
            *(["guided"] if self.relaxed is not None else []),
            *(["along"] if directions else []),
            "related",
        ]
        sizes = dict.fromkeys(kinds, FIRST)
        fruitless = turn = 0
        while not budget.over and self.incumbent.gap > self.options.gap:
            if fruitless >= FRUITLESS * len(kinds):
                if integers > MOST or not self.branch_locally(budget):
                    return
                budget.report(self.incumbent.objective, self.incumbent.bound)
                fruitless = 0
            kind = kinds[turn % len(kinds)]
            turn += 1
            size = min(sizes[kind], integers)
            direction: Direction | None = None
            if kind == "along":
                direction = choose(directions, self.random)
                free = np.zeros(problem.columns, dtype=np.bool_)
                free[direction.draw(size, self.random)] = True
            else:
                free = self._guided_columns(size) if kind == "guided" else self._related_columns(size)
            better, solved = self._solve(free, budget)
            if better:
                budget.report(self.incumbent.objective, self.incumbent.bound)
            if direction is not None:
                direction.tries += 1
                direction.wins += better
            fruitless = 0 if better else fruitless + 1
            if solved and bool(free[problem.integer].all()):
                return  # everything was free
            if not solved:
                sizes[kind] = max(FEWEST, size * 3 // 4 if better else size // 2)
            elif not better or kind == "guided":
                sizes[kind] = min(MOST, size * 2)

    def branch_locally(self, budget: HeuristicBudget, changes: int = NEAR_CHANGES) -> bool:
        """Local branching: all columns free, at most so many binaries changed; whether the point became better."""
        point = self.incumbent.point
        assert point is not None
        problem = self.incumbent.problem
        binary = problem.integer & (problem.lower == 0) & (problem.upper == 1)
        coefficients = np.where(binary, np.where(point > 0.5, -1.0, 1.0), 0.0)
        limit = changes - float((point[binary] > 0.5).sum())
        used = np.flatnonzero(coefficients)
        limited = with_row(problem, "distance", used, coefficients[used], -np.inf, limit)
        return self._solve_part(restrict(limited, limited.lower, limited.upper), budget)[0]

    def _solve(self, free: Bools, budget: HeuristicBudget) -> tuple[bool, bool]:
        """Whether the point became better, and whether the neighbourhood was searched wholly."""
        problem, point = self.incumbent.problem, self.incumbent.point
        assert point is not None
        stays = problem.integer & ~free
        lower, upper = np.where(stays, point, problem.lower), np.where(stays, point, problem.upper)
        return self._solve_part(restrict(problem, lower, upper), budget)

    def _solve_part(self, part: Restriction, budget: HeuristicBudget) -> tuple[bool, bool]:
        assert self.incumbent.point is not None
        if not part.problem.columns:
            return self.incumbent.offer(part.base), True
        seconds = min(budget.remaining_seconds, max(LEAST_SECONDS, SHARE * budget.remaining_seconds))
        options = structs.replace(self.options, time_limit=seconds, gap=max(self.options.gap, WORTH), extra={})
        start = part.values(self.incumbent.point)
        answer = solve_part(self.backend, part.problem, options, start, budget)
        better = has_point(answer) and answer.values is not None and self.incumbent.offer(part.point(answer.values))
        return better, answer.status is not Status.LIMIT

    def _guided_columns(self, size: int) -> Bools:
        problem, point = self.incumbent.problem, self.incumbent.point
        assert point is not None
        assert self.relaxed is not None
        free = problem.integer & (np.abs(point - self.relaxed) > 1e-6)
        rest = size - int(free.sum())
        if rest < 0:
            return self._related_columns(size, np.flatnonzero(free))
        if rest > 0:
            dear = np.zeros(problem.columns) if self.reduced is None else np.abs(self.reduced)
            dear = dear + self.random.random(problem.columns) * (1e-9 + 1e-3 * float(dear.mean()))
            others = np.flatnonzero(problem.integer & ~free)
            if rest < len(others):
                others = others[np.argpartition(dear[others], rest)[:rest]]
            free[others] = True
        return free

    def _related_columns(self, size: int, among: Ints | None = None) -> Bools:
        """Rings of columns around one that is drawn (from `among`); of the last ring some are drawn."""
        problem: Problem = self.incumbent.problem
        rows = self.rows
        free = np.zeros(problem.columns, dtype=np.bool_)
        seen_rows = np.diff(rows.starts) > LARGEST_ROW  # seen already, so to speak
        seen = np.zeros(problem.columns, dtype=np.bool_)
        integers = np.flatnonzero(problem.integer)
        count = 0
        ring = integers[:0]
        if among is not None:
            ring = among[self.random.integers(len(among), size=1)]
            seen[ring] = True
        while count < size:
            if not len(ring):  # at the beginning, and where a part of the problem is at its end
                outside = integers[~free[integers]]
                if not len(outside):
                    break
                ring = outside[self.random.integers(len(outside), size=1)]
                seen[ring] = True
            new_columns = ring[problem.integer[ring] & ~free[ring]]
            if count + len(new_columns) > size:
                new_columns = self.random.choice(new_columns, size - count, replace=False)
            free[new_columns] = True
            count += len(new_columns)
            at, _ = entries(rows.column_starts, ring)
            touched = unique(rows.rows[at])
            touched = touched[~seen_rows[touched]]
            seen_rows[touched] = True
            at, _ = entries(rows.starts, touched)
            ring = unique(rows.columns[at]).astype(np.int64)
            ring = ring[~seen[ring]]
            seen[ring] = True
        return free
