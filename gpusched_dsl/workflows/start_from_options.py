"""Starts from the choices of options that a model names by `start from`: a solution under them is one of this model.

A model that allows more has more columns, so a solver that stops at a time limit may end with a worse plan than in the
model that allows less. Large problems without a start are therefore solved under these choices first, in a share of
the time limit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import structs

from gpusched_dsl.compiling.build import Built
from gpusched_dsl.ir.deadline import INTERRUPT, StoppedEarly, limit, remaining_share
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.solving.primal.budget import HeuristicBudget
from gpusched_dsl.solving.primal.start import is_large
from gpusched_dsl.solving.solution import Solution
from gpusched_dsl.workflows.method import Method, SolverMethod
from gpusched_dsl.workflows.warm_start import Start
from gsdsl_backends.protocol import Monitor, SolveOptions

if TYPE_CHECKING:
    from gpusched_dsl.solving.starts import NamedValues


SHARE = 0.5  # of the remaining time
MOST_SECONDS = 60.0  # without a time limit


def starts_from_options(built: Built, method: Method, options: SolveOptions) -> bool:
    """Whether a solve without a start begins with the choices of `start from`."""
    if not built.scenario.model.start_options or not isinstance(method, SolverMethod) or method.relax:
        return False
    if options.heuristic == "off":
        return False
    aggregated = built.aggregated
    return options.heuristic == "on" or is_large(built.problem if aggregated is None else aggregated.problem)


def start_from_options(
    built: Built, method: Method, options: SolveOptions, monitor: Monitor | None
) -> tuple[Start, bool]:
    """Solve under the choices of `start from`; return the start, empty without a solution, and whether Ctrl-C ended it.

    Errors of the data under these choices, such as a false `check`, mean that there is no start.
    """
    seconds = remaining_share(SHARE)
    seconds = MOST_SECONDS if seconds is None else seconds
    try:
        with limit(seconds) as clock:
            begun = built.with_settings(built.scenario.model.start_options)
            begun = method.with_problem(begun, options, clock)
            plain = structs.replace(options, second_opinion=False)
            solved, _ = method.solve(begun, plain, Start(), HeuristicBudget(seconds, monitor))
    except (DiagnosticError, StoppedEarly):
        return Start(), False
    solved.close()
    return Start(_entries(built, begun, solved)), solved.reason == INTERRUPT


def _entries(built: Built, begun: Built, solved: Solution) -> NamedValues | None:
    """The values of the solution, in codes; with all zeros, so that columns of other choices only are 0 too."""
    if solved.point is None:
        return None
    if built.aggregated is not None or _labels(begun) != _labels(built):
        from gpusched_dsl.solving.starts import entries_of_point

        return entries_of_point(solved.problem, solved.point)
    from gpusched_dsl.compiling.lowering.fixing import VariableValues

    return {
        family.name: VariableValues(tuple(family.domain.columns()), solved.point[family.slice])
        for family in solved.problem.variables
    }


def _labels(built: Built) -> dict[str, tuple[str | int, ...]]:
    return {name: universe.labels for name, universe in built.instance.store.universes.items()}
