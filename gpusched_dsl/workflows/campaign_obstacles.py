"""Why runs of a campaign cannot be executed: methods that are not for their model, options that nothing reads."""

from __future__ import annotations

from msgspec import structs

from gpusched_dsl.language.blocks.campaigns.campaign import RunObstacles
from gpusched_dsl.language.blocks.campaigns.grid import GridRun
from gpusched_dsl.language.blocks.campaigns.methods import START, named_methods, options_for
from gpusched_dsl.language.blocks.online.online_block import check_online
from gpusched_dsl.language.checked import CheckedModel
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic, Label, did_you_mean
from gpusched_dsl.language.diagnostics.errors import DiagnosticError, Diagnostics
from gpusched_dsl.language.workspace import Workspace
from gpusched_dsl.online.solver_options import uses_solver
from gpusched_dsl.policies.library import is_policy
from gpusched_dsl.solving.methods import obstacle_of
from gpusched_dsl.solving.option_checks import given_options, option_diagnostics
from gpusched_dsl.solving.options import unknown_passes
from gpusched_dsl.workflows.text_start import start_of_text
from gsdsl_backends.registry import proves


def run_obstacles(workspace: Workspace) -> RunObstacles:
    """Return the function of a run and its model that returns why the run cannot be executed.

    A diagnostic without a place is about the method, a method that an option names (GSM4001, GSM4016), or the file of
    a warm start (GSM2002, GSM2003); others are about an option that nothing reads (GSM4004, GSM6002).
    """
    obstacle = obstacle_of(workspace)

    def obstacles(run: GridRun, model: CheckedModel) -> list[Diagnostic]:
        named = [run.method, *named_methods(run.options)]
        found = next((why for name in named if (why := obstacle(name, model)) is not None), None)
        found = found or _start_obstacle(workspace, run)
        if found is not None:
            return [found]
        return [*_meaningless_options(workspace, run), *_unread_options(workspace, run, model)]

    return obstacles


def _start_obstacle(workspace: Workspace, run: GridRun) -> Diagnostic | None:
    """Return why the file of a warm start may not be read."""
    if START not in run.options:
        return None
    try:
        start_of_text(workspace, str(run.options[START]), run.span)
    except DiagnosticError as error:
        return structs.replace(error.diagnostics[0], primary=None)
    return None


def _meaningless_options(workspace: Workspace, run: GridRun) -> list[Diagnostic]:
    """Return the options that are only for methods of another kind."""
    found: list[Diagnostic] = []
    for option in given_options(run.verb, run.options) & options_for(run.verb).keys():
        own = option_diagnostics(
            run.verb, {option}, run.method, not is_policy(workspace, run.method) and proves(run.method)
        )
        found += [structs.replace(one, primary=run.option_spans[option], label="not read") for one in own]
    skipped = run.options.get("without")
    unknown = [] if skipped is None else unknown_passes([str(skipped)])
    return [*found, *(structs.replace(one, primary=run.option_spans["without"]) for one in unknown)]


def _unread_options(workspace: Workspace, run: GridRun, model: CheckedModel) -> list[Diagnostic]:
    """Return the options of a method that no solver reads. Solves pass all options to a solver."""
    options = [name for name in run.options if name not in options_for("run")]
    block = workspace.onlines.get(run.online or next(iter(workspace.onlines), ""))
    if run.verb != "run" or not options or block is None:
        return []
    online, fallback = check_online(workspace, block, Diagnostics(), model), run.options.get("fallback")
    if online is None or uses_solver(workspace, online, run.method, None if fallback is None else str(fallback)):
        return []
    listed = "a policy has the options " + ", ".join(f"`{name}`" for name in options_for("run"))
    return [
        Diagnostic(
            "GSM4004",
            f"`{run.method}` takes no option `{option}`: no solver plans",
            run.option_spans[option],
            "not read",
            (Label(run.span, "without a solver"),),
            help=did_you_mean(option, options_for("run")) or listed,
        )
        for option in options
    ]
