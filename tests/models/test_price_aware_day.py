"""The shipped day is planned within 1 % of the optimum, nodes counted by type."""

from __future__ import annotations

from pathlib import Path

import pytest

import gpusched_dsl as gs

DAY = Path(__file__).resolve().parents[2] / "models" / "price_aware" / "scenarios" / "day.gsm"


@pytest.mark.slow
def test_the_day_is_planned_to_one_percent() -> None:
    result = gs.load(DAY).solve("DayByType", gap=0.01, time_limit=600)
    assert result.status == "optimal"
    assert result.gap is not None
    assert result.gap <= 0.01
    assert result.objective == pytest.approx(0.79, abs=0.01)
    assert len({job for job, *_ in result["train"].rows()}) == 30
