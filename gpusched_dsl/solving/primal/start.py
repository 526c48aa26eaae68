"""The start of a solve: a completed start, or our own search if a solver is likely to lack a point."""

from __future__ import annotations

import numpy as np
from msgspec import Struct, structs

from gpusched_dsl.ir.arrays import Floats
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.ir.solver_result import SolverResult, Status
from gpusched_dsl.ir.verify import Violation, objective_value, verify
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic, Severity
from gpusched_dsl.solving.primal.budget import MOST_SECONDS, HeuristicBudget
from gpusched_dsl.solving.stepped_bound import stepped_bound
from gsdsl_backends.interrupt import Control, CtrlC
from gsdsl_backends.protocol import Backend, Monitor, SolveOptions

# Smaller problems are solvers' own business: they have a point, often the optimum, before a search of ours would end.
LARGE_INTEGERS, LARGE_NONZEROS = 5_000, 50_000
SHARE = 0.2  # of the time limit
# Of problems this large a solver does no more in the rest of the time than to solve the relaxation once again.
HUGE_NONZEROS, HUGE_SHARE = 500_000, 0.4
LOCAL_SHARE = 0.6  # for a local search: mostly much less is taken, and from a poor point it does not get far
LEAST_COLUMNS = 50_000  # of problems that are sifted: smaller ones are solved as fast without
AT_BOUND = 1e-9


class MipStart(Struct, frozen=True, eq=False):
    """`point` is the start, None without any; `objective` is its value if it is known to be feasible.

    `bound` is proved, None where there is none. `proved`: the point is as good as was asked for. `interrupted`:
    somebody wants the best point now. `warnings` say what became of a start that was given. `relaxation` is the point
    of the relaxation with its reduced costs, of a problem to be minimised, where it was solved for a local search.
    """

    point: Floats | None = None
    objective: float | None = None
    bound: float | None = None
    proved: bool = False
    interrupted: bool = False
    seconds: float = 0.0
    warnings: tuple[Diagnostic, ...] = ()
    relaxation: tuple[Floats, Floats | None] | None = None

    @property
    def answer(self) -> SolverResult | None:
        """The answer where no solver is needed any more."""
        if not self.proved and not self.interrupted:
            return None
        status, reason = (Status.OPTIMAL, "") if self.proved else (Status.LIMIT, "interrupt")
        point = None if self.objective is None else self.point
        return SolverResult(status, point, self.objective, self.bound, reason=reason, solve_seconds=self.seconds)

    def improve(self, answer: SolverResult, problem: Problem) -> SolverResult:
        """A solver's answer, with our bound or our point where its own is worse or missing."""
        maximizes = bool(problem.objectives) and problem.objectives[0].sense == "maximize"
        sign = -1.0 if maximizes else 1.0
        answer = structs.replace(answer, solve_seconds=answer.solve_seconds + self.seconds)
        if answer.status is not Status.LIMIT:
            return answer
        if self.bound is not None and (answer.bound is None or sign * answer.bound < sign * self.bound):
            answer = structs.replace(answer, bound=self.bound)
        if self.point is None or self.objective is None:
            return answer
        if answer.values is None or answer.objective is None or sign * self.objective < sign * answer.objective:
            return structs.replace(answer, values=self.point, objective=self.objective)
        return answer


def find_mip_start(
    problem: Problem,
    backend: Backend,
    options: SolveOptions,
    start: Floats | None,
    monitor: Monitor | None,
    *,
    improves: bool = False,
) -> MipStart:
    """Complete a start (NaN: no value of a column), or search for one if that pays.

    `options` hold what is left of the time limit, of which a share is taken. `improves`: the start is the point of an
    earlier objective and may be poor for this one, so a search pays as without a start.
    """
    if start is not None and not _states_anything(problem, start):
        start = None
    mip_start = MipStart(start)
    if start is not None:
        mip_start = _complete(problem, backend, options, start, monitor)
    if not backend.capabilities.proves and options.heuristic != "off":
        return _begin_local_search(problem, backend, options, mip_start, monitor)
    if not mip_start.interrupted and options.heuristic == "auto" and _is_supported(problem, backend):
        mip_start = _sift(problem, backend, options, mip_start, monitor)
    if mip_start.answer is None and _search_is_wanted(problem, backend, options, mip_start, improves):
        mip_start = _search(problem, backend, options, mip_start, monitor)
    return mip_start


def _begin_local_search(
    problem: Problem, backend: Backend, options: SolveOptions, mip_start: MipStart, monitor: Monitor | None
) -> MipStart:
    """Return where a local search begins: the given start or a better point of the relaxation, else a first fit."""
    if mip_start.interrupted or not _is_supported(problem, backend):
        return mip_start
    found = _search(problem, backend, options, mip_start, monitor)
    point = mip_start.point if found.objective is None else found.point
    # A bound here would be one that nobody asked for.
    return structs.replace(found, point=_first_fit(problem) if point is None else point, bound=None, proved=False)


def _first_fit(problem: Problem) -> Floats | None:
    """A packing by first fit decreasing, without values of other columns; None where the rows are not of that form."""
    from gpusched_dsl.solving.primal.first_fit import first_fits

    if not problem.is_mip or not problem.is_linear:
        return None
    from gpusched_dsl.solving.primal.rows import rows_of  # loads SciPy

    for columns, values in first_fits(problem, rows_of(problem)):
        start = np.full(problem.columns, np.nan)
        start[columns] = values
        return start
    return None


