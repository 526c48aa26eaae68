"""Capacities of something that can be switched off: which rows get the column, and that the optimum stays."""

from __future__ import annotations

import numpy as np
import pytest
from as_text import as_text
from choices import assert_no_weaker
from drafts import Affine, Draft, Row

import gpusched_dsl as gs
from gpusched_dsl.compiling.passes.steps import Analysis, Target
from gpusched_dsl.compiling.tightening.lifted_capacities import LiftedCapacities
from gpusched_dsl.ir.blocks import blocks_of
from gpusched_dsl.ir.problem import Problem

INF = np.inf
LINKS: list[Affine] = [{0: 1, 3: -1}, {1: 1, 3: -1}, {2: 1, 3: -1}]


def with_capacity(row: Row, links: list[Affine] = LINKS, side: float = 0.0) -> Problem:
    """x = 0, 1, 2 below y = 3, another column w = 4, all 0/1, a whole n = 5 in -1..0, and a capacity."""
    draft = Draft()
    x, y, w = draft.columns("x", 3), draft.columns("y")[0], draft.columns("w")[0]
    draft.columns("n", 1, -1, 0)
    draft.rows("link", [(-INF, body, side) for body in links])
    draft.rows("room", [row])
    draft.minimize({x[0]: -3, x[1]: -4, x[2]: -5, y: 6, w: -1})
    return draft.problem()


def lifted(problem: Problem) -> str:
    """The capacity after the pass."""
    reformulated = assert_no_weaker(problem, LiftedCapacities())
    row = next(line for line in as_text(reformulated.problem).splitlines() if line.startswith("  room"))
    return row.removeprefix("  room[1]: ")


@pytest.mark.parametrize(
    ("row", "text"),
    [
        ((-4, {0: -2, 1: -2, 2: -3}, INF), "0 <= -2 x[1] - 2 x[2] - 3 x[3] + 4 y[1]"),
        ((-INF, {0: 2, 2: 2}, 3), "2 x[1] + 2 x[3] - 3 y[1] <= 0"),
        # Holds anyway, has a second side, is no capacity, has a column that is not linked, or is about y itself.
        ((-INF, {0: 2, 2: 2}, 4), "2 x[1] + 2 x[3] <= 4"),
        ((1, {0: 2, 2: 2}, 3), "1 <= 2 x[1] + 2 x[3] <= 3"),
        ((-INF, {0: 4, 2: -2}, 1), "4 x[1] - 2 x[3] <= 1"),
        ((-INF, {0: 1, 2: 1, 4: 1}, 1), "x[1] + x[3] + w[1] <= 1"),
        ((-INF, {0: 1, 2: 1, 3: 1}, 2), "x[1] + x[3] + y[1] <= 2"),
        ((-INF, {0: 1, 2: 1}, 0), "x[1] + x[3] <= 0"),
    ],
)
def test_other_rows(row: Row, text: str) -> None:
    assert lifted(with_capacity(row)) == text


@pytest.mark.parametrize(
    ("links", "is_lifted"),
    [
        ([{0: 1, 1: 5, 2: 0.5, 3: -1}], True),
        ([{0: 1, 3: -0.5}, {1: 1, 2: 1, 3: -9}], True),
        ([{0: 1, 1: 1, 3: -1}, {2: 1, 3: 1}], False),
        ([{0: 1, 1: 1, 3: -1}, {2: 1, 3: -1, 4: -1}], False),
        ([{0: 1, 1: 1, 3: -1}, {2: 1, 5: 1, 3: -1}], False),
        ([{0: 1, 1: 1, 3: -1}, {2: 1, 5: -1, 3: -1}], False),
        ([{0: 1, 1: 1, 2: 1, 5: -1}], False),
    ],
)
def test_links_in_other_rows(links: list[Affine], is_lifted: bool) -> None:
    assert (" <= 0" in lifted(with_capacity((-INF, {0: 2, 1: 2, 2: 3}, 4), links))) == is_lifted


@pytest.mark.parametrize(("side", "is_lifted"), [(-0.5, True), (0.5, False)])
def test_links_with_a_side(side: float, is_lifted: bool) -> None:
    assert (" <= 0" in lifted(with_capacity((-INF, {0: 2, 1: 2, 2: 3}, 4), side=side))) == is_lifted


def test_of_several_columns_the_one_with_the_fewest_links() -> None:
    links: list[Affine] = [*LINKS, *({x: 1, 4: -1} for x in range(4))]
    assert lifted(with_capacity((-INF, {0: 2, 1: 2, 2: 3}, 4), links)).endswith("- 4 y[1] <= 0")
    links = [*LINKS, {4: 1, 3: -1}, *({x: 1, 4: -1} for x in range(3))]
    assert lifted(with_capacity((-INF, {0: 2, 1: 2, 2: 3}, 4), links)).endswith("- 4 w[1] <= 0")


MODEL = """
model M {
  set Jobs; set Nodes;
  var run[Jobs, Nodes] binary; var accept[Jobs] binary; var on[Nodes] binary;
  minimize least: sum[n in Nodes] on[n] - sum[j in Jobs] accept[j];
  constraint once[j in Jobs]: sum[n in Nodes] run[j, n] == accept[j];
  constraint few[j in Jobs]: sum[n in Nodes] run[j, n] <= 1;
  constraint hosted[j in Jobs, n in Nodes]: run[j, n] <= on[n];
  constraint room[n in Nodes]: sum[j in Jobs] run[j, n] <= 2;
  decompose by SET;
}
scenario S for M { Jobs = { a, b, c }; Nodes = { n1, n2 }; }
"""


@pytest.mark.parametrize(("root", "changed"), [("Nodes", {"room", "few"}), ("Jobs", {"room", "few"})])
def test_a_row_of_a_block_stays_in_its_block(root: str, changed: set[str]) -> None:
    problem = gs.compile(MODEL.replace("SET", root))
    step = LiftedCapacities().apply(Analysis(problem, swept=True), Target("test"))
    assert {n.term for n in step.notes} == changed
    assert blocks_of(step.problem, root).row.tolist() == blocks_of(problem, root).row.tolist()


def test_a_row_of_a_block_gets_no_column_from_outside() -> None:
    model = MODEL.replace("accept[j];\n  constraint few", "1;\n  constraint few").replace("SET", "Jobs")
    model = model.replace(
        "constraint few[j in Jobs]: sum[n in Nodes] run[j, n] <= 1",
        "var gate binary;\n  constraint "
        "gated[j in Jobs, n in Nodes]: run[j, n] <= gate;\n  constraint few[j in Jobs]: sum[n in Nodes] run[j, n] <= 1",
    )
    for text, terms in ((model, {"room"}), (model.replace("decompose by Jobs;", ""), {"room", "few"})):
        problem = gs.compile(text)
        step = LiftedCapacities().apply(Analysis(problem, swept=True), Target("test"))
        assert {n.term for n in step.notes} == terms
