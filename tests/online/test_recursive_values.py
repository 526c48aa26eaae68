"""Runs whose plans read parameters that are evaluated together are those of the same values without recursion."""

from __future__ import annotations

import random

import pytest
from online_texts import MACHINES, machines, run

PLAIN = "param left[j in Jobs] in h = remaining[j] * length[j];"
CIRCLE = """set Steps ordered = 1..3;
  param whole[t in Steps, j in Jobs] in h = if ord(t) == 1 then remaining[j] * length[j] else 2 * half[prev(t), j];
  param half[t in Steps, j in Jobs] in h = whole[t, j] / 2;
  param left[j in Jobs] in h = whole[last(Steps), j];"""


@pytest.mark.parametrize("method", ["FIFO", "SRPT", "highs"])
@pytest.mark.parametrize("fast", [True, False])
def test_plans_that_read_circles(method: str, fast: bool) -> None:
    draw = random.Random(method)
    jobs = [(round(draw.uniform(0, 4), 2), round(draw.uniform(0.3, 3), 2)) for _ in range(8)]
    text = machines(2, jobs, due=[draw.uniform(1, 6) for _ in jobs])
    assert PLAIN in MACHINES
    plain = run(text, method=method, fast=fast)
    circle = run(text.replace(PLAIN, CIRCLE), method=method, fast=fast)
    assert circle.total == pytest.approx(plain.total)
    assert circle.world.end == pytest.approx(plain.world.end)
