"""Options of solvers in runs without a solver: they would change nothing, so they are refused."""

from __future__ import annotations

from collections.abc import Sequence

from gpusched_dsl.language.blocks.campaigns.methods import options_for
from gpusched_dsl.language.checked import CheckedModel
from gpusched_dsl.language.checked_online import CheckedOnline
from gpusched_dsl.language.checked_policy import CheckedPolicy
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic, did_you_mean
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.language.workspace import Workspace
from gpusched_dsl.online.loops.setup import kept_variables
from gpusched_dsl.online.run_config import RunConfig, is_program
from gpusched_dsl.solving.methods import method_named


def uses_solver(workspace: Workspace, online: CheckedOnline, method: str, fallback: str | None) -> bool:
    """Whether a solver plans, or completes the plans of policies because the run reads variables that they leave open.

    Also True for methods with errors, which others report.
    """
    placement = online.base.placement
    if placement is None or kept_variables(online) != {placement.variable}:
        return True
    spare = fallback or online.fallback
    return any(_plans_by_solver(workspace, name, online.base) for name in (method, spare) if name is not None)


def _plans_by_solver(workspace: Workspace, method: str, model: CheckedModel) -> bool:
    if is_program(method):
        return False
    try:
        found = method_named(workspace, method, model)
    except DiagnosticError:
        return True
    if not isinstance(found, CheckedPolicy):
        return True
    members = () if found.portfolio is None else (*found.portfolio.members, *found.portfolio.continuing)
    return any(member.name != method and _plans_by_solver(workspace, member.name, model) for member in members)


def check_solver_options(workspace: Workspace, online: CheckedOnline, config: RunConfig) -> None:
    """Raise DiagnosticError (GSM4004) for options of a solver if no solver plans."""
    if config.solver_options and not uses_solver(workspace, online, config.method, config.fallback):
        raise DiagnosticError(unread_options([config.method], config))


def unread_options(methods: Sequence[str], config: RunConfig) -> list[Diagnostic]:
    """Return GSM4004 for each option of a solver that these methods do not read."""
    listed = ", ".join(f"`{method}`" for method in methods)
    words = f"{listed} takes no" if len(methods) == 1 else f"none of {listed} takes an"
    own = [f"--{name.replace('_', '-')}" for name in options_for("run")]
    found = []
    for option in config.solver_options:
        help = did_you_mean(f"--{option.replace('_', '-')}", own) or "remove it, or choose a solver, such as `highs`"
        found.append(Diagnostic("GSM4004", f"{words} option `{option}`: no solver plans", help=help))
    return found
