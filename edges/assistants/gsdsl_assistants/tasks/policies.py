"""Lists policies, and describes one in plain English."""

from __future__ import annotations

from typing import Any

from gpusched_dsl.language.blocks.policies.describe import policy_in_words, settings_of
from gpusched_dsl.policies.catalogue import listed_generic, listed_policies, listed_rules
from gpusched_dsl.policies.generic.catalogue import GENERIC
from gpusched_dsl.policies.library import any_policy_named
from gpusched_dsl.policies.rows.asking import rows_in_words
from gsdsl_assistants.tasks.reading import ModelFile


def policies(file: ModelFile | None, *, model: str | None = None, rules: bool = False) -> dict[str, Any]:
    """Return the policies for the models of a file, else those of the library; with `rules` the rules of policies."""
    if rules:
        return {"ok": True, "rules": [rule.to_dict() for rule in listed_rules()]}
    workspace = None if file is None else file.read_valid()[0]
    answer: dict[str, Any] = {
        "ok": True,
        "policies": [policy.to_dict() for policy in listed_policies(workspace, model)],
    }
    if workspace is None:
        answer["for_any_model"] = [{"name": p.name, "doc": p.doc, "source": p.source} for p in GENERIC.values()]
    else:
        answer["for_any_model"] = [policy.to_dict() for policy in listed_generic(workspace, model)]
    return answer


def describe_policy(file: ModelFile | None, *, policy: str, model: str | None = None) -> dict[str, Any]:
    """Return a policy step by step in plain English, with its numbers."""
    found = any_policy_named(None if file is None else file.read_valid()[0], policy, model)
    return {
        "ok": True,
        "policy": found.name,
        "model": found.model.name,
        "doc": found.doc,
        "words": policy_in_words(found, rows_in_words(found)),
        "settings": [{"name": s.name, "text": s.text, "meaning": s.meaning} for s in settings_of(found)],
    }
