"""Plans of the kernels are those of the same policies written out node by node."""

from __future__ import annotations

import numpy as np
import pytest
from slotted_reference import Plan, Simulation, cap, eprons, fifo, pa_mbt, response_time, valley
from small_clusters import Case, random_case

from gpusched_dsl.policies.kernels.slotted_cluster import CHEAPEST, EQUAL, IN_TURN, POOLS, UNSERVED
from gpusched_dsl.policies.kernels.slotted_cluster import SlottedSchedule as Planned
from gpusched_dsl.policies.slotted.planning import Placing, make_plan

SEEDS = range(40)
GUARDS = (0, 1, 2, 3)


def plan_of(planned: Planned) -> Plan:
    nodes, slots = np.nonzero(planned.job >= 0)
    return {(int(k), int(h)): int(planned.job[k, h]) for k, h in zip(nodes, slots, strict=True)}


def holds(case: Case, planned: Planned, run: Simulation) -> None:
    assert plan_of(planned) == run.plan
    for j in range(case.jobs):
        assert planned.node[j] == run.node.get(j, -1)
        assert planned.last[j] == run.last.get(j, -1)


@pytest.mark.quick(2)
@pytest.mark.parametrize("kind", GUARDS)
def test_first_in_first_out(kind: int) -> None:
    for seed in SEEDS:
        case = random_case(seed)
        cluster = case.cluster(np.zeros(case.length.shape))
        found = make_plan(cluster, case.guard(kind), case.serving(EQUAL), Placing("start_now", True, True)).schedule
        holds(case, found, fifo(case, kind))
        for h in range(case.slots):
            training = found.job[:, h] >= 0
            for s, load in enumerate(case.load[:, h]):
                runs = ~training & (case.rate[s, case.class_of] > 0)
                wanted = np.where(runs, load / max(runs.sum(), 1), 0.0)
                assert np.allclose(found.share[s, :, h], wanted)


@pytest.mark.parametrize("kind", GUARDS)
def test_least_energy_beside_cheapest_nodes(kind: int) -> None:
    """Which nodes serve is tested by itself: here the reference is told."""
    for seed in SEEDS:
        case = random_case(seed)
        key = case.length * case.power
        found = make_plan(case.cluster(key), case.guard(kind), case.serving(CHEAPEST), Placing("start_now")).schedule
        serving = [{k for k in range(case.nodes) if found.share[:, k, h].any()} for h in range(case.slots)]
        holds(case, found, eprons(case, kind, key, serving))


@pytest.mark.quick(2)
@pytest.mark.parametrize("kind", GUARDS)
def test_worst_off_first(kind: int) -> None:
    for seed in SEEDS:
        case = random_case(seed)
        cluster = case.cluster(case.length.astype(np.float64))
        found = make_plan(cluster, case.guard(kind), case.serving(POOLS), Placing("by_performance")).schedule
        run, pools = pa_mbt(case, kind)
        holds(case, found, run)
        for h in range(case.slots):
            for s, pool in enumerate(pools[h]):
                load = case.load[s, h]
                rates = {k: case.rate[s, case.class_of[k]] for k in pool}
                time = response_time(list(rates.values()), load)
                weights = {k: cap(r, time) if np.isfinite(time) else r for k, r in rates.items()}
                wanted = np.zeros(case.nodes)
                for k, weight in weights.items():
                    wanted[k] = load * weight / sum(weights.values())
                assert np.allclose(found.share[s, :, h], wanted, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("kind", GUARDS[:3])
@pytest.mark.parametrize("singly", [False, True])
def test_cheapest_slots_ahead(kind: int, singly: bool) -> None:
    for seed in SEEDS:
        case = random_case(seed)
        key = case.price[None, None, :] * case.power[:, :, None]
        cluster = case.cluster(key, until_due=True)
        placing = Placing("cheapest_block", singly=singly)
        found = make_plan(cluster, case.guard(kind), case.serving(UNSERVED), placing).schedule
        assert plan_of(found) == valley(case, kind, key, singly)


@pytest.mark.slow
def test_more_seeds() -> None:
    for seed in range(1000, 2500):
        case = random_case(seed)
        kind = seed % 4
        cluster = case.cluster(case.length.astype(np.float64))
        found = make_plan(cluster, case.guard(kind), case.serving(POOLS), Placing("by_performance")).schedule
        holds(case, found, pa_mbt(case, kind)[0])
        cluster = case.cluster(np.zeros(case.length.shape))
        found = make_plan(cluster, case.guard(kind), case.serving(IN_TURN), Placing("start_now", True, True)).schedule
        holds(case, found, fifo(case, kind))
