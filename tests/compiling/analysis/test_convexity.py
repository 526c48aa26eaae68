"""Terms classified as convex are convex at many points, and all others are nonconvex somewhere."""

from __future__ import annotations

import numpy as np
import pytest
from drafts import Draft
from hypothesis import given, settings
from hypothesis import strategies as st

from gpusched_dsl.ir.definitions import Curves, Definition

CURVES = Curves(
    np.array([0, 3, 5]), np.array([0.0, 1, 2, 0, 1]), np.array([0.0, 2, 1, 0, 0]), np.array([1.0, -1.0]),
    np.array([0.0, 1.0]), np.zeros(2),
)  # fmt: skip
KINDS = ("product", "square", "largest", "smallest", "power", "piecewise", "abs", "exp", "log")
ends = st.sampled_from([-2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0])


def function(kind: str, exponent: float) -> Definition:
    draft = Draft()
    x = draft.columns("x", 2)
    match kind:
        case "product":
            draft.product("r", [x])
        case "square":
            draft.product("r", [[x[0], x[0]]])
        case "largest":
            draft.largest("r", [x])
        case "smallest":
            draft.smallest("r", [x])
        case "power":
            draft.power("r", [x[0]], [exponent])
        case "piecewise":
            draft.piecewise("r", [x[0]], [int(exponent > 0)], CURVES)
        case _:
            draft.unary("r", kind, [x[0]])
    return draft.definitions[0]


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(
    st.sampled_from(KINDS),
    st.sampled_from([-2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0]),
    st.lists(st.tuples(ends, ends).map(sorted), min_size=2, max_size=2),
)
def test_shapes_are_those_of_values(kind: str, exponent: float, ranges: list[list[float]]) -> None:
    definition = function(kind, exponent)
    count = definition.arguments.count
    if kind == "square":
        ranges = [ranges[0]] * 2
    low, high = np.array(ranges[:count]).T
    if kind == "power" and exponent < 0 and low[0] <= 0 <= high[0]:
        return  # no value at 0: nothing is promised of such a range
    convex, concave = (bool(f[0]) for f in definition.convexity(low, high))
    random = np.random.default_rng(0)
    one, other = (low + random.random((400, count)) * (high - low) for _ in range(2))
    if kind == "square":
        one[:, 1], other[:, 1] = one[:, 0], other[:, 0]
    repeated = definition.take(np.zeros(400, dtype=np.int64))
    with np.errstate(all="ignore"):
        a, b, middle = (repeated.evaluate(p.ravel()) for p in (one, other, (one + other) / 2))
        bend = (a + b) / 2 - middle
    values = np.isfinite(bend)
    up, down = bool((bend[values] > 1e-9).any()), bool((bend[values] < -1e-9).any())
    assert not (convex and down)
    assert not (concave and up)
    if kind not in ("largest", "smallest") and values.all():
        assert (convex, concave) == (not down, not up)
