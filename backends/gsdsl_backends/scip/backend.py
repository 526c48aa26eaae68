"""SCIP behind the backend protocol. SCIP uses one thread for any options.

Products with a 0/1 factor become rows, as its linear part is better tested. Nonlinear problems with integers are
solved again without presolve and propagation, which has found wrong optima of SCIP 10. Terms are added one by one: to
read a CIP file takes a time that grows with the square of their number.
"""

from __future__ import annotations

import atexit
import importlib.metadata
import time
import weakref
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pyscipopt
from msgspec import structs
from pyscipopt.scip import PY_SCIP_EVENTTYPE

from gpusched_dsl.compiling.passes.steps import INDICATOR
from gpusched_dsl.ir.arrays import Floats
from gpusched_dsl.ir.definitions import complete
from gpusched_dsl.ir.magnitudes import largest_cost
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.ir.solver_result import SolverResult, Status
from gpusched_dsl.ir.verify import verify
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gsdsl_backends.interrupt import Control, run_stoppable
from gsdsl_backends.protocol import Capabilities, Exchange, Monitor, SolveOptions, StopMonitor
from gsdsl_backends.scip.exchange import PointExchange, include_exchange
from gsdsl_backends.scip.loading import INFINITE, load, reaches_infinity, too_costly
from gsdsl_backends.scip.options import apply_options, without_reductions
from gsdsl_backends.scip.poles import better_nearer, grows_towards, is_near_pole, overflows
from gsdsl_backends.scip.singleton_duals import duals_back_to_rows
from gsdsl_backends.scip.terms import TAKEN
from gsdsl_backends.scip.unboundedness import box, escapes, improves_along, may_be_unbounded
from gsdsl_backends.threads import SolverThread, SolverThreads

FAR = 1e9
BOXES = (1e3, 1e4)
BOX_SECONDS = 2.0  # for each box
EARLY_SECONDS = 2.0  # before boxes are looked at
# How long, at most and as a multiple of the first run, a nonlinear problem with integers is solved a second time.
SECOND_OPINION_SECONDS = 5.0
SECOND_OPINION = 2.0
HUGE = 0.1 * INFINITE  # SCIP ends at its infinity, and calls that an optimum
WORTH_IT = 1e-6  # of the objective, beside the gap asked for

# SCIP's expression interpreter serves 64 threads in the life of a process; see threads.py.
THREADS = SolverThreads(most=32)

PROVED = {
    "optimal": Status.OPTIMAL,
    "gaplimit": Status.OPTIMAL,
    "infeasible": Status.INFEASIBLE,
    "unbounded": Status.UNBOUNDED,
    "inforunbd": Status.INFEASIBLE_OR_UNBOUNDED,
}

LIMITS = {
    "timelimit": "time",
    "userinterrupt": "interrupt",
    "nodelimit": "nodes",
    "totalnodelimit": "nodes",
    "stallnodelimit": "nodes",
    "restartlimit": "nodes",
    "memlimit": "memory",
    "sollimit": "solutions",
    "bestsollimit": "solutions",
    "primallimit": "objective",
    "duallimit": "objective",
    "infinite": "accuracy",
}


@cache
def _versions() -> dict[str, str]:
    model = pyscipopt.Model()
    solver = f"{model.getMajorVersion()}.{model.getMinorVersion()}.{model.getTechVersion()}"
    return {"SCIP": solver, "PySCIPOpt": importlib.metadata.version("pyscipopt")}


class ScipBackend:
    """Linear, mixed-integer and nonlinear problems by SCIP, in one thread."""

    name = "scip"
    capabilities = Capabilities(threads=False, accepts=TAKEN | {INDICATOR}, tightens=True)

    def versions(self) -> dict[str, str]:
        return dict(_versions())

    def open(self, problem: Problem) -> ScipSession:
        return ScipSession(problem)


# Models are freed before the interpreter ends: their plugins call back into Python.
SESSIONS: weakref.WeakSet[ScipSession] = weakref.WeakSet()


