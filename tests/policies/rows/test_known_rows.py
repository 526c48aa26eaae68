"""A plan that rows known to a policy allow is one that the check of a run allows."""

from __future__ import annotations

import numpy as np
import pytest
from drawn_limits import JOBS, LIMITS, OTHERS, built_of

from gpusched_dsl.compiling.evaluation.limits import MemoryLimits
from gpusched_dsl.compiling.lowering.fixing import VariableValues
from gpusched_dsl.online.planners.policy import PolicyPlanner
from gpusched_dsl.online.planners.protocol import PlanningRequest
from gpusched_dsl.policies.broken_rows import broken_rows
from gpusched_dsl.policies.library import policy_named
from gpusched_dsl.policies.rows.guard import Running, side_rows_of

NOT_LINEAR = ["condition", "largest"]


@pytest.mark.parametrize("form", [*LIMITS, *OTHERS])
def test_known_rows_are_those_of_the_check(form: str) -> None:
    answers = set()
    for seed in range(3):
        built, side, cluster = built_of({**LIMITS, **OTHERS}[form], seed, modes=seed == 2)
        work, draw, nobody = cluster.work, np.random.default_rng(seed), np.zeros(0, dtype=np.int64)
        known = side_rows_of(
            side, cluster, built.instance.store, MemoryLimits(), np.ones(JOBS, dtype=np.int64), np.arange(JOBS),
            Running(nobody, nobody, nobody, np.zeros(0)),
        )  # fmt: skip
        for share in np.linspace(0.05, 1.0, 20):
            job = np.flatnonzero(draw.random(JOBS) < share)
            way = np.array([draw.integers(work.first_way[j], work.first_way[j + 1]) for j in job], dtype=np.int64)
            node = np.array([draw.choice(np.flatnonzero(work.node_kind == work.kind[w])) for w in way], dtype=np.int64)
            values = {"run": VariableValues(cluster.selected_elements(node, way), np.ones(len(job)))}
            broken = broken_rows(side, built.instance.store, values) is not None
            allowed = known.are_obeyed(Running(job, node, way, np.ones(len(job))))
            assert allowed == (not broken) or (form in NOT_LINEAR and not allowed)
            answers.add(broken)
    assert answers == {True, False}


@pytest.mark.parametrize("form", ["cap", "other variable"])
def test_a_plan_whose_nodes_keep_their_names_is_not_evaluated_again(form: str) -> None:
    """A policy that starts anew has its nodes relabelled; where none is, what it knows of its plan stays true."""
    built, _, _ = built_of({**LIMITS, **OTHERS}[form], 0)
    assert built.workspace is not None
    planner = PolicyPlanner(policy_named(built.workspace, "SRTF", built.scenario.model), built.permissions)
    first = planner.plan(PlanningRequest(built.instance, 0.0, 0, 0))
    assert first is not None
    again = planner.plan(PlanningRequest(built.instance, 0.0, 1, 0, running=first.values))
    assert again is not None
    assert again.obeys_rows
