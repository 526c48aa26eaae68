"""Decisions of policies on scenarios of a text, with the data that the policies read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from gpusched_dsl.compiling.data.instance import build_instance
from gpusched_dsl.compiling.evaluation.limits import MemoryLimits
from gpusched_dsl.compiling.evaluation.store import ValueStore
from gpusched_dsl.compiling.lowering.fixing import VariableValues
from gpusched_dsl.language.blocks.policies.policy import check_policy
from gpusched_dsl.language.checked_policy import CheckedPolicy
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.scenarios.scenario import CheckedScenario, check_scenario
from gpusched_dsl.language.workspace import Workspace, load_workspace, workspace_from_text
from gpusched_dsl.policies.decide import decide
from gpusched_dsl.policies.stages import with_stages

MODELS = Path(__file__).resolve().parents[3] / "models"
ORACLES = MODELS / "gpu_sharing" / "tests" / "policies.gsm"
LIMITS = MemoryLimits()


@dataclass(frozen=True, eq=False)
class Case:
    """A policy on an instance; `store` has the results of its stages."""

    policy: CheckedPolicy
    store: ValueStore

    def entries(self, name: str) -> dict[tuple, float]:
        """A parameter by labels."""
        param = self.store.params[name]
        labels = param.domain.label_columns()
        return dict(zip(zip(*labels, strict=True), param.values.tolist(), strict=True))

    def plan(self, seed: int = 0, running: Mapping[str, VariableValues] | None = None) -> dict[str, tuple]:
        """Node, GPUs and twentieths of every job that runs."""
        found = decide(self.policy, self.store, LIMITS, seed, running)
        return labelled(self, found.values)

    def given(self, seed: int = 0, running: Mapping[str, VariableValues] | None = None) -> Mapping[str, VariableValues]:
        return decide(self.policy, self.store, LIMITS, seed, running).values


def labelled(case: Case, values: Mapping[str, VariableValues]) -> dict[str, tuple]:
    names = [case.store.universes[s].labels for s in ("Jobs", "Nodes")]
    rows = zip(*(codes.tolist() for codes in values["run"].codes), strict=True)
    return {names[0][j]: (names[1][n], *sizes) for j, n, *sizes in rows}


@lru_cache(maxsize=16)
def built(scenario: str, source: Path | str) -> tuple[Workspace, CheckedScenario, ValueStore]:
    """The scenario of a file or a text, with its data; kept, so that policies can share it."""
    found = Diagnostics()
    if isinstance(source, Path):
        workspace = load_workspace(source, found)
    else:
        workspace = workspace_from_text(source, "text", found, MODELS)
    checked = check_scenario(workspace, scenario, {}, found)
    found.raise_if_errors()
    assert checked is not None
    return workspace, checked, build_instance(checked, folder=MODELS).store


def case_of(policy: str, scenario: str, source: Path | str = ORACLES) -> Case:
    """The policy checked against the scenario's model, and the scenario's data."""
    workspace, checked, store = built(scenario, source)
    found = Diagnostics()
    rules = check_policy(workspace, workspace.policies[policy], found, checked.model)
    found.raise_if_errors()
    assert rules is not None
    return Case(rules, with_stages(rules, store, LIMITS))