@atexit.register
def _close_all() -> None:
    for session in tuple(SESSIONS):
        session.close()
    THREADS.finish()


class ScipSession:
    """One problem inside one SCIP instance."""

    def __init__(self, problem: Problem) -> None:
        self._abandoned = False  # a second Ctrl-C left the solver running: it must not be touched any more
        self._load(problem)

    def _load(self, problem: Problem) -> None:
        self._problem = problem
        self._model, self._variables, self._has_poles = load(problem)
        self._has_duals = problem.is_linear and not problem.is_mip
        self._may_be_unbounded = may_be_unbounded(problem, self._has_poles)
        # What SCIP proves of an objective that a pole may leave without a bound counts for nothing (`_doubt`).
        self._progress = _ProgressEvents(with_bounds=not (self._has_poles and self._may_be_unbounded))
        self._model.includeEventhdlr(self._progress, "progress", "reports incumbents and bounds")
        self._exchange: PointExchange | None = None
        self._thread: SolverThread | None = None  # that of the first solve, which owns memory of the model from then on
        self._finalizer: weakref.finalize[..., ScipSession] = weakref.finalize(self, self._model.freeProb)
        self._finalizer.atexit = False  # `_close_all` does it
        SESSIONS.add(self)

    def update(self, problem: Problem) -> None:
        """Reload the changed problem: PySCIPOpt has no bulk changes."""
        self.close()
        self._load(problem)

    def close(self) -> None:
        """Free the solver in its thread, once it has ended."""
        if self._finalizer.alive and not self._abandoned:
            self._variables, self._exchange = [], None
            self._finalizer()
            del self._model

    def solve(self, options: SolveOptions, start: Floats | None = None, monitor: Monitor | None = None) -> SolverResult:
        """Solve; raises DiagnosticError for an unknown option and when SCIP ends with an error."""
        began = time.perf_counter()
        model = self._model
        if model.getStageName() != "PROBLEM":
            self._own_thread().run(model.freeTransform).wait()
        apply_options(model, options, self._problem, self._has_poles)
        if isinstance(monitor, Exchange) and self._exchange is None:
            self._exchange = include_exchange(model, self._variables)
        if start is not None:
            self._offer_start(start)
        control = Control()
        answer = (
            self._solve_possibly_unbounded(control, options, monitor)
            if self._may_be_unbounded
            else self._run(control, monitor)
        )
        doubtful = (Status.OPTIMAL, Status.INFEASIBLE) if self._problem.is_mip else (Status.INFEASIBLE,)
        if self._problem.definitions and answer.status in doubtful:
            answer = self._second_opinion(answer, control, options, monitor)
        if self._problem.definitions and self._problem.objectives and answer.values is not None:
            answer = self._doubt(answer, control, options, monitor)
        elif self._has_poles and self._may_be_unbounded:
            answer = structs.replace(answer, bound=None)
        if answer.status is Status.INFEASIBLE_OR_UNBOUNDED or (
            answer.status is Status.UNBOUNDED and self._problem.is_mip and self._problem.is_linear
        ):
            answer = SolverResult(self._decide_unbounded(control, options, monitor), statistics=answer.statistics)
        if answer.status is Status.INFEASIBLE and reaches_infinity(self._problem):
            rest = SECOND_OPINION_SECONDS if options.time_limit is None else options.time_limit - control.seconds
            if _solve(replace(self._problem, objectives=()), options, rest, _silent(monitor)).values is not None:
                raise DiagnosticError([too_costly(self._problem)])
        return structs.replace(answer, solve_seconds=time.perf_counter() - began)

    def _run(self, control: Control, monitor: Monitor | None) -> SolverResult:
        model = self._model
        self._progress.control = control
        if self._exchange is not None:
            self._exchange.control = control
        try:
            run_stoppable(self._optimize, control, monitor, model.interruptSolve, self._own_thread())
        except KeyboardInterrupt:
            self._abandoned = True
            raise
        finally:
            self._progress.control = None
            if self._exchange is not None:
                self._exchange.control = None
        return self._answer(model.getStatus())

    def _own_thread(self) -> SolverThread:
        """The thread of this model, chosen at its first solve."""
        if self._thread is None:
            self._thread = THREADS.thread()
            self._finalizer.detach()
            self._finalizer = weakref.finalize(self, self._thread.run_later, self._model.freeProb)
            self._finalizer.atexit = False
        return self._thread

    def _optimize(self) -> None:
        try:
            self._model.optimizeNogil()
        except Exception as failure:  # PySCIPOpt turns SCIP's return codes into bare exceptions of many types
            raise DiagnosticError([_failure(str(failure))]) from failure

    def _solve_possibly_unbounded(
        self, control: Control, options: SolveOptions, monitor: Monitor | None
    ) -> SolverResult:
        """Solve a nonlinear problem with a possibly unbounded objective: examine the first very good point.

        Left alone, SCIP searches its box of 1e20 without end or reports an optimum at its border. Where no such point
        comes early, smaller boxes may show a ray.
        """
        problem, limit = self._problem, "limits/primal"
        if limit in options.extra:
            return self._run(control, monitor)
        far = FAR * max(1.0, largest_cost(problem.objectives[0].costs(problem.columns)))
        usual = self._model.getParam(limit)
        self._model.setParam(limit, -far if problem.objectives[0].sense == "minimize" else far)
        seconds = float(self._model.getParam("limits/time"))
        self._model.setParam("limits/time", min(EARLY_SECONDS, seconds))
        answer = self._run(control, monitor)
        if answer.reason != "time":
            self._model.setParam("limits/time", seconds)  # for the run after an objective limit
        elif seconds > EARLY_SECONDS and not control.stop_requested:
            if self._improves_endlessly(control, options, monitor):
                return SolverResult(Status.UNBOUNDED, statistics=answer.statistics)
            if control.stop_requested:
                return structs.replace(answer, reason="interrupt")
            rest = seconds if options.time_limit is None else max(0.0, options.time_limit - control.seconds)
            self._model.setParam("limits/time", min(seconds, EARLY_SECONDS + rest))
            answer = self._run(control, monitor)
        if answer.values is not None and escapes(problem, answer.values):
            return SolverResult(Status.UNBOUNDED, statistics=answer.statistics)
        if answer.reason != "objective" or control.stop_requested:
            return answer
        self._model.setParam(limit, usual)
        return self._run(control, monitor)

    def _second_opinion(
        self, first: SolverResult, control: Control, options: SolveOptions, monitor: Monitor | None
    ) -> SolverResult:
        """Solve again without reductions of domains before an optimum, or that there is none, is believed.

        The propagation of SCIP 10.0.2 loses optima of small nonlinear problems with integers (one in some thousand of
        random ones; tests/conformance has two). A run that finds a better point goes on to its own end.
        """
        given = min(SECOND_OPINION_SECONDS, max(1.0, SECOND_OPINION * control.seconds))
        rest = np.inf if options.time_limit is None else options.time_limit - control.seconds
        if control.stop_requested or rest <= 0:
            return first
        self._own_thread().run(self._model.freeTransform).wait()
        limited = structs.replace(options, time_limit=min(given, rest))
        apply_options(self._model, limited, self._problem, self._has_poles)
        without_reductions(self._model)
        if first.values is not None:
            self._offer_start(first.values)
        second = self._run(control, monitor)
        if second.values is None or not self._is_better(second.values, first, options.gap):
            return first
        if second.status is Status.LIMIT and not control.stop_requested and given < rest:
            self._model.setParam("limits/time", given + rest if np.isfinite(rest) else INFINITE)
            second = self._run(control, monitor)
        return second

    def _doubt(
        self, answer: SolverResult, control: Control, options: SolveOptions, monitor: Monitor | None
    ) -> SolverResult:
        """Withdraw what SCIP proves of values that it cannot see: near a pole, and at its own infinity.

        Where points nearer to the pole are better without end, the problem is unbounded; where one is better, it is
        taken. What an objective without a bound has at such a place is no optimum, and its bound is none.
        """
        problem = self._problem
        assert answer.values is not None
        assert answer.objective is not None
        nearer = better_nearer(problem, answer.values, options.gap) if self._has_poles else None
        unseen = abs(answer.objective) >= HUGE
        if self._may_be_unbounded:
            if nearer is not None and nearer.endless:
                return SolverResult(Status.UNBOUNDED, statistics=answer.statistics)
            if nearer is None and self._has_poles and overflows(problem, answer.values):
                rest = BOX_SECONDS if options.time_limit is None else options.time_limit - control.seconds
                free = replace(problem, objectives=())
                inner = _solve(free, options, min(BOX_SECONDS, rest), _silent(monitor)).values if rest > 0 else None
                if inner is not None and grows_towards(problem, inner, answer.values):
                    return SolverResult(Status.UNBOUNDED, statistics=answer.statistics)
            unseen |= self._has_poles and (answer.status is Status.LIMIT or is_near_pole(problem, answer.values))
        if nearer is not None:
            answer = structs.replace(answer, values=nearer.values, objective=nearer.objective)
        if nearer is None and not unseen:
            return answer
        return structs.replace(answer, status=Status.LIMIT, reason=answer.reason or "accuracy", bound=None)

    def _is_better(self, values: Floats, first: SolverResult, gap: float) -> bool:
        """Whether a feasible point refutes the first answer."""
        found = verify(self._problem, values)
        if not found.feasible or first.objective is None or not self._problem.objectives:
            return found.feasible and first.values is None
        sign = 1.0 if self._problem.objectives[0].sense == "minimize" else -1.0
        gain = sign * (first.objective - found.objectives[0].value)
        return gain > (gap + WORTH_IT) * max(1.0, abs(first.objective))

    def _offer_start(self, start: Floats) -> None:
        """Offer a feasible point as it is; of another one the integer values, which SCIP tries to complete."""
        model, problem = self._model, self._problem
        if verify(problem, start).feasible:
            start = complete(problem.definitions, start)
            solution, given = model.createOrigSol(), np.flatnonzero(start)
        elif problem.is_mip:
            solution, given = model.createPartialSol(), np.flatnonzero(problem.integer)
        else:
            return
        values = np.where(problem.integer, np.rint(start), start)[given].tolist()
        for column, value in zip(given.tolist(), values, strict=True):
            model.setSolVal(solution, self._variables[column], value)
        model.addSol(solution)

    def _decide_unbounded(self, control: Control, options: SolveOptions, monitor: Monitor | None) -> Status:
        """Distinguish the two: without costs the problem is feasible or not.

        A feasible point makes a linear problem with an unbounded relaxation unbounded, as its data are rational; of
        others it says nothing: they are seen to be unbounded, or not.
        """
        problem = self._problem
        rest = np.inf if options.time_limit is None else max(0.0, options.time_limit - control.seconds)
        found = _solve(replace(problem, objectives=()), options, rest, _silent(monitor))
        if found.status is Status.OPTIMAL and problem.is_linear:
            return Status.UNBOUNDED
        if found.values is not None and not problem.is_linear and self._improves_endlessly(control, options, monitor):
            return Status.UNBOUNDED
        return Status.INFEASIBLE if found.status is Status.INFEASIBLE else Status.INFEASIBLE_OR_UNBOUNDED

    def _improves_endlessly(self, control: Control, options: SolveOptions, monitor: Monitor | None) -> bool:
        """Whether the best points within boxes lead on to better ones without end."""
        points: list[Floats] = []
        watcher = _silent(monitor)
        for size in BOXES:
            rest = BOX_SECONDS if options.time_limit is None else options.time_limit - control.seconds
            if control.stop_requested or rest <= 0:
                return False
            best = _solve(box(self._problem, size), options, min(BOX_SECONDS, rest), watcher)
            if best.reason == "interrupt":
                control.stop_requested = True
                return False
            if best.values is None:
                continue
            if escapes(self._problem, best.values):
                return True
            points.append(best.values)
        return len(points) == len(BOXES) and improves_along(self._problem, *points)

    def _answer(self, status: str) -> SolverResult:
        model = self._model
        statistics = {"nodes": float(model.getNTotalNodes()), "iterations": float(model.getNLPIterations())}
        if status not in PROVED and status not in LIMITS:
            raise DiagnosticError([_failure(status)])
        final_status = PROVED.get(status, Status.LIMIT)
        if final_status is Status.UNBOUNDED and not self._problem.is_linear and not self._may_be_unbounded:
            status, final_status = "infinite", Status.LIMIT  # values above SCIP's infinity, but with a bound
        if final_status not in (Status.OPTIMAL, Status.LIMIT):
            return SolverResult(final_status, statistics=statistics)
        reason = LIMITS.get(status, "")
        bound = None if status == "infinite" else _finite(model.getDualbound())
        if model.getNSols() == 0:
            if final_status is Status.OPTIMAL:
                raise DiagnosticError([_failure("optimal, but without a point")])
            return SolverResult(final_status, bound=bound, reason=reason, statistics=statistics)
        best: Any = model.getBestSol()
        values = np.array([best[variable] for variable in self._variables], dtype=np.float64)
        proved = final_status is Status.OPTIMAL and self._has_duals
        row_duals, reduced_costs = self._duals(values) if proved else (None, None)
        return SolverResult(
            final_status,
            values=values,
            objective=float(model.getSolObjVal(best)),
            bound=bound,
            row_duals=row_duals,
            reduced_costs=reduced_costs,
            reason=reason,
            statistics=statistics,
        )

    def _duals(self, point: Floats) -> tuple[Floats, Floats]:
        """SCIP minimises inside; rows without sides do not exist in it; rows with one entry are bounds in it."""
        model, problem = self._model, self._problem
        duals = np.zeros(problem.rows)
        for constraint in model.getConss(transformed=False):
            duals[int(constraint.name[1:])] = model.getDualsolLinear(constraint)
        if problem.objectives and problem.objectives[0].sense == "maximize":
            duals = -duals
        reduced = np.array([model.getVarRedcost(variable) for variable in self._variables], dtype=np.float64)
        duals_back_to_rows(problem, point, duals, reduced)
        return duals + 0.0, reduced + 0.0


