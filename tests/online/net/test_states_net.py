"""Random blocks with accumulated values and dates: equal by every road, and by simulators based on the pages."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from net_hunt import STATE_WINDOWS, STATES, hunt
from state_cases import StateCase, drawn_state, text_of
from state_roads import check_state
from state_window_roads import check_state_windows
from state_windows import StateWindowCase, drawn_state_window
from state_windows import text_of as text_of_window

WITH_JOURNAL = 8  # one case in so many is recorded, killed and resumed, and live


@pytest.mark.parametrize("cases", [10, pytest.param(25, marks=pytest.mark.slow)])
def test_random_runs_with_accumulated_values(cases: int, tmp_path: Path) -> None:
    counts = hunt(STATES, range(cases), tmp_path, WITH_JOURNAL)
    assert counts["cases"] == cases
    assert counts["finished"] >= 0.6 * cases, counts


@pytest.mark.parametrize("cases", [9, pytest.param(15, marks=pytest.mark.slow)])
def test_random_windows_with_accumulated_values(cases: int, tmp_path: Path) -> None:
    counts = hunt(STATE_WINDOWS, range(cases), tmp_path, WITH_JOURNAL)
    assert counts["horizon"] == counts["cases"] == cases
    assert counts["plans"] >= 10 / 3 * cases, counts


@pytest.mark.slow
@pytest.mark.parametrize("part", range(10))
def test_many_random_runs_with_accumulated_values(part: int, tmp_path: Path) -> None:
    first = 10_000 + 280 * part
    counts = hunt(STATES, range(first, first + 280), tmp_path, WITH_JOURNAL)
    assert counts["finished"] >= 160, counts


@pytest.mark.slow
@pytest.mark.parametrize("part", range(5))
def test_many_random_windows_with_accumulated_values(part: int, tmp_path: Path) -> None:
    first = 10_000 + 240 * part
    assert hunt(STATE_WINDOWS, range(first, first + 240), tmp_path, WITH_JOURNAL)["plans"] >= 800


def test_the_net_catches_another_half_life(monkeypatch: pytest.MonkeyPatch) -> None:
    """The blocks that are run have another half-life than the cases of the simulator."""
    cases = (c for c in map(drawn_state, range(25)) if any(a.form == "decay" for a in c.accumulators))
    own = text_of

    def other(case: StateCase) -> str:
        return own(replace(case, accumulators=tuple(replace(a, half=0.25) for a in case.accumulators)))

    with monkeypatch.context() as changed:
        changed.setattr(StateCase, "text", property(other))
        caught = next(case for case in cases if check_state(case).wrong)
    assert not check_state(caught).wrong


def test_the_net_catches_a_budget_that_begins_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    case = next(c for c in map(drawn_state_window, range(1000)) if c.budget and c.usage == "energy")
    assert not check_state_windows(case).wrong
    top, used, had = case.start
    monkeypatch.setattr(StateWindowCase, "text", text_of_window(replace(case, start=(top, used + 1, had))))
    assert any("used" in wrong for wrong in check_state_windows(case).wrong)
