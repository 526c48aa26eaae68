"""A start with values of continuous columns only is no start for a problem with integers."""

from __future__ import annotations

import numpy as np
import pytest
from building import at_least, minimize, problem

from gpusched_dsl.solving.primal import mip_start, start
from gsdsl_backends.protocol import SolveOptions
from gsdsl_backends.registry import backend

NAN = float("nan")


@pytest.mark.parametrize(
    ("integer", "given", "expected"), [([0], [NAN, 1], False), ([0], [1, NAN], True), ([], [NAN, 1], True)]
)
def test_values_of_integers_are_completed(
    integer: list[int], given: list[float], expected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    completed = []
    monkeypatch.setattr(mip_start, "complete", lambda *_: completed.append(1) or mip_start.StartCompletion(None))
    one = problem(minimize(1, 5), columns=2, rows=[at_least(3, 2, 1)], upper=[3, 10], integer=integer)
    found = start.find_mip_start(one, backend("highs"), SolveOptions(), np.array(given), None)
    assert bool(completed) is (expected and bool(integer))
    assert (found.point is None) is (bool(integer))
    assert (found.warnings != ()) is bool(completed)
