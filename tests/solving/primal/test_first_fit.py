"""First fit decreasing: against the algorithm in plain Python, and as the first point of large packings."""

from __future__ import annotations

from random import Random
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from projects import grounded

from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.ir.verify import verify
from gpusched_dsl.solving.primal import budget as budget_module
from gpusched_dsl.solving.primal import search as search_module
from gpusched_dsl.solving.primal.budget import HeuristicBudget
from gpusched_dsl.solving.primal.first_fit import first_fits
from gpusched_dsl.solving.primal.rows import rows_of
from gpusched_dsl.solving.primal.search import Search
from gsdsl_backends.protocol import SolveOptions
from gsdsl_backends.registry import backend

Sizes = list[tuple[int, int, int]]  # what one job takes of two resources, and how many copies of it there are
CAPACITY = (8, 20)


def packing(sizes: Sizes, nodes: int, opening: bool = True) -> Problem:
    """Jobs on equal nodes, as few as possible."""
    rows = "  ".join(f"j{k} {g} {m} {c}" for k, (g, m, c) in enumerate(sizes))
    open_ = "* on[n]" if opening else ""
    return grounded(f"""model Packing {{
      set Jobs; set Nodes = 1..{nodes}; param g[Jobs]; param m[Jobs]; param copies[Jobs] integer;
      var x[j in Jobs, Nodes] integer >= 0 <= copies[j]; var on[Nodes] binary;
      minimize sum[n in Nodes] on[n];
      constraint once[j in Jobs]: sum[n in Nodes] x[j, n] == copies[j];
      constraint gpus[n in Nodes]: sum[j in Jobs] g[j] * x[j, n] <= {CAPACITY[0]} {open_};
      constraint memory[n in Nodes]: sum[j in Jobs] m[j] * x[j, n] <= {CAPACITY[1]} {open_};
    }}
    scenario S for Packing {{ table Jobs: g m copies = {rows}; }}""")


def by_hand(sizes: Sizes, nodes: int) -> list[list[int]] | None:
    """How many copies of each job are on each node, the jobs with the largest share of a node first."""
    left = [list(CAPACITY) for _ in range(nodes)]
    placed = [[0] * nodes for _ in sizes]
    for j in sorted(range(len(sizes)), key=lambda j: -max(s / c for s, c in zip(sizes[j][:2], CAPACITY, strict=True))):
        for _ in range(sizes[j][2]):
            fits = (n for n in range(nodes) if all(a <= b for a, b in zip(sizes[j][:2], left[n], strict=True)))
            node = next(fits, None)
            if node is None:
                return None
            placed[j][node] += 1
            left[node] = [b - a for a, b in zip(sizes[j][:2], left[node], strict=True)]
    return placed


def drawn(random: Random, jobs: int, most: int = 3) -> Sizes:
    return [(random.randint(1, 7), random.randint(0, 18), random.randint(1, most)) for _ in range(jobs)]


@pytest.mark.parametrize("opening", [True, False])
def test_jobs_go_to_the_first_node_with_room(opening: bool) -> None:
    random, nones = Random(3), 0
    for _ in range(40):
        sizes, nodes = drawn(random, random.randint(2, 7)), random.randint(4, 12)
        problem = packing(sizes, nodes, opening)
        expected = by_hand(sizes, nodes)
        fits = first_fits(problem, rows_of(problem))
        if expected is None:
            nones += 1
            continue
        columns, values = fits[0]
        found = np.zeros(problem.columns)
        found[columns] = values
        np.testing.assert_array_equal(found[problem.variable("x").slice].reshape(len(sizes), nodes), expected)
    assert 0 < nones < 25


def test_rows_that_are_no_packing() -> None:
    """Items without bins, bins without items, and items that are few among other columns."""
    for text in (
        "constraint a[i in 1..4]: x[i] + y[i] == 1;",
        "constraint a[i in 1..4]: x[i] + y[i] <= 1;",
        "constraint a: x[1] + y[1] == 1; constraint b: x[1] + 2 * x[2] <= 2;",
    ):
        problem = grounded(f"model M {{ var x[1..4] binary; var y[1..4] binary; minimize x[1] + y[2]; {text} }}")
        assert first_fits(problem, rows_of(problem)) == []


def test_a_large_packing_begins_from_it() -> None:
    """150 jobs on 110 nodes: the first point is at least as good as that of first fit decreasing."""
    sizes = drawn(Random(1), 150, most=1)
    problem = packing(sizes, 110)
    search = Search(problem, backend("highs"), SolveOptions(gap=1.0), HeuristicBudget(20))
    found = search.run()
    expected = by_hand(sizes, 110)
    assert expected is not None
    assert found.point is not None
    assert found.objective is not None
    assert verify(problem, found.point).feasible
    assert found.objective <= sum(any(row[n] for row in expected) for n in range(110))


def test_a_slow_fit_is_still_the_first_point(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fit takes two seconds where the budget is one; after three there is no point."""
    problem, now = packing(drawn(Random(5), 12), 30), [0.0]
    monkeypatch.setattr(budget_module, "time", SimpleNamespace(perf_counter=lambda: now[0]))

    def objective(seconds: float) -> float | None:
        def slow(*given: Any) -> Any:
            now[0] += seconds
            return first_fits(*given)

        monkeypatch.setattr(search_module, "first_fits", slow)
        now[0] = 0.0
        return Search(problem, backend("highs"), SolveOptions(), HeuristicBudget(1.0), None, True).run().objective

    assert objective(2.0) is not None
    assert objective(3.5) is None
