"""The commands of `%gsm`: options of the command line, results of the Python interface."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

from gpusched_dsl.api import Model
from gpusched_dsl.cli.arguments.parser import Parser, add_options
from gpusched_dsl.cli.instance import read_settings, solver_options
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.language.diagnostics.extras import FIGURES_NEED, require_extra
from gpusched_dsl.options.table import by_name
from gpusched_dsl.solving.option_checks import as_flag
from gsdsl_notebook.progress import progress

MODEL_HELP = "a variable with a model (default: model), a .gsm file, or gsdsl:NAME for a shipped model"
WRITTEN = ("json", "csv", "html", "figures")


def parser_of(verb: str, default: str) -> Parser:
    """Return the parser of a command, in which the file is a model, by default the variable `default`."""
    parser = Parser(prog=f"%gsm {verb}")
    add_options(parser, verb)
    own = by_name(verb, "notebook")
    for action in parser._actions:
        if action.dest in ("file", "files"):
            action.dest, action.nargs, action.default, action.metavar = "file", "?", default, "MODEL"
            action.help, action.required = MODEL_HELP, False
        elif action.dest not in own and action.dest != "help":
            action.help = argparse.SUPPRESS
    return parser


def refuse_others(verb: str, options: argparse.Namespace, parser: Parser) -> None:
    """Raise DiagnosticError: GSM6002 for options that only work on the command line, GSM6023 without Matplotlib."""
    own = by_name(verb, "notebook")
    for name, value in vars(options).items():
        if name not in own and name != "file" and value != parser.get_default(name):
            message = f"`{as_flag(name)}` works only on the command line, not in notebooks"
            raise DiagnosticError([Diagnostic("GSM6002", message, help="remove it")])
    if getattr(options, "figures", None) is not None:
        require_extra("figures", FIGURES_NEED)
    if "-" in [getattr(options, name, None) for name in WRITTEN]:
        message = "a notebook has no standard output for documents"
        raise DiagnosticError([Diagnostic("GSM6002", message, help="name a file instead of `-`")])


def _solve(model: Model, options: argparse.Namespace) -> Any:
    with progress(options.time_limit) as watch:
        return model.solve(**_values("solve", options), monitor=watch)


def _run(model: Model, options: argparse.Namespace) -> Any:
    method = options.method if options.methods is None else list(options.methods)
    with progress() as watch:
        return model.run(**_values("run", options) | {"method": method}, tell=watch.observe)


def _compare(model: Model, options: argparse.Namespace) -> Any:
    with progress() as watch:
        return model.compare(**_values("compare", options), monitor=watch)


def _explain(model: Model, options: argparse.Namespace) -> Any:
    with progress(options.time_limit) as watch:
        return model.explain(**_values("explain", options), monitor=watch)


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


def _values(verb: str, options: argparse.Namespace) -> dict[str, Any]:
    """Return the options of a method of the model, by the names that they have there too."""
    names = by_name(verb, "notebook").keys() & by_name(verb, "python").keys()
    values = {name: getattr(options, name) for name in names if hasattr(options, name)}
    if "solver_options" in values:
        values["solver_options"] = solver_options(options.solver_options)
    return {**values, "settings": read_settings(options)}


def run_command(verb: str, model: Model, options: argparse.Namespace) -> Any:
    """Run a command, write the documents that its options request, and return the result."""
    report = COMMANDS[verb](model, options)
    for name in WRITTEN:
        target = getattr(options, name, None)
        if target is not None:
            getattr(report, f"to_{name}")(target)
    return report


COMMANDS: dict[str, Callable[[Model, argparse.Namespace], Any]] = {
    "solve": _solve, "run": _run, "compare": _compare, "explain": _explain, "check": _check,
}  # fmt: skip
