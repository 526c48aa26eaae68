"""`gsdsl export`: the compiled problem as LP, MPS, JSON, a script or another format, or its mathematics."""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, cast

from gpusched_dsl.cli import exits
from gpusched_dsl.cli.arguments.parser import CommandLineError
from gpusched_dsl.cli.instance import LoadedProblem, choose_instance, read_settings, read_workspace
from gpusched_dsl.cli.output import Output
from gpusched_dsl.data.sources.writing import cannot_write, check_writable, replace_file
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic, Severity, did_you_mean
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.reporting.summary import size_text
from gsdsl_backends.export_names import MATHEMATICS
from gsdsl_backends.exporters import keeps_objectives, write_problem

if TYPE_CHECKING:
    from gpusched_dsl.compiling.selection import SelectedScenario
    from gpusched_dsl.ir.problem import Problem
    from gpusched_dsl.language.workspace import Workspace
    from gpusched_dsl.workflows.exported_form import ExportedForm

STDOUT = "-"


def run(options: argparse.Namespace, output: Output) -> int:
    out = options.out or STDOUT
    if out != STDOUT:
        check_writable(Path(out))
    if options.to in MATHEMATICS:
        if options.aggregated:
            raise CommandLineError(
                "GSM6002", f"`--aggregated` is for problems, not for {options.to.upper()}", "remove it"
            )
        return _write_formulation(options, output, out)
    if options.model is not None:
        message = f"`--model` is only for mathematics, not for {options.to.upper()}"
        raise CommandLineError("GSM6002", message, "choose a scenario: `--scenario NAME`")
    form = _form(choose_instance(options, output), options, output)
    problem = form.problem
    output.report(_losses(problem, options.to))
    if out == STDOUT:
        with tempfile.TemporaryFile(buffering=0) as opened:
            file = cast("BinaryIO", opened)  # on Windows a wrapper of one
            write_problem(problem, options.to, file, form.comments)
            file.seek(0)
            _copy_out(file)
        return exits.OK
    try:
        with replace_file(Path(out)) as beside, beside.open("wb", buffering=0) as file:
            written = write_problem(problem, options.to, file, form.comments)
    except OSError as failure:
        raise DiagnosticError([cannot_write(Path(out), failure)]) from failure
    output.say(f"wrote {out}: {size_text(written)}")
    for line in form.comments:
        output.say(line)
    return exits.OK


def _form(instance: SelectedScenario | LoadedProblem, options: argparse.Namespace, output: Output) -> ExportedForm:
    """The problem to write, with a report of warnings."""
    from gpusched_dsl.workflows.exported_form import ExportedForm, exported_form

    if isinstance(instance, LoadedProblem):
        if options.aggregated:
            message = "`--aggregated` needs a `.gsm` file: a problem file says nothing of interchangeable elements"
            raise DiagnosticError([Diagnostic("GSM6016", message)])
        return ExportedForm(instance.problem)
    built = instance.build(aggregated=True)
    output.report(built.warnings)
    return exported_form(built, options.aggregated)


def _write_formulation(options: argparse.Namespace, output: Output, out: str) -> int:
    from gpusched_dsl.reporting.mathematics.formulation import formulation
    from gpusched_dsl.reporting.mathematics.rendering import to_latex, to_markdown

    workspace = read_workspace(Path(options.file), options.allow_outside, output)
    settings = read_settings(options)
    models = [formulation(workspace, name, settings) for name in _models(workspace, options.model)]
    text = to_latex(models) if options.to == "latex" else to_markdown(models)
    if out == STDOUT:
        print(text, end="")
        return exits.OK
    try:
        with replace_file(Path(out)) as beside:
            beside.write_text(text, encoding="utf-8")
    except OSError as failure:
        raise DiagnosticError([cannot_write(Path(out), failure)]) from failure
    output.say(f"wrote {out}: {', '.join(m.name for m in models)}")
    return exits.OK


def _models(workspace: Workspace, name: str | None) -> list[str]:
    """Return the model of that name, or all models of the file (if it declares none, those of its imports)."""
    if name is not None:
        if name not in workspace.models:
            help = did_you_mean(name, workspace.models) or f"the models are {', '.join(workspace.models)}"
            raise DiagnosticError([Diagnostic("GSM6018", f"unknown model `{name}`", help=help)])
        return [name]
    own_models = [n for n, m in workspace.models.items() if workspace.main and m.span.source is workspace.main.source]
    if not own_models and not workspace.models:
        raise DiagnosticError([Diagnostic("GSM6018", "there is no model in this file or in its imports")])
    return own_models or list(workspace.models)


def _losses(problem: Problem, form: str) -> list[Diagnostic]:
    """Return a warning if the format does not support several objectives."""
    if len(problem.objectives) <= 1 or keeps_objectives(form):
        return []
    others = ", ".join(f"`{o.name or f'objective {n}'}`" for n, o in enumerate(problem.objectives[1:], start=2))
    representation = {"lp": "named in comments", "mps": "free rows, which most solvers ignore"}.get(form, "left out")
    message = f"{form.upper()} has only one objective: {others} of lower priority are {representation}"
    help = "export as JSON, or as a script, to keep all objectives and their order"
    return [Diagnostic("GSM6017", message, help=help, severity=Severity.WARNING)]


def _copy_out(file: BinaryIO) -> None:
    """Copy to standard output, as bytes if it accepts them."""
    sys.stdout.flush()
    raw = getattr(sys.stdout, "buffer", None)
    if raw is None:
        sys.stdout.write(file.read().decode("utf-8"))
    else:
        shutil.copyfileobj(file, raw)
        raw.flush()
