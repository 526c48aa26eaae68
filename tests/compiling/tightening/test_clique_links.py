"""The index of the row that many links become."""

from __future__ import annotations

import gpusched_dsl as gs
from gpusched_dsl.compiling.passes.steps import Analysis, Target
from gpusched_dsl.compiling.tightening.clique_links import CliqueLinks

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
