"""Aggregation ends after a stated amount of work, and is given up where it does not pay; work is counted, not timed."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from found_codes import message_values, raises_code
from summing import case_of

from gpusched_dsl.cli.starters import starter_files
from gpusched_dsl.compiling.build import Permissions, build, check_solvable, choose_scenario
from gpusched_dsl.compiling.evaluation.limits import MemoryLimits
from gpusched_dsl.compiling.interchangeable import patterns, work
from gpusched_dsl.compiling.interchangeable.aggregate import Aggregation, aggregate
from gpusched_dsl.compiling.interchangeable.components import components_of
from gpusched_dsl.compiling.interchangeable.counts import by_counts
from gpusched_dsl.compiling.interchangeable.exclusion import ON_PAIRS
from gpusched_dsl.compiling.interchangeable.generic import Obstacle
from gpusched_dsl.compiling.interchangeable.work import A_COLUMN, BLAS, STEP, ElementWork
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.workspace import workspace_from_text


def starter(nodes: int, gpus: int, needs: list[int], hours: list[float] | None = None) -> str:
    """The model of the starter project, with equal nodes and jobs that differ."""
    text = starter_files("starter")["starter.gsm"]
    random = Random(1)
    rows = [
        f"j{k} {need} {random.randint(1, 200) / 10 if hours is None else hours[k]} {random.randint(1, 400) / 10} 0"
        for k, need in enumerate(needs)
    ]
    named = " ".join(f"n{k} {gpus} 0.5" for k in range(nodes))
    return (
        text[: text.index("scenario Today")]
        + f"scenario S for Cluster {{ table Nodes: gpus price[$/h] = {named};\n"
        + f"table Jobs: needs hours[h] value[$] submitted[h] = {chr(10).join(rows)}; }}"
    )


def looked_at(text: str, monkeypatch: pytest.MonkeyPatch) -> tuple[Aggregation, int]:
    """What aggregation came to, and how much work it did."""
    spent: list[ElementWork] = []
    make = ElementWork.of

    def of(root: str, columns: int) -> ElementWork:
        spent.append(make(root, columns))
        return spent[-1]

    monkeypatch.setattr(ElementWork, "of", staticmethod(of))
    found = Diagnostics()
    workspace = workspace_from_text(text, "work.gsm", found, Path.cwd())
    found.raise_if_errors()
    scenario, _ = check_solvable(workspace, choose_scenario(workspace))
    instance = build(workspace, scenario, permissions=Permissions(), aggregated=False).instance
    result = aggregate(scenario.model, instance.store, MemoryLimits(1 << 30))
    return result, sum(w.done for w in spent)


@pytest.mark.parametrize("needs", [list(range(1, 37)), list(range(1, 401)), [4 * k + k % 3 for k in range(1, 60)]])
def test_many_different_jobs_on_equal_nodes(needs: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    """36 jobs of 36 sizes on 10 nodes: every node could be used in more than 300,000 ways."""
    result, done = looked_at(starter(10, max(needs) + 24, needs), monkeypatch)
    assert result.aggregated is None
    (attempt, *_) = result.attempts
    assert "possible uses" in str(attempt.obstacle)
    assert attempt.obstacle is not None
    assert attempt.obstacle.span is not None
    assert done < 2_000_000


@pytest.mark.parametrize("needs", [[1, 2, 4, 8] * 9, [1, 2] * 20, list(range(1, 9)) * 5, [1, 2, 4, 8] * 100])
def test_jobs_of_few_sizes_are_counted_by_size(needs: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    """No two jobs are equal, but on a node only their sizes count."""
    hours = [1 + k / 8 for k in range(len(needs))]
    result, done = looked_at(starter(10, 8, needs, hours), monkeypatch)
    assert result.aggregated is not None
    assert result.aggregated.problem.columns < len(needs) + 24  # a column for each job, and the ways to fill 8 GPUs
    assert done < 2_000_000


def test_a_problem_that_does_not_fit_in_memory_is_counted_by_size() -> None:
    """Of 3,000 jobs on 2,000 nodes the named columns take some hundred megabytes, the sizes of jobs next to nothing."""
    lines = starter(2000, 8, [1, 2, 4, 8] * 750).splitlines()
    text = "\n".join(line for line in lines if not line.lstrip().startswith("check"))  # which reads all pairs
    found = Diagnostics()
    workspace = workspace_from_text(text, "work.gsm", found, Path.cwd())
    found.raise_if_errors()
    scenario, _ = check_solvable(workspace, choose_scenario(workspace))
    allowed = Permissions(memory=100_000_000)
    with raises_code("GSM3001", "run", at="run"):
        build(workspace, scenario, permissions=allowed, aggregated=False)
    result = build(workspace, scenario, permissions=allowed, aggregated=True)
    assert result.aggregated is not None
    assert result.aggregated.problem.columns < 3_100


def test_equal_jobs_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    result, done = looked_at(starter(10, 8, [1] * 36), monkeypatch)
    assert result.aggregated is not None
    assert result.aggregated.problem.columns < 360
    assert done < 2_000_000


def test_more_patterns_than_columns_do_not_pay(monkeypatch: pytest.MonkeyPatch) -> None:
    """910 patterns in the place of 48 columns of 4 nodes and 12 jobs made the solver a hundred times as slow."""
    result, _ = looked_at(starter(4, 36, list(range(1, 13))), monkeypatch)
    assert result.aggregated is None
    assert {"48"} <= set(message_values(str(result.attempts[0].obstacle)))


def hourly(jobs: int) -> str:
    """4 equal nodes over 2 hours; every two jobs exclude one another, each pair by a row of its own."""
    return f"""model Hourly {{
  set Nodes; set Jobs ordered; set Hours ordered; param price[Hours];
  var run[Jobs, Nodes, Hours] binary;
  maximize gain: sum[j in Jobs, n in Nodes, h in Hours] price[h] * run[j, n, h];
  constraint once[j in Jobs]: sum[n in Nodes, h in Hours] run[j, n, h] <= 1;
  constraint apart[j in Jobs, k in Jobs, n in Nodes, h in Hours where j < k]: run[j, n, h] + run[k, n, h] <= 1;
  constraint single[n in Nodes, h in Hours]: sum[j in Jobs] run[j, n, h] <= 1;
}}
scenario S for Hourly {{ Nodes = 1..4; Jobs = 1..{jobs}; table Hours: price = 1 2  2 3; }}"""


def counted(folder: Path, jobs: int) -> tuple[int, str]:
    """How much work it takes to count nodes hour by hour, and why they are not counted."""
    spent: list[ElementWork] = []
    made = case_of(folder, hourly(jobs), "Nodes")
    component = components_of(made.small)[0]  # an hour
    make = ElementWork.of
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ElementWork, "of", staticmethod(lambda root, n: spent.append(make(root, n)) or spent[-1]))
        try:
            by_counts(made.small, component)
        except Obstacle as obstacle:
            return sum(w.done for w in spent), str(obstacle)
    return sum(w.done for w in spent), ""


def test_comparing_exclusions_has_a_budget(tmp_path: Path) -> None:
    """Each hour compares all its rows with each other: 1,771 rows of 60 jobs are too many, 67 of 12 are not."""
    done, why = counted(tmp_path, 12)
    assert not why
    assert 67 * 67 * ON_PAIRS < done < 67 * 67 * 12
    done, why = counted(tmp_path, 60)
    assert "too much work" in why
    assert done == STEP + 4 * 1771 * 60 + 1771 * 1771 * (60 // BLAS + ON_PAIRS)


def test_the_budget_ends_the_listing(monkeypatch: pytest.MonkeyPatch) -> None:
    """All sums of 36 powers of two differ: nothing tells their number before they are listed."""
    monkeypatch.setattr(patterns, "_worthwhile_patterns", lambda named: 10**12)
    monkeypatch.setattr(patterns, "MOST_PATTERNS", 10**12)
    monkeypatch.setattr(work, "LEAST", 2_000_000)
    result, done = looked_at(starter(10, 2**40, [2**k for k in range(36)]), monkeypatch)
    assert result.aggregated is None
    assert "too much work" in str(result.attempts[0].obstacle)
    assert done <= 2 * (2_000_000 + A_COLUMN * 360)
