"""The policies for any model, listed for the models and scenarios of a text: their lines, or why they do not apply."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from gpusched_dsl.language.checked import CheckedModel
from gpusched_dsl.language.checking import check_model
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.scenarios.scenario import check_scenario
from gpusched_dsl.language.workspace import Workspace
from gpusched_dsl.policies.generic.catalogue import GENERIC, GenericPolicy
from gpusched_dsl.policies.generic.instantiate import obstacle, policy_text
from gpusched_dsl.policies.library import find_policy


@dataclass(frozen=True, slots=True)
class ListedGeneric:
    """A policy for any model, and its form for one model with the options of some scenarios.

    `lines` are those of its text, empty where it does not apply: then `reason` and `help` say why and what to do.
    """

    policy: GenericPolicy
    model: str
    scenarios: tuple[str, ...] = ()
    lines: tuple[str, ...] = ()
    reason: str = ""
    help: str = ""

    @property
    def applies(self) -> bool:
        return not self.reason

    def to_dict(self) -> dict[str, Any]:
        """The policy as `docs/schema/policies.schema.json` describes it."""
        return {
            "name": self.policy.name,
            "doc": self.policy.doc,
            "source": self.policy.source,
            "model": self.model,
            "scenarios": list(self.scenarios),
            "applies": self.applies,
            "lines": list(self.lines),
            "reason": self.reason or None,
            "help": self.help or None,
        }


def listed_generic(workspace: Workspace, model: str | None = None) -> list[ListedGeneric]:
    """The policies for any model, for each model of a text; scenarios with other options have entries of their own.

    Only those for `model`, where that is given. Models with errors are left out.
    """
    found: dict[tuple[str, tuple[ListedGeneric, ...]], list[str]] = {}
    for checked, scenario in _models(workspace, model):
        key = (checked.name, tuple(_list_policy(policy, workspace, checked) for policy in GENERIC.values()))
        found.setdefault(key, []).extend([] if scenario is None else [scenario])
    listed = []
    for (name, entries), scenarios in found.items():
        alone = sum(other == name for other, _ in found) == 1
        names = () if alone else tuple(scenarios)
        listed += [ListedGeneric(e.policy, name, names, e.lines, e.reason, e.help) for e in entries]
    return listed


def _models(workspace: Workspace, only: str | None) -> Iterator[tuple[CheckedModel, str | None]]:
    """The models of the scenarios of the main file, with their options; then its own models without a scenario.

    Of a file without both, those of its imports.
    """
    blocks = list(workspace.main_blocks())
    scenarios = [name for name, block in workspace.scenarios.items() if block in blocks]
    models = [name for name, block in workspace.models.items() if block in blocks]
    if not scenarios and not models:
        scenarios, models = list(workspace.scenarios), list(workspace.models)
    seen: set[str] = set()
    for name in scenarios:
        scenario = check_scenario(workspace, name, {}, Diagnostics())
        if scenario is not None and only in (None, scenario.model.name):
            seen.add(scenario.model.name)
            yield scenario.model, name
    for name in models if only is None else [only]:
        model = check_model(workspace, name, {}, Diagnostics()) if name in workspace.models else None
        if model is not None and name not in seen:
            yield model, None


def _list_policy(policy: GenericPolicy, workspace: Workspace, model: CheckedModel) -> ListedGeneric:
    if find_policy(workspace, policy.name, model.name) is not None:
        reason, help = f"the model has its own policy `{policy.name}`", "this name means that policy"
        return ListedGeneric(policy, model.name, reason=reason, help=help)
    against = obstacle(policy, model)
    if against is not None:
        return ListedGeneric(policy, model.name, reason=against.reason, help=against.help)
    lines = [line.strip() for line in policy_text(policy, model).splitlines()[1:-1]]
    return ListedGeneric(policy, model.name, lines=tuple(lines))
