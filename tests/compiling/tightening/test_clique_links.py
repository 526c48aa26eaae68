"""Links of many choices to one column: which become one row, under which index, and that the optimum stays."""

from __future__ import annotations

from contextlib import suppress

import numpy as np
import pytest
from as_text import as_text
from brute import Unsupported, apply
from choices import assert_no_weaker, random_choices
from drafts import Draft

import gpusched_dsl as gs
from gpusched_dsl.compiling.passes.steps import Analysis, Target
from gpusched_dsl.compiling.tightening.clique_links import CliqueLinks

INF = np.inf


def linked(draft: Draft, links: list[tuple[int, int]]) -> list[int]:
    """x <= y in every form."""
    forms = [
        (-INF, 1.0, 0.0),
        (0.0, -3.0, INF),
        (-INF, 0.5, 0.0),
    ]
    rows = [(low, {x: f, y: -f}, high) for (x, y), (low, f, high) in zip(links, forms * len(links), strict=False)]
    return draft.rows("link", rows)


def test_links_of_choices_become_one_row() -> None:
    draft = Draft()
    x, w, y = draft.columns("x", 3), draft.columns("w", 2), draft.columns("y", 2)
    draft.rows("one", [(-INF, dict.fromkeys(x, 1), 1)])
    linked(draft, [(x[0], y[0]), (w[0], y[0]), (x[1], y[1]), (x[2], y[0]), (x[0], y[1]), (x[1], y[0]), (w[1], y[1])])
    draft.maximize({x[0]: 3, x[1]: 2, x[2]: 2, w[0]: 1, y[0]: -4, y[1]: -1})
    reformulated = assert_no_weaker(draft.problem(), CliqueLinks())
    assert (
        as_text(reformulated.problem)
        == """\
maximize 3 x[1] + 2 x[2] + 2 x[3] + w[1] - 4 y[1] - y[2]
  one[1]: x[1] + x[2] + x[3] <= 1
  link[2]: 0 <= -3 w[1] + 3 y[1]
  link[7]: w[2] - y[2] <= 0
  link.once[1]: x[1] + x[2] + x[3] - y[1] <= 0
  link.once[2]: x[1] + x[2] - y[2] <= 0
over
  x[1] binary
  x[2] binary
  x[3] binary
  w[1] binary
  w[2] binary
  y[1] binary
  y[2] binary
"""
    )
    assert reformulated.rows is not None
    assert reformulated.rows.tolist() == [0, 3, 1, 4, 3, 4, 3, 2]
    assert [(n.term, n.entries, n.rows) for n in reformulated.notes] == [("link", 5, -3)]


def test_a_link_that_is_stated_twice_counts_once() -> None:
    draft = Draft()
    x, y = draft.columns("x", 2), draft.columns("y")[0]
    draft.rows("one", [(-INF, dict.fromkeys(x, 1), 1)])
    linked(draft, [(x[0], y), (x[1], y), (x[0], y)])
    draft.maximize({x[0]: 1, x[1]: 1, y: -1})
    reformulated = assert_no_weaker(draft.problem(), CliqueLinks())
    assert as_text(reformulated.problem).splitlines()[2:4] == [
        "  link[3]: 0.5 x[1] - 0.5 y[1] <= 0",
        "  link.once: x[1] + x[2] - y[1] <= 0",
    ]


def test_sets_that_rows_state_come_before_those_that_coefficients_force() -> None:
    draft = Draft()
    x, y = draft.columns("x", 4), draft.columns("y")[0]
    draft.rows("room", [(-INF, {x[0]: 3, x[1]: 3, x[2]: 3}, 5)])
    draft.rows("one", [(-INF, {x[2]: 1, x[3]: 1}, 1)])
    linked(draft, [(c, y) for c in x])
    draft.maximize({x[0]: 3, x[1]: 2, x[2]: 2, x[3]: 2, y: -4})
    reformulated = assert_no_weaker(draft.problem(), CliqueLinks())
    assert as_text(reformulated.problem).splitlines()[3:5] == [
        "  link.once[1]: x[1] + x[2] - y[1] <= 0",
        "  link.once[2]: x[3] + x[4] - y[1] <= 0",
    ]


def test_what_is_no_link_stays() -> None:
    draft = Draft()
    x, y, n = draft.columns("x", 3), draft.columns("y", 2), draft.columns("n", 1, 0, 2)[0]
    read = draft.largest("read", [[x[0], y[0]]])[0]
    draft.rows("one", [(-INF, dict.fromkeys(x, 1), 1)])
    for name, low, body, high in (
        ("whole", -INF, {n: -1}, 0),
        ("twice", -INF, {y[1]: -0.5}, 0),
        ("equal", 0, {y[1]: -1}, 0),
        ("room", -INF, {y[1]: -1}, 1),
        ("sum", -INF, {y[1]: 1}, 0),
        ("known", -INF, {y[0]: -1}, 0),
        ("result", -INF, {read: -1}, 0),
    ):
        draft.rows(name, [(low, {c: 1.0} | body, high) for c in x[1:]])
    draft.rows("when", [(-INF, {c: 1.0, y[1]: -1}, 0) for c in x[1:]], when=(x[0], True))
    assert apply(draft.problem(), CliqueLinks()).notes == ()


MODEL = """
model M {
  set Jobs; set Nodes; param sizes[Nodes] integer default 3;
  set Ways = { (n, g) : n in Nodes, g in 1..sizes[n] };
  var run[Jobs, Ways] binary; var on[Nodes] binary;
  maximize most: sum[j in Jobs, (n, g) in Ways] g * run[j, n, g] - sum[n in Nodes] 2 * on[n];
  constraint once[j in Jobs]: sum[(n, g) in Ways] run[j, n, g] <= 1;
  constraint hosted[j in Jobs, (n, g) in Ways]: run[j, n, g] <= on[n];
}
scenario S for M { Jobs = { a, b }; Nodes = { n1, n2 }; }
"""


def test_the_new_row_has_the_index_that_the_old_ones_have_in_common() -> None:
    problem = gs.compile(MODEL)
    step = CliqueLinks().apply(Analysis(problem, swept=True), Target("test"))
    family = step.problem.constraint("hosted.once")[0]
    assert [family.index_of(i) for i in range(family.first, family.stop)] == [
        ("a", "n1"), ("b", "n1"), ("a", "n2"), ("b", "n2"),
    ]  # fmt: skip
    assert family.span == problem.constraint("hosted")[0].span
    assert [f.name for f in step.problem.constraints] == ["once", "hosted.once"]


def check(rng: np.random.Generator) -> int:
    with suppress(Unsupported):
        return bool(assert_no_weaker(random_choices(rng, penalties=1), CliqueLinks()).notes)
    return 0


def test_same_optimum_and_no_weaker() -> None:
    rng = np.random.default_rng(13)
    assert sum(check(rng) for _ in range(15)) > 3


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
def test_same_optimum_and_no_weaker_many(seed: int) -> None:
    rng = np.random.default_rng(7200 + seed)
    for _ in range(100):
        check(rng)
