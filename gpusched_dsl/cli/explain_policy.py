"""`gsdsl explain --policy`: describes a policy step by step."""

from __future__ import annotations

import argparse
from pathlib import Path

from gpusched_dsl.cli import exits
from gpusched_dsl.cli.documents import STDOUT, write_document
from gpusched_dsl.cli.instance import read_settings, read_workspace
from gpusched_dsl.cli.output import Output
from gpusched_dsl.compiling.build import check_solvable, choose_scenario
from gpusched_dsl.language.blocks.policies.describe import policy_in_words, settings_of
from gpusched_dsl.language.checked_policy import CheckedPolicy
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.policies.library import any_policy_named, policy_named
from gpusched_dsl.policies.rows.asking import rows_in_words
from gpusched_dsl.reporting.document import json_text

NO_SCENARIO = {"GSM4016", "GSM6005", "GSM6006"}  # none, several, or one of another model


def explain_policy(options: argparse.Namespace, output: Output) -> int:
    """Describe a policy; raise DiagnosticError if it does not exist or its text is wrong."""
    policy = _policy(options, output)
    if options.json == STDOUT:
        output.only_diagnostics()
    words = policy_in_words(policy, rows_in_words(policy))
    output.say_wrapped(f"{policy.name} for {policy.model.name}{f': {policy.doc}' if policy.doc else ''}")
    output.say()
    for line in words:
        output.say_wrapped(line)
    settings = settings_of(policy)
    if settings:
        output.say()
        output.say("numbers")
        for setting in settings:
            output.say_wrapped(f"   {setting.name} = {setting.text}: {setting.meaning}")
    if options.json is not None:
        document = {
            "policy": policy.name,
            "model": policy.model.name,
            "doc": policy.doc,
            "words": words,
            "settings": [{"name": s.name, "text": s.text, "meaning": s.meaning, "policy": s.policy} for s in settings],
        }
        write_document(json_text(document), options.json, output)
    return exits.OK


def _policy(options: argparse.Namespace, output: Output) -> CheckedPolicy:
    """Return the policy, checked for the model of the scenario; without a scenario, for the model that it names."""
    if options.file is None:
        return any_policy_named(None, options.policy, options.model)
    workspace = read_workspace(Path(options.file), options.allow_outside, output)
    if options.model is not None:
        return any_policy_named(workspace, options.policy, options.model)
    try:
        name = choose_scenario(workspace, options.scenario)
        scenario, _ = check_solvable(workspace, name, read_settings(options))
        return policy_named(workspace, options.policy, scenario.model)
    except DiagnosticError as error:
        if options.scenario is not None or not {d.code for d in error.diagnostics} <= NO_SCENARIO:
            raise
    return any_policy_named(workspace, options.policy, options.model)
