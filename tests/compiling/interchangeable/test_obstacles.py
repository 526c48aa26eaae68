"""Couplings of the elements of a set are refused, with their line."""

from __future__ import annotations

import pytest
from rented import LIMITS, line_of, read, rented

from gpusched_dsl.compiling.interchangeable.equivalence_classes import classes_of
from gpusched_dsl.compiling.interchangeable.generic import Obstacle
from gpusched_dsl.compiling.interchangeable.quotient import quotient

COUPLED = "contains a sum over all elements"
OBSTACLES = {
    "a sum in a row of an element": (
        "", "constraint c[m in Machines]: on[m] <= sum[k in Machines] on[k] - 1;", COUPLED,
    ),
    "a sum of another index in a row of an element": (
        "", "constraint c[m in Machines, j in Jobs]: does[j, m] <= sum[k in Machines] does[j, k];", COUPLED,
    ),
    "all others": ("", "constraint c[m in Machines]: on[m] <= sum[k in Machines where k != m] on[k];", COUPLED),
    "two elements index a row": (
        "", "constraint c[m in Machines, k in Machines where m != k]: on[m] + on[k] <= 1;", "two elements of",
    ),
    "two elements index a variable": (
        "var both[Machines, Machines] binary;", "constraint c: sum[m in Machines, k in Machines] both[m, k] <= 1;",
        "two elements of",
    ),
    "a sum over pairs": (
        "", "constraint c: sum[m in Machines, k in Machines] (on[m] + on[k]) <= 9;", "a sum over pairs",
    ),
    "a sum in a sum": (
        "", "constraint c: sum[m in Machines] sum[k in Machines] on[k] <= 9;", COUPLED,
    ),
    "a let that sums": (
        "let every = sum[k in Machines] on[k];", "constraint c[m in Machines]: on[m] <= every;", COUPLED,
    ),
    "a let that uses one that sums": (
        "let every = sum[k in Machines] on[k]; let more = 2 * every;",
        "constraint c[m in Machines]: on[m] <= more;", COUPLED,
    ),
    "a let that sums used in another row first": (
        "let every = sum[k in Machines] on[k]; let more = 2 * every;",
        "constraint b: more >= 1; constraint a: every >= 1;\n  constraint c[m in Machines]: on[m] <= more;", COUPLED,
    ),
    "a let of a job that sums": (
        "let hosts[j in Jobs] = sum[k in Machines] does[j, k];",
        "constraint c[m in Machines, j in Jobs]: does[j, m] <= hosts[j];", COUPLED,
    ),
    "a let that sums in a sum": (
        "let every = sum[k in Machines] on[k];", "constraint c: sum[m in Machines] (on[m] + every) <= 9;", COUPLED,
    ),
    "the largest": ("", "constraint c: max[m in Machines] on[m] <= 1;", "`max` over elements"),
    "the smallest of a subset": (
        "set Big = { m in Machines where size[m] > 0 };", "constraint c: min[m in Big] on[m] >= 0;",
        "`min` over elements",
    ),
}  # fmt: skip


@pytest.mark.parametrize("why", OBSTACLES)
def test_the_right_line_is_named(why: str) -> None:
    declared, rows, words = OBSTACLES[why]
    text = rented(declared, rows)
    model, store = read(text)
    with pytest.raises(Obstacle, match=words) as refused:
        quotient(model, store, "Machines", classes_of(model, store, "Machines"), LIMITS)
    assert refused.value.span is not None
    piece = "var both" if "index a variable" in why else "constraint c"
    assert refused.value.span.line == line_of(text, piece)
