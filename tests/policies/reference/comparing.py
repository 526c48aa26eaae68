"""Plans of policies and of the interpreter on one decision."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from all_jobs import AllJobs
from instance_reader import Code, Instance, Reader
from interpreter import Allows, Interpreter
from msgspec import structs

from gpusched_dsl.compiling.data.instance import build_instance
from gpusched_dsl.compiling.evaluation.limits import MemoryLimits
from gpusched_dsl.compiling.evaluation.store import ValueStore
from gpusched_dsl.compiling.lowering.fixing import VariableValues
from gpusched_dsl.language.blocks.policies.policy import check_policy
from gpusched_dsl.language.blocks.policies.rule_table import rules_of
from gpusched_dsl.language.checked_policy import CheckedPolicy
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.scenarios.scenario import CheckedScenario, check_scenario
from gpusched_dsl.language.workspace import Workspace, workspace_from_text
from gpusched_dsl.policies.decide import decide
from gpusched_dsl.policies.generic.catalogue import GENERIC
from gpusched_dsl.policies.generic.instantiate import generic_policy
from gpusched_dsl.policies.job_facts import JobFacts, with_job_facts
from gpusched_dsl.policies.prices.values import with_prices
from gpusched_dsl.policies.stages import with_stages

MODELS = Path(__file__).resolve().parents[3] / "models"
LIMITS = MemoryLimits()


@dataclass(frozen=True, eq=False)
class Decision:
    """A scenario with its data."""

    workspace: Workspace
    scenario: CheckedScenario
    store: ValueStore

    def policy(self, name: str, *, without: Sequence[str] = ()) -> CheckedPolicy:
        """A policy without its draws, repetitions and moves: its first plan; without some constraints."""
        whole = self.whole_policy(name, without=without)
        return structs.replace(whole, draws={}, moves=(), repeat=None, improve=None, split=None)

    def whole_policy(self, name: str, *, without: Sequence[str] = ()) -> CheckedPolicy:
        """A policy without some constraints."""
        found = Diagnostics()
        workspace = self.workspace
        if name in workspace.policies:
            told = workspace.policies[name]
        else:
            workspace, told = generic_policy(name, workspace, self.scenario.model)
        checked = check_policy(workspace, told, found, self.scenario.model)
        found.raise_if_errors()
        assert checked is not None
        kept = {name: row for name, row in checked.model.constraints.items() if name not in without}
        model = structs.replace(checked.model, constraints=kept)
        return structs.replace(checked, model=model)

    def plan(self, policy: CheckedPolicy, running: Sequence[Code] = (), known: JobFacts | None = None) -> set[Code]:
        """The plan of the policy: the elements of the placement's variable that are 1."""
        name = self.variable
        given = {name: values_of(running)} if running else None
        found = decide(policy, self.store, LIMITS, 0, given, known=known).values[name]
        chosen = found.values > 0.5
        return set(zip(*(codes[chosen].tolist() for codes in found.codes), strict=True))

    def expected(
        self,
        policy: CheckedPolicy,
        running: Sequence[Code] = (),
        known: JobFacts | None = None,
        allows: Allows | None = None,
    ) -> set[Code]:
        """The plan of the interpreter."""
        instance = self.instance(policy, known)
        keeps = any(rule.name == "running" for rule in policy.keep)
        kept = running if keeps else ()
        if any(rule.name in rules_of("standalone") for rule in policy.place):
            return AllJobs(policy, instance, kept, allows, facts_of(known)).run()
        return Interpreter(policy, instance, kept, allows).run()

    def instance(self, policy: CheckedPolicy, known: JobFacts | None = None) -> Instance:
        """The decision as the policy sees it."""
        store = with_prices(policy, with_job_facts(policy, self.store, LIMITS, known), LIMITS, None).store
        return Reader(policy, with_stages(policy, store, LIMITS)).run()

    @property
    def variable(self) -> str:
        placement = self.scenario.model.placement
        assert placement is not None
        return placement.variable


def decision_of(text: str, scenario: str = "S") -> Decision:
    found = Diagnostics()
    workspace = workspace_from_text(text, "drawn.gsm", found, MODELS)
    checked = check_scenario(workspace, scenario, {}, found)
    found.raise_if_errors()
    assert checked is not None
    return Decision(workspace, checked, build_instance(checked, folder=MODELS, roots=workspace.roots).store)


def facts_of(known: JobFacts | None) -> dict[int, tuple[float, float]]:
    """The GPU time and the time since the arrival of each job, at the time 0."""
    if known is None:
        return {}
    pairs = zip(known["attained"].tolist(), known["arrived"].tolist(), strict=True)
    return {job: (attained, max(-arrived, 0.0)) for job, (attained, arrived) in enumerate(pairs)}


def some_facts(jobs: int, rng: np.random.Generator) -> JobFacts:
    """Arrivals in the past, and GPU times of which some are zero."""
    return {"arrived": -rng.integers(0, 5, jobs).astype(float), "attained": rng.integers(0, 4, jobs).astype(float)}


def values_of(elements: Sequence[Code]) -> VariableValues:
    columns = tuple(np.array(column, dtype=np.int64) for column in zip(*elements, strict=True))
    return VariableValues(columns, np.ones(len(elements)))


def some_of(plan: Mapping[Code, object] | set[Code], rng: np.random.Generator) -> list[Code]:
    """Some elements of a plan, in any order."""
    kept = [element for element in sorted(plan) if rng.random() < 0.5]
    return [kept[at] for at in rng.permutation(len(kept))]


GENERIC_NAMES = tuple(GENERIC)
