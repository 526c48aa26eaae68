"""What a scenario can be solved with, by name: solvers, and policies of a text or of the standard library."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from gpusched_dsl.language.checked import CheckedModel
from gpusched_dsl.language.checked_policy import CheckedPolicy
from gpusched_dsl.language.diagnostics import Diagnostic, DiagnosticError, did_you_mean
from gpusched_dsl.language.workspace import Workspace
from gpusched_dsl.policy_library import is_policy, policies_for, policy_named

if TYPE_CHECKING:
    from gpusched_dsl.backends.protocol import Monitor, SolveOptions
    from gpusched_dsl.building import Built
    from gpusched_dsl.folding import Entries

Method: TypeAlias = CheckedPolicy | str  # a policy, or the name of a solver


def method_named(workspace: Workspace, name: str, model: CheckedModel) -> Method:
    """The policy of that name for a model, or the name itself where a solver has it.

    Raises DiagnosticError: GSM4001 there is neither, GSM4016 the policy is for another model, else with all that is
    wrong in its text.
    """
    from gpusched_dsl.backends.registry import backend_names

    solvers = backend_names()
    if name in solvers:
        return name
    if is_policy(workspace, name):
        return policy_named(workspace, name, model)
    policies = [policy.name.text for _, policy in policies_for(workspace, model.name)]
    listed = f"the solvers are {_listed(solvers)}"
    listed += f"; the policies for `{model.name}` are {_listed(policies)}" if policies else ""
    help = did_you_mean(name, (*solvers, *policies)) or listed
    raise DiagnosticError([Diagnostic("GSM4001", f"there is no solver or policy `{name}`", help=help)])


def means_policy(workspace: Workspace, start: str) -> bool:
    """Whether a warm start names a policy: the name of one, and no file is called so."""
    return is_policy(workspace, start) and not Path(start).is_file()


def start_of(
    built: Built, policy: CheckedPolicy, options: SolveOptions, judge: str, monitor: Monitor | None = None
) -> tuple[Entries | None, tuple[Diagnostic, ...]]:
    """The plan of a policy to start from, None where it breaks the model; and warnings.

    Raises DiagnosticError as `solve_by_policy` does.
    """
    from gpusched_dsl.planning import apart, solve_by_policy
    from gpusched_dsl.reporting.points import entries_of_point

    planned, told = solve_by_policy(apart(built), policy, judge, options, monitor=monitor)
    return None if planned.point is None else entries_of_point(planned.problem, planned.point), told


def _listed(names: tuple[str, ...] | list[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)
