"""The methods of a scenario by name: solvers, and policies of a text or of the standard library."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from gpusched_dsl.language.checked import CheckedModel
from gpusched_dsl.language.checking import check_model
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic, did_you_mean
from gpusched_dsl.language.diagnostics.errors import DiagnosticError, Diagnostics
from gpusched_dsl.language.workspace import Workspace

if TYPE_CHECKING:
    from gpusched_dsl.language.blocks.known_methods import KnownMethods
    from gpusched_dsl.language.checked_policy import CheckedPolicy

NamedMethod: TypeAlias = "CheckedPolicy | str"  # a policy, or the name of a solver


def method_named(workspace: Workspace, name: str, model: CheckedModel) -> NamedMethod:
    """The policy of that name for a model, or the name itself where a solver has it.

    Raises DiagnosticError: GSM4001 there is neither, GSM4016 the policy is for another model, else with all that is
    wrong in its text.
    """
    from gsdsl_backends.registry import is_concurrent, solver_names

    solvers = solver_names()
    if name in solvers or is_concurrent(name):
        return name
    from gpusched_dsl.policies.library import is_policy

    if is_policy(workspace, name):
        from gpusched_dsl.policies.library import policy_named

        return policy_named(workspace, name, model)
    from gpusched_dsl.policies.library import fitting_policies

    policies = fitting_policies(workspace, model)
    listed = f"the solvers are {_list_names(solvers)}"
    listed += f"; the policies for `{model.name}` are {_list_names(policies)}" if policies else ""
    help = did_you_mean(name, (*solvers, *policies)) or listed
    if name == "portfolio":  # what other tools call it
        help = f"several solvers at once are `concurrent`, or named as in `highs+scip`; {help}"
    names = [part.strip() for part in name.split(",")]
    if len(names) > 1 and {*solvers, *policies}.issuperset(names):
        help = f"`gsdsl compare` and `gsdsl run` compare several methods with `--methods {name}`"
    raise DiagnosticError([Diagnostic("GSM4001", f"unknown solver or policy `{name}`", help=help)])


def refuse_policy(name: str, problem: str) -> None:
    """Raise DiagnosticError (GSM6016) for the name of a policy: it needs a model, and `problem` is a compiled one."""
    from gpusched_dsl.policies.library import is_policy
    from gsdsl_backends.registry import is_concurrent, solver_names

    if not is_concurrent(name) and name not in solver_names() and is_policy(Workspace(None), name):
        message = f"`{name}` is a policy, which needs a `.gsm` file: {problem} is a compiled problem"
        raise DiagnosticError([Diagnostic("GSM6016", message)])


def obstacle_of(workspace: Workspace) -> Callable[[str, CheckedModel], Diagnostic | None]:
    """Return the function of a method and a model that returns why it cannot be used with it; None if it can.

    Errors within the text of a policy are left to the check of this policy.
    """

    def obstacle(name: str, model: CheckedModel) -> Diagnostic | None:
        try:
            method_named(workspace, name, model)
        except DiagnosticError as error:
            return next((each for each in error.diagnostics if each.primary is None), None)
        return None

    return obstacle


def known_methods(workspace: Workspace) -> KnownMethods:
    """Return the names of all methods, with those that fit the models of a text."""
    from gpusched_dsl.language.blocks.known_methods import KnownMethods
    from gsdsl_backends.registry import solver_names
    from gsdsl_backends.text_options import refused_option

    solvers = solver_names()

    def fitting() -> set[str]:
        checked = (check_model(workspace, name, {}, Diagnostics()) for name in workspace.models)
        from gpusched_dsl.policies.library import fitting_policies

        return {*solvers}.union(*(fitting_policies(workspace, model) for model in checked if model is not None))

    from gpusched_dsl.policies.library import policy_names

    return KnownMethods(policy_names(workspace).union(solvers), fitting, refused_option)


def means_policy(workspace: Workspace, start: str) -> bool:
    """Whether a warm start names a policy: the name of one, and no file is called so."""
    from gpusched_dsl.policies.library import is_policy

    return is_policy(workspace, start) and not Path(start).is_file()


def _list_names(names: tuple[str, ...] | list[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)
