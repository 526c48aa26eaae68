"""Compiled problems in Python: to JSON and back, and their solution by a solver."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

from gpusched_dsl.compiling.provenance import Provenance
from gpusched_dsl.ir.deadline import Deadline
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.solving.option_checks import check_values, solve_options

if TYPE_CHECKING:
    from gpusched_dsl.reporting.result import Result
    from gsdsl_backends.protocol import Monitor


def problem_to_json(problem: Problem) -> bytes:
    """Return a problem as JSON by `docs/schema/problem.schema.json`; `problem_from_json` reads it without loss.

    Raises DiagnosticError (GSM4023) for numbers and distributions that the format has no form for.
    """
    from gpusched_dsl.ir.json.codec import to_json

    _check_problem(problem)
    return to_json(problem)


def problem_from_json(text: bytes | str) -> Problem:
    """Return the problem of a JSON text; raise DiagnosticError (GSM4020 to GSM4022) if it is not a sound one."""
    from gpusched_dsl.ir.json.codec import from_json

    check_values("problem_from_json", {"problem": text})
    return from_json(text.encode() if isinstance(text, str) else text)


def _check_problem(problem: object) -> None:
    """Raise DiagnosticError (GSM4011) for anything but a problem."""
    if not isinstance(problem, Problem):
        help = "`problem_from_json` reads one, `compile` makes one; a `Model` has its own `solve`"
        shown = f"a problem is needed, not a value of type `{type(problem).__name__}`"
        raise DiagnosticError([Diagnostic("GSM4011", shown, help=help)])


def solve(
    problem: Problem,
    backend: str = "highs",
    *,
    gap: float = 1e-4,
    time_limit: float | None = None,
    threads: int | None = None,
    seed: int = 0,
    solver_options: Mapping[str, bool | int | float | str] | None = None,
    warm_start: Any = None,
    monitor: Monitor | None = None,
    heuristic: str = "auto",
    without: Collection[str] = (),
    decompose: str = "auto",
    second_opinion: bool = True,
    relax: bool = False,
    duals: bool = False,
    method: str | None = None,
) -> Result:
    """Solve a compiled problem, such as one of `compile`, `Model.ground` or `problem_from_json`, by a solver.

    The options are those of `Model.solve`; a warm start is a `Result`, the path of a JSON result, or values by
    variable. The result has the names of the problem; without the model it has no placement and no reports.

    An infeasible or unbounded problem is a result, not an error. Raises DiagnosticError with all errors in options,
    for wrong claims of the solver, and (GSM6016) for a policy, which needs a model.
    """
    clock, given = Deadline(), locals()
    from gpusched_dsl.solving.methods import refuse_policy
    from gpusched_dsl.workflows.solve import solve_compiled
    from gpusched_dsl.workflows.warm_start import read_entries
    from gsdsl_backends.registry import backend as registered_backend

    _check_problem(problem)
    values = check_values("solve", given, "problem")
    name = backend if method is None else method
    refuse_policy(name, f"`{problem.name}`")
    return solve_compiled(
        problem,
        Provenance(),
        registered_backend(name),
        solve_options(values),
        read_entries(warm_start),
        relax=relax,
        duals=duals,
        clock=clock,
        monitor=monitor,
    )
