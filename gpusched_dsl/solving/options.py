"""Checks the request to a backend before anything is built."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
from msgspec import structs

from gpusched_dsl.compiling.passes import names, pipeline
from gpusched_dsl.ir.arrays import Floats
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic, did_you_mean
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.options.reading import MOST_THREADS, THREAD_OPTIONS
from gpusched_dsl.solving.option_checks import value_diagnostics
from gsdsl_backends.protocol import Backend, SolveOptions


def check_request(backend: Backend, problem: Problem, options: SolveOptions, start: Floats | None) -> None:
    """Raise DiagnosticError for invalid options, or if the backend does not accept the problem, the options
    or the start.
    """
    diagnostics = [*_option_diagnostics(options), *_capability_diagnostics(backend, options, start)]
    if problem.is_linear:
        diagnostics += _integer_diagnostics(backend, problem)
    if start is not None:
        if start.shape != (problem.columns,):
            message = f"the start has {start.size} values, but the problem has {problem.columns} columns"
            diagnostics.append(Diagnostic("GSM4010", message))
        elif np.isinf(start).any():
            diagnostics.append(Diagnostic("GSM4010", "the start contains an infinite value"))
    if diagnostics:
        raise DiagnosticError(diagnostics)


def _option_diagnostics(options: SolveOptions) -> list[Diagnostic]:
    values = structs.asdict(options)
    threads = [
        Diagnostic("GSM4011", f"`{name}` must be at most {MOST_THREADS}, not `{value}`")
        for name, value in options.extra.items()
        if name.rpartition(":")[2] in THREAD_OPTIONS and _number(value) > MOST_THREADS
    ]
    return [*value_diagnostics("solve", values), *threads, *unknown_passes(options.without)]


def _number(value: bool | int | float | str) -> float:
    """Return the number that a solver may read from a value of an option, 0 for anything else."""
    try:
        return float(value)
    except (ValueError, OverflowError):
        return 0.0 if isinstance(value, str) else float("inf")


def unknown_passes(without: Collection[str]) -> list[Diagnostic]:
    """Return a diagnostic for each name that no tightening pass has."""
    known = [*(one.name for one in pipeline.tightenings()), names.AGGREGATION, names.EVERY]
    listed = f"these passes can be skipped: {', '.join(f'`{name}`' for name in known)}"
    diagnostics = []
    for name in sorted(set(without) - set(known)):
        near = did_you_mean(name, known)
        help = f"{near}; {listed}" if near else listed
        diagnostics.append(Diagnostic("GSM4011", f"unknown pass `{name}`", help=help))
    return diagnostics


def check_integers(backend: Backend, problem: Problem) -> None:
    """Raise DiagnosticError when the problem, perhaps since its reformulation, has integers the backend refuses."""
    diagnostics = _integer_diagnostics(backend, problem)
    if diagnostics:
        raise DiagnosticError(diagnostics)


def _integer_diagnostics(backend: Backend, problem: Problem) -> list[Diagnostic]:
    capabilities = backend.capabilities
    nonlinear = problem.definitions and not capabilities.nonlinear_integers
    if not problem.is_mip or (capabilities.integers and not nonlinear):
        return []
    family = problem.column_family(int(np.argmax(problem.integer)))
    message = f"the backend `{backend.name}` does not accept integer variables such as `{family.name}`"
    if not capabilities.integers:
        help = "choose another backend, for instance `highs` or `scip`"
        return [Diagnostic("GSM4003", message, family.span, help=help)]
    term = problem.definitions[0]
    message += f" together with nonlinear terms such as `{term.name}`"
    return [Diagnostic("GSM4003", message, term.span, help="choose another backend, for instance `scip`")]


def _capability_diagnostics(backend: Backend, options: SolveOptions, start: Floats | None) -> list[Diagnostic]:
    capabilities = backend.capabilities
    diagnostics = []
    if options.time_limit is not None and not capabilities.time_limit:
        diagnostics.append(Diagnostic("GSM4003", f"the backend `{backend.name}` does not accept a time limit"))
    if start is not None and not capabilities.warm_start:
        diagnostics.append(Diagnostic("GSM4003", f"the backend `{backend.name}` does not accept a start"))
    return diagnostics
