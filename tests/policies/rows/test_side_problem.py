"""The check of a plan without the rows of open nodes finds what the check with them finds."""

from __future__ import annotations

import numpy as np
import pytest
from drawn_models import Drawn, drawn

import gpusched_dsl as gs
from gpusched_dsl.compiling.lowering.fixing import VariableValues
from gpusched_dsl.policies.broken_rows import broken_rows
from gpusched_dsl.policies.rows.problem import broken_side_rows, side_model

# A type to rent, and power of open nodes: binaries of (node, type), and of nodes.
SEEDS = [seed for seed in range(55) if drawn(seed).world == "types" or {"power", "few_open"} & set(drawn(seed).rules)]


@pytest.mark.parametrize("seed", SEEDS)
def test_open_nodes_follow_from_jobs(seed: int) -> None:
    one = drawn(seed)
    built = gs.loads(one.text)._build(None, None)
    model, store = built.instance.scenario.model, built.instance.store
    side = side_model(model)
    assert side.opening
    assert set(side.opening) <= {"up", "hosts"}
    assert len(side.checked.constraints) < len(side.rows.constraints)
    domain = built.problem.variable("run").domain
    labels, columns = domain.label_columns(), domain.columns()
    draw = np.random.default_rng(seed)
    found = set()
    for _ in range(60):
        chosen = plan_that_obeys_roles(one, [tuple(map(str, place)) for place in zip(*labels, strict=True)], draw)
        values = {"run": VariableValues(tuple(column[chosen] for column in columns), np.ones(len(chosen)))}
        broken = broken_rows(side.rows, store, values) is not None
        assert (broken_side_rows(side, store, values) is not None) == broken
        found.add(broken)
    assert found == {True, False}


def plan_that_obeys_roles(one: Drawn, places: list[tuple[str, ...]], draw: np.random.Generator) -> list[int]:
    """A few jobs, each in one place; a node has one type, and room for its jobs."""
    chosen: list[int] = []
    jobs: set[str] = set()
    types: dict[str, str] = {}
    left: dict[str, float] = {}
    stop = draw.uniform(0.05, 0.5)
    for at in draw.permutation(len(places)).tolist():
        job, node, *rest = places[at]
        owner = rest[0] if one.world == "types" else node
        if job in jobs or types.get(node, owner) != owner or left.get(node, one.gpus[owner]) < one.need[job]:
            continue
        chosen.append(at)
        jobs.add(job)
        types[node] = owner
        left[node] = left.get(node, one.gpus[owner]) - one.need[job]
        if draw.random() < stop:
            break
    return chosen
