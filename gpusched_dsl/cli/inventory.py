"""`gsdsl show`: the models, options, scenarios and sizes of a file, or the shipped models."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from textwrap import fill
from typing import Any

from gpusched_dsl.cli import exits
from gpusched_dsl.cli.documents import STDOUT, check_targets, write_document
from gpusched_dsl.cli.instance import permissions, read_workspace
from gpusched_dsl.cli.output import Output
from gpusched_dsl.cli.tables import show_grid
from gpusched_dsl.language.diagnostics.errors import DiagnosticError, Diagnostics
from gpusched_dsl.language.source_files import LIBRARY_PREFIX, is_library_name, library_files, library_folder
from gpusched_dsl.language.workspace import Workspace
from gpusched_dsl.reporting.document import json_text
from gpusched_dsl.reporting.grid import Grid, GridColumn

SCHEMA_VERSION = 1
_DECLARED = re.compile(r"^(model|scenario|online)\s+(\w+)", re.MULTILINE)
_KINDS = ("sets", "parameters", "derived", "random", "variables", "constraints", "objectives")
_WIDTH = 78
_MOST_SETS = 6


def run(options: argparse.Namespace, output: Output) -> int:
    check_targets(json=options.json)
    if options.json == STDOUT:
        output.only_diagnostics()
    name = options.file
    if name is None or (is_library_name(name) and len(library_files(name)) > 1):
        document = _library(LIBRARY_PREFIX if name is None else name)
        _show_library(document["files"], output)
    else:
        document = _contents(read_workspace(Path(name), options.allow_outside, output), options, output)
        _show_contents(document, output)
    if options.json is not None:
        write_document(json_text(document), options.json, output)
    return exits.BAD_INPUT if output.errors else exits.OK


# --- shipped models --------------------------------------------------------------------------------------------------


def _library(name: str) -> dict[str, Any]:
    """Return the shipped files with the names of their blocks, read off the text; without tests for all files."""
    found = []
    for file in library_files(name):
        if name == LIBRARY_PREFIX and "/tests/" in file:
            continue
        text = (library_folder() / file).read_text(encoding="utf-8")
        blocks: dict[str, list[str]] = {"model": [], "scenario": [], "online": []}
        for kind, block in _DECLARED.findall(text):
            blocks[kind].append(block)
        first = text.partition("\n")[0]
        found.append({
            "file": LIBRARY_PREFIX + file,
            "models": blocks["model"],
            "scenarios": blocks["scenario"],
            "onlines": blocks["online"],
            "about": first.removeprefix("#").strip() if first.startswith("#") else "",
        })  # fmt: skip
    return {"schema_version": SCHEMA_VERSION, "files": found}


def _show_library(files: list[dict[str, Any]], output: Output) -> None:
    columns = (
        GridColumn("file", [entry["file"] for entry in files]),
        GridColumn("models", [_some(entry["models"]) for entry in files], wraps=True, optional=1),
        GridColumn("scenarios", [_some(entry["scenarios"]) for entry in files], wraps=True),
    )
    left_out = show_grid(Grid(columns), output, indent="")
    output.say()
    if left_out:
        output.say_wrapped("the terminal is too narrow for the names of models; `--json` writes them")
    output.say_wrapped(
        f"`gsdsl show {LIBRARY_PREFIX}NAME` shows one; the end of the path is enough, such as `gsdsl:figure1.gsm`"
    )


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:2]) + (f" and {len(names) - 2} more" if len(names) > 2 else "")


# --- one file --------------------------------------------------------------------------------------------------------


def _contents(workspace: Workspace, options: argparse.Namespace, output: Output) -> dict[str, Any]:
    """Return models, options, scenarios with their sizes, and the names of the other blocks."""
    from gpusched_dsl.language import tree

    named = tree.ModelBlock | tree.Scenario | tree.Test | tree.Policy | tree.Online
    own = {block.name.text for block in workspace.main_blocks() if isinstance(block, named)}
    scenarios = [name for name in workspace.scenarios if name in own] or list(workspace.scenarios)
    if options.scenario is not None:
        from gpusched_dsl.compiling.build import choose_scenario

        scenarios = [choose_scenario(workspace, options.scenario)]
    listed = [_scenario(workspace, name, options, output) for name in scenarios]
    used = {scenario["model"] for scenario in listed}
    models = [name for name in workspace.models if name in own or name in used]
    return {
        "schema_version": SCHEMA_VERSION,
        "file": options.file,
        "models": [model for name in models if (model := _model(workspace, name, output)) is not None],
        "scenarios": listed,
        "tests": [name for name in workspace.tests if name in own],
        "policies": list(workspace.policies),
        "onlines": list(workspace.onlines),
    }


def _model(workspace: Workspace, name: str, output: Output) -> dict[str, Any] | None:
    from gpusched_dsl.language.checking import check_model

    found = Diagnostics()
    model = check_model(workspace, name, {}, found)
    if model is None:
        output.report(found)
        return None
    block = workspace.models[name]
    derived = [name for name, each in model.sets.items() if each.value is not None]
    derived += [name for name, each in model.params.items() if each.value is not None]
    names: tuple[Iterable[str], ...] = (
        [each for each in model.sets if each not in derived],
        [each for each in model.params if each not in derived],
        derived,
        model.randoms,
        model.variables,
        model.constraints,
    )
    return {
        "name": name,
        "about": model.doc or "",
        "extends": None if block.extends is None else block.extends.text,
        **{kind: list(declared) for kind, declared in zip(_KINDS, names, strict=False)},
        "objectives": [objective.name or "" for objective in model.objectives],
        "options": [
            {"name": option, "default": model.options[option], "choices": list(choices)}
            for option, choices in model.option_choices.items()
        ],
    }


def _scenario(workspace: Workspace, name: str, options: argparse.Namespace, output: Output) -> dict[str, Any]:
    """Return a scenario with the sizes of its sets; without sizes if its data are incomplete or have errors."""
    from gpusched_dsl.compiling.build import read_data
    from gpusched_dsl.language.scenarios.scenario import check_scenario, missing_targets

    block, found = workspace.scenarios.get(name), Diagnostics()
    scenario = check_scenario(workspace, name, {}, found)
    record: dict[str, Any] = {
        "name": name,
        "model": None if scenario is None else scenario.model.name,
        "extends": None if block is None or block.extends is None else block.extends.text,
        "about": "" if scenario is None else scenario.doc or "",
        "options": {} if scenario is None else dict(scenario.model.options),
        "missing": [] if scenario is None else missing_targets(scenario),
        "sets": None,
        "parameters": None,
    }
    if scenario is None:
        output.report(found)
    elif not record["missing"] and not options.no_data:
        try:
            store = read_data(workspace, scenario, permissions=permissions(options)).store
        except DiagnosticError as error:
            output.report(error.diagnostics)
            return record
        record["sets"] = {each: store.sets[each].size for each in scenario.model.sets}
        record["parameters"] = {each: store.params[each].domain.size for each in scenario.model.params}
    return record


def _show_contents(document: dict[str, Any], output: Output) -> None:
    for model in document["models"]:
        about = f": {model['about']}" if model["about"] else ""
        extends = f" extends {model['extends']}" if model["extends"] else ""
        output.say_wrapped(f"{output.style('model ' + model['name'], '1')}{extends}{about}")
        for kind in _KINDS:
            if names := [name for name in model[kind] if name]:
                output.say(fill(", ".join(names), _WIDTH, initial_indent=f"  {kind:<12} ", subsequent_indent=" " * 15))
        for option in model["options"]:
            others = ", ".join(choice for choice in option["choices"] if choice != option["default"])
            others = f" (or {others})" if others else ""
            output.say_wrapped(f"  option       {option['name']} = {option['default']}{others}")
        output.say()
    if document["scenarios"]:
        show_grid(_scenario_grid(document["scenarios"]), output, indent="")
        output.say()
    for title, kind in (("tests", "tests"), ("policies", "policies"), ("online", "onlines")):
        if document[kind]:
            text = ", ".join(document[kind])
            output.say(fill(text, _WIDTH, initial_indent=f"{title:<8}  ", subsequent_indent=" " * 10))


def _scenario_grid(scenarios: list[dict[str, Any]]) -> Grid:
    columns = [
        GridColumn("scenario", [entry["name"] for entry in scenarios]),
        GridColumn("model", [entry["model"] or "-" for entry in scenarios]),
    ]
    if any(entry["extends"] for entry in scenarios):
        columns.append(GridColumn("extends", [entry["extends"] or "" for entry in scenarios], optional=1))
    return Grid((*columns, GridColumn("sizes of the sets", [_sizes(entry) for entry in scenarios], wraps=True)))


def _sizes(entry: dict[str, Any]) -> str:
    if entry["missing"]:
        return f"no data for {_some(entry['missing'])}"
    if entry["sets"] is None:
        return "-"
    texts = [f"{name} {size:,}" for name, size in entry["sets"].items()]
    more = f" and {len(texts) - _MOST_SETS} more" if len(texts) > _MOST_SETS else ""
    return ", ".join(texts[:_MOST_SETS]) + more
