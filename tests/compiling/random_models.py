"""Models with random quantities from short texts: their parameters, and their problems."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from gpusched_dsl.compiling.data.instance import Instance, build_instance
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.scenarios.scenario import check_scenario
from gpusched_dsl.language.workspace import workspace_from_text


def instance_of(text: str, scenario: str = "S", folder: Path | None = None) -> Instance:
    """The data of a scenario; raises DiagnosticError."""
    found = Diagnostics()
    workspace = workspace_from_text(text, "random.gsm", found)
    checked = check_scenario(workspace, scenario, {}, found)
    found.raise_if_errors()
    assert checked is not None
    return build_instance(checked, folder=folder or Path.cwd())


def values_of(declarations: str, formulas: dict[str, str], given: str = "") -> dict[str, np.ndarray]:
    """The values of derived parameters (`name[indices]` to a formula) beside some declarations and scenario lines."""
    params = "\n".join(f"param {head} = {formula};" for head, formula in formulas.items())
    text = f"model M {{ {declarations}\n{params}\nvar x >= 0; minimize x; }}\nscenario S for M {{ {given} }}"
    params_of = instance_of(text).store.params
    return {head: params_of[head.split("[")[0]].values for head in formulas}
