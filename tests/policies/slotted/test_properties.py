"""Properties of every plan of any policy."""

from __future__ import annotations

import numpy as np
import pytest
from slotted_reference import can_serve
from small_clusters import Case, random_case

from gpusched_dsl.policies.kernels.slotted_cluster import CHEAPEST, EQUAL, IN_TURN, POOLS, SlottedSchedule
from gpusched_dsl.policies.slotted.planning import Placing, make_plan

RULES = [
    (Placing("start_now", blocking=True, first_only=True), EQUAL),
    (Placing("start_now", blocking=True), IN_TURN),
    (Placing("start_now"), CHEAPEST),
    (Placing("by_performance"), POOLS),
    (Placing("cheapest_block"), CHEAPEST),
    (Placing("cheapest_block", singly=True), EQUAL),
]


def plan(case: Case, placing: Placing, serving: int, guard: int) -> SlottedSchedule:
    key = case.price[None, None, :] * case.power[:, :, None]
    cluster = case.cluster(key, until_due=placing.rule == "cheapest_block")
    found = make_plan(cluster, case.guard(guard), case.serving(serving), placing)
    assert not found.stopped
    return found.schedule


@pytest.mark.quick(3)
@pytest.mark.parametrize(("placing", "serving"), RULES, ids=str)
def test_every_plan(placing: Placing, serving: int) -> None:
    for seed in range(40):
        case = random_case(seed)
        guard = seed % 4
        found = plan(case, placing, serving, guard)
        again = plan(case, placing, serving, guard)
        assert all(np.array_equal(a, b) for a, b in zip(found, again, strict=True))
        training = found.job >= 0
        assert not (training[None] & (found.share > 0)).any()  # no node trains and serves at once
        for j in range(case.jobs):
            nodes, slots = np.nonzero(found.job == j)
            if found.node[j] < 0:
                assert len(nodes) == 0
                continue
            length = case.length[j, case.class_of[found.node[j]]]
            beyond = max(0, found.last[j] - case.slots + 1)
            assert set(nodes) <= {found.node[j]}
            assert len(slots) + beyond == length  # no work is lost
            assert slots.min() >= case.arrives[j]
            assert slots.max() == min(found.last[j], case.slots - 1)
            if not placing.singly:
                assert found.last[j] - slots.min() + 1 == length  # without a break
        served = found.share.sum(axis=1)
        took = found.share.any(axis=1) | (case.load == 0)
        assert np.allclose(served[took], case.load[took])
        assert (found.excess[~took] > 0).all()  # what nobody serves is told
        if serving in (CHEAPEST, POOLS):
            assert ((found.share > 0).sum(axis=0) <= 1).all()  # a node serves one service
        if guard in (1, 2):  # what the guard keeps stays so, wherever a job was started
            for h in range(case.slots):
                if training[:, h].any():
                    assert can_serve(case, h, np.flatnonzero(~training[:, h]).tolist(), guard)


def test_a_stopped_run_tells_so() -> None:
    case = random_case(3)
    cluster = case.cluster(np.zeros(case.length.shape))
    found = make_plan(cluster, case.guard(0), case.serving(EQUAL), Placing("start_now"), stop=lambda: True)
    assert found.stopped
    assert (found.schedule.node < 0).all()
