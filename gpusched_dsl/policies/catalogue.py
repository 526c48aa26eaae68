"""Lists of policies and rules with their lines: those of a text and of the standard library, by model, and the policies
for any model, with their form for the models and scenarios of a text, or why they do not apply.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpusched_dsl.language.blocks.policies.describe import PolicyListing, policies_of
from gpusched_dsl.language.blocks.policies.rule_table import ADDED_AFTER, RULES, rules_after, rules_of_packages
from gpusched_dsl.language.checked import CheckedModel
from gpusched_dsl.language.checking import check_model
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic, did_you_mean
from gpusched_dsl.language.diagnostics.errors import DiagnosticError, Diagnostics
from gpusched_dsl.language.scenarios.scenario import check_scenario
from gpusched_dsl.language.source_files import LIBRARY_PREFIX, library_folder
from gpusched_dsl.language.workspace import Workspace
from gpusched_dsl.policies.generic.catalogue import GENERIC, GenericPolicy
from gpusched_dsl.policies.generic.instantiate import obstacle, policy_text
from gpusched_dsl.policies.library import find_policy, libraries, model_chain


@dataclass(frozen=True, slots=True)
class ListedPolicy:
    """A policy with its file; `in_library` if that is one of the standard library."""

    policy: PolicyListing
    file: str
    in_library: bool

    def to_dict(self) -> dict[str, Any]:
        """The policy as `docs/schema/policies.schema.json` describes it."""
        policy = self.policy
        return {
            "name": policy.name,
            "model": policy.model,
            "doc": policy.doc,
            "extends": policy.extends,
            "file": self.file,
            "in_library": self.in_library,
            "lines": [{"text": text, "policy": origin} for text, origin in policy.lines],
            "settings": [
                {"name": s.name, "text": s.text, "meaning": s.meaning, "policy": s.policy} for s in policy.settings
            ],
        }


@dataclass(frozen=True, slots=True)
class ListedRule:
    """A rule or move with its verb; `added`: it belongs to another package."""

    verb: str
    text: str
    words: str
    parameters: tuple[str, ...]
    added: bool

    def to_dict(self) -> dict[str, Any]:
        """The rule as `docs/schema/policies.schema.json` describes it."""
        return {
            "verb": self.verb,
            "text": self.text,
            "told": self.words,
            "parameters": list(self.parameters),
            "added": self.added,
        }


def listed_policies(workspace: Workspace | None, model: str | None = None) -> list[ListedPolicy]:
    """The policies of a text and those of the library for its models, ordered by model; without a text, the library.

    Only those for `model`, and what it extends, where that is given. Raises DiagnosticError (GSM6018) for one that is
    not there.
    """
    places = [] if workspace is None else [workspace]
    places += libraries()
    wanted = _models(places, workspace, model)
    found: dict[tuple[str | None, str], ListedPolicy] = {}
    for place in places:
        for policy in policies_of(place):
            own = place is workspace and model is None
            if own or policy.model in wanted:
                file, inside = _file(place, policy.name)
                found.setdefault((policy.model, policy.name), ListedPolicy(policy, file, inside))
    order = {name: at for at, name in enumerate(dict.fromkeys(name for name, _ in found))}
    return sorted(found.values(), key=lambda listed: order[listed.policy.model])


def listed_rules() -> list[ListedRule]:
    """All rules and moves, verb by verb: our own, then those of other packages."""
    return [rule for verb in RULES for rule in _rules_of(verb)]


def _rules_of(verb: str) -> Iterator[ListedRule]:
    for text in rules_after(verb):
        shape = RULES[verb].get(text)
        if shape is not None:
            numbers = tuple(f"{p.name}: {p.meaning} (default: {p.default})" for p in shape.parameters)
            yield ListedRule(verb, text, shape.words, numbers, False)
    if verb in ADDED_AFTER and rules_of_packages():
        from gpusched_dsl.policies.plug_ins import plug_ins

        of_verb = {
            "place": {name: rule.words for name, rule in plug_ins().place.items()},
            "finish": {name: rule.words for name, rule in plug_ins().finish.items()},
            "improve": {name: move.words for name, move in plug_ins().moves.items()},
        }
        for name, words in of_verb[verb].items():
            yield ListedRule(verb, name, words, (), True)


def _models(places: list[Workspace], workspace: Workspace | None, model: str | None) -> set[str]:
    """Return the requested models of policies, with their base models."""
    known = list(dict.fromkeys(name for place in places for name in place.models))
    if model is None:
        names = known if workspace is None else list(workspace.models)
    elif model in known:
        names = [model]
    else:
        help = did_you_mean(model, known) or f"the models are {', '.join(known)}"
        raise DiagnosticError([Diagnostic("GSM6018", f"unknown model `{model}`", help=help)])
    places_by_name = {name: next(place for place in places if name in place.models) for name in names}
    return {above for name, place in places_by_name.items() for above in model_chain(place, name)}


def _file(place: Workspace, name: str) -> tuple[str, bool]:
    """The file of a policy as one would import it, and whether it is one of the library."""
    source = place.policies[name].span.source
    if source.name.startswith(LIBRARY_PREFIX):
        return source.name, True
    if source.path is not None and source.path.is_relative_to(library_folder()):
        return LIBRARY_PREFIX + Path(os.path.relpath(source.path, library_folder())).as_posix(), True
    return source.name, False


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
    for checked, scenario in _checked_models(workspace, model):
        key = (checked.name, tuple(_list_policy(policy, workspace, checked) for policy in GENERIC.values()))
        found.setdefault(key, []).extend([] if scenario is None else [scenario])
    listed = []
    for (name, entries), scenarios in found.items():
        alone = sum(other == name for other, _ in found) == 1
        names = () if alone else tuple(scenarios)
        listed += [ListedGeneric(e.policy, name, names, e.lines, e.reason, e.help) for e in entries]
    return listed


def _checked_models(workspace: Workspace, only: str | None) -> Iterator[tuple[CheckedModel, str | None]]:
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
