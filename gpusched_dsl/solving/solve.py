"""From a `Problem` to a checked solution in its own terms: reformulated, solved, mapped back, re-solved."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from gpusched_dsl.compiling.passes.pipeline import reformulate
from gpusched_dsl.compiling.passes.steps import ReformulatedProblem
from gpusched_dsl.ir.arrays import Floats
from gpusched_dsl.ir.deadline import REFORMULATION, Deadline, StoppedEarly, grace, limit, stage
from gpusched_dsl.ir.one_process import refuse_fork
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.ir.verify import Tolerances
from gpusched_dsl.solving.map_start import map_start
from gpusched_dsl.solving.option_checks import plain_options
from gpusched_dsl.solving.options import check_request
from gpusched_dsl.solving.postsolve import postsolve
from gpusched_dsl.solving.precheck import refuse_unusable
from gpusched_dsl.solving.run import Solving
from gpusched_dsl.solving.settle_status import settle_status
from gpusched_dsl.solving.solution import Loading, Solution
from gsdsl_backends.protocol import Backend, Monitor, SolveOptions, target_of
from gsdsl_backends.registry import backend as backend_named
from gsdsl_backends.third_party import foreign_failures

if TYPE_CHECKING:
    from gpusched_dsl.ir.changes import Changes
    from gpusched_dsl.solving.concurrent.reformulations import Reformulations


# Where a smaller part of all columns and rows was there before, a basis of the earlier problem says little: with a
# quarter of the jobs replaced (40 nodes, 400 jobs) the relaxation takes as long from it as without, with 5 % a third.
LEAST_KEPT = 0.5


def solve_problem(
    problem: Problem,
    backend: Backend | str = "highs",
    options: SolveOptions | None = None,
    start: Floats | None = None,
    monitor: Monitor | None = None,
    tolerances: Tolerances | None = None,
    reformulations: Reformulations | None = None,
) -> Solution:
    """Solve `problem`; `start` is a point to begin from: a hint; NaN where nothing is known.

    What the backend does not take is reformulated; the point is recovered and checked against `problem` itself.
    Several objectives are optimised in order, each earlier one kept (within `KEPT_WITHIN` of its value). The time limit
    is for all together and for the reformulation, and ends no later than the active deadline. Ctrl-C, the time limit
    and the monitor stop with the best point found: before a solver was asked, that is the start where it is feasible.
    `reformulations` are those of other solves of the same problem.
    Raises DiagnosticError (GSM32.., GSM40..) for an unknown backend, wrong options, terms that the backend does not
    take, data no solver can take, a solver that fails, and a point that our own check refuses; GSM6025 in a fork.
    """
    refuse_fork()
    chosen = backend_named(backend) if isinstance(backend, str) else backend
    options = options or SolveOptions()
    check_request(chosen, problem, options, start)
    options = plain_options(options)
    allowed = tolerances or Tolerances()
    with deadline_of(options.time_limit, monitor) as deadline, foreign_failures(chosen):
        try:
            if start is None:
                start = _find_schedule(problem, chosen, options, monitor)
            reformulated = _reformulate(problem, chosen, options, reformulations)
            run = Solving(chosen, reformulated, options, monitor, allowed, deadline)
            solved = run.run(map_start(reformulated, start))
        except StoppedEarly as stopped:
            from gpusched_dsl.solving.unfinished import unfinished_solution

            return unfinished_solution(problem, chosen, options, start, stopped, allowed)
        with grace():
            return settle_status(postsolve(solved, run.stated_point))


def resolve(
    solved: Solution,
    problem: Problem,
    options: SolveOptions | None = None,
    start: Floats | None = None,
    monitor: Monitor | None = None,
) -> Solution:
    """Solve a changed problem, in the session of `solved` where that is possible.

    Costs, bounds, sides and coefficients are changed in place when the problems as reformulated have the same columns,
    rows, entries, integrality and terms. Where columns, rows or entries came or went, a backend that can carries its
    basis over to the new problem; columns and rows are matched by their names (`ir/changes.py`). Else the problem is
    built anew, and `loading` of the result says why. The earlier point is the start unless another is given, for what
    is new with the value nearest to 0. `solved` gives up its session.
    """
    from gpusched_dsl.ir.changes import changes

    options = options or solved.options
    backend, has_warm_start = solved.backend, solved.backend.capabilities.warm_start
    try:
        check_request(backend, problem, options, None)
        options = plain_options(options)
    except BaseException:
        solved.close()
        raise
    with deadline_of(options.time_limit, monitor) as deadline, foreign_failures(backend):
        try:
            stated_changes = changes(solved.problem, problem)
            if (
                start is None
                and has_warm_start
                and solved.point is not None
                and len(solved.point) == stated_changes.columns.old_count
            ):
                start = stated_changes.point(solved.point)
            check_request(backend, problem, options, start)
            reformulated = _reformulate(problem, backend, options)
            same = (solved.reformulated.problem, reformulated.problem) == (solved.problem, problem)
            solver_changes = stated_changes if same else changes(solved.reformulated.problem, reformulated.problem)
            loading = _choose_loading(solved, solver_changes)
            run = Solving(backend, reformulated, options, monitor, solved.tolerances, deadline)
            session = None
            if loading in (Loading.IN_PLACE, Loading.CARRIED):
                session = solved.session
                object.__setattr__(solved, "session", None)
            solved.close()
            carried_changes = solver_changes if loading is Loading.CARRIED else None
            again = run.run(map_start(reformulated, start), session, loading, carried_changes)
        except StoppedEarly as stopped:
            solved.close()
            from gpusched_dsl.solving.unfinished import unfinished_solution

            return unfinished_solution(problem, backend, options, start, stopped, solved.tolerances)
        except BaseException:
            solved.close()
            raise
        with grace():
            return settle_status(postsolve(again, run.stated_point))


def deadline_of(seconds: float | None, monitor: Monitor | None) -> AbstractContextManager[Deadline]:
    """Return a deadline that a monitor can end; monitors with a method `stage` receive the stages of building."""
    if monitor is None:
        return limit(seconds)
    return limit(seconds, lambda: monitor.stop_requested, getattr(monitor, "stage", None))


def _reformulate(
    problem: Problem, backend: Backend, options: SolveOptions, others: Reformulations | None = None
) -> ReformulatedProblem:
    with stage(REFORMULATION):
        refuse_unusable(problem)
        if backend.capabilities.reformulates:
            return ReformulatedProblem(problem, problem)
        target = target_of(backend, problem)

        def make() -> ReformulatedProblem:
            return reformulate(problem, target, tighten=options.tighten, without=options.without)

        return make() if others is None else others.get(problem, target, make)


def _find_schedule(problem: Problem, backend: Backend, options: SolveOptions, monitor: Monitor | None) -> Floats | None:
    """A start of a problem with intervals, found before it is reformulated; None for none."""
    if not problem.definitions:
        return None
    from gpusched_dsl.ir.definitions import IntervalDefinition

    if not any(isinstance(d, IntervalDefinition) for d in problem.definitions):
        return None
    from gpusched_dsl.solving.primal.list_schedule import schedule_start  # loads what most solves do without

    with stage(REFORMULATION):
        refuse_unusable(problem)
        return schedule_start(problem, backend, options, monitor)


def _choose_loading(solved: Solution, solver_changes: Changes) -> Loading:
    from gpusched_dsl.solving.structure import same_structure

    old, new, capabilities = solver_changes.old, solver_changes.new, solved.backend.capabilities
    if len(new.objectives) > 1 or len(old.objectives) > 1:
        return Loading.SEVERAL_OBJECTIVES
    carries = capabilities.carries and old.is_linear and new.is_linear
    if same_structure(old, new) and (solver_changes.same_numbering or not carries):
        if not capabilities.in_place_update:
            return Loading.BACKEND_CANNOT_UPDATE
        return Loading.IN_PLACE if solved.session is not None else Loading.NO_SESSION
    if not (old.is_linear and new.is_linear):
        return Loading.TERMS_CHANGED
    if not carries:
        return Loading.BACKEND_CANNOT_UPDATE
    if solver_changes.kept_share < LEAST_KEPT:
        return Loading.TOO_MUCH_CHANGED
    return Loading.CARRIED if solved.session is not None else Loading.NO_SESSION
