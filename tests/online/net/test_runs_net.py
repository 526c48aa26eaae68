"""Random runs: one result by every road, and that of a simulator which knows the documentation alone."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from net_cases import drawn
from net_roads import check, smallest
from net_simulator import Simulation

WITH_JOURNAL = 10  # one case in so many is recorded, killed, resumed and estimated too


def hunt(seeds: range, folder: Path) -> dict[str, int]:
    """Check the cases of these seeds; how many there were of some kinds. Fails with the smallest case that fails."""
    counts = dict.fromkeys(("cases", "replayed", "finished", "stuck", "events", "plans"), 0)
    for seed in seeds:
        case, place = drawn(seed), folder if seed % WITH_JOURNAL == 0 else None
        told = check(case, place)
        if told.wrong:
            less = smallest(case, place)
            pytest.fail(f"seed {seed}: {told.wrong}\n{check(less, place).wrong}\n{less.text}")
        counts["cases"] += 1
        counts["replayed"] += told.replayed
        counts[told.ended] += 1
        counts["plans"] += told.plans
    return counts


def test_a_hundred_random_runs(tmp_path: Path) -> None:
    counts = hunt(range(100), tmp_path)
    assert counts["cases"] == 100
    assert counts["replayed"] >= 10, counts
    assert counts["finished"] >= 60, counts
    assert counts["stuck"] >= 1, counts
    assert counts["plans"] >= 500, counts


@pytest.mark.slow
@pytest.mark.parametrize("part", range(10))
def test_five_thousand_random_runs(part: int, tmp_path: Path) -> None:
    first = 10_000 + 500 * part
    assert hunt(range(first, first + 500), tmp_path)["replayed"] >= 50


def test_the_net_catches_a_price_that_is_charged_wrongly(tmp_path: Path) -> None:
    """The simulator is no copy of the engine's result: another tariff is another bill."""
    seed = next(s for s in range(1000) if drawn(s).factor == "tariff" and "price" in drawn(s).carries)
    case = drawn(seed)
    assert not check(case).wrong
    other = Simulation(replace(case, tariff=tuple(p + 1 for p in case.tariff))).run()
    assert other.terms != Simulation(case).run().terms