def _silent(monitor: Monitor | None) -> Monitor | None:
    """The monitor of the solve of another problem."""
    return None if monitor is None else StopMonitor(lambda: monitor.stop_requested)


class _ProgressEvents(pyscipopt.Eventhdlr):
    """Passes incumbents and bounds on while SCIP works."""

    EVENTS = PY_SCIP_EVENTTYPE.NODESOLVED | PY_SCIP_EVENTTYPE.BESTSOLFOUND

    def __init__(self, with_bounds: bool = True) -> None:
        self.control: Control | None = None
        self._with_bounds = with_bounds

    def eventinit(self) -> None:
        self.model.catchEvent(self.EVENTS, self)

    def eventexec(self, event: object) -> None:
        control = self.control
        if control is not None and control.wants_progress:
            model = self.model
            bound = _finite(model.getDualbound()) if self._with_bounds else None
            control.report(_finite(model.getPrimalbound()), bound, model.getNTotalNodes())


def _solve(problem: Problem, options: SolveOptions, seconds: float, monitor: Monitor | None) -> SolverResult:
    """The answer to a problem of its own, within `seconds`."""
    session = ScipSession(problem)
    try:
        limit = seconds if np.isfinite(seconds) else None
        return session.solve(structs.replace(options, time_limit=limit), None, monitor)
    finally:
        session.close()


def _finite(value: float) -> float | None:
    return float(value) if abs(value) < INFINITE else None


def _failure(what: str) -> Diagnostic:
    if "insufficient memory" in what:
        help = "close other programs, or set a smaller `--memory-limit`, with which the best solution so far is kept"
    else:
        help = "numbers of very different size are the usual cause; try other units, or another backend"
    return Diagnostic("GSM4007", f"SCIP ended without a result: {what}", help=help)
