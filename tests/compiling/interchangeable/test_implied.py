"""Rows of an element that rows over all elements imply, and rows that look alike but are not implied."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from summing import Case, case_of, check_exact

from gpusched_dsl.compiling.interchangeable.implied import implied_links
from gpusched_dsl.compiling.interchangeable.patterns import by_patterns

TEXT = """model Linked {
  set Nodes;
  set Jobs;
  var run[Jobs, Nodes] BOUNDS;
  var runs[Jobs] SHARED;
  var loose >= 0 <= 9;
  constraint link[j in Jobs, n in Nodes]: LINK;
  constraint all_of_it[j in Jobs]: SUM;
  constraint fits[n in Nodes]: sum[j in Jobs] run[j, n] <= 1;
  constraint once[j in Jobs]: sum[n in Nodes] run[j, n] <= 1;
  maximize gain: sum[j in Jobs] runs[j] - 0.1 * sum[j in Jobs, n in Nodes] run[j, n];
}
scenario Small for Linked { Nodes = 1..3; Jobs = { a, b }; }
"""
USUAL = ("binary", "binary", "run[j, n] <= runs[j]", "sum[n in Nodes] run[j, n] == runs[j]")
IMPLIED = {
    "equality": USUAL,
    "the other way round": ("binary", "binary", "runs[j] >= run[j, n]", "runs[j] == sum[n in Nodes] run[j, n]"),
    "an upper side": (USUAL[0], USUAL[1], USUAL[2], "sum[n in Nodes] run[j, n] <= runs[j]"),
    "a lower side": (USUAL[0], USUAL[1], USUAL[2], "0 <= runs[j] - sum[n in Nodes] run[j, n]"),
    "with slack": (USUAL[0], USUAL[1], "2 * run[j, n] - 3 * runs[j] <= 1", USUAL[3]),
    "the same ratio": (
        USUAL[0],
        USUAL[1],
        "2 * run[j, n] <= 3 * runs[j]",
        "sum[n in Nodes] 4 * run[j, n] <= 6 * runs[j]",
    ),
    "a shared column that may be negative": (USUAL[0], "integer >= -2 <= 2", USUAL[2], USUAL[3]),
    "other columns that help": (USUAL[0], USUAL[1], USUAL[2], "sum[n in Nodes] run[j, n] + loose <= runs[j]"),
}
NOT = {
    "only part of it is enough": (*USUAL[:3], "sum[n in Nodes] run[j, n] >= runs[j]"),
    "a larger ratio": (USUAL[0], USUAL[1], USUAL[2], "sum[n in Nodes] run[j, n] <= 1.5 * runs[j]"),
    "a constant in the sum": (*USUAL[:3], "sum[n in Nodes] run[j, n] <= runs[j] + 1"),
    "a constant in the link": (USUAL[0], USUAL[1], "run[j, n] <= runs[j] - 1", USUAL[3]),
    "a column that may be negative": ("integer >= -1 <= 1", *USUAL[1:]),
    "another that may be negative": (*USUAL[:3], "sum[n in Nodes] run[j, n] - loose == runs[j]"),
    "the other direction": (USUAL[0], USUAL[1], "run[j, n] >= runs[j]", USUAL[3]),
    "both directions": (USUAL[0], USUAL[1], "0 <= runs[j] - run[j, n] <= 1", USUAL[3]),
    "a sum of both signs": (USUAL[0], USUAL[1], "run[j, n] + runs[j] <= 1", USUAL[3]),
    "another shared column": (USUAL[0], USUAL[1], "run[j, n] <= loose", USUAL[3]),
    "a sum of some": (*USUAL[:3], 'sum[n in Nodes] run["a", n] <= runs["a"]'),
}


def linked(folder: Path, bounds: str, shared: str, link: str, total: str) -> Case:
    text = TEXT.replace("BOUNDS", bounds).replace("SHARED", shared).replace("LINK", link).replace("SUM", total)
    return case_of(folder, text, "Nodes")


def gone(made: Case) -> list[bool]:
    """Of which jobs the link is implied; other rows of nodes never are."""
    small = made.small
    rows = np.flatnonzero(small.row_class >= 0)
    found = implied_links(small, rows)
    family = next(f for f in small.problem.constraints if f.name == "link")
    inside = (rows >= family.first) & (rows < family.stop)
    assert not found[~inside].any()
    return [bool(f) for f in found[inside]]


@pytest.mark.quick(6)
@pytest.mark.parametrize("why", IMPLIED)
def test_implied(tmp_path: Path, why: str) -> None:
    made = linked(tmp_path, *IMPLIED[why])
    assert gone(made) == [True, True]
    check_exact(made, why, (by_patterns,))


@pytest.mark.quick(6)
@pytest.mark.parametrize("why", NOT)
def test_not_implied(tmp_path: Path, why: str) -> None:
    made = linked(tmp_path, *NOT[why])
    assert gone(made) == ([True, False] if why == "a sum of some" else [False, False])


def test_random_links_are_implied_where_no_point_breaks_them(tmp_path: Path) -> None:
    """a x <= b z + u with p sum x <= q z: implied at all points with x, z >= 0 exactly if q / p <= b / a (u = 0)."""
    random = np.random.default_rng(0)
    found = []
    for _ in range(12):
        a, b, p, q = random.integers(1, 4, 4)
        made = linked(tmp_path, "binary", "binary", f"{a} * run[j, n] <= {b} * runs[j]",
                      f"sum[n in Nodes] {p} * run[j, n] <= {q} * runs[j]")  # fmt: skip
        assert gone(made) == 2 * [bool(q / p <= b / a)]
        found.append(q / p <= b / a)
        check_exact(made, (a, b, p, q), (by_patterns,)) if found[-1] else None
    assert len(set(found)) == 2
