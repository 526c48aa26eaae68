"""`gsdsl solve`: build a scenario, solve it, show and write what came out."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from gpusched_dsl.cli import exits
from gpusched_dsl.cli.instance import open_problem
from gpusched_dsl.cli.output import Output
from gpusched_dsl.cli.progress import watching
from gpusched_dsl.cli.show import show_result
from gpusched_dsl.ir.answer import Status
from gpusched_dsl.language.diagnostics import Diagnostic, DiagnosticError
from gpusched_dsl.reporting.document import json_text
from gpusched_dsl.reporting.files import check_writable, write_text
from gpusched_dsl.reporting.result import Origins, Result
from gpusched_dsl.reporting.summary import size_text

if TYPE_CHECKING:
    from gpusched_dsl.backends.protocol import SolveOptions
    from gpusched_dsl.ir.problem import Floats, Problem

STDOUT = "-"
SOLVER_LOG: dict[str, dict[str, bool | int]] = {"highs": {"output_flag": True}, "scip": {"display/verblevel": 4}}


def run(options: argparse.Namespace, output: Output) -> int:
    from gpusched_dsl.backends.driver import solve_problem
    from gpusched_dsl.backends.registry import backend

    _check_targets(options)
    solver_options = _solver_options(options)
    problem, origins = open_problem(options, output)
    start = _start(options.warm_start, problem, output)
    chosen = backend(options.backend)
    if options.json == STDOUT:
        output.only_findings()
    _say_what(problem, origins, options.backend, output)
    with watching(output, show=output.shows_progress and not options.verbose) as watch:
        solved = solve_problem(problem, chosen, solver_options, start, watch)
    output.report(solved.warnings)
    result = Result(solved, origins)
    show_result(result, output)
    _write(result, options, output)
    solved.close()
    return exit_code(result)


def exit_code(result: Result) -> int:
    """0 with a solution, else by the status (see `exits`)."""
    if result.has_point:
        return exits.OK
    match result.status:
        case Status.INFEASIBLE | Status.INFEASIBLE_OR_UNBOUNDED:
            return exits.INFEASIBLE
        case Status.UNBOUNDED:
            return exits.UNBOUNDED
    return exits.INTERRUPTED if result.reason == "interrupt" else exits.NO_SOLUTION_YET


def _check_targets(options: argparse.Namespace) -> None:
    """Find out before a long solve that its result could not be written."""
    if options.json not in (None, STDOUT):
        check_writable(Path(options.json))
    if options.csv is not None:
        check_writable(Path(options.csv), folder=True)


def _solver_options(options: argparse.Namespace) -> SolveOptions:
    from gpusched_dsl.backends.protocol import SolveOptions

    extra: dict[str, bool | int | float | str] = {}
    for text in options.solver_option:
        name, equals, value = text.partition("=")
        if not equals or not name or not value:
            help = "write `name=value`, such as `--solver-option mip_heuristic_effort=0.2`"
            raise DiagnosticError([Diagnostic("GSM6003", f"`{text}` sets nothing", help=help)])
        extra[name] = _plain_value(value)
    if options.verbose:
        extra = {**SOLVER_LOG.get(options.backend, {}), **extra}
    return SolveOptions(
        options.time_limit,
        options.gap,
        options.threads,
        options.seed,
        extra,
        without=frozenset(options.without),
        heuristic=options.heuristic,
        decompose=options.decompose,
    )


def _plain_value(text: str) -> bool | int | float | str:
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _start(path: str | None, problem: Problem, output: Output) -> Floats | None:
    from gpusched_dsl.reporting.points import entries_of_file, point_from

    if path is None:
        return None
    point, warnings = point_from(problem, entries_of_file(Path(path)))
    output.report(warnings)
    return point


def _say_what(problem: Problem, origins: Origins, backend: str, output: Output) -> None:
    """The header, before the solver starts."""
    scenario = f", scenario {origins.scenario}" if origins.scenario else ""
    output.say(f"{problem.name}{scenario}, with {backend}")
    output.say(size_text(problem))
    output.say()
    output.flush()


def _write(result: Result, options: argparse.Namespace, output: Output) -> None:
    if options.json == STDOUT:
        print(json_text(result.to_dict()), end="")
    elif options.json is not None:
        write_text(Path(options.json), json_text(result.to_dict()))
        output.note(f"wrote {options.json}")
    if options.csv is None:
        return
    if result.has_point:
        files = result.to_csv(options.csv)
        output.note(f"wrote {len(files)} files into {options.csv}")
    else:
        output.note(f"nothing to write into {options.csv}: there is no solution")
