"""Queues of policies on scenarios, read from their plans and priced by the model."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from gpusched_dsl.compiling.build import Built, build
from gpusched_dsl.compiling.evaluation.limits import MemoryLimits
from gpusched_dsl.language.blocks.policies.policy import check_policy
from gpusched_dsl.language.checked_policy import CheckedPolicy
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.scenarios.scenario import check_scenario
from gpusched_dsl.language.workspace import Workspace, workspace_from_text
from gpusched_dsl.policies.decide import decide
from gpusched_dsl.workflows.solve_by_policy import solve_by_policy

MODELS = Path(__file__).resolve().parents[3] / "models"
IMPORTS = 'import "gsdsl:allocation/tests/queues.gsm";\nimport "gsdsl:allocation/policies.gsm";\n'


@dataclass(frozen=True, eq=False)
class Case:
    built: Built
    policy: CheckedPolicy | None

    @property
    def store(self):
        return self.built.instance.store

    def queues(self, values=None) -> dict[str, list[str]]:
        """Jobs of every queue that is not empty, the first one first."""
        assert self.policy is not None
        given = (values or decide(self.policy, self.store, MemoryLimits()).values)["run"]
        jobs, gpus, places = given.codes
        assert (given.values == 1).all()
        names = {s: self.store.universes[s].labels for s in ("Jobs", "GPUs")}
        found: dict[str, list[str]] = {}
        for at in np.lexsort((-places, gpus)).tolist():
            found.setdefault(names["GPUs"][gpus[at]], []).append(names["Jobs"][jobs[at]])
        for gpu, queue in found.items():
            at = gpus == names["GPUs"].index(gpu)
            assert sorted(places[at]) == list(range(1, len(queue) + 1))
        return found

    def priced(self, seed: int = 0):
        assert self.policy is not None
        solved, told = solve_by_policy(self.built, self.policy)
        assert not told
        return solved


def case_of(text: str, scenario: str, policy: str | None = None, **options: str) -> Case:
    found = Diagnostics()
    workspace: Workspace = workspace_from_text(IMPORTS + text, "text", found, MODELS)
    checked = check_scenario(workspace, scenario, options, found)
    found.raise_if_errors()
    assert checked is not None
    rules = None
    if policy is not None:
        rules = check_policy(workspace, workspace.policies[policy], found, checked.model)
        found.raise_if_errors()
        assert rules is not None
    return Case(build(workspace, checked), rules)
