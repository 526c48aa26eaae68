"""Every construct over interchangeable elements: aggregated and named, both optima are that of trying all plans."""

from __future__ import annotations

from pathlib import Path

import pytest
from constructs import CONSTRUCTS, DATA, Data, best, text_of
from exactness import EXACT

from gpusched_dsl.compiling.build import Built, Permissions, build, check_solvable, choose_scenario
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.workspace import workspace_from_text
from gpusched_dsl.solving.built import solve_built

# Those whose nodes are aggregated when they have equal data; all others are obstacles with a line.
AGGREGATED = {
    "nothing", "sum", "sum in an equation", "sum of both", "chain", "nested sums", "sum of a quotient",
    "sum times data", "negated sum", "count in a row", "and", "implication of data", "implication of two binaries",
    "a condition of an element as a number", "if of data", "if of data chooses rows", "sum of squares", "let",
    "let of a node", "let of a job", "subset", "derived subset", "tuple set", "count of a set", "ordered set",
    "next of an element", "expectation of a product", "probability", "check", "placement",
}  # fmt: skip


def check(name: str, data: Data, *, fold: bool) -> Built:
    construct = CONSTRUCTS[name]
    found = Diagnostics()
    workspace = workspace_from_text(text_of(construct, data), "constructs.gsm", found, Path.cwd())
    found.raise_if_errors()
    scenario, _ = check_solvable(workspace, choose_scenario(workspace))
    made = build(workspace, scenario, permissions=Permissions(), aggregated=fold)
    solved, _ = solve_built(made, "highs", EXACT)
    assert [o.value for o in solved.objectives] == [pytest.approx(best(construct, data), abs=1e-6)], (data, fold)
    for attempt in made.aggregation.attempts:
        assert attempt.obstacle is None or attempt.obstacle.span is not None, (data, attempt.obstacle)
    return made


@pytest.mark.quick(7)
@pytest.mark.parametrize("name", CONSTRUCTS)
def test_aggregating_keeps_the_optimum_or_names_the_line(name: str) -> None:
    made = check(name, DATA["equal nodes and jobs"], fold=True)
    assert made.aggregation.attempts[0].declared.name == "Nodes"
    assert (made.aggregation.attempts[0].obstacle is None) == (name in AGGREGATED)


@pytest.mark.slow
@pytest.mark.parametrize("fold", [True, False])
@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize("name", CONSTRUCTS)
def test_any_data_and_all_elements(name: str, data: str, fold: bool) -> None:
    check(name, DATA[data], fold=fold)
