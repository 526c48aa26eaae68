"""Selects the point of a solver's result: the solver's own if it is clean, else the best repaired point.

In order: the point as it is; with the columns of terms computed anew; with whole columns fixed and the others solved
for again (`repair.py`); moved to the nearest clean point (`polishing.py`); the same of a second, tighter run; the point
with the truths that its solver chose, each within the tolerance (`ir/tolerances.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np

from gpusched_dsl.backends.protocol import Backend, Monitor, SolveOptions
from gpusched_dsl.compiling.passes.steps import ReformulatedProblem
from gpusched_dsl.ir.arrays import Floats
from gpusched_dsl.ir.deadline import INTERRUPT, TIME
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.ir.solver_result import SolverResult, Status, relative_gap
from gpusched_dsl.ir.tolerances import NEAR
from gpusched_dsl.ir.verify import Tolerances, verify
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.solving.map_start import map_start
from gpusched_dsl.solving.polishing import polish
from gpusched_dsl.solving.repair import ALLOWED_LOSS, helpers, repair
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


@dataclass(frozen=True, eq=False)
class Accepted:
    """An answer and its point, checked as one of the reformulated problem and as one of the problem as stated."""

    answer: SolverResult
    checked: CheckedPoint
    stated: CheckedPoint

    @property
    def whole(self) -> bool:
        return self.checked.whole and self.stated.whole


class Acceptance:
    """Chooses the point of one stage: that of objective `number` of the `reformulated` problem, solved as `problem`.

    `problem` and `stated` (in terms of the problem as stated) have the rows that keep earlier objectives. `options`
    says what is left of the time limit; `again` solves the stage once more, tightly; None if it cannot.
    """

    def __init__(
        self,
        backend: Backend,
        reformulated: ReformulatedProblem,
        problem: Problem,
        stated: Problem,
        number: int,
        tolerances: Tolerances,
        options: Callable[[], SolveOptions],
        monitor: Monitor | None,
        again: Callable[[], SolverResult | None],
    ) -> None:
        self.backend, self.reformulated = backend, reformulated
        self.problem, self.stated, self.number = problem, stated, number
        self.tolerances, self.monitor = tolerances, monitor
        self._options, self._again = options, again
        self._allowed = Allowance(None, problem)

    def of(self, answer: SolverResult) -> Accepted | SolverResult:
        """Return the selected point; only the result if it has no feasible point and claims no optimum.

        Raises DiagnosticError (GSM4008, GSM4009) where an optimum is claimed and no feasible point is near it.
        """
        self._allowed = Allowance(self._options().time_limit, self.problem, answer.reason)
        check_claim(self.problem, answer, self.backend.name)
        first: Accepted | None = None
        refusal: DiagnosticError | None = None
        try:
            first = self._as_it_is(answer)
        except DiagnosticError as refused:
            refusal = refused
        if first is not None and first.whole and self._is_fit(first, answer):
            return first
        found, unproved = self._first_fit(self._mended(answer, first is None), answer)
        if found is not None:
            return found
        if first is not None and not first.whole and self._is_fit(first, answer):
            return first
        second = self._again() if answer.status is Status.OPTIMAL else None
        if second is not None and second.values is not None:
            if second.status is not Status.OPTIMAL:  # the first run has proved what the second has not
                second = replace(answer, values=second.values, objective=second.objective)
            found, other = self._first_fit(self._of_second(second), second)
            if found is not None:
                return found
            unproved = unproved or other
        if refusal is not None:
            with suppress(DiagnosticError):
                return self._as_it_is(answer, witnessed=True)
            if second is not None and second.status is Status.INFEASIBLE:
                return second
        return self._unproved(answer, first, unproved, refusal)

    def _first_fit(
        self, candidates: Iterator[Accepted], answer: SolverResult
    ) -> tuple[Accepted | None, Accepted | None]:
        """The first candidate that is as good as the answer claims, and the first one that is feasible at least."""
        feasible: Accepted | None = None
        for found in candidates:
            if self._is_fit(found, answer):
                return found, feasible
            feasible = feasible or found
        return None, feasible

    def _unproved(
        self, answer: SolverResult, first: Accepted | None, mended: Accepted | None, refusal: DiagnosticError | None
    ) -> Accepted | SolverResult:
        """Return the result if no point is both clean and as good as claimed."""
        if first is not None and self._loss(first, answer)[0] <= 0:
            return first  # better than its own bound: the check of bounds says so
        usable = first or (mended if mended is not None and self._is_near(mended, answer) else None)
        if usable is not None:
            return replace(usable, answer=replace(usable.answer, status=Status.LIMIT, reason="accuracy"))
        if answer.status is Status.LIMIT:
            return replace(answer, values=None, objective=None)
        if self._allowed.over:  # with more time the point might have become clean
            return replace(answer, status=Status.LIMIT, reason=answer.reason or TIME, values=None, objective=None)
        assert refusal is not None
        raise refusal

    # --- candidates --------------------------------------------------------------------------------------------------

    def _mended(self, answer: SolverResult, refused: bool) -> Iterator[Accepted]:
        """Repair a point that is not clean, or (`refused` false) not integer."""
        if answer.values is None or not np.isfinite(answer.values).all():
            return
        if refused and self.reformulated.problem is not self.reformulated.original:
            yield from self._from_stated(answer, self.reformulated.invert(answer.values))
        if self.problem.is_linear:
            yield from self._with_whole_columns(answer)
            yield from self._moved(answer)
        else:
            yield from self._moved(answer)
            yield from self._with_whole_columns(answer)

    def _of_second(self, second: SolverResult) -> Iterator[Accepted]:
        try:
            yield self._as_it_is(second)
        except DiagnosticError:
            yield from self._mended(second, True)

    def _with_whole_columns(self, answer: SolverResult) -> Iterator[Accepted]:
        if not (self.problem.is_mip or self.reformulated.original.is_mip):
            return
        for helper in helpers(self.backend, self.reformulated, answer, self.tolerances):
            if self._allowed.over:
                return
            other = repair(helper, self.problem, answer, self._in_time(), self._watcher(answer))
            if other is None:
                continue
            try:
                found = self._as_it_is(other)
            except DiagnosticError:
                yield from self._moved(other)
                continue
            if found.whole:
                yield found

    def _moved(self, answer: SolverResult) -> Iterator[Accepted]:
        assert answer.values is not None
        if self._allowed.over or not np.isfinite(answer.values).all():
            return
        point = self.reformulated.invert(answer.values)
        moved = polish(self.stated, point, self.tolerances, self._in_time(), self._watcher(answer))
        if moved is not None:
            yield from self._from_stated(answer, moved)

    # --- checks ------------------------------------------------------------------------------------------------------

    def _as_it_is(self, answer: SolverResult, witnessed: bool = False) -> Accepted:
        """Raises DiagnosticError where a check refuses the point, or the objective is worse than the solver knew."""
        assert answer.values is not None
        name, problem, original = self.backend.name, self.problem, self.reformulated.original
        checked = check_point(problem, answer.values, self.tolerances, name, witnessed)
        if problem is original:
            return Accepted(answer, checked, checked)
        stated = check_point(original, self.reformulated.invert(checked.point), self.tolerances, name, witnessed)
        if problem.objectives:
            claimed = checked.verification.objectives[0].value
            objective, value = original.objectives[self.number], stated.verification.objectives[self.number]
            refuse_worse(objective, claimed, value, allowed_error(original, objective, value, stated.point), name)
        return Accepted(answer, checked, stated)

    def _from_stated(self, answer: SolverResult, point: Floats) -> Iterator[Accepted]:
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
        yield Accepted(replace(answer, values=checked.point, objective=objective), checked, stated)

    # --- objectives --------------------------------------------------------------------------------------------------

    def _loss(self, found: Accepted, answer: SolverResult) -> tuple[float, float, float]:
        """By how much the objective is worse than the best that the answer claims; its value; its rounding error."""
        best = answer.bound if answer.bound is not None else answer.objective
        if not self.problem.objectives or best is None:
            return 0.0, 0.0, 1.0
        original = self.reformulated.original
        objective, value = original.objectives[self.number], found.stated.verification.objectives[self.number]
        sign = 1.0 if objective.sense == "minimize" else -1.0
        loss = sign * (value.value - best) - self.reformulated.bound_error
        return loss, value.value, allowed_error(original, objective, value, found.stated.point)

    def _is_fit(self, found: Accepted, answer: SolverResult) -> bool:
        """Whether the point is the optimum that the answer claims to have, and not better than is possible."""
        loss, value, error = self._loss(found, answer)
        if answer.status is not Status.OPTIMAL:
            return answer.bound is None or loss >= -error
        if abs(loss) <= error:
            return True
        return loss > 0 and relative_gap(value, value - loss) <= self._options().gap + ALLOWED_LOSS

    def _is_near(self, found: Accepted, answer: SolverResult) -> bool:
        """Whether the point is worse than the claim only by possible errors of a solver."""
        loss, value, error = self._loss(found, answer)
        return loss <= max(NEAR * abs(value), NEAR / OBJECTIVE_TOLERANCE * error)

    # --- time --------------------------------------------------------------------------------------------------------

    def _in_time(self) -> SolveOptions:
        return replace(self._options(), time_limit=self._allowed.left)

    def _watcher(self, answer: SolverResult) -> Monitor | None:
        return None if answer.reason == INTERRUPT else self.monitor
