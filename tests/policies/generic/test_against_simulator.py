"""Every policy for any model against a plain simulator, over time, on random small clusters."""

from __future__ import annotations

import numpy as np
import pytest
from generic_clusters import Cluster, random_cluster
from generic_simulator import POLICIES, simulate

from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.workspace import workspace_from_text
from gpusched_dsl.online.open import loop_of, setup_of
from gpusched_dsl.online.run_config import RunConfig
from gpusched_dsl.online.run_record import RunOutcome
from gpusched_dsl.policies.generic.catalogue import GENERIC

USERS = "user owner[j];  share part[owner[j]];  quota most[owner[j]];"


def run(text: str, method: str, *, fast: bool = True) -> RunOutcome:
    found = Diagnostics()
    workspace = workspace_from_text(text, "cluster.gsm", found)
    found.raise_if_errors()
    config = RunConfig(method=method, verify="full", most_events=5000)
    return loop_of(setup_of(workspace, config), fast=fast).run()


def check(cluster: Cluster, method: str) -> None:
    outcome = run(cluster.text(USERS), method)
    assert [w.code for w in outcome.warnings if w.code != "GSM7005"] == []  # every plan satisfies the model
    start, end = simulate(cluster, method)
    np.testing.assert_allclose(outcome.world.first_start, start, atol=1e-6, err_msg=method)
    np.testing.assert_allclose(outcome.world.end, end, atol=1e-6, err_msg=method)


OTHERS = [name for name in POLICIES if name != "MaxMin"]


@pytest.mark.quick(12)  # each policy at least once
@pytest.mark.parametrize("method", OTHERS)
@pytest.mark.parametrize("seed", [0, 1, 100037])
def test_small_clusters(method: str, seed: int) -> None:
    check(random_cluster(seed, users=3), method)


@pytest.mark.quick(6)  # each policy once
@pytest.mark.parametrize("method", [name for name in POLICIES if not GENERIC[name].preempts])
@pytest.mark.parametrize("seed", [0, 100031])
def test_outages(method: str, seed: int) -> None:
    check(random_cluster(seed, outages=True, users=2), method)


@pytest.mark.slow
@pytest.mark.parametrize("method", OTHERS)
@pytest.mark.parametrize("seed", range(100, 102))
def test_many_clusters(method: str, seed: int) -> None:
    for at in range(20):
        check(random_cluster(1000 * seed + at, users=3), method)
        if not GENERIC[method].preempts:
            check(random_cluster(1000 * seed + at, outages=True, users=2), method)


def test_every_policy_has_a_simulator() -> None:
    assert set(POLICIES) == set(GENERIC)
