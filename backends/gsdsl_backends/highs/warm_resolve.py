"""Solving a changed problem with integers by HiGHS: its linear relaxation first, which often is proof enough.

The relaxation is solved from the basis of the earlier one, or from one read off the start. Its duals give a bound. If
the start, the relaxation's own optimum, or a solution of the small problem in the columns that reduced costs do not
decide comes within the gap of the bound, there is nothing to branch on.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import Struct, structs

from gpusched_dsl.ir.arrays import Bools, Floats, Int32s
from gpusched_dsl.ir.problem import Objective, Problem
from gpusched_dsl.ir.solver_result import SolverResult, Status, relative_gap
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gsdsl_backends.protocol import SolveOptions

if TYPE_CHECKING:
    from gpusched_dsl.ir.changes import Changes
    from gsdsl_backends.highs.basis import Basis
    from gsdsl_backends.highs.relaxation import DualBound
    from gsdsl_backends.highs.restricted_relaxation import ColumnSelection


# An attempt may take this part of the time of the last solve without one, and at least so many seconds.
SHARE, LEAST_SECONDS = 0.5, 1.0

# How often columns are added to a restricted relaxation, and the part of a gap that the bound may lose by the others.
ROUNDS, LOSS = 4, 0.1

# Both columns and bounds count as close within the gap, or within this part of the value.
CLOSE = 1e-3

# The small problem must have fewer columns than this part of all; else it is as hard as the complete problem.
SMALL = 0.5

# How much worse than the bound, in gaps, solutions of the small problem may be: the first is all that a proof needs,
# the second gives a start where that has no solution. Gaps below the third count as that.
WIDER = (1.0, 30.0)
LEAST_GAP = 1e-7
ABSOLUTE_GAP = "mip_abs_gap"  # the option of HiGHS

# A value this near to the bound, relatively, is at it: what is left is rounding.
AT_THE_BOUND = 1e-9

# The most steps of rounding, and the part of the open columns that one step rounds.
DEPTH, BATCHES = 30, 4

# How far a point of the small problem may be outside, as points of HiGHS are.
WITHIN = 1e-6

# After k attempts in a row that proved nothing, 2^k - 1 solves go by without one, k at most this.
MOST_PATIENCE = 6


class Relaxations(Struct, eq=False):
    """The last relaxation, by its basis, duals and value, and how often relaxations have sufficed as a proof so far.

    `new_columns` were added since then.
    """

    basis: Basis | None = None
    row_duals: Floats | None = None
    value: float = 0.0
    new_columns: Bools | None = None
    failures: int = 0
    waiting: int = 0

    def adapt_to(self, changes: Changes) -> None:
        """Follow a change of columns and rows."""
        columns, rows = changes.columns, changes.rows
        if self.basis is not None:
            self.basis = self.basis.adapt_to(changes)
        if self.row_duals is not None:
            self.row_duals = rows.carry(self.row_duals, np.zeros(changes.new.rows)).astype(np.float64)
        earlier = np.zeros(columns.old_count, dtype=np.bool_) if self.new_columns is None else self.new_columns
        self.new_columns = columns.carry(earlier, np.ones(changes.new.columns, dtype=np.bool_)).astype(np.bool_)

    def worth_trying(self) -> bool:
        """Return whether to try in this solve."""
        if self.waiting:
            self.waiting -= 1
            return False
        return True

    def record(self, proved: bool) -> None:
        """Record whether an attempt succeeded."""
        self.failures = 0 if proved else min(self.failures + 1, MOST_PATIENCE)
        self.waiting = 2**self.failures - 1

    def limit(self, rest: float, last: float) -> float:
        """Return the seconds of one attempt if `rest` remain, and the last solve without one took `last`."""
        return min(rest, max(LEAST_SECONDS, SHARE * last))


@dataclass(eq=False)
class ResolveAttempt:
    """One attempt on a problem, which leaves another problem in `highs`.

    `run` lets HiGHS solve what is loaded as a linear problem, within the attempt's limits; `solve_other` solves another
    problem in a session of its own. What HiGHS says of the relaxation is used only as it is optimal, and the bound is
    computed here from its duals.
    """

    highs: Any
    problem: Problem
    relaxations: Relaxations
    options: SolveOptions
    run: Callable[[], None]
    solve_other: Callable[[Problem, SolveOptions], SolverResult]

    @property
    def objective(self) -> Objective:
        return self.problem.objectives[0]

    def answer(self, start: Floats | None) -> tuple[SolverResult | None, Floats | None]:
        """The answer if the relaxation is proof enough, else None; and the best start known."""
        from gsdsl_backends.highs.relaxation import is_feasible

        problem = self.problem
        self.best = start if start is not None and is_feasible(problem, start) else None
        point = self.solve_relaxation(start)
        if point is None:
            return None, start
        answer = self._accept_if_near(self.best) or self._keep_if_near(self._round(point))
        if answer is None:
            point = self._restrict(point, start)
        if answer is None and start is not None:
            answer = self._keep_if_near(self._solve_with_integers_of(start))
        if answer is None:
            answer = self._keep_if_near(self._dive(point))
        if answer is None:
            answer = self._solve_undecided(point)
        return answer, start if self.best is None else self.best

    def solve_relaxation(self, start: Floats | None) -> Floats | None:
        """Solve the relaxation, in few columns where an earlier one selects them; return its optimum, None without."""
        from gsdsl_backends.highs.basis import basis_at
        from gsdsl_backends.highs.relaxation import dual_bound
        from gsdsl_backends.highs.restricted_relaxation import ColumnSelection, RestrictedRelaxation

        problem, last = self.problem, self.relaxations
        basis, from_start = last.basis, False
        if basis is None and start is not None:
            basis, from_start = basis_at(problem, start), True
        complete = ColumnSelection.complete(problem)
        selection = self._selection(start) or complete
        last.basis, last.row_duals = None, None
        for number in range(ROUNDS + 1):
            selection = selection if number < ROUNDS else complete
            relaxation = RestrictedRelaxation(self.highs, problem, selection, self.run)
            if basis is not None:
                relaxation.set_basis(basis)
            point = relaxation.optimum_from_feasible() if from_start else relaxation.optimum()
            duals = None if point is None else relaxation.row_duals()
            bound = None if duals is None else dual_bound(problem, duals)
            if point is not None and bound is not None and self._is_proved(selection, point, bound):
                last.basis, last.row_duals, last.value, last.new_columns = relaxation.basis(), duals, bound.value, None
                self.relaxation, self.bound = relaxation, bound
                self.iterations = float(max(self.highs.getInfo().simplex_iteration_count, 0))
                return point
            if selection.free.all():
                break
            basis = relaxation.basis() or basis
            selection = (None if duals is None else selection.with_missing(problem, duals)) or complete
        return None

    def _restrict(self, point: Floats, start: Floats | None) -> Floats:
        """Restrict a complete relaxation by its own duals, so that what follows takes less; return its optimum."""
        from gsdsl_backends.highs.restricted_relaxation import RestrictedRelaxation

        basis, selection = self.relaxations.basis, self._selection(start)
        if basis is None or selection is None or len(self.relaxation.rest.free) < self.problem.columns:
            return point
        self.relaxation = RestrictedRelaxation(self.highs, self.problem, selection, self.run)
        self.relaxation.set_basis(basis)
        restricted = self.relaxation.optimum()
        return point if restricted is None else restricted

    def _selection(self, start: Floats | None) -> ColumnSelection | None:
        """Return the selection by the last relaxation; None without one."""
        from gsdsl_backends.highs.restricted_relaxation import select_columns

        last = self.relaxations
        if last.basis is None or last.row_duals is None:
            return None
        new = np.zeros(self.problem.columns, dtype=np.bool_) if last.new_columns is None else last.new_columns
        return select_columns(self.problem, last.row_duals, self._close(last.value), last.basis, new, start)

    def _is_proved(self, selection: ColumnSelection, point: Floats, bound: DualBound) -> bool:
        """Whether the bound is as good as that of the complete relaxation, nearly."""
        from gsdsl_backends.highs.relaxation import distance

        if selection.free.all():
            return True
        loss = distance(self.objective, self.objective.value(point), bound.value)
        return loss <= LOSS * self._close(bound.value)

    def _close(self, value: float) -> float:
        """The gap at a value, in units of the objective, or a small part of the value if that is less."""
        return min(self._slack(value), CLOSE * max(abs(value), 1.0))

    def _slack(self, value: float) -> float:
        """The gap at a value, in units of the objective."""
        return max(max(self.options.gap, LEAST_GAP) * max(abs(value), 1.0), self._absolute_gap)

    def _round(self, point: Floats) -> Floats:
        rounded_point = np.where(self.problem.integer, np.rint(point), point)
        return np.clip(rounded_point, self.problem.lower, self.problem.upper)

    def _solve_with_integers_of(self, start: Floats) -> Floats | None:
        """Return the best point with the integer columns of the start, a few pivots from the optimum of the
        relaxation.
        """
        problem, relaxation = self.problem, self.relaxation
        columns = self._integers()
        lower, upper = problem.lower[columns], problem.upper[columns]
        at = np.clip(np.rint(start[columns]), lower, upper)
        relaxation.change_bounds(columns, at, at)
        point = relaxation.optimum()
        relaxation.change_bounds(columns, lower, upper)
        return None if point is None else self._round(point)

    def _integers(self) -> Int32s:
        """The integer columns that the relaxation has."""
        is_free = np.zeros(self.problem.columns, dtype=np.bool_)
        is_free[self.relaxation.rest.free] = True
        return np.flatnonzero(self.problem.integer & is_free).astype(np.int32)

    def _dive(self, point: Floats) -> Floats | None:
        """Return an integer point near the bound, by rounding columns, the most certain ones first.

        After each step the relaxation is solved again, which takes a few pivots. A step rounds a quarter of the open
        columns to their nearer sides; where this leaves the gap, one column, to the nearer or else to the further side.
        Where neither will do there is no such point on this way.
        """
        from gsdsl_backends.highs.relaxation import INTEGRALITY

        problem, found = self.problem, None
        integers = self._integers()
        lower, upper = problem.lower.copy(), problem.upper.copy()
        for _ in range(DEPTH):
            fraction = np.abs(point[integers] - np.rint(point[integers]))
            open_ = integers[fraction > INTEGRALITY]
            if not len(open_):
                found = self._round(point)
                break
            certain = open_[np.argsort(fraction[fraction > INTEGRALITY], kind="stable")]
            one = certain[:1]
            steps = [(one, np.rint(point[one])), (one, 2 * np.floor(point[one]) + 1 - np.rint(point[one]))]
            if len(several := certain[: len(certain) // BATCHES]) > 1:
                steps.insert(0, (several, np.rint(point[several])))
            deeper = None
            for columns, sides in steps:
                deeper = self._step(columns, sides, point, lower, upper)
                if deeper is not None:
                    break
            if deeper is None:
                break
            point = deeper
        self.relaxation.change_bounds(integers, problem.lower[integers], problem.upper[integers])
        return found

    def _step(self, columns: Int32s, sides: Floats, point: Floats, lower: Floats, upper: Floats) -> Floats | None:
        """Solve the relaxation with these columns at or beyond `sides`; undo it and return None outside of the gap."""
        up = sides > point[columns]
        low, high = np.where(up, sides, lower[columns]), np.where(up, upper[columns], sides)
        self.relaxation.change_bounds(columns, low, high)
        found = self.relaxation.optimum()
        if found is None or not self._near(self.objective.value(found)):
            self.relaxation.change_bounds(columns, lower[columns], upper[columns])
            return None
        lower[columns], upper[columns] = low, high
        return found

    def _with_half_of_the_gap(self) -> SolveOptions:
        extra = dict(self.options.extra)
        if ABSOLUTE_GAP in extra:
            extra[ABSOLUTE_GAP] = self._absolute_gap / 2
        return structs.replace(self.options, gap=self.options.gap / 2, extra=extra)

    @property
    def _absolute_gap(self) -> float:
        """The gap in units of the objective, 0 if the options give none."""
        return max(0.0, float(self.options.extra.get(ABSOLUTE_GAP, 0.0)))

    def _near(self, value: float) -> bool:
        """Whether a value is within the relative or the absolute gap of the bound."""
        from gsdsl_backends.highs.relaxation import distance

        away = distance(self.objective, value, self.bound.value)
        return away <= self._absolute_gap or relative_gap(value, self.bound.value) <= max(
            self.options.gap, AT_THE_BOUND
        )

    def _solve_undecided(self, point: Floats) -> SolverResult | None:
        """Solve the problem that remains after reduced-cost fixing."""
        from gsdsl_backends.highs.relaxation import rest_of, undecided_columns

        problem = self.problem
        for wider in WIDER:
            free = undecided_columns(problem, point, self.bound, wider * self._slack(self.bound.value))
            if not problem.integer[free].any() or free.sum() > SMALL * problem.columns:
                return None
            rest = rest_of(problem, point, free)
            try:
                # Half of the gap: the other half is for the distance between the best of the rest and the bound.
                inner_answer = self.solve_other(rest.problem, self._with_half_of_the_gap())
            except DiagnosticError:
                return None
            values = inner_answer.values
            answer = None if values is None else self._keep_if_near(rest.complete_point(values))
            if answer is not None:
                return answer
        return None

    def _keep_if_near(self, point: Floats | None) -> SolverResult | None:
        """Return a result if a point is feasible and near enough to the bound; keep the best point."""
        from gsdsl_backends.highs.relaxation import distance, is_feasible

        if point is None or not is_feasible(self.problem, point, WITHIN):
            return None
        value = self.objective.value(point)
        if self.best is None or distance(self.objective, value, self.objective.value(self.best)) < 0:
            self.best = point
        return self._accept_if_near(point)

    def _accept_if_near(self, point: Floats | None) -> SolverResult | None:
        if point is None:
            return None
        value = self.objective.value(point)
        if not self._near(value):
            return None
        counts = {"nodes": 0.0, "iterations": self.iterations, "proved_by_relaxation": 1.0}
        return SolverResult(Status.OPTIMAL, point, value, self.bound.value, statistics=counts)
