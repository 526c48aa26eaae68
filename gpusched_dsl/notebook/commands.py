"""The commands of `%gsm`: options of the command line, results of the Python interface."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from gpusched_dsl.api import Model
from gpusched_dsl.cli.arguments.explaining import add_explain_options
from gpusched_dsl.cli.arguments.model_files import add_check_options
from gpusched_dsl.cli.arguments.parser import Parser
from gpusched_dsl.cli.arguments.runs import add_run_options
from gpusched_dsl.cli.arguments.solving import add_compare_options, add_solve_options
from gpusched_dsl.cli.instance import read_settings
from gpusched_dsl.cli.solver_options import solver_options
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.language.diagnostics.extras import FIGURES_NEED, require_extra
from gpusched_dsl.notebook.progress import progress

MODEL_HELP = "a variable with a model (default: model), a .gsm file, or gsdsl:NAME for a shipped model"
# The same name and meaning in the options of the command line and in the methods of a model.
SOLVE = (
    "scenario", "method", "gap", "time_limit", "threads", "seed", "judge", "bound", "heuristic", "decompose", "engine",
    "workers", "warm_start", "relax", "duals", "alternatives", "options_of", "without", "second_opinion",
)  # fmt: skip
RUN = (
    "scenario", "online", "fallback", "seed", "seeds", "time_limit", "gap", "threads", "controllers", "journal",
    "replay", "bound", "why_gap", "verify", "without",
)  # fmt: skip
COMPARE = ("methods", "scenario", "gap", "time_limit", "threads", "seeds", "judge", "bound", "without")
FILES = ("file", "set", "set_file", "allow_outside", "memory_limit")
WRITTEN = ("json", "csv", "html", "figures")


@dataclass(frozen=True, slots=True)
class Command:
    """A command: the options that the command line adds to a parser, those that work here, and the work."""

    add_options: Callable[[Parser], None]
    accepted: frozenset[str]
    run: Callable[[Model, argparse.Namespace], Any]
    file: str = "file"

    def parser(self, name: str, default: str) -> Parser:
        """Return a parser in which the file is a model, by default the variable `default`."""
        parser = Parser(prog=name)
        self.add_options(parser)
        for action in parser._actions:
            if action.dest == self.file:
                action.dest, action.nargs, action.default, action.metavar = "file", "?", default, "MODEL"
                action.help, action.required = MODEL_HELP, False
            elif action.dest not in self.accepted and action.dest != "help":
                action.help = argparse.SUPPRESS
        return parser

    def refuse_others(self, options: argparse.Namespace, parser: Parser) -> None:
        """Raise DiagnosticError: GSM6002 for options that only work on the command line, GSM6023 without Matplotlib."""
        for name, value in vars(options).items():
            if name not in self.accepted and value != parser.get_default(name):
                option = f"--{name.replace('_', '-')}"
                message = f"`{option}` works only on the command line, not in notebooks"
                raise DiagnosticError([Diagnostic("GSM6002", message, help="remove it")])
        if getattr(options, "figures", None) is not None:
            require_extra("figures", FIGURES_NEED)
        if "-" in [getattr(options, name, None) for name in WRITTEN]:
            message = "a notebook has no standard output for documents"
            raise DiagnosticError([Diagnostic("GSM6002", message, help="name a file instead of `-`")])


def _solve(model: Model, options: argparse.Namespace) -> Any:
    given: dict[str, Any] = {} if options.within is None else {"within": options.within}
    with progress(options.time_limit) as watch:
        result = model.solve(
            **_same(options, SOLVE), **given, distinct_by=options.distinct_by or (), settings=read_settings(options),
            solver_options=solver_options(options.solver_option), monitor=watch, reasons=True,
        )  # fmt: skip
    return _written(result, options)


def _run(model: Model, options: argparse.Namespace) -> Any:
    method = options.method if options.methods is None else list(options.methods)
    with progress() as watch:
        result = model.run(
            **_same(options, RUN), method=method, settings=read_settings(options), tell=watch.observe
        )  # fmt: skip
    return _written(result, options)


def _compare(model: Model, options: argparse.Namespace) -> Any:
    with progress() as watch:
        comparison = model.compare(**_same(options, COMPARE), settings=read_settings(options), monitor=watch)
    return _written(comparison, options)


def _explain(model: Model, options: argparse.Namespace) -> Any:
    with progress(options.time_limit) as watch:
        explanation = model.explain(
            **_same(options, ("scenario", "method", "time_limit", "without")), why=not options.no_why, monitor=watch,
            settings=read_settings(options),
        )  # fmt: skip
    return _written(explanation, options)


def _check(model: Model, options: argparse.Namespace) -> CheckedDiagnostics:
    found = model.check(deep=options.deep, method=options.method)
    if options.strict and found:
        raise DiagnosticError(found)
    return CheckedDiagnostics(found)


class CheckedDiagnostics(tuple[Diagnostic, ...]):
    """The warnings of a model, underlined in its text."""

    __slots__ = ()

    def __repr__(self) -> str:
        from gpusched_dsl.language.diagnostics.render import render_text

        return render_text(self).rstrip("\n") or "no errors or warnings"

    def _repr_html_(self) -> str:
        from gpusched_dsl.language.diagnostics.html import render_html

        return render_html(self) or "<p>no errors or warnings</p>"


def _same(options: argparse.Namespace, names: Sequence[str]) -> dict[str, Any]:
    return {name: getattr(options, name) for name in names}


def _written(report: Any, options: argparse.Namespace) -> Any:
    """Write the documents that the options request, and return the report."""
    for name in WRITTEN:
        target = getattr(options, name, None)
        if target is not None:
            getattr(report, f"to_{name}")(target)
    return report


COMMANDS = {
    "solve": Command(
        add_solve_options,
        frozenset((*SOLVE, *FILES, *WRITTEN, "solver_option", "within", "distinct_by")),
        _solve,
    ),
    "run": Command(add_run_options, frozenset((*RUN, *FILES, *WRITTEN, "method", "methods")), _run),
    "compare": Command(add_compare_options, frozenset((*COMPARE, *FILES, *WRITTEN)), _compare),
    "explain": Command(
        add_explain_options,
        frozenset((*FILES, "scenario", "method", "time_limit", "without", "no_why", "json")),
        _explain,
    ),
    "check": Command(
        add_check_options, frozenset((*FILES, "files", "deep", "strict", "method")), _check, file="files"
    ),
}  # fmt: skip
