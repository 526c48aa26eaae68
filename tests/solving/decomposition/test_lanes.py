"""Cheapest plans of lanes against trying all of them."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from gpusched_dsl.solving.decomposition.lanes import LanePlanner, Lanes


def cost(active: tuple[bool, ...], slot: np.ndarray, start: np.ndarray, running: bool) -> float:
    total, before = 0.0, running
    for t, now in enumerate(active):
        if now:
            total += slot[t] + (0.0 if before else start[t])
        before = now
    return total


def cheapest(slot: np.ndarray, start: np.ndarray, work: int, exact: bool, running: bool) -> float:
    plans = [p for p in product((False, True), repeat=len(slot)) if (sum(p) == work if exact else sum(p) >= work)]
    return min((cost(p, slot, start, running) for p in plans), default=np.inf)


@pytest.mark.parametrize("seed", range(60))
def test_plans_are_cheapest(seed: int) -> None:
    """Lanes of all sorts in one call: exact or at least, running before or not, slots that cannot be used."""
    random = np.random.default_rng(seed)
    count = int(random.integers(1, 12))
    lengths = random.integers(1, 9, count)
    work = np.array([random.integers(0, n + 2) for n in lengths])
    starts = np.concatenate(([0], np.cumsum(lengths)))
    exact, running = random.random(count) < 0.5, random.random(count) < 0.3
    slot = random.normal(0, 3, starts[-1])
    slot[random.random(starts[-1]) < 0.1] = np.inf
    start = random.random(starts[-1]) * 2
    planner = LanePlanner(Lanes(starts, work, exact, running))
    for slots in (slot, slot[::-1].copy()):  # the planner is used again and again
        values, active = planner.solve(slots, start)
        for a in range(count):
            own = slice(starts[a], starts[a + 1])
            best = cheapest(slots[own], start[own], work[a], exact[a], running[a])
            assert values[a] == pytest.approx(best, abs=1e-9), (seed, a)
            if np.isfinite(best):
                plan = tuple(active[own].tolist())
                assert cost(plan, slots[own], start[own], running[a]) == pytest.approx(best, abs=1e-9)
                assert sum(plan) == work[a] if exact[a] else sum(plan) >= work[a]
            else:
                assert not active[own].any()


def test_work_goes_to_the_cheap_slots_unless_starting_is_dear() -> None:
    lanes = Lanes(np.array([0, 6]), np.array([3]), np.array([True]), np.array([False]))
    slots = np.array([30.0, 10.0, 40.0, 12.0, 45.0, 14.0])
    values, active = LanePlanner(lanes).solve(slots, np.full(6, 1.0))
    assert values[0] == 39.0
    assert active.tolist() == [False, True, False, True, False, True]
    values, active = LanePlanner(lanes).solve(slots, np.full(6, 20.0))
    assert values[0] == 82.0
    assert active.tolist() == [False, True, True, True, False, False]
