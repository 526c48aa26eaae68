"""One run of a backend on a problem that it supports: objectives in order of priority, every point verified."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct, structs

from gpusched_dsl.compiling.passes.steps import ReformulatedProblem
from gpusched_dsl.ir.arrays import Floats
from gpusched_dsl.ir.deadline import SOLVING, Deadline, StoppedEarly, grace
from gpusched_dsl.ir.log import log_phase
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.ir.solver_result import SolverResult, Status
from gpusched_dsl.ir.verify import Tolerances, Verification, verify
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic, Severity
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.solving.abandoned import abandoned_passes
from gpusched_dsl.solving.acceptance import Acceptance, AcceptedPoint
from gpusched_dsl.solving.decomposition.selection import DecompositionChoice, choose_decomposition
from gpusched_dsl.solving.exchange import stated_monitor
from gpusched_dsl.solving.lexicographic import (
    KeptObjective,
    links_continuous,
    stage_problem,
    undo_cost_scaling,
    with_visible_costs,
)
from gpusched_dsl.solving.options import check_integers
from gpusched_dsl.solving.precheck import answer_without_solver, uncross
from gpusched_dsl.solving.primal.start import MipStart, find_mip_start
from gpusched_dsl.solving.repair_time import Allowance
from gpusched_dsl.solving.second_opinion import is_worth_confirming, with_second_opinion
from gpusched_dsl.solving.solution import Loading, ObjectiveResult, Solution
from gpusched_dsl.solving.verification import CheckedPoint, allowed_error, check_bound
from gsdsl_backends.interrupt import SolverOverran
from gsdsl_backends.protocol import Advised, Backend, Monitor, Session, SolveOptions

if TYPE_CHECKING:
    from gpusched_dsl.ir.changes import Changes


# How much of its value an earlier objective may give up for later ones; the second is for points that a solver found
# by using up its own feasibility tolerance.
KEPT_WITHIN = (1e-7, 1e-5)
ROUNDING = 1e-12

# How long a tight run may take: a multiple of the first run, and at least some seconds.
TIGHT_RUN = 2.0
LEAST_TIGHT_SECONDS = 1.0


class _Stage(Struct, frozen=True, eq=False):
    """The result of one objective: a point of the reformulated problem, and the point of the stated problem."""

    answer: SolverResult
    checked_point: CheckedPoint | None
    stated_point: CheckedPoint | None
    seconds: float


def _better_start(problem: Problem, given: Floats | None, point: Floats | None) -> Floats | None:
    """The point of the last objective, or the given start where that is as good for it and better for the next one."""
    if given is None or point is None or not verify(problem, given).feasible:
        return point
    objective = problem.objectives[0]
    sign = 1.0 if objective.sense == "minimize" else -1.0
    return given if sign * objective.value(given) < sign * objective.value(point) else point


class Solving:
    """One run of `solve_problem` or `resolve`, on the reformulated problem and in its terms."""

    def __init__(
        self,
        backend: Backend,
        reformulated: ReformulatedProblem,
        options: SolveOptions,
        monitor: Monitor | None,
        tolerances: Tolerances,
        deadline: Deadline,
    ) -> None:
        self.backend, self.reformulated, self.options = backend, reformulated, options
        self.problem = reformulated.problem
        self.monitor, self.tolerances = monitor, tolerances
        self.session: Session | None = None
        self.changes: Changes | None = None
        self.choice = DecompositionChoice(None)
        self.deadline = deadline
        self.load_seconds = 0.0
        self.warnings: list[Diagnostic] = [*abandoned_passes(reformulated.notes)]
        self.mip_start = MipStart()
        self.gap: float | None = None  # of an earlier objective, in place of that of the options
        self.stated_point: CheckedPoint | None = None  # the point of the last run, in terms of the problem as stated

    def run(
        self,
        start: Floats | None,
        session: Session | None = None,
        loading: Loading = Loading.FIRST,
        changes: Changes | None = None,
    ) -> Solution:
        """Solve from `start`, in an earlier `session` if there is one; `changes` has the changes since then."""
        self.session, self.changes = session, changes
        try:
            self.deadline.begin(SOLVING)
            self.deadline.check()
            check_integers(self.backend, self.problem)
            if not self.backend.capabilities.reformulates:
                proves = self.backend.capabilities.proves
                self.choice = choose_decomposition(self.problem, self.options.decompose, proves)
            if self.choice.by_blocks and self.session is not None:
                self._close()
                loading = Loading.NO_SESSION
            stages = self._stages(start)
        except BaseException:
            self._close()
            raise
        if len(stages) > 1:
            self._close()
        return self._solution(stages, loading)

    def _stages(self, start: Floats | None) -> list[_Stage]:
        """Solve for one objective after the other, as long as each is proved, or by a backend that proves nothing."""
        objectives = self.problem.objectives
        if len(objectives) <= 1:
            return [self._stage(self.problem, self.reformulated.original, 0, start)]
        stages: list[_Stage] = []
        kept: list[KeptObjective] = []
        kept_as_stated: list[KeptObjective] = []
        given, has_start = start, start is not None and bool(np.isfinite(start).any())
        for number, objective in enumerate(objectives):
            if stages and self.deadline.reason:  # nothing is left for this objective and those after it
                stages.append(_Stage(SolverResult(Status.LIMIT, reason=self.deadline.reason), None, None, 0.0))
                break
            improves = number > 0 and not has_start
            # Without continuous columns in general, a backend needs a proved value for the row that keeps it.
            needs_proof = not self.backend.capabilities.continuous and links_continuous(self.problem, objective)
            self.gap = 0.0 if needs_proof and objective is not objectives[-1] else None
            for within in KEPT_WITHIN if kept else KEPT_WITHIN[:1]:
                problem = stage_problem(self.problem, objective, kept, within)
                original = self.reformulated.original
                stated = stage_problem(original, original.objectives[number], kept_as_stated, within)
                self._close()
                stage = self._stage(problem, stated, number, _better_start(problem, given, start), improves)
                if stage.answer.status is not Status.INFEASIBLE:
                    break
            if stage.answer.status is Status.INFEASIBLE and kept:
                raise DiagnosticError([_lost_point(problem, self.backend.name)])
            stages.append(stage)
            goes_on = stage.answer.status in (Status.OPTIMAL, Status.FEASIBLE)  # a search proves nothing
            if not goes_on or stage.checked_point is None or stage.stated_point is None:
                break
            if number == 0 and self.mip_start.point is not None:
                given = self.mip_start.point  # the start, completed
            start = stage.checked_point.point if self.backend.capabilities.warm_start else None
            solved = stage.checked_point.verification.objectives[0].value
            stated_value = stage.stated_point.verification.objectives[number].value
            # Columns of terms are right within tolerances only: a value that they alone reach cannot be kept.
            worse = max if objective.sense == "minimize" else min
            kept.append(KeptObjective(objective, worse(solved, stated_value), proved=self.gap == 0.0))
            kept_as_stated.append(KeptObjective(self.reformulated.original.objectives[number], stated_value))
        last = len(stages) - 1
        stages[last] = self._without_slack(kept[:last], kept_as_stated[:last], stages[last])
        if (point := stages[last].checked_point) is not None:
            lost = [k for k in kept[:last] if k.loses_step(self.problem, point.point)]
            self.warnings.extend(_lost_step(k, self.backend.name) for k in lost)
        return stages

    def _without_slack(self, kept: list[KeptObjective], kept_as_stated: list[KeptObjective], stage: _Stage) -> _Stage:
        """The last stage with a point that uses no slack of the earlier objectives, where one is as good."""
        answer, number = stage.answer, len(kept)
        if answer.status is not Status.OPTIMAL or stage.checked_point is None or answer.values is None:
            return stage
        if not _uses_slack(kept, stage.checked_point.point):
            return stage
        began = time.perf_counter()
        original = self.reformulated.original
        problem = stage_problem(self.problem, self.problem.objectives[number], kept, 0.0)
        stated = stage_problem(original, original.objectives[number], kept_as_stated, KEPT_WITHIN[0])
        allowed = structs.replace(
            self.options, time_limit=Allowance(self.deadline.remaining_seconds, problem).remaining_seconds
        )
        from gpusched_dsl.solving.repair import repair

        exact = repair(self.backend, problem, answer, allowed, self.monitor)
        if exact is None:
            return stage
        if not problem.is_mip and problem.is_linear:
            exact = structs.replace(exact, bound=exact.objective)
        try:
            found = self._select_point(problem, stated, exact, number)
        except DiagnosticError:
            return stage
        if not isinstance(found, AcceptedPoint) or _uses_slack(kept, found.checked_point.point):
            return stage
        seconds = stage.seconds + time.perf_counter() - began
        return _Stage(found.answer, found.checked_point, found.stated_point, seconds)

    def _stage(
        self, problem: Problem, stated: Problem, number: int, start: Floats | None, improves: bool = False
    ) -> _Stage:
        """Solve a problem with at most one objective, in the open session if there is one.

        `improves`: the start is only the point of an earlier objective.
        """
        began = time.perf_counter()
        answer = answer_without_solver(problem)
        if answer is None:
            answer = self._solve_from_start(problem, start, improves)
        else:
            self._close()  # an update that never reached the session would leave it with the earlier problem
        if answer.status is Status.INFEASIBLE and problem.definitions:
            answer = self._refute(problem, answer)
        if answer.status is Status.OPTIMAL and answer.values is None:
            raise DiagnosticError([Diagnostic("GSM4007", f"`{self.backend.name}` claims an optimum without a point")])
        if answer.values is None:
            return _Stage(answer, None, None, time.perf_counter() - began)
        with grace(), log_phase("checking the plan"):
            found = self._select_point(problem, stated, answer, number)
        seconds = time.perf_counter() - began
        if isinstance(found, SolverResult):
            return _Stage(found, None, None, seconds)
        return _Stage(found.answer, found.checked_point, found.stated_point, seconds)

    def _refute(self, problem: Problem, answer: SolverResult) -> SolverResult:
        """Return a feasible point in place of a wrong claim that a nonlinear problem has none."""
        from gpusched_dsl.solving.refutation import find_feasible_point

        limit = self.deadline.remaining_seconds
        seconds = answer.solve_seconds if limit is None else min(answer.solve_seconds, limit)
        point = find_feasible_point(problem, self.tolerances, seconds)
        if point is None:
            return answer
        self.warnings.append(_wrong_claim(self.backend.name))
        objective = problem.objectives[0].value(point) if problem.objectives else 0.0
        return structs.replace(answer, status=Status.LIMIT, reason="accuracy", values=point, objective=objective)

    def _solve_from_start(self, problem: Problem, start: Floats | None, improves: bool) -> SolverResult:
        """Complete the start, or search for one where that is worth it, then solve by blocks, or by the backend."""
        problem = uncross(problem)
        options = self._options_in_time()
        if self.backend.capabilities.reformulates:
            with log_phase("loading the solver"):
                self._load(problem)
            assert self.session is not None
            began = time.perf_counter()
            with log_phase("the solver"):
                answer = self.session.solve(options, start, self.monitor)
            return self._confirm(problem, answer, time.perf_counter() - began)
        if self.choice.by_blocks and options.heuristic == "auto":
            options = structs.replace(options, heuristic="off")  # generated columns lead to points soon enough
        with log_phase("first plan"):
            self.mip_start = mip_start = find_mip_start(
                problem, self.backend, options, start, self.monitor, improves=improves
            )
        self.warnings.extend(mip_start.warnings)
        if mip_start.answer is not None:
            self._close()
            return mip_start.answer
        try:
            if self.choice.by_blocks:
                with log_phase("column generation"):
                    return mip_start.improve(self._by_blocks(problem, mip_start.point), problem)
            visible, factor = with_visible_costs(problem)
            with log_phase("loading the solver"):
                self._load(visible)
            assert self.session is not None
            if mip_start.relaxation is not None and isinstance(self.session, Advised):
                self.session.advise(*mip_start.relaxation)
            monitor = stated_monitor(self.monitor, self.reformulated, problem, factor)
            began = time.perf_counter()
            with log_phase("the solver"):
                answer = self.session.solve(self._options_in_time(), mip_start.point, monitor)
            seconds = time.perf_counter() - began
            if not isinstance(answer, SolverResult):
                message = f"the backend `{self.backend.name}` returned `{type(answer).__name__}` as a result"
                raise DiagnosticError([Diagnostic("GSM4007", message)])
            answer = self._confirm(problem, undo_cost_scaling(answer, factor), seconds)
            return mip_start.improve(answer, problem)
        except StoppedEarly as stopped:
            self._close()
            if isinstance(stopped, SolverOverran):
                self.warnings.append(_overrun_warning(self.backend.name))
            return mip_start.improve(SolverResult(Status.LIMIT, reason=stopped.reason), problem)

    def _confirm(self, problem: Problem, answer: SolverResult, seconds: float) -> SolverResult:
        """The answer after a second opinion, where one is wanted and worth its time."""
        options = self._options_in_time()
        if not options.second_opinion or self.deadline.reason:
            return answer
        if not is_worth_confirming(problem, answer, self.backend, options, seconds):
            return answer
        with log_phase("second opinion"):
            answer, interrupted = with_second_opinion(problem, answer, self.backend, options, seconds, self.monitor)
        if interrupted:  # the answer is kept, but no other stage begins
            self.deadline.interrupt()
        return answer

    def _by_blocks(self, problem: Problem, start: Floats | None) -> SolverResult:
        from gpusched_dsl.solving.decomposition.solve import solve_by_blocks  # loads what most solves do without

        assert self.choice.blocks is not None
        return solve_by_blocks(problem, self.choice.blocks, self.backend, self._options_in_time(), start, self.monitor)

    def _select_point(
        self, problem: Problem, stated: Problem, answer: SolverResult, number: int
    ) -> AcceptedPoint | SolverResult:
        """Return the point of a result; at a limit, if it is rejected, the point at which the search began."""
        acceptance = Acceptance(
            self.backend, self.reformulated, problem, stated, number, self.tolerances, self._options_in_time,
            self.monitor, lambda: self._solve_tightly(problem, answer.solve_seconds),
        )  # fmt: skip
        found = acceptance.select(answer)
        first = self.mip_start
        if isinstance(found, AcceptedPoint) or found.status is not Status.LIMIT or first.objective is None:
            return found
        with suppress(DiagnosticError):
            return acceptance.select(structs.replace(found, values=first.point, objective=first.objective))
        return found

    def _solve_tightly(self, problem: Problem, seconds: float) -> SolverResult | None:
        """A second run of the backend with tight tolerances, where it has them and there is time.

        It may take a small multiple of the `seconds` of the first: what that has proved need not be proved again.
        """
        options = self._options_in_time()
        if not self.backend.capabilities.tightens or self.choice.by_blocks or options.time_limit == 0.0:
            return None
        given = max(LEAST_TIGHT_SECONDS, TIGHT_RUN * seconds)
        given = given if options.time_limit is None else min(given, options.time_limit)
        # Half of the gap is left for what mending costs.
        options = structs.replace(options, tight=True, gap=options.gap / 2, time_limit=given)
        visible, factor = with_visible_costs(uncross(problem))
        if self.session is None:
            self._load(visible)
        assert self.session is not None
        return undo_cost_scaling(self.session.solve(options, None, self.monitor), factor)

    def _load(self, problem: Problem) -> None:
        began = time.perf_counter()
        if self.session is None:
            self.session = self.backend.open(problem)
        elif self.changes is not None:
            self.session.carry(problem, self.changes)
        else:
            self.session.update(problem)
        self.load_seconds += time.perf_counter() - began

    def _options_in_time(self) -> SolveOptions:
        """Return all time until the deadline, for the backend."""
        gap = self.options.gap if self.gap is None else self.gap
        return structs.replace(self.options, time_limit=self.deadline.remaining_seconds, gap=gap)

    def _close(self) -> None:
        if self.session is not None:
            self.session.close()
            self.session = None

    def _solution(self, stages: list[_Stage], loading: Loading) -> Solution:
        last = stages[-1]
        with_point = (
            last if last.checked_point else next((s for s in reversed(stages) if s.checked_point is not None), last)
        )
        if last.answer.status is not Status.LIMIT and last.checked_point is None:
            with_point = last  # infeasible or unbounded: a point of an earlier stage is no solution
        best, self.stated_point = with_point.checked_point, with_point.stated_point
        verification = None
        if best is not None:
            single = len(self.problem.objectives) <= 1
            verification = best.verification if single else verify(self.problem, best.point, self.tolerances)
        only = last.answer if len(self.problem.objectives) == 1 else SolverResult(last.answer.status)
        return Solution(
            problem=self.problem,
            reformulated=self.reformulated,
            backend=self.backend,
            options=self.options,
            tolerances=self.tolerances,
            status=last.answer.status,
            reason=last.answer.reason,
            point=None if best is None else best.point,
            objectives=self._objectives(stages, best, verification),
            row_duals=only.row_duals,
            reduced_costs=only.reduced_costs,
            verification=verification,
            is_integral=best is not None and best.is_integral,
            loading=loading,
            load_seconds=self.load_seconds,
            solve_seconds=sum(s.answer.solve_seconds for s in stages),
            statistics=_sum_statistics(stages),
            versions=self.backend.versions(),
            session=self.session,
            warnings=(*self.warnings, *dict.fromkeys(w for s in stages for w in s.answer.warnings)),
            members=tuple(
                structs.replace(m, goal=_name(self.problem, n)) for n, s in enumerate(stages) for m in s.answer.members
            ),
            contradictions=tuple(c for s in stages for c in s.answer.contradictions),
        )

    def _objectives(
        self, stages: list[_Stage], best: CheckedPoint | None, verification: Verification | None
    ) -> tuple[ObjectiveResult, ...]:
        results = []
        for number, objective in enumerate(self.problem.objectives):
            stage = stages[number] if number < len(stages) else None
            bound = None if stage is None else stage.answer.bound
            value = None
            if best is not None and verification is not None:
                value = verification.objectives[number]
                allowed = allowed_error(self.problem, objective, value, best.point)
                bound = check_bound(objective, bound, value, allowed, self.backend.name)
            status, seconds = (None, 0.0) if stage is None else (stage.answer.status, stage.seconds)
            results.append(ObjectiveResult.of(objective, value, bound, status, seconds, self.problem.columns))
        return tuple(results)


def _name(problem: Problem, number: int) -> str:
    """The name of an objective, "" without one."""
    return (problem.objectives[number].name or "") if number < len(problem.objectives) else ""


def _uses_slack(kept: Sequence[KeptObjective], point: Floats) -> bool:
    """Whether an earlier objective became worse by more than rounding errors."""
    return any(k.loss(point) > ROUNDING * k.scale(len(point)) for k in kept)


def _sum_statistics(stages: list[_Stage]) -> dict[str, float]:
    total: dict[str, float] = {}
    for stage in stages:
        for name, count in stage.answer.statistics.items():
            total[name] = total.get(name, 0.0) + count
    return total


def _lost_point(problem: Problem, solver: str) -> Diagnostic:
    objective = problem.objectives[0]
    name = f" `{objective.name}`" if objective.name else ""
    return Diagnostic(
        "GSM4007",
        f"`{solver}` finds no point for the objective{name}, although the earlier objectives have one",
        objective.span,
        help="numbers of very different size are the usual cause; try other units, or another backend",
    )


def _lost_step(kept: KeptObjective, solver: str) -> Diagnostic:
    name = f"`{kept.objective.name}`" if kept.objective.name else "an earlier objective"
    return Diagnostic(
        "GSM4007",
        f"`{solver}` makes {name} worse than {kept.value!r} for later objectives",
        kept.objective.span,
        help="the loss is within its tolerance, relative to the largest coefficient; use coefficients of similar size",
        severity=Severity.WARNING,
    )


def _wrong_claim(name: str) -> Diagnostic:
    message = f"`{name}` claims that the problem is infeasible, but a sample has found a feasible point"
    help = "bound the variables so that denominators and arguments of logarithms stay away from 0"
    return Diagnostic("GSM4007", message, help=help, severity=Severity.WARNING)


def _overrun_warning(name: str) -> Diagnostic:
    message = f"`{name}` runs on after its time limit and was given up"
    help = "its presolve can take long: try `--solver-option presolve=off`, or another backend"
    return Diagnostic("GSM4007", message, help=help, severity=Severity.WARNING)
