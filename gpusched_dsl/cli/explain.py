"""`gsdsl explain`: sizes, class and reformulations of a problem, the reason for infeasibility, a policy, or a code."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from gpusched_dsl.cli import exits
from gpusched_dsl.cli.arguments.parser import CommandLineError
from gpusched_dsl.cli.documents import STDOUT, check_targets, write_forms
from gpusched_dsl.cli.explain_code import explain_code, is_code
from gpusched_dsl.cli.instance import LoadedProblem, build_problem, choose_instance
from gpusched_dsl.cli.output import Output
from gpusched_dsl.cli.progress import ProgressMonitor, watch_progress
from gpusched_dsl.cli.tables import show_grid
from gpusched_dsl.compiling.build import Built
from gpusched_dsl.compiling.passes.names import allows_aggregation
from gpusched_dsl.compiling.selection import SelectedScenario
from gpusched_dsl.ir.deadline import StoppedEarly
from gpusched_dsl.language.scenarios.scenario import scenario_title

if TYPE_CHECKING:
    from gpusched_dsl.explaining.explanation import Explanation
    from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic

EXITS = {"infeasible": exits.INFEASIBLE, "unbounded": exits.UNBOUNDED}


def run(options: argparse.Namespace, output: Output) -> int:
    check_targets(json=options.json)
    if options.file is not None and is_code(options.file):
        return explain_code(options, output)
    if options.policy is not None:
        from gpusched_dsl.cli.explain_policy import explain_policy

        return explain_policy(options, output)
    if options.file is None:
        raise CommandLineError("GSM6002", "the file to explain is missing", "name one, or a policy: `--policy Greedy`")
    return _explain_problem(options, output)


def _explain_problem(options: argparse.Namespace, output: Output) -> int:
    from gpusched_dsl.explaining.explain import describe, search
    from gpusched_dsl.solving.solve import deadline_of
    from gpusched_dsl.solving.variants.solver import VariantSolver
    from gsdsl_backends.registry import backend

    watch = ProgressMonitor(output.note)
    try:
        with watch_progress(output, show=output.shows_progress, watch=watch), deadline_of(None, watch):
            instance = choose_instance(options, output)
            _refuse_policy(instance, options.method)
            built = instance.build(full=False) if isinstance(instance, SelectedScenario) else None
            if built is not None and _explain_shares(built, options, output):
                return exits.OK
            loaded = build_problem(instance, output, built, aggregated=allows_aggregation(options.without))
    except StoppedEarly:
        raise KeyboardInterrupt from None  # there is no explanation yet
    solver = backend(options.method)
    if options.json == STDOUT:
        output.only_diagnostics()
    explanation = describe(
        loaded.problem,
        solver,
        loaded.provenance,
        without=frozenset(options.without),
        aggregation=loaded.aggregation,
    )
    _show_description(explanation, output)
    stopped = False
    if options.why:
        watch.begin("")
        with watch_progress(output, show=output.shows_progress, watch=watch):
            explanation = search(explanation, VariantSolver(solver, options.time_limit, watch))
            stopped = watch.stop_requested
        _show_answer(explanation, output)
    write_forms(explanation, options, output)
    if explanation.status == "unknown":
        return exits.INTERRUPTED if stopped else exits.NO_SOLUTION_YET
    return EXITS.get(explanation.status, exits.BAD_INPUT if explanation.refused else exits.OK)


def _explain_shares(built: Built, options: argparse.Namespace, output: Output) -> bool:
    """Explain a large scenario that is solved share by share of its jobs; of another one say why it is not."""
    from gpusched_dsl.explaining.shares import shares_lines
    from gpusched_dsl.solving.shares.choice import shares_root
    from gsdsl_backends.protocol import SolveOptions
    from gsdsl_backends.registry import backend

    chosen = SolveOptions(without=frozenset(options.without))
    root = shares_root(built, lambda: backend(options.method), chosen)
    if root is None:
        return False
    lines, is_solved_so = shares_lines(built, root)
    if is_solved_so and options.json is not None:
        message = f"a problem solved share by share of `{root}` is never grounded, so there is no document on it"
        raise CommandLineError("GSM6002", message, "leave out `--json`, or explain a scenario of fewer of them")
    if is_solved_so:
        output.report(built.warnings)
        output.say(scenario_title(built.scenario.model.name, built.scenario.name))
    for line in lines:
        output.say_wrapped(line)
    return is_solved_so


def _refuse_policy(instance: SelectedScenario | LoadedProblem, name: str) -> None:
    """Raise CommandLineError for a policy, and DiagnosticError for an unknown solver."""
    from gpusched_dsl.workflows.method import choose_method

    if (
        isinstance(instance, SelectedScenario)
        and choose_method(instance.workspace, name, instance.scenario.model).is_policy
    ):
        message = f"`{name}` is a policy, which solves no problem"
        raise CommandLineError("GSM6002", message, f"`--policy {name}` describes it")


def _show_description(explanation: Explanation, output: Output) -> None:
    from gpusched_dsl.explaining.text import grids, header_lines

    for line in header_lines(explanation):
        output.say_wrapped(line)
    for title, grid in grids(explanation):
        output.say()
        output.say(title)
        show_grid(grid, output)
    _show_diagnostics([*explanation.reasons, *explanation.refused, *explanation.warnings], output)
    output.flush()


def _show_answer(explanation: Explanation, output: Output) -> None:
    from gpusched_dsl.explaining.text import status_lines

    output.say()
    for line in status_lines(explanation):
        output.say(line)
    _show_diagnostics(explanation.findings, output)


def _show_diagnostics(diagnostics: list[Diagnostic], output: Output) -> None:
    """Show diagnostics, the result of this command: as text on standard output, or with the others as JSON."""
    if output.as_json:
        output.report(diagnostics)
    elif diagnostics:
        import sys

        from gpusched_dsl.language.diagnostics.render import render_text

        text = render_text(diagnostics, color=output.has_colors(sys.stdout)).rpartition("\n\n")[0]
        output.say()
        output.say(text)
