"""Random blocks with gangs: equal by every road, and by simulators based on the pages."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from gang_cases import GangCase, drawn_gangs, text_of_gangs
from gang_roads import check_gangs
from net_hunt import GANGS, hunt

WITH_JOURNAL = 8  # one case in so many is recorded, killed and resumed, and live


def test_forty_random_runs_with_gangs(tmp_path: Path) -> None:
    counts = hunt(GANGS, range(40), tmp_path, WITH_JOURNAL)
    assert counts["cases"] == 40
    assert counts["finished"] >= 25, counts
    assert counts["plans"] >= 500, counts


@pytest.mark.slow
@pytest.mark.parametrize("part", range(7))
def test_many_random_runs_with_gangs(part: int, tmp_path: Path) -> None:
    first = 10_000 + 100 * part
    assert hunt(GANGS, range(first, first + 100), tmp_path, WITH_JOURNAL)["finished"] >= 50


@pytest.mark.parametrize(
    ("lines", "change"),
    [
        ("across_nodes", lambda case: replace(case, across=tuple(f + 0.5 for f in case.across))),
        ("costs", lambda case: replace(case, by_node=frozenset())),
        ("racks", lambda case: replace(case, racks=("r0",) * len(case.racks))),
    ],
)
def test_the_net_catches_other_blocks(lines: str, change, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def]
    """The blocks that are run differ from the cases of the simulator."""
    cases = [drawn_gangs(seed) for seed in range(25)]
    cases = [case for case in cases if change(case).text != case.text][:8]
    monkeypatch.setattr(GangCase, "text", property(lambda case: text_of_gangs(change(case))))
    assert any(check_gangs(case).wrong for case in cases), lines
