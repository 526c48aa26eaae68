"""Extreme events in any order: every line is answered, and a killed run makes the same decisions."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from live_fuzz import check


@pytest.mark.slow
def test_extreme_events_quickly(tmp_path: Path) -> None:
    found = check(5, 40, tmp_path)
    assert found["decision"] >= 5
    assert found["GSM7007"] >= 3
    assert found["GSM5207"] >= 3


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 100, 25))
def test_extreme_events(tmp_path: Path, first: int) -> None:
    """100 runs; about half of the events are too extreme and refused."""
    total = Counter[str]()
    for seed in range(first, first + 25):
        total += check(seed, 40, tmp_path, "highs" if seed % 10 == 0 else "Greedy")
    assert total["runs"] == 25
    assert total["ack"] >= 250
    assert total["decision"] >= 120
