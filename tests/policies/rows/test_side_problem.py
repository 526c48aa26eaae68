"""The check of a plan without the rows of open nodes, or of suspects first, finds what the check of all rows finds."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from drawn_models import Drawn, drawn

import gpusched_dsl as gs
from gpusched_dsl.compiling.data.instance import build_instance
from gpusched_dsl.compiling.lowering.fixing import VariableValues
from gpusched_dsl.language.diagnostics.errors import DiagnosticError, Diagnostics
from gpusched_dsl.language.scenarios.scenario import check_scenario
from gpusched_dsl.language.workspace import workspace_from_text
from gpusched_dsl.policies.broken_rows import broken_rows
from gpusched_dsl.policies.covers import variables_read
from gpusched_dsl.policies.rows.problem import broken_side_rows, obeys_side_rows, side_model

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


@pytest.mark.quick(20)
@pytest.mark.parametrize("seed", range(110))
def test_plans_in_turn(seed: int) -> None:
    """Rows that the last plan broke are evaluated first: the verdict is that of all rows, whatever came before."""
    one = drawn(seed)
    built = gs.loads(one.text)._build(None, None)
    model, store = built.instance.scenario.model, built.instance.store
    if "run" not in side_model(model).rows.variables:
        pytest.skip("roles explain all rows")
    domain = built.problem.variable("run").domain
    labels, columns = domain.label_columns(), domain.columns()
    places = [tuple(map(str, place)) for place in zip(*labels, strict=True)]
    draw = np.random.default_rng([1, seed])
    before: set[str] = set()
    for _ in range(25):
        chosen = plan_that_obeys_roles(one, places, draw)
        values = {"run": VariableValues(tuple(column[chosen] for column in columns), np.ones(len(chosen)))}
        side = side_model(model)  # that of each plan: what is remembered is shared
        assert side.suspects == before
        obeys = broken_side_rows(side, store, values) is None
        assert obeys_side_rows(side, store, values) == obeys
        before = set(side.suspects)
        assert before <= side.rows.constraints.keys()
        assert not (obeys and before)
        read = {name: variables_read(side.rows, name) - {"run"} for name in side.rows.constraints}
        shared = {variable for name in before for variable in read[name]}
        assert not any(read[name] & shared for name in read.keys() - before)


def test_the_rest_is_not_evaluated_where_suspects_are_broken() -> None:
    """Here the rest cannot be evaluated at all: it divides by 0."""
    one = drawn(10)
    assert "one_user" in one.rules
    wrong = 'constraint wrong: sum[j in Jobs, n in Nodes] run[j, n] / (cap["r1"] - cap["r1"]) <= 9;'
    found = Diagnostics()
    text = one.text.replace("  placement run", f"  {wrong}\n  placement run")
    scenario = check_scenario(workspace_from_text(text, "drawn.gsm", found), "S", {}, found)
    found.raise_if_errors()
    assert scenario is not None
    side, store = side_model(scenario.model), build_instance(scenario, folder=Path.cwd()).store
    node = np.zeros(2, dtype=np.int64)
    jobs = np.array([one.jobs.index(next(j for j in one.jobs if one.team[j] == team)) for team in ("red", "green")])
    plan = {"run": VariableValues((jobs, node), np.ones(2))}
    with pytest.raises(DiagnosticError):
        obeys_side_rows(side, store, plan)
    side.suspects.update({"serving", "one_user"})
    assert not obeys_side_rows(side, store, plan)
    with pytest.raises(DiagnosticError):
        obeys_side_rows(side, store, {"run": VariableValues((jobs[:1], node[:1]), np.ones(1))})


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
