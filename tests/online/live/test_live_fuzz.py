"""Extreme events in any order: every line is answered, and a run that was killed comes to the same decisions."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from live_fuzz import check


def test_extreme_events_quickly(tmp_path: Path) -> None:
    found = check(5, 40, tmp_path)
    assert found["decision"] >= 5
    assert found["GSM7007"] >= 3
    assert found["GSM5207"] >= 3


@pytest.mark.slow
def test_extreme_events(tmp_path: Path) -> None:
    total = Counter[str]()
    for seed in range(200):
        total += check(seed, 40, tmp_path, "highs" if seed % 10 == 0 else "Greedy")
    assert total["runs"] == 200
    assert total["decision"] >= 2000
