"""`gsdsl policies`: lists the policies for a model, and the rules of policies."""

from __future__ import annotations

import argparse
from itertools import groupby
from pathlib import Path
from typing import Any

from gpusched_dsl.cli import exits
from gpusched_dsl.cli.documents import STDOUT, check_targets, write_document
from gpusched_dsl.cli.instance import read_workspace
from gpusched_dsl.cli.output import Output
from gpusched_dsl.cli.tables import show_grid
from gpusched_dsl.policies.catalogue import ListedGeneric, ListedPolicy, listed_generic, listed_policies, listed_rules
from gpusched_dsl.policies.generic.catalogue import GENERIC
from gpusched_dsl.reporting.document import json_text
from gpusched_dsl.reporting.grid import Grid, GridColumn


def run(options: argparse.Namespace, output: Output) -> int:
    check_targets(json=options.json)
    if options.json == STDOUT:
        output.only_diagnostics()
    if options.rules:
        document: dict[str, Any] = {"rules": [rule.to_dict() for rule in listed_rules()]}
        _show_rules(output)
    else:
        workspace = None
        if options.file is not None:
            workspace = read_workspace(Path(options.file), options.allow_outside, output)
        policies = listed_policies(workspace, options.model)
        generic = [] if workspace is None else listed_generic(workspace, options.model)
        document = {"policies": [policy.to_dict() for policy in policies]}
        if workspace is not None:
            document["for_any_model"] = [policy.to_dict() for policy in generic]
        if policies or not generic:
            _show_policies(policies, output)
        if workspace is None:
            _show_generic_names(output)
        else:
            _show_generic(generic, output)
    if options.json is not None:
        write_document(json_text(document), options.json, output)
    return exits.OK


def _show_policies(policies: list[ListedPolicy], output: Output) -> None:
    """Print models with their policies: purpose, lines and parameters of each."""
    if not policies:
        output.say("there are no policies for these models")
    model: str | None = None
    for entry in policies:
        policy = entry.policy
        if policy.model != model:
            output.say(f"{chr(10) if model else ''}for {policy.model or 'no model'}")
            model = policy.model
        output.say()
        output.say_wrapped(f"  {output.style(policy.name, '1')}{f': {policy.doc}' if policy.doc else ''}")
        output.say_wrapped(f"    {entry.file}{f', extends {policy.extends}' if policy.extends else ''}")
        for text, origin in policy.lines:
            output.say_wrapped(f"    {text}{f'   # from {origin}' if origin != policy.name else ''}")
        for setting in policy.settings:
            output.say_wrapped(f"    {setting.name} = {setting.text}: {setting.meaning}")


def _show_generic_names(output: Output) -> None:
    """Print the policies for any model, with their purpose and source."""
    output.say()
    output.say_wrapped("any model with a placement; `gsdsl policies FILE` shows their lines for your models")
    for policy in GENERIC.values():
        output.say()
        output.say_wrapped(f"  {output.style(policy.name, '1')}: {policy.doc}")
        output.say_wrapped(f"    {policy.source}")


def _show_generic(listed: list[ListedGeneric], output: Output) -> None:
    """Print the policies for any model by model: lines, or why one does not apply."""
    for (model, scenarios), entries in groupby(listed, lambda entry: (entry.model, entry.scenarios)):
        group = list(entries)
        output.say()
        where = f" in {', '.join(scenarios)}" if scenarios else ""
        output.say_wrapped(f"any model with a placement: policies for {model}{where}")
        reasons = {(entry.reason, entry.help) for entry in group if "own policy" not in entry.reason}
        if len(reasons) == 1 and not any(entry.applies for entry in group):
            [(reason, help)] = reasons
            output.say_wrapped(f"  none of {', '.join(GENERIC)} applies: {reason}")
            output.say_wrapped(f"  {help}")
            continue
        for entry in group:
            output.say()
            output.say_wrapped(f"  {output.style(entry.policy.name, '1')}: {entry.policy.doc}")
            about = entry.policy.source if entry.applies else f"does not apply: {entry.reason}"
            for line in (about, *entry.lines, *([entry.help] if entry.help else [])):
                output.say_wrapped(f"    {line}")


def _show_rules(output: Output) -> None:
    for verb in dict.fromkeys(rule.verb for rule in listed_rules()):
        rules = [rule for rule in listed_rules() if rule.verb == verb]
        grid = Grid(
            (
                GridColumn(verb, [rule.text for rule in rules]),
                GridColumn(
                    "meaning",
                    [f"{rule.words}{' (from another package)' if rule.added else ''}" for rule in rules],
                    wraps=True,
                ),
                GridColumn("numbers", ["; ".join(rule.parameters) for rule in rules], wraps=True),
            )
        )
        show_grid(grid, output, indent="")
        output.say()
