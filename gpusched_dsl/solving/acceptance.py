"""Selects the point of a solver's result: the solver's own if it is clean, else the best repaired point.

In order: the point as it is; with the columns of terms computed anew; with integer columns fixed and the others solved
for again (`repair.py`); moved to the nearest clean point (`polishing.py`); the same of a second, tighter run; the point
with the truths that its solver chose, each within the tolerance (`ir/tolerances.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress

import numpy as np
from msgspec import Struct, structs

from gpusched_dsl.compiling.passes.steps import ReformulatedProblem
from gpusched_dsl.ir.arrays import Floats
from gpusched_dsl.ir.deadline import INTERRUPT, TIME
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.ir.solver_result import SolverResult, Status, relative_gap
from gpusched_dsl.ir.tolerances import ALLOWED_LOSS, NEAR
from gpusched_dsl.ir.verify import Tolerances, verify
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.solving.map_start import map_start
from gpusched_dsl.solving.repair_time import Allowance
from gpusched_dsl.solving.verification import (
    OBJECTIVE_TOLERANCE,
    CheckedPoint,
    allowed_error,
    check_claim,
    check_point,
    refuse_worse,
    tidy_point,
)
from gsdsl_backends.protocol import Backend, Monitor, SolveOptions


class AcceptedPoint(Struct, frozen=True, eq=False):
    """A result and its point, checked in the reformulated problem and in the original problem."""

    answer: SolverResult
    checked_point: CheckedPoint
    stated_point: CheckedPoint

    @property
    def is_integral(self) -> bool:
        return self.checked_point.is_integral and self.stated_point.is_integral


class Acceptance:
    """Chooses the point of one stage: that of objective `number` of the `reformulated` problem, solved as `problem`.

    `problem` and `stated_problem` (the original problem) include the rows that keep earlier objectives. `options`
    returns the options with the remaining time; `again` solves the stage again with tight tolerances, or returns None.
    """

    def __init__(
        self,
        backend: Backend,
        reformulated: ReformulatedProblem,
        problem: Problem,
        stated_problem: Problem,
        number: int,
        tolerances: Tolerances,
        options: Callable[[], SolveOptions],
        monitor: Monitor | None,
        again: Callable[[], SolverResult | None],
    ) -> None:
        self.backend, self.reformulated = backend, reformulated
        self.problem, self.stated_problem, self.number = problem, stated_problem, number
        self.tolerances, self.monitor = tolerances, monitor
        self._options, self._again = options, again
        self._allowance = Allowance(None, problem)

    def select(self, answer: SolverResult) -> AcceptedPoint | SolverResult:
        """Return the selected point; only the result if it has no feasible point and claims no optimum.

        Raises DiagnosticError (GSM4008, GSM4009) where an optimum is claimed and no feasible point is near it.
        """
        self._allowance = Allowance(self._options().time_limit, self.problem, answer.reason)
        check_claim(self.problem, answer, self.backend.name)
        first: AcceptedPoint | None = None
        refusal: DiagnosticError | None = None
        try:
            first = self._check(answer)
        except DiagnosticError as refused:
            refusal = refused
        if first is not None and first.is_integral and self._is_fit(first, answer):
            return first
        found, unproved = self._first_fit(self._repaired_points(answer, first is None), answer)
        if found is not None:
            return found
        if first is not None and not first.is_integral and self._is_fit(first, answer):
            return first
        second = self._again() if answer.status is Status.OPTIMAL else None
        if second is not None and second.values is not None:
            if second.status is not Status.OPTIMAL:  # the first run has proved what the second has not
                second = structs.replace(answer, values=second.values, objective=second.objective)
            found, other = self._first_fit(self._points_of_second(second), second)
            if found is not None:
                return found
            unproved = unproved or other
        if refusal is not None:
            with suppress(DiagnosticError):
                return self._check(answer, witnessed=True)
            if second is not None and second.status is Status.INFEASIBLE:
                return second
        return self._result_without_proof(answer, first, unproved, refusal)

    def _first_fit(
        self, candidates: Iterator[AcceptedPoint], answer: SolverResult
    ) -> tuple[AcceptedPoint | None, AcceptedPoint | None]:
        """The first candidate that is as good as the answer claims, and the first one that is feasible at least."""
        feasible: AcceptedPoint | None = None
        for found in candidates:
            if self._is_fit(found, answer):
                return found, feasible
            feasible = feasible or found
        return None, feasible

    def _result_without_proof(
        self,
        answer: SolverResult,
        first: AcceptedPoint | None,
        repaired: AcceptedPoint | None,
        refusal: DiagnosticError | None,
    ) -> AcceptedPoint | SolverResult:
        """Return the result if no point is both clean and as good as claimed."""
        if first is not None and self._loss(first, answer)[0] <= 0:
            return first  # better than its own bound: the check of bounds says so
        usable = first or (repaired if repaired is not None and self._is_near(repaired, answer) else None)
        if usable is not None:
            return structs.replace(
                usable, answer=structs.replace(usable.answer, status=Status.LIMIT, reason="accuracy")
            )
        if answer.status is Status.LIMIT:
            return structs.replace(answer, values=None, objective=None)
        if self._allowance.over:  # with more time the point might have become clean
            return structs.replace(
                answer, status=Status.LIMIT, reason=answer.reason or TIME, values=None, objective=None
            )
        assert refusal is not None
        raise refusal

    # --- candidates --------------------------------------------------------------------------------------------------

    def _repaired_points(self, answer: SolverResult, refused: bool) -> Iterator[AcceptedPoint]:
        """Repair a point that is not clean, or (`refused` false) not integer."""
        if answer.values is None or not np.isfinite(answer.values).all():
            return
        if refused and self.reformulated.problem is not self.reformulated.original:
            yield from self._from_stated(answer, self.reformulated.invert(answer.values))
        if self.problem.is_linear:
            yield from self._points_with_integers_fixed(answer)
            yield from self._polished_points(answer)
        else:
            yield from self._polished_points(answer)
            yield from self._points_with_integers_fixed(answer)

    def _points_of_second(self, second: SolverResult) -> Iterator[AcceptedPoint]:
        try:
            yield self._check(second)
        except DiagnosticError:
            yield from self._repaired_points(second, True)

    def _points_with_integers_fixed(self, answer: SolverResult) -> Iterator[AcceptedPoint]:
        if not (self.problem.is_mip or self.reformulated.original.is_mip):
            return
        from gpusched_dsl.solving.repair import helpers, repair

        for helper in helpers(self.backend, self.reformulated, answer, self.tolerances):
            if self._allowance.over:
                return
            other = repair(helper, self.problem, answer, self._options_in_time(), self._monitor_for(answer))
            if other is None:
                continue
            try:
                found = self._check(other)
            except DiagnosticError:
                yield from self._polished_points(other)
                continue
            if found.is_integral:
                yield found

    def _polished_points(self, answer: SolverResult) -> Iterator[AcceptedPoint]:
        from gpusched_dsl.solving.polishing import polish

        assert answer.values is not None
        if self._allowance.over or not np.isfinite(answer.values).all():
            return
        point = self.reformulated.invert(answer.values)
        moved = polish(self.stated_problem, point, self.tolerances, self._options_in_time(), self._monitor_for(answer))
        if moved is not None:
            yield from self._from_stated(answer, moved)

    # --- checks ------------------------------------------------------------------------------------------------------

    def _check(self, answer: SolverResult, witnessed: bool = False) -> AcceptedPoint:
        """Raises DiagnosticError where a check refuses the point, or the objective is worse than the solver knew."""
        assert answer.values is not None
        name, problem, original = self.backend.name, self.problem, self.reformulated.original
        checked = check_point(problem, answer.values, self.tolerances, name, witnessed)
        if problem is original:
            return AcceptedPoint(answer, checked, checked)
        stated = check_point(original, self.reformulated.invert(checked.point), self.tolerances, name, witnessed)
        if problem.objectives:
            claimed = checked.verification.objectives[0].value
            objective, value = original.objectives[self.number], stated.verification.objectives[self.number]
            refuse_worse(objective, claimed, value, allowed_error(original, objective, value, stated.point), name)
        return AcceptedPoint(answer, checked, stated)

    def _from_stated(self, answer: SolverResult, point: Floats) -> Iterator[AcceptedPoint]:
        """A point of the problem as stated, with the columns that passes added computed from it.

        That it breaks a row which a pass added does not count, but rows that keep earlier objectives do.
        """
        name, problem, original = self.backend.name, self.problem, self.reformulated.original
        try:
            stated = check_point(original, point, self.tolerances, name)
            values = map_start(self.reformulated, stated.point)
            assert values is not None
            if problem is original:
                checked = stated
            elif problem is self.reformulated.problem:
                values = tidy_point(problem, values)
                checked = CheckedPoint(values, verify(problem, values, self.tolerances), True)
            else:
                checked = check_point(problem, values, self.tolerances, name)
        except DiagnosticError:
            return
        objective = checked.verification.objectives[0].value if problem.objectives else 0.0
        yield AcceptedPoint(structs.replace(answer, values=checked.point, objective=objective), checked, stated)

    # --- objectives --------------------------------------------------------------------------------------------------

    def _loss(self, found: AcceptedPoint, answer: SolverResult) -> tuple[float, float, float]:
        """By how much the objective is worse than the best that the answer claims; its value; its rounding error."""
        best = answer.bound if answer.bound is not None else answer.objective
        if not self.problem.objectives or best is None:
            return 0.0, 0.0, 1.0
        original = self.reformulated.original
        objective, value = original.objectives[self.number], found.stated_point.verification.objectives[self.number]
        sign = 1.0 if objective.sense == "minimize" else -1.0
        loss = sign * (value.value - best) - self.reformulated.bound_error
        return loss, value.value, allowed_error(original, objective, value, found.stated_point.point)

    def _is_fit(self, found: AcceptedPoint, answer: SolverResult) -> bool:
        """Whether the point is the optimum that the answer claims to have, and not better than is possible."""
        loss, value, error = self._loss(found, answer)
        if answer.status is not Status.OPTIMAL:
            return answer.bound is None or loss >= -error
        if abs(loss) <= error:
            return True
        return loss > 0 and relative_gap(value, value - loss) <= self._options().gap + ALLOWED_LOSS

    def _is_near(self, found: AcceptedPoint, answer: SolverResult) -> bool:
        """Whether the point is worse than the claim only by possible errors of a solver."""
        loss, value, error = self._loss(found, answer)
        return loss <= max(NEAR * abs(value), NEAR / OBJECTIVE_TOLERANCE * error)

    # --- time --------------------------------------------------------------------------------------------------------

    def _options_in_time(self) -> SolveOptions:
        return structs.replace(self._options(), time_limit=self._allowance.remaining_seconds)

    def _monitor_for(self, answer: SolverResult) -> Monitor | None:
        return None if answer.reason == INTERRUPT else self.monitor
