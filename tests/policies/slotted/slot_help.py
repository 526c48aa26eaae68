"""Plans of policies on scenarios of the price-aware model, read from their values and priced by the model."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from gpusched_dsl.compiling.build import Built, build
from gpusched_dsl.compiling.evaluation.limits import MemoryLimits
from gpusched_dsl.language.blocks.policies.policy import check_policy
from gpusched_dsl.language.checked_policy import CheckedPolicy
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.scenarios.scenario import check_scenario
from gpusched_dsl.language.workspace import Workspace, workspace_from_text
from gpusched_dsl.policies.plan import Plan
from gpusched_dsl.policies.slotted.instance_reader import SlottedInstance, read_instance
from gpusched_dsl.policies.slotted.run import run_slotted
from gpusched_dsl.workflows.solve_by_policy import solve_by_policy

MODELS = Path(__file__).resolve().parents[3] / "models"
IMPORTS = 'import "price_aware/tests/policies.gsm";\nimport "price_aware/tests/model.gsm";\n'


@dataclass(frozen=True, eq=False)
class Case:
    built: Built
    policy: CheckedPolicy

    def plan(self) -> Plan:
        return run_slotted(self.policy, self.built.instance.store, MemoryLimits())

    def instance(self) -> SlottedInstance:
        return read_instance(self.policy, self.built.instance.store, MemoryLimits())

    def entries(self, family: str) -> dict[tuple[object, ...], float]:
        """Labels and values of what is not 0."""
        given = self.plan().values[family]
        variable = self.policy.model.variables[family]
        store = self.built.instance.store
        labels = [store.universes[v.type.root].labels for v in variable.indexing.variables]  # type: ignore[union-attr]
        return {
            tuple(names[code] for names, code in zip(labels, row, strict=True)): float(value)
            for *row, value in zip(*(c.tolist() for c in given.codes), given.values, strict=True)
        }

    def judged(self):  # type: ignore[no-untyped-def]
        solved, warnings = solve_by_policy(self.built, self.policy)
        return solved, [w.code for w in warnings]


def case_of(text: str, scenario: str, policy: str, **settings: str) -> Case:
    """A scenario of `text` or of the oracles, and a policy for it."""
    found = Diagnostics()
    workspace = _workspace(text)
    checked = check_scenario(workspace, scenario, settings, found)
    found.raise_if_errors()
    assert checked is not None
    made = check_policy(workspace, workspace.policies[policy], found, checked.model)
    found.raise_if_errors()
    assert made is not None
    return Case(build(workspace, checked), made)


@cache
def _workspace(text: str) -> Workspace:
    found = Diagnostics()
    workspace = workspace_from_text(IMPORTS + text, "case.gsm", found, base=MODELS)
    found.raise_if_errors()
    return workspace


def codes_of(text: str, policy: str) -> list[str]:
    """The codes of what is wrong with a policy."""
    found = Diagnostics()
    workspace = _workspace(text)
    check_policy(workspace, workspace.policies[policy], found)
    return [d.code for d in found]
