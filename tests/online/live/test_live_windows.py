"""Live runs slot by slot: they decide and pay what a simulated run does, whatever the events, gaps and kills."""

from __future__ import annotations

from typing import Any

import pytest
from live_windows import Decisions, live, longer, simulated, window_setup
from online_texts import ROLLING
from window_cases import drawn_window


def check_equal(text: str, online: str, scenario: str | None, method: str, slots: int) -> list[dict[str, Any]]:
    """Compare a live run with the simulated run that gave its events; return the records of the live run."""
    expected, events = simulated(window_setup(text, online, scenario, method), slots)
    found, records, loop = live(window_setup(text, online, scenario, method, external=True), events, slots)
    assert not [record for record in records if record["kind"] == "error"]
    assert_alike(found, expected)
    assert records[-1]["result"]["total"] == pytest.approx(loop.outcome("").total)
    return records


def assert_alike(found: Decisions, expected: Decisions) -> None:
    assert found.running == expected.running
    assert [(at, why) for at, why, _ in found.plans] == [(at, why) for at, why, _ in expected.plans]
    assert [values for _, _, values in found.plans] == [values for _, _, values in expected.plans]
    assert found.ends == pytest.approx(expected.ends)
    assert found.costs == pytest.approx(expected.costs, abs=1e-9)


@pytest.mark.parametrize("scenario", ["ValleysByNode", "ExclusionByNode"])
def test_price_aware_training_is_the_same_live(scenario: str) -> None:
    text = ROLLING.replace("lookahead 100", "lookahead 4")
    check_equal(text, "Rolling", scenario, "highs", 2)


@pytest.mark.parametrize("seed", range(50))
def test_random_blocks_are_the_same_live(seed: int) -> None:
    case = drawn_window(seed)
    check_equal(longer(case).text, "Block", None, case.method, case.horizon)
