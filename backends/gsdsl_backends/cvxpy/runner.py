"""Runs of a compiled CVXPY problem: of Clarabel so that it can be stopped and watched, of others as CVXPY does."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import Any, Protocol

import clarabel
import cvxpy as cp
import numpy as np
import scipy.sparse as sp
from cvxpy.reductions.solution import failure_solution
from cvxpy.reductions.solvers.conic_solvers.clarabel_conif import CLARABEL, dims_to_solver_cones

from gpusched_dsl.ir.arrays import Floats
from gpusched_dsl.ir.solver_result import SolverResult, Status, relative_gap
from gpusched_dsl.ir.tolerances import TIGHT
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic, did_you_mean
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gsdsl_backends.interrupt import Control, run_stoppable
from gsdsl_backends.protocol import Monitor, SolveOptions

# What CVXPY is told where there is no point, so that it raises nothing; the answer says what the solver said.
NOTHING = failure_solution(cp.INFEASIBLE)

STATUSES = {
    cp.OPTIMAL: (Status.OPTIMAL, ""),
    cp.OPTIMAL_INACCURATE: (Status.LIMIT, "accuracy"),
    cp.INFEASIBLE: (Status.INFEASIBLE, ""),
    cp.UNBOUNDED: (Status.INFEASIBLE_OR_UNBOUNDED, ""),
    cp.settings.INFEASIBLE_OR_UNBOUNDED: (Status.INFEASIBLE_OR_UNBOUNDED, ""),
    cp.settings.USER_LIMIT: (Status.LIMIT, "time"),
}

STATUSES_OF_CLARABEL = {
    "Solved": (Status.OPTIMAL, ""),
    "PrimalInfeasible": (Status.INFEASIBLE, ""),
    "DualInfeasible": (Status.INFEASIBLE_OR_UNBOUNDED, ""),
    "MaxIterations": (Status.LIMIT, "iterations"),
    "MaxTime": (Status.LIMIT, "time"),
    "CallbackTerminated": (Status.LIMIT, "interrupt"),
}  # all others, such as `AlmostSolved`, have not reached the accuracy asked for

# How Clarabel tries again after too little progress: with shorter steps, then with the numbers as they are. Expected
# work under a uniform law needs it where its derivative is 0 at the optimum, as at the limit if no due date binds.
ATTEMPTS: tuple[dict[str, Any], ...] = ({}, {"max_step_fraction": 0.9}, {"equilibrate_enable": False})

STOPPED = frozenset({"MaxIterations", "MaxTime", "CallbackTerminated"})

# Clarabel's tolerances, usually 1e-8.
TOLERANCES = ("tol_feas", "tol_gap_abs", "tol_gap_rel")

# Solvers by first-order steps call a point optimal within about this, relative to its objective.
ACCURACY = {"SCS": 1e-4, "OSQP": 1e-3}

# What other solvers call the time limit.
TIME_LIMITS = {"SCS": "time_limit_secs", "OSQP": "time_limit", "HIGHS": "time_limit"}


@dataclass(frozen=True)
class Request:
    """A solve of a compiled problem, with an objective without `offset`; `options.extra` are the solver's own."""

    options: SolveOptions
    monitor: Monitor | None = None
    offset: float = 0.0


class Runner(Protocol):
    """A solver behind CVXPY; after `run` the values of variables and constraints are in CVXPY's problem."""

    name: str

    def run(self, problem: cp.Problem, request: Request) -> SolverResult:
        """Status, bound and counts of a solve."""
        ...


def runner_named(name: str) -> Runner:
    """Raises DiagnosticError (GSM4005) when CVXPY does not find the solver."""
    if name.upper() not in cp.installed_solvers():
        known = [n.lower() for n in cp.installed_solvers()]
        help = did_you_mean(name, known) or f"installed solvers are {', '.join(known)}"
        raise DiagnosticError([Diagnostic("GSM4005", f"CVXPY has no solver `{name}`", help=help)])
    return ClarabelRunner() if name.upper() == "CLARABEL" else OtherRunner(name.upper())


class ClarabelRunner:
    """Conic problems by Clarabel."""

    name = "CLARABEL"

    def __init__(self) -> None:
        self._solver = StoppableClarabel()

    def run(self, problem: cp.Problem, request: Request) -> SolverResult:
        settings = clarabel.DefaultSettings()
        for name in request.options.extra:
            if not hasattr(settings, name):
                known = [n for n in dir(settings) if not n.startswith("_")]
                help = did_you_mean(name, known) or "the settings are listed in the documentation of Clarabel"
                raise DiagnosticError([Diagnostic("GSM4004", f"Clarabel has no setting `{name}`", help=help)])
        self._solver.request = request
        _solve(problem, self._solver)
        assert self._solver.answer is not None
        return self._solver.answer


