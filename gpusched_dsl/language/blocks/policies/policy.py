"""Checks a policy, with the policies that it extends, for a model."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from gpusched_dsl.language import tree
from gpusched_dsl.language.blocks.policies.checker import PolicyChecker
from gpusched_dsl.language.blocks.policies.history import check_history
from gpusched_dsl.language.blocks.policies.inheritance import chain_of_policy, merge
from gpusched_dsl.language.checked import CheckedModel
from gpusched_dsl.language.checked_policy import CheckedPolicy
from gpusched_dsl.language.checking import check_model
from gpusched_dsl.language.checking.workspace_blocks import Workspace
from gpusched_dsl.language.diagnostics.diagnostic import Label, did_you_mean
from gpusched_dsl.language.diagnostics.errors import Diagnostics


def check_policy(
    workspace: Workspace,
    policy: tree.Policy,
    diagnostics: Diagnostics,
    model: CheckedModel | None = None,
    known: Collection[str] | None = None,
) -> CheckedPolicy | None:
    """Return the policy for a model, or None after reported errors (GSM161x, names, units).

    A policy is valid for its model and for models that extend it. `model` is the model of a scenario, with its options;
    without it, the policy is checked for the model that it names, with default options. For a model with errors, which
    are reported by its own check, the result is None. `known` are the names of all solvers and policies.
    """
    own_diagnostics = Diagnostics()
    checked: CheckedPolicy | None = None
    chain = chain_of_policy(workspace, policy, own_diagnostics)
    name = _model_name(chain, own_diagnostics) if chain is not None else None
    if chain is not None and name is not None and _fits_model(workspace, chain, name, model, own_diagnostics):
        target = model if model is not None else model_of(workspace, name, own_diagnostics)
        lines = merge(chain, own_diagnostics)
        if target is not None:
            blocks = {*(p.name.text for p in chain), *(lineage(workspace, target.name) or ())}
            partial = not workspace.damaged.isdisjoint(blocks)
            checked = PolicyChecker(workspace, target, own_diagnostics, partial, known).run(policy, lines)
            if checked is not None:
                check_history(checked, own_diagnostics)
    diagnostics.extend(own_diagnostics)
    return None if own_diagnostics.has_errors else checked


def _model_name(chain: Sequence[tree.Policy], diagnostics: Diagnostics) -> tree.Identifier | None:
    """Return the model of the last policy that names one."""
    name = next((p.model for p in reversed(chain) if p.model is not None), None)
    if name is None:
        policy = chain[-1].name
        diagnostics.error(
            "GSM1612",
            f"policy `{policy.text}` does not name a model",
            policy.span,
            "no model",
            help=f"write `policy {policy.text} for Model {{ ... }}`",
        )
    return name


def _fits_model(
    workspace: Workspace,
    chain: Sequence[tree.Policy],
    name: tree.Identifier,
    model: CheckedModel | None,
    diagnostics: Diagnostics,
) -> bool:
    """Whether the model is, or extends, the models of the policy and of its ancestors; report GSM1616."""
    target = name.text if model is None else model.name
    ancestors = lineage(workspace, target)
    if ancestors is None:
        return True  # an ancestor is unknown, which is reported of the model
    for policy in reversed(chain):
        if policy.model is None or policy.model.text in ancestors or policy.model.text not in workspace.models:
            continue
        is_own = policy.model is name
        diagnostics.error(
            "GSM1616",
            f"policy `{policy.name.text}` is for model `{policy.model.text}`, not for `{target}`",
            policy.model.span if is_own else name.span,
            f"`{target}` does not extend it" if is_own else f"does not extend `{policy.model.text}`",
            secondary=[] if is_own else [Label(policy.model.span, f"model of `{policy.name.text}`")],
            help=f"a policy is valid for its model and for models that extend it; write one `for {target}`",
        )
        return False
    return True


def lineage(workspace: Workspace, name: str) -> tuple[str, ...] | None:
    """Return a model and those that it extends; None if one of them is missing or they are circular."""
    names = [name]
    while (model := workspace.models.get(names[-1])) is not None:
        if model.extends is None:
            return tuple(names)
        if model.extends.text in names:
            return None
        names.append(model.extends.text)
    return None


def model_of(workspace: Workspace, name: tree.Identifier, diagnostics: Diagnostics) -> CheckedModel | None:
    """Return the model with default options; errors of the model are reported by its own check."""
    if name.text not in workspace.models and workspace.may_hold(name.text):
        return None
    if name.text not in workspace.models:
        diagnostics.error(
            "GSM1107",
            f"unknown model `{name.text}`",
            name.span,
            "no such model",
            help=did_you_mean(name.text, workspace.models) or "check that its file is imported",
        )
        return None
    return check_model(workspace, name.text, {}, Diagnostics())


__all__ = ["check_policy", "lineage", "model_of"]
