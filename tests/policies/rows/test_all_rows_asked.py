"""Plans are the same where all rows of a model are asked for each place, as if roles explained none of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest
from comparing import LIMITS, Decision, decision_of, some_facts, some_of
from gang_clusters import random_racks
from random_decisions import drawn, with_rows_of_roles
from shipped import DEMANDS, SHIPPED, policies_for

from gpusched_dsl.language.checked import CheckedModel, CheckedPlacement
from gpusched_dsl.language.checked_policy import CheckedPolicy
from gpusched_dsl.policies.covers import Covered, covers
from gpusched_dsl.policies.decide import decide
from gpusched_dsl.policies.rows import asking, problem

# Plans with and without draws, moves, reservations and turns.
TEN = ("Fit", "First", "FirstNext", "Mixed", "Kept", "DrawingFit", "Improving", "SJF", "EASY", "FairShare")
GAVEL = """import "gsdsl:capacity_planning/scenarios/gavel_at_most.gsm";
import "gsdsl:capacity_planning/policies.gsm";
scenario S for CapacityPlanning extends GavelAtMost { }
policy Drawn for CapacityPlanning extends RandomisedGreedy { repeat 30 keep best total; }
policy Improved for CapacityPlanning extends LocalSearch { repeat 20 keep best total; }
"""


@contextmanager
def all_rows_asked() -> Iterator[list[asking.SideRows]]:
    """No row counts as explained by a role, and none is left to be checked behind the plan.

    Gives the rows that were asked.
    """
    asked: list[asking.SideRows] = []
    original = asking.side_rows_of

    def nothing_covered(model: CheckedModel, _: CheckedPlacement) -> Covered:
        return Covered({}, tuple(model.constraints))

    def side_rows_of(*arguments: object) -> asking.SideRows:
        asked.append(original(*arguments))  # type: ignore[arg-type]
        return asked[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(problem, "covers", nothing_covered)
        patch.setattr(problem, "_known", type(problem._known)())
        patch.setattr(asking, "reads_other_variables", lambda *_: False)
        patch.setattr(asking, "side_rows_of", side_rows_of)
        yield asked


def assert_asked(asked: list[asking.SideRows], policy: CheckedPolicy) -> None:
    """All constraints of the model are among the rows, and none of these is relaxed."""
    [rows] = asked
    assert {family.name for family in rows.side.source.constraints} == set(policy.model.constraints)
    assert not rows.relaxed.any()


def assert_equal_plans(decision: Decision, policies: list[CheckedPolicy], seed: int) -> None:
    """Plans with and without running jobs; each asks all rows once more."""
    rng = np.random.default_rng(seed)
    known = some_facts(len(decision.store.universes["Jobs"].labels), rng)
    running = []
    for policy in policies:
        for now in ([], running) if policy.keep and running else ([],):
            plan = decision.plan(policy, now, known)
            with all_rows_asked() as asked:
                again = decision.plan(policy, now, known)
            assert_asked(asked, policy)
            assert again == plan, (seed, policy.name)
        running = some_of(plan, rng)


def assert_equal_plans_of_drawn(seed: int) -> None:
    decision = decision_of(with_rows_of_roles(drawn(seed)).text)
    assert_equal_plans(decision, [decision.whole_policy(name) for name in TEN], seed)


def assert_equal_plans_of_library(model: str, seed: int) -> None:
    decision = decision_of(SHIPPED[model][1](seed))
    assert_equal_plans(decision, [decision.policy(name, without=DEMANDS) for name in policies_for(model)], seed)


@pytest.mark.quick(8)
@pytest.mark.parametrize("seed", range(30))
def test_plans_of_drawn_decisions(seed: int) -> None:
    assert_equal_plans_of_drawn(seed)


@pytest.mark.slow
@pytest.mark.parametrize("batch", range(30))
def test_plans_of_many_drawn_decisions(batch: int) -> None:
    for seed in range(10 * batch, 10 * batch + 10):
        assert_equal_plans_of_drawn(seed)


@pytest.mark.parametrize("model", SHIPPED)
def test_plans_of_the_library(model: str) -> None:
    assert_equal_plans_of_library(model, 0)


@pytest.mark.slow
@pytest.mark.parametrize("batch", range(5))
@pytest.mark.parametrize("model", SHIPPED)
def test_many_plans_of_the_library(model: str, batch: int) -> None:
    for seed in range(5 * batch, 5 * batch + 5):
        assert_equal_plans_of_library(model, seed)


@pytest.mark.quick(4)
@pytest.mark.parametrize("seed", range(8))
def test_plans_of_gangs(seed: int) -> None:
    decision = decision_of(random_racks(seed, users=2).text())
    for name in ("Packed", "Indifferent", "SJF", "EASY", "Conservative", "FairShare", "MaxMin"):
        policy = decision.policy(name)
        usual = decide(policy, decision.store, LIMITS).values["worker"]
        with all_rows_asked() as asked:
            found = decide(policy, decision.store, LIMITS).values["worker"]
        assert_asked(asked, policy)
        assert [*map(list, (*found.codes, found.values))] == [*map(list, (*usual.codes, usual.values))], (seed, name)


def assert_equal_costs_of_gavel(name: str) -> None:
    """The plan of the forty jobs costs at most 1 % more or less."""
    decision = decision_of(GAVEL)
    policy = decision.whole_policy(name)
    usual = decide(policy, decision.store, LIMITS, 1)
    with all_rows_asked() as asked:
        found = decide(policy, decision.store, LIMITS, 1)
    assert_asked(asked, policy)
    assert found.objective == pytest.approx(usual.objective, rel=0.01)


@pytest.mark.parametrize("name", ["FIFO", "Greedy"])
def test_forty_jobs(name: str) -> None:
    assert_equal_costs_of_gavel(name)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["EDF", "ReducedCost", "Drawn", "Improved"])
def test_forty_jobs_with_draws_and_moves(name: str) -> None:
    assert_equal_costs_of_gavel(name)


def test_roles_explain_the_rows_that_are_drawn() -> None:
    """Without the switch, rows of nodes that are there are not asked at all."""
    explained = 0
    for seed in range(6):
        one = with_rows_of_roles(drawn(seed))
        decision = decision_of(one.text)
        model = decision.scenario.model
        assert model.placement is not None
        explained += covers(model, model.placement).side == ()
        assert (one.world == "rented") == bool(covers(model, model.placement).side), one.world
        assert len(decision.plan(decision.policy("Fit"))) > 0
    assert explained == 4