class StoppableClarabel(CLARABEL):  # type: ignore[misc]
    """CVXPY's interface of Clarabel, which looks between iterations whether it should stop."""

    request: Request | None = None
    answer: SolverResult | None = None
    bound_error = 0.0

    def name(self) -> str:
        return "STOPPABLE_CLARABEL"

    def solve_via_data(
        self, data: dict[str, Any], warm_start: bool, verbose: bool, solver_opts: Any, solver_cache: Any = None
    ) -> Any:
        request = self.request
        assert request is not None
        settings = self.parse_solver_opts(False, dict(request.options.extra))
        for name in TOLERANCES if request.options.tight else ():
            if name not in request.options.extra:
                setattr(settings, name, TIGHT)
        limit = request.options.time_limit
        end = math.inf if limit is None else time.perf_counter() + limit
        costs: Floats = data["c"]
        quadratic = sp.triu(data["P"]).tocsc() if "P" in data else sp.csc_array((costs.size, costs.size))
        cones = dims_to_solver_cones(data["dims"])
        control = Control()

        def look(info: Any) -> bool:
            if control.wants_progress:
                control.report(None, None)
            return control.stop_requested

        def attempt() -> None:
            settings.time_limit = max(0.0, end - time.perf_counter())
            solver = clarabel.DefaultSolver(quadratic, costs, data["A"], data["b"], cones, settings)
            solver.set_termination_callback(look)
            attempts.append(solver.solve())

        attempts: list[Any] = []
        best, self.bound_error = None, math.inf
        for changes in ATTEMPTS:
            for name in changes.keys() - request.options.extra.keys():
                setattr(settings, name, changes[name])
            run_stoppable(attempt, control, request.monitor)
            solution, said = attempts[-1], str(attempts[-1].status)
            if said in STOPPED and best is not None:
                break  # the attempt before came to an end
            ended = said in STATUSES_OF_CLARABEL
            error = _bound_error(quadratic, costs, data["A"], solution) if said == "AlmostSolved" else math.inf
            if best is None or ended or error < self.bound_error:
                best, self.bound_error = solution, error
            bound = solution.obj_val_dual - error + request.offset
            if ended or relative_gap(solution.obj_val + request.offset, bound) <= request.options.gap:
                break
        return best

    def invert(self, solution: Any, inverse_data: Any) -> Any:
        """As in CVXPY, but keep Clarabel's data about its solution."""
        assert self.request is not None
        said = str(solution.status)
        status, reason = STATUSES_OF_CLARABEL.get(said, (Status.LIMIT, "accuracy"))
        statistics = {"nodes": 0.0, "iterations": float(solution.iterations)}
        bound = None
        if status is Status.OPTIMAL:
            bound = solution.obj_val_dual + self.request.offset
        elif said == "AlmostSolved":  # its dual point is one, up to its residuals: how good it is, the gap says
            bound = solution.obj_val_dual - self.bound_error + self.request.offset
        self.answer = SolverResult(status, bound=bound, reason=reason, statistics=statistics)
        inverse_data.solver_options = {}
        return super().invert(solution, inverse_data) if said in ("Solved", "AlmostSolved") else NOTHING


def _bound_error(quadratic: Any, costs: Floats, rows: Any, solution: Any) -> float:
    """Return how far the dual objective may be above the optimum, because its point misses the dual rows.

    The optimum is taken to be at most twice as large as the point, in the sum of its columns.
    """
    x, z = np.asarray(solution.x), np.asarray(solution.z)
    whole = quadratic + sp.tril(quadratic.T, -1)
    residual = float(np.abs(costs + whole @ x + rows.T @ z).max(initial=0.0))
    return residual * 2.0 * (1.0 + float(np.abs(x).sum()))


class OtherRunner:
    """Any solver of CVXPY, run by CVXPY: Ctrl-C takes effect at its end."""

    def __init__(self, name: str) -> None:
        self.name = name

    def run(self, problem: cp.Problem, request: Request) -> SolverResult:
        given: dict[str, Any] = dict(request.options.extra)
        if request.options.time_limit is not None and self.name in TIME_LIMITS:
            given.setdefault(TIME_LIMITS[self.name], request.options.time_limit)
        run_stoppable(lambda: _solve(problem, self.name, **given), Control(), request.monitor)
        if problem.status not in STATUSES:
            raise _failure(problem.status)
        status, reason = STATUSES[problem.status]
        iterations = getattr(problem.solver_stats, "num_iters", None)
        return SolverResult(status, reason=reason, statistics={"nodes": 0.0, "iterations": float(iterations or 0)})


def _solve(problem: cp.Problem, solver: Any, **given: Any) -> None:
    try:
        problem.solve(solver=solver, **given)
    except (cp.error.SolverError, cp.error.DCPError) as failure:
        raise _failure(str(failure)) from failure
    except (TypeError, ValueError, AttributeError) as failure:  # what interfaces raise for options they do not take
        message = f"the solver does not accept its options: {failure}"
        raise DiagnosticError([Diagnostic("GSM4005", message)]) from failure


def _failure(what: str) -> DiagnosticError:
    help = "numbers of very different size are the usual cause; try other units, or another backend"
    return DiagnosticError([Diagnostic("GSM4007", f"CVXPY ended without a result: {what}", help=help)])
