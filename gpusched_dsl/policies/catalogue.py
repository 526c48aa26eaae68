"""Lists of policies and rules: those of a text and of the standard library, by model, with their lines."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpusched_dsl.language.blocks.policies.describe import PolicyListing, policies_of
from gpusched_dsl.language.blocks.policies.rule_table import ADDED_AFTER, RULES, rules_after, rules_of_packages
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic, did_you_mean
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.language.source_files import LIBRARY_PREFIX, library_folder
from gpusched_dsl.language.workspace import Workspace
from gpusched_dsl.policies.library import libraries, model_chain


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
