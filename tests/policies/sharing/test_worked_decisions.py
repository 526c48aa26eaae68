"""PL-1 and PL-2 in figures: pressures, profiles, ranks, next switches, admissions."""

from __future__ import annotations

import numpy as np
import pytest
from deciding_help import LIMITS, case_of

from gpusched_dsl.compiling.evaluation.evaluator import Evaluator
from gpusched_dsl.compiling.evaluation.frames import Frame
from gpusched_dsl.ir.distributions import uniform
from gpusched_dsl.policies.instructions import instructions_of
from gpusched_dsl.policies.placement_reader import cluster_of
from gpusched_dsl.policies.speed_profile import speed_profile
from gpusched_dsl.policies.workload import NEVER


def value(case, name: str) -> np.ndarray:
    """A `let` of a policy for every job."""
    let = case.policy.lets[name]
    ev = Evaluator(case.policy.model, case.store, LIMITS)
    domain = ev.index_domain(let.indexing, let.span)
    frame = Frame(domain.size, dict(zip(let.indexing.variables, domain.columns(), strict=True)))
    return ev.numbers(let.value, frame)


def ranked(case) -> list[list[tuple]]:
    """For each job the ways by `choose`: kind, GPUs, twentieths."""
    cluster = cluster_of(case.policy.model, case.store, LIMITS)
    read = instructions_of(case.policy, cluster, case.store, LIMITS)
    types = case.store.universes["Types"].labels
    found = []
    for j in range(len(cluster.jobs)):
        ways = np.arange(cluster.work.first_way[j], cluster.work.first_way[j + 1])
        ways = ways[read.choose_rank[ways] != NEVER]
        ways = ways[np.argsort(read.choose_rank[ways], kind="stable")]
        kinds = cluster.kinds[cluster.work.kind[ways]]
        rows = zip(kinds.tolist(), *(cluster.ways[i][ways].tolist() for i in (2, 3)), strict=True)
        found.append([(types[t], g, u) for t, g, u in rows])
    return found


def test_pressures_and_queue() -> None:
    case = case_of("STS", "TwoKinds")
    np.testing.assert_allclose(value(case, "pressure"), [-48.095238, -33.095238, -18.095238], atol=1e-6)
    cluster = cluster_of(case.policy.model, case.store, LIMITS)
    assert instructions_of(case.policy, cluster, case.store, LIMITS).order.tolist() == [2, 1, 0]


def test_profiles() -> None:
    case = case_of("STS", "TwoKinds")
    costs, status = case.entries("plan_cost"), case.entries("plan_status")
    expected = {
        ("J1", "K80"): 48.718033, ("J1", "A100"): 61.166667, ("J2", "K80"): 53.158750, ("J2", "A100"): 61.166667,
        ("J3", "A100"): 61.486407,
    }  # fmt: skip
    assert {k: costs[k] for k in expected} == pytest.approx(expected, abs=1e-6)
    assert [k for k, v in status.items() if v == 1] == [("J3", "K80")]
    assert case.entries("plan_late")["J3", "K80"] == pytest.approx(100 / 2.8 - 30)
    # SJ-1 with cost rates of 0.9 for each GPU: what an hour more would save.
    assert case.entries("plan_price")["J1", "K80"] == pytest.approx(0.9 * 63 / 305)
    switches = {k: v for k, v in case.entries("plan_switch").items() if np.isfinite(v)}
    assert switches == pytest.approx(
        {("J1", "K80"): 17.377049, ("J2", "K80"): 18.611111, ("J3", "A100"): 26.457197}, abs=1e-6
    )
    # Put on two K80 instead, J1 would leave them where its profile leaves them.
    assert case.entries("plan_leaves")["J1", "K80", 2, 20] == pytest.approx(79.344262 / 1.8, abs=1e-6)


def test_ranks() -> None:
    assert ranked(case_of("STS", "TwoKinds")) == [
        [("K80", 1, 20), ("A100", 1, 20)],
        [("K80", 2, 20), ("A100", 1, 20)],
        [("A100", 1, 20), ("K80", 4, 20)],
    ]
    assert ranked(case_of("EDF", "TwoKinds"))[0][:3] == [("K80", 2, 20), ("K80", 3, 20), ("A100", 1, 20)]


def test_one_ladder_for_all_kinds() -> None:
    """The profile on both ladders together, alone and by another call; it costs less than on either."""
    case = case_of("STSMerged", "TwoKinds")
    costs, apart = case.entries("merged_cost"), case.entries("plan_cost")
    k80, a100 = np.array([1, 1.8, 2.4, 2.8]), 3 * np.array([1, 1.8, 2.4, 2.8])
    rates = np.array([0.9, 1.8, 2.7, 3.6, 3.67, 7.35, 11.02, 14.69])
    for job, due in (("J1", 60), ("J2", 45), ("J3", 30)):
        best = speed_profile(np.concatenate((k80, a100)), rates, uniform(0.0, 100.0), due, 100.0)
        assert costs[(job,)] == pytest.approx(best.energy, rel=1e-9)
        assert costs[(job,)] < min(apart[job, "K80"], apart[job, "A100"])


def test_a_switch_is_planned_again() -> None:
    """17.377049 h later, as an undisturbed profile says: J1 takes the second K80, J2 and J3 what they have."""
    case = case_of("STS", "AtTheFirstSwitch")
    assert case.plan() == {"J1": ("n1", 2, 20), "J2": ("n1", 2, 20), "J3": ("n2", 1, 20)}
    np.testing.assert_allclose(case.entries("plan_switch")["J1", "K80"], 51.803279 - 17.377049, atol=1e-5)
    # The others switch when they would have.
    assert case.entries("plan_switch")["J2", "K80"] == pytest.approx(18.611111 - 17.377049, abs=1e-5)
    assert case.entries("plan_switch")["J3", "A100"] == pytest.approx(26.457197 - 17.377049, abs=1e-5)


def test_admission() -> None:
    case = case_of("DPShares", "OneKind")
    assert case.entries("turn_amount") == {("J1", "K80"): 1, ("J2", "K80"): 1, ("J3", "K80"): 2}
    assert case.entries("turn_runs") == {("J1",): 1, ("J2",): 1, ("J3",): 1}
    taken = case.entries("turn_taken")
    assert [k for k, v in taken.items() if v] == [("J1", "K80", 1), ("J2", "K80", 1), ("J3", "K80", 2)]
    stage = case.policy.stages[0]
    ev = Evaluator(case.policy.model, case.store, LIMITS)
    domain = ev.index_domain(stage.indexing, stage.span)
    grown = ev.expand(ev.domain_frame(stage.indexing, domain), stage.over, stage.span).frame
    costs = ev.numbers(stage.parts["run"], grown)
    chosen = np.array([taken[k] for k in taken])
    np.testing.assert_allclose(costs.reshape(3, 4)[0], [40.9, 1.8, 2.7, 3.6])
    np.testing.assert_allclose(costs.reshape(3, 4)[1], [55.9, 12.355556, 2.7, 3.6], atol=1e-6)
    np.testing.assert_allclose(costs.reshape(3, 4)[2], [105.9, 40.133333, 20.2, 12.171429], atol=1e-6)
    assert value(case, "waiting").tolist() == pytest.approx([410, 560, 1065])
    assert float(costs @ chosen) == pytest.approx(136.933333, abs=1e-6)
