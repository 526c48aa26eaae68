"""`check_policy`: a policy with all that it extends, checked against a model that it is for."""

from __future__ import annotations

from collections.abc import Sequence

from gpusched_dsl.language import tree
from gpusched_dsl.language.blocks.policies.checker import PolicyChecker
from gpusched_dsl.language.blocks.policies.inheritance import HasPolicies, chain_of_policy, merge
from gpusched_dsl.language.checked import CheckedModel
from gpusched_dsl.language.checked_policy import CheckedPolicy
from gpusched_dsl.language.checking import check_model
from gpusched_dsl.language.checking.flatten import HasModels
from gpusched_dsl.language.diagnostics.diagnostic import Label, did_you_mean
from gpusched_dsl.language.diagnostics.errors import Diagnostics


def check_policy(
    workspace: HasPolicies, policy: tree.Policy, diagnostics: Diagnostics, model: CheckedModel | None = None
) -> CheckedPolicy | None:
    """The policy for a model, or None when something is wrong, which has been reported (GSM161x, names, units).

    A policy for a model holds for all that extend it. `model` is that of a scenario, with its options; without it the
    policy is checked against the model that it names with the defaults of its options. Errors of the model itself
    are reported where that is checked: the result is None then, without a report.
    """
    found = Diagnostics()
    checked: CheckedPolicy | None = None
    chain = chain_of_policy(workspace, policy, found)
    name = _model_name(chain, found) if chain is not None else None
    if chain is not None and name is not None and _belong(workspace, chain, name, model, found):
        wanted = model if model is not None else model_of(workspace, name, found)
        lines = merge(chain, found)
        if wanted is not None:
            blocks = {*(p.name.text for p in chain), *(lineage(workspace, wanted.name) or ())}
            partial = not workspace.damaged.isdisjoint(blocks)
            checked = PolicyChecker(wanted, found, workspace.lost, partial).run(policy, lines)
    diagnostics.extend(found)
    return None if found.has_errors else checked


def _model_name(chain: Sequence[tree.Policy], diagnostics: Diagnostics) -> tree.Identifier | None:
    """The model of the newest policy that names one."""
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


def _belong(
    workspace: HasModels,
    chain: Sequence[tree.Policy],
    name: tree.Identifier,
    model: CheckedModel | None,
    diagnostics: Diagnostics,
) -> bool:
    """Whether the model is, or extends, those that the policy and all that it extends are for; reports GSM1616."""
    wanted = name.text if model is None else model.name
    known = lineage(workspace, wanted)
    if known is None:
        return True  # an ancestor is unknown, which is reported of the model
    for policy in reversed(chain):
        if policy.model is None or policy.model.text in known or policy.model.text not in workspace.models:
            continue
        own = policy.model is name
        diagnostics.error(
            "GSM1616",
            f"policy `{policy.name.text}` is for model `{policy.model.text}`, not for `{wanted}`",
            policy.model.span if own else name.span,
            f"`{wanted}` does not extend it" if own else f"does not extend `{policy.model.text}`",
            secondary=[] if own else [Label(policy.model.span, f"model of `{policy.name.text}`")],
            help=f"a policy is valid for its model and for models that extend it; write one `for {wanted}`",
        )
        return False
    return True


def lineage(workspace: HasModels, name: str) -> tuple[str, ...] | None:
    """A model and those that it extends; None where one of them is not there or they form a circle."""
    names = [name]
    while (model := workspace.models.get(names[-1])) is not None:
        if model.extends is None:
            return tuple(names)
        if model.extends.text in names:
            return None
        names.append(model.extends.text)
    return None


def model_of(workspace: HasModels, name: tree.Identifier, diagnostics: Diagnostics) -> CheckedModel | None:
    """The model with the defaults of its options; its own errors are reported where it is checked itself."""
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


__all__ = ["HasPolicies", "check_policy", "lineage", "model_of"]
