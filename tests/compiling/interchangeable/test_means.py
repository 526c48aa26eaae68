"""Elements with continuous columns only: sums in their place, and the mean for each."""

from __future__ import annotations

from pathlib import Path
from random import Random

import numpy as np
import pytest
from summing import Case, case, case_of, check_exact, summed, workspace

from gpusched_dsl.compiling.interchangeable.components import components_of
from gpusched_dsl.compiling.interchangeable.generic import Obstacle
from gpusched_dsl.compiling.interchangeable.means import by_means
from gpusched_dsl.compiling.interchangeable.parts import Spread

SHIPPED = Path(__file__).resolve().parents[3] / "models" / "gpu_sharing" / "scenarios" / "cluster_10x20.gsm"

# Which nodes meet a pair that goes together (models/gpu_sharing/model.gsm), and a level per node between shared
# columns.
COVER = """
model Cover {
  set Nodes;
  set Jobs;
  param kind[Nodes];
  param wants[Jobs];
  param price[Jobs];
  var meets_job[Jobs] binary;
  var meets_node[Nodes] >= 0 <= 1;
  var level[Nodes] >= -2 <= 3;
  var most >= 0 <= 9 integer;
  var open integer >= 0 <= 99;
  constraint met[j in Jobs, n in Nodes where wants[j] >= kind[n]]: meets_job[j] + meets_node[n] >= 1;
  constraint rest[n in Nodes]: -1 <= level[n] + 2 * meets_node[n] - 0.5 * most <= 1.5;
  constraint enough: open >= sum[n in Nodes] (meets_node[n] + 0.3 * level[n]);
  minimize cost: SIGN * open + sum[j in Jobs] price[j] * meets_job[j]
    + sum[n in Nodes] (0.4 * kind[n] * meets_node[n] - LEVEL * level[n]) + 0.9 * most;
}
scenario Small for Cover {
  table Nodes: kind = NODES;
  table Jobs: wants price = JOBS;
}
"""


def cover(folder: Path, seed: int) -> Case:
    random = Random(seed)
    nodes = "\n".join(f"n{k} {random.choice((1, 1, 2))}" for k in range(random.randint(3, 6)))
    jobs = "\n".join(f"j{k} {random.choice((0, 1, 2))} {random.choice((0.2, 1, 3))}" for k in range(3))
    text = COVER.replace("NODES", f"\n{nodes}\n").replace("JOBS", f"\n{jobs}\n")
    text = text.replace("SIGN", random.choice(("1", "0.3"))).replace("LEVEL", random.choice(("0.5", "0.1", "1.2")))
    return case_of(folder, text, "Nodes")


@pytest.mark.quick(3)
@pytest.mark.parametrize("seed", range(12))
def test_means_give_the_optimum(tmp_path: Path, seed: int) -> None:
    made = cover(tmp_path, seed)
    assert made.small.classes.count < len(made.small.classes.of)
    assert check_exact(made, seed, (by_means,)) is not None


def test_sums_in_their_place(tmp_path: Path) -> None:
    made = cover(tmp_path, 0)
    component = components_of(made.small)[0]
    part = by_means(made.small, component)
    size = int(made.small.classes.sizes[component.kind])
    assert [c.name for c in part.columns] == ["meets_node", "level"]
    assert part.columns[0].upper.tolist() == [size]
    assert part.columns[1].lower.tolist() == [-2 * size]
    (rest,) = (r for r in part.rows if r.name == "rest")
    assert rest.lower.tolist() == [-size]
    assert rest.shared is not None
    assert rest.shared.data.tolist() == [-0.5 * size]
    elements = np.flatnonzero(made.small.classes.of == component.kind)
    spread = part.disaggregate(np.array([size / 2, 0.0]), np.zeros(made.small.problem.columns))
    assert spread.elements.tolist() == elements.tolist()
    assert spread.values.tolist() == [0.5] * size
    assert "mean" in part.effect
    assert part.aggregate(spread) == pytest.approx([size / 2, 0.0])
    broken = Spread(spread.columns, spread.elements, np.full(size, 1.5))
    assert part.aggregate(broken) is None  # beyond the bound of `meets_node`


def test_nodes_that_meet_jobs_in_the_shipped_model() -> None:
    small = case(workspace(SHIPPED), "Nodes", "Sharing10x20Matching").small
    meets = small.problem.variable("meets_node")
    found = [c for c in components_of(small) if meets.first <= c.columns[0] < meets.stop]
    assert found
    for component in found:
        part = by_means(small, component)
        assert [c.name for c in part.columns] == ["meets_node"]
        assert part.columns[0].upper.tolist() == [small.classes.sizes[component.kind]]
        assert {r.name for r in part.rows} == {"met"}


def test_whole_columns_are_refused(tmp_path: Path) -> None:
    text = COVER.replace("level[Nodes] >= -2 <= 3;", "level[Nodes] integer >= -2 <= 3;")
    made = case_of(tmp_path, _filled(text), "Nodes")
    with pytest.raises(Obstacle, match="`level` is integer") as refused:
        summed(made.small, (by_means,))
    assert refused.value.span is not None
    assert refused.value.span.line == 10


def test_terms_that_are_not_linear_are_refused(tmp_path: Path) -> None:
    text = COVER.replace("0.4 * kind[n] * meets_node[n]", "0.4 * kind[n] * meets_node[n] * level[n]")
    made = case_of(tmp_path, _filled(text), "Nodes")
    with pytest.raises(Obstacle, match="not a linear function"):
        summed(made.small, (by_means,))


def _filled(text: str) -> str:
    data = {"SIGN": "1", "LEVEL": "0.5", "NODES": "\nn0 1\nn1 1\n", "JOBS": "\nj0 1 1\n"}
    for name, value in data.items():
        text = text.replace(name, value)
    return text
