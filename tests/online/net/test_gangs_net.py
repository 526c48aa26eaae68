"""Random blocks with gangs: equal by every road, and by simulators based on the pages."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from gang_cases import GangCase, drawn_gangs, text_of_gangs
from gang_roads import check_gangs
from gang_windows import GangWindowCase, drawn_gang_window, text_of_gang_windows
from net_hunt import GANG_WINDOWS, GANGS, hunt
from state_window_roads import check_state_windows

WITH_JOURNAL = 10  # one case in so many is recorded, killed and resumed, and live


@pytest.mark.parametrize("cases", [16, pytest.param(40, marks=pytest.mark.slow)])
def test_random_runs_with_gangs(cases: int, tmp_path: Path) -> None:
    counts = hunt(GANGS, range(cases), tmp_path, WITH_JOURNAL)
    assert counts["cases"] == cases
    assert counts["finished"] >= 0.625 * cases, counts
    assert counts["plans"] >= 7.5 * cases, counts


@pytest.mark.parametrize("cases", [10, pytest.param(20, marks=pytest.mark.slow)])
def test_random_windows_with_gangs(cases: int, tmp_path: Path) -> None:
    counts = hunt(GANG_WINDOWS, range(cases), tmp_path, WITH_JOURNAL)
    assert counts["horizon"] == counts["cases"] == cases
    assert counts["plans"] >= 3 * cases, counts


@pytest.mark.slow
@pytest.mark.parametrize("part", range(3))
def test_many_random_windows_with_gangs(part: int, tmp_path: Path) -> None:
    first = 10_000 + 100 * part
    assert hunt(GANG_WINDOWS, range(first, first + 100), tmp_path, WITH_JOURNAL)["plans"] >= 300


@pytest.mark.slow
@pytest.mark.parametrize("part", range(7))
def test_many_random_runs_with_gangs(part: int, tmp_path: Path) -> None:
    first = 10_000 + 100 * part
    assert hunt(GANGS, range(first, first + 100), tmp_path, WITH_JOURNAL)["finished"] >= 50


EVENT_CHANGES: dict[str, Callable[[GangCase], GangCase]] = {
    "factors": lambda case: replace(case, across=tuple(f + 0.5 for f in case.across)),
    "costs by node": lambda case: (
        replace(case, by_node=case.by_node - {"start", "boot"}) if case.costs.keys() & {"start", "boot"} else case
    ),
    "racks": lambda case: replace(case, racks=("r0",) * len(case.racks)) if len(case.across) == 2 else case,
    "keys of choose": lambda case: case if case.solved else replace(case, choose=case.choose[1:]),
}
WINDOW_CHANGES: dict[str, Callable[[GangWindowCase], GangWindowCase]] = {
    "factors": lambda case: replace(case, across=(case.across[0] + 0.5, case.across[1] + 1)),
    "workers": lambda case: replace(case, workers=(1,) * len(case.workers)),
}


@pytest.mark.parametrize("what", EVENT_CHANGES)
def test_the_net_catches_other_blocks(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The blocks that are run differ from the cases of the simulator."""
    change = EVENT_CHANGES[what]
    cases = [case for case in map(drawn_gangs, range(120)) if change(case) != case]
    monkeypatch.setattr(GangCase, "text", property(lambda case: text_of_gangs(change(case))))
    assert any(check_gangs(case).wrong for case in cases)


@pytest.mark.parametrize("what", WINDOW_CHANGES)
def test_the_net_catches_other_windows(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    change = WINDOW_CHANGES[what]
    cases = [case for case in map(drawn_gang_window, range(20)) if change(case) != case][:5]
    monkeypatch.setattr(GangWindowCase, "text", property(lambda case: text_of_gang_windows(change(case))))
    assert any(check_state_windows(case).wrong for case in cases)
