"""Solves a built problem: directly, or with interchangeable elements aggregated and the plan disaggregated."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusched_dsl.compiling.build import Built
from gpusched_dsl.ir.deadline import StoppedEarly
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.solving.abandoned import abandoned_aggregation
from gpusched_dsl.solving.solution import Solution
from gpusched_dsl.solving.solve import deadline_of, resolve, solve_problem
from gsdsl_backends.protocol import Backend, Monitor, SolveOptions
from gsdsl_backends.registry import backend as backend_named

if TYPE_CHECKING:
    from gpusched_dsl.solving.starts import NamedValues


def solve_built(
    built: Built,
    backend: Backend | str = "highs",
    options: SolveOptions | None = None,
    start: NamedValues | None = None,
    monitor: Monitor | None = None,
    before: Solution | None = None,
) -> tuple[Solution, tuple[Diagnostic, ...]]:
    """Solve a built scenario from values by name, in the session of an earlier solve if one is given.

    Returns the solution in terms of the complete problem, and warnings about start values without a column. The time
    limit includes the building; if it ends before there is a problem, the solution is that of
    `solution_without_problem`. Raises what `solve_problem` and `resolve` raise.
    """
    options = options or (before.options if before is not None else SolveOptions())
    with deadline_of(options.time_limit, monitor):
        try:
            aggregated = built.aggregated
            if aggregated is not None:
                from gpusched_dsl.solving.aggregated import solve_aggregated  # here, as it loads SciPy

                solved, warnings = solve_aggregated(built, aggregated, backend, options, start, monitor, before)
            else:
                point, warnings = None, []
                if start is not None:
                    from gpusched_dsl.solving.starts import point_from

                    point, warnings = point_from(built.problem, start)
                if before is None:
                    solved = solve_problem(built.problem, backend, options, point, monitor)
                else:
                    solved = resolve(before, built.problem, options, point, monitor)
            return solved, (*warnings, *abandoned_aggregation(built.aggregation))
        except StoppedEarly as stopped:
            chosen = backend_named(backend) if isinstance(backend, str) else backend
            from gpusched_dsl.solving.unfinished import solution_without_problem

            return solution_without_problem(built.scenario.model, chosen, options, stopped), ()
        finally:
            if before is not None:
                before.close()  # what is still open was of no use