def _states_anything(problem: Problem, start: Floats) -> bool:
    """Whether the start has a value that a solver cannot find at once: of an integer column, if there are any.

    Without these the completion would be the whole problem. The previous plan of a window whose later slots are
    relaxed has integers only in slots that have passed.
    """
    return bool(np.isfinite(start[problem.integer] if problem.is_mip and problem.is_linear else start).any())


def _search_is_wanted(
    problem: Problem, backend: Backend, options: SolveOptions, mip_start: MipStart, improves: bool
) -> bool:
    if options.heuristic == "off" or not _is_supported(problem, backend):
        return False
    if options.heuristic == "on":
        return True
    large = is_large(problem)
    if mip_start.point is None or not improves:
        return mip_start.point is None and large
    return large and not _is_at_bound(problem, mip_start.point)


def is_large(problem: Problem) -> bool:
    """Whether a solver may lack a good point for long, so that a search for a start pays."""
    return problem.matrix.nonzeros >= LARGE_NONZEROS and int(problem.integer.sum()) >= LARGE_INTEGERS


def _is_at_bound(problem: Problem, point: Floats) -> bool:
    """Whether the bounds of the columns alone prove that no point is better."""
    costs = problem.objectives[0].costs(problem.columns) if problem.objectives else np.zeros(problem.columns)
    if problem.objectives and problem.objectives[0].sense == "maximize":
        costs = -costs
    used = np.flatnonzero(costs)
    best = np.where(costs[used] > 0, problem.lower[used], problem.upper[used])
    return bool((np.abs(point[used] - best) <= AT_BOUND * np.maximum(1.0, np.abs(best))).all())


def _is_supported(problem: Problem, backend: Backend) -> bool:
    """Whether the searches support this problem, and the backend uses their results."""
    able = backend.capabilities
    if not (able.warm_start and able.time_limit and able.continuous):  # searches solve relaxations
        return False
    return problem.is_mip and problem.is_linear and len(problem.objectives) <= 1


def _complete(
    problem: Problem, backend: Backend, options: SolveOptions, start: Floats, monitor: Monitor | None
) -> MipStart:
    """Complete a given start to a feasible point; drop it with a warning if that is impossible."""
    is_complete = bool(np.isfinite(start).all())
    if not _is_supported(problem, backend):
        return MipStart(start if is_complete else np.clip(np.where(np.isfinite(start), start, 0.0), *_bounds(problem)))
    if is_complete and verify(problem, start).feasible:
        return MipStart(start, _value(problem, start))
    from gpusched_dsl.solving.primal.mip_start import complete

    seconds = MOST_SECONDS if options.time_limit is None else min(MOST_SECONDS, SHARE * options.time_limit)
    control = Control()
    budget = HeuristicBudget(seconds, monitor, lambda: control.stop_requested)
    with CtrlC(control):
        completion = complete(problem, start, backend, structs.replace(options, extra={}), budget)
    stopped = budget.stop_requested
    if completion.point is None:
        return MipStart(interrupted=stopped, seconds=budget.seconds, warnings=(_dropped_warning(completion.broken),))
    return MipStart(completion.point, _value(problem, completion.point), interrupted=stopped, seconds=budget.seconds)


def _sift(
    problem: Problem, backend: Backend, options: SolveOptions, mip_start: MipStart, monitor: Monitor | None
) -> MipStart:
    """Solve a problem of many choices on a few of its columns; the same start if it is another problem."""
    if problem.columns < LEAST_COLUMNS:
        return mip_start
    from gpusched_dsl.solving.sifting import sift

    start = None if mip_start.objective is None else mip_start.point
    sifted = sift(problem, backend, options, start, monitor)
    if sifted is None or (sifted.point is None and not sifted.interrupted):
        return mip_start
    return MipStart(
        sifted.point, sifted.objective, sifted.bound, sifted.proved, sifted.interrupted,
        mip_start.seconds + sifted.seconds, mip_start.warnings,
    )  # fmt: skip


def _search(
    problem: Problem, backend: Backend, options: SolveOptions, mip_start: MipStart, monitor: Monitor | None
) -> MipStart:
    from gpusched_dsl.solving.primal.search import Search

    solves_parts = backend.capabilities.proves or options.heuristic == "on"
    share = HUGE_SHARE if problem.matrix.nonzeros >= HUGE_NONZEROS else SHARE
    share = share if solves_parts else LOCAL_SHARE
    seconds = MOST_SECONDS if options.time_limit is None else share * options.time_limit
    control = Control()
    budget = HeuristicBudget(seconds, monitor, lambda: control.stop_requested)
    with CtrlC(control):
        search_options = structs.replace(options, extra={}, time_limit=None)
        search = Search(problem, backend, search_options, budget, mip_start.point, solves_parts)
        found = search.run()
    if found.objective is not None and found.bound is not None:
        found.bound = stepped_bound(problem, found.objective, found.bound)
    proved = found.point is not None and found.gap <= options.gap
    relaxation = None if backend.capabilities.proves else search.relaxation
    return MipStart(
        found.point, found.objective, found.bound, proved, budget.stop_requested and not proved,
        mip_start.seconds + budget.seconds, mip_start.warnings, relaxation,
    )  # fmt: skip


def _value(problem: Problem, point: Floats) -> float:
    return objective_value(problem.objectives[0], point).value if problem.objectives else 0.0


def _bounds(problem: Problem) -> tuple[Floats, Floats]:
    return problem.lower, problem.upper


def _dropped_warning(broken: Violation | None) -> Diagnostic:
    why = "" if broken is None else f": {broken}"
    return Diagnostic(
        "GSM4010",
        f"the start was dropped because no feasible point was found near it{why}",
        None if broken is None else broken.family.span,
        help="the problem was solved without a start",
        severity=Severity.WARNING,
    )
