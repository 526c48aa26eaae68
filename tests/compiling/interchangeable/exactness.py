"""Random small instances solved with nodes aggregated and without: the same optimum, feasible plans."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from gpusched_dsl.compiling.build import Built, Permissions, build, check_solvable
from gpusched_dsl.compiling.lowering.ground import ground
from gpusched_dsl.ir.verify import verify
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.workspace import Workspace, load_workspace
from gpusched_dsl.solving.built import solve_built
from gpusched_dsl.solving.solve import solve_problem
from gsdsl_backends.protocol import SolveOptions

EXACT = SolveOptions(gap=0.0, heuristic="off", decompose="off")
WHOLE = SolveOptions(gap=0.0, heuristic="off", decompose="off", tighten=False)
MODELS = Path(__file__).resolve().parents[3] / "models"


@dataclass
class Tally:
    """What came of some instances: how many were counted, with several classes, had a plan; why others were not."""

    instances: int = 0
    counted: int = 0
    several: int = 0
    plans: int = 0
    refused: Counter[str] = field(default_factory=Counter)


def loaded(path: Path) -> Workspace:
    found = Diagnostics()
    workspace = load_workspace(path, found, allow_outside=True)
    found.raise_if_errors()
    assert workspace is not None
    return workspace


def built(workspace: Workspace, scenario: str, settings: Mapping[str, str], *, fold: bool = True) -> Built:
    chosen, _ = check_solvable(workspace, scenario, dict(settings))
    return build(workspace, chosen, permissions=Permissions(outside=True), aggregated=fold)


def check_same(workspace: Workspace, scenario: str, settings: Mapping[str, str], tally: Tally) -> Built:
    """Both optima are proved and agree, and the plan of single nodes holds in the problem as grounded."""
    made = built(workspace, scenario, settings)
    where = (scenario, dict(settings))
    tally.instances += 1
    if made.aggregated is None:
        for attempt in made.aggregation.attempts:
            tally.refused[str(attempt.obstacle)] += 1
        return made
    tally.counted += 1
    tally.several += made.aggregated.quotient.classes.count > 1
    tally.plans += check_solved(made, where)
    return made


def check_solved(made: Built, where: object, options: SolveOptions = EXACT) -> bool:
    """Whether there is a plan; it costs as much as the cheapest of the whole problem, without any reformulation."""
    whole = ground(made.scenario.model, made.instance.store, made.permissions.limits())
    best = solve_problem(whole, "highs", WHOLE)
    solved, _ = solve_built(made, "highs", options)
    assert solved.status == best.status, where
    if best.status == "infeasible":
        assert solved.point is None, where
        return False
    assert best.status == "optimal", where
    assert solved.point is not None
    close = [pytest.approx(o.value, rel=1e-6, abs=1e-6) for o in best.objectives]
    assert [o.value for o in solved.objectives] == close, where
    report = verify(whole, solved.point)
    assert report.feasible, (where, [str(w) for w in report.worst])
    assert [o.value for o in report.objectives] == close, where
    for told in solved.objectives:
        assert told.bound == pytest.approx(told.value, rel=1e-6, abs=1e-6), where
    return True
