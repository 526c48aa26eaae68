"""Which of several scenarios of a file is meant if none is named."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.scenarios.scenario import check_scenario, missing_targets
from gpusched_dsl.language.workspace import Workspace


def sensible_scenarios(workspace: Workspace, names: Sequence[str], models: Collection[str] = ()) -> list[str]:
    """Return the scenarios that can be meant: one, if the file leaves no doubt.

    A scenario without all data, or of a model without decisions, only serves others. The scenario with the name of the
    file is meant (`Figure1` in `figure1.gsm`). With `models`, only scenarios of these models and of those that extend
    them are candidates. Scenarios with errors are candidates: solving one reports its errors.
    """
    candidates = [name for name in names if _is_candidate(workspace, name, models)]
    main = workspace.main
    file = "" if main is None or main.source.path is None else main.source.path.stem
    namesakes = [name for name in candidates if _plain(name) == _plain(file)]
    return namesakes or candidates or list(names)


def _plain(name: str) -> str:
    return "".join(letter for letter in name.lower() if letter.isalnum())


def _is_candidate(workspace: Workspace, name: str, models: Collection[str]) -> bool:
    scenario = check_scenario(workspace, name, {}, Diagnostics())
    if scenario is None:
        return True
    model = scenario.model
    if models and not any(model.name == each or each in _model_bases(workspace, model.name) for each in models):
        return False
    return bool(model.variables) and not missing_targets(scenario)


def _model_bases(workspace: Workspace, name: str) -> set[str]:
    """Return a model and all that it extends."""
    found: set[str] = set()
    at: str | None = name
    while at is not None and at not in found:
        found.add(at)
        block = workspace.models.get(at)
        at = None if block is None or block.extends is None else block.extends.text
    return found
