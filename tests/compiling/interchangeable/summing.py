"""A model grounded completely and aggregated by some treatments: both solved, and the plan of single
elements checked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from gpusched_dsl.compiling.build import Permissions, check_solvable, choose_scenario, read_data
from gpusched_dsl.compiling.evaluation.limits import MemoryLimits
from gpusched_dsl.compiling.evaluation.store import ValueStore
from gpusched_dsl.compiling.interchangeable.assembling import AggregatedProblem, assemble
from gpusched_dsl.compiling.interchangeable.components import components_of
from gpusched_dsl.compiling.interchangeable.counts import by_counts
from gpusched_dsl.compiling.interchangeable.equivalence_classes import classes_of
from gpusched_dsl.compiling.interchangeable.generic import Obstacle
from gpusched_dsl.compiling.interchangeable.means import by_means
from gpusched_dsl.compiling.interchangeable.parts import AggregatedComponent, Component, Spread, Treatment
from gpusched_dsl.compiling.interchangeable.quotient import Quotient, place_of, quotient
from gpusched_dsl.compiling.lowering.ground import ground
from gpusched_dsl.ir.arrays import Codes, Floats
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.ir.verify import verify
from gpusched_dsl.language.checked import CheckedModel
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.workspace import Workspace, load_workspace
from gpusched_dsl.solving.solve import solve_problem
from gsdsl_backends.protocol import SolveOptions

LIMITS = MemoryLimits(1 << 30)
EXACT = SolveOptions(gap=0.0, heuristic="off", decompose="off")


@dataclass(frozen=True, eq=False)
class Case:
    """A model with its data, whole and for one element of every class."""

    whole: Problem
    small: Quotient


def workspace(path: Path) -> Workspace:
    found = Diagnostics()
    loaded = load_workspace(path, found, allow_outside=True)
    found.raise_if_errors()
    assert loaded is not None
    return loaded


def case(loaded: Workspace, root: str, scenario: str | None = None, settings: Mapping[str, str] | None = None) -> Case:
    model, store = _data(loaded, scenario, settings or {})
    return Case(ground(model, store, LIMITS), quotient(model, store, root, classes_of(model, store, root), LIMITS))


def _data(loaded: Workspace, scenario: str | None, settings: Mapping[str, str]) -> tuple[CheckedModel, ValueStore]:
    chosen, _ = check_solvable(loaded, choose_scenario(loaded, scenario), dict(settings))
    return chosen.model, read_data(loaded, chosen, permissions=Permissions(1 << 30)).store


def case_of(folder: Path, text: str, root: str) -> Case:
    path = folder / "model.gsm"
    path.write_text(text, encoding="utf-8")
    return case(workspace(path), root)


def summed(small: Quotient, treatments: Sequence[Treatment] = (by_means, by_counts)) -> AggregatedProblem:
    """Every component by the first treatment that takes it; raises the last Obstacle."""
    return assemble(small, [_treated(small, c, treatments) for c in components_of(small)])


def _treated(small: Quotient, component: Component, treatments: Sequence[Treatment]) -> AggregatedComponent:
    for treatment in treatments[:-1]:
        try:
            return treatment(small, component)
        except Obstacle:
            continue
    return treatments[-1](small, component)


def unfolded(made: Case, spread: Spread) -> Floats:
    """The point of the whole problem that has these values."""
    small = made.small
    point = np.zeros(made.whole.columns)
    for family in small.problem.variables:
        inside = np.flatnonzero((spread.columns >= family.first) & (spread.columns < family.stop))
        codes = [c[spread.columns[inside] - family.first] for c in family.domain.columns()]
        at = place_of(family.domain, small.universe)
        if at is not None:
            codes[at] = spread.elements[inside]
        there = made.whole.variable(family.name)
        place = there.domain.locate(codes) if codes else np.zeros(len(inside), dtype=np.int64)
        assert (place >= 0).all()
        point[there.first + place] = spread.values[inside]
    return point


def folded(made: Case, point: Floats) -> Spread:
    """The values of single elements at a point of the whole problem."""
    small = made.small
    columns: list[Codes] = []
    elements: list[Codes] = []
    values: list[Floats] = []
    for family in made.whole.variables:
        mine = small.problem.variable(family.name)
        used = np.flatnonzero(point[family.slice])
        codes = [c[used] for c in family.domain.columns()]
        at = place_of(family.domain, small.universe)
        element = np.full(len(used), -1)
        if at is not None:
            element = codes[at]
            codes[at] = small.classes.first[small.classes.of[element]]
        place = mine.domain.locate(codes) if codes else np.zeros(len(used), dtype=np.int64)
        columns.append(mine.first + place)
        elements.append(element)
        values.append(point[family.slice][used])
    return Spread(np.concatenate(columns), np.concatenate(elements), np.concatenate(values))


def check_exact(
    made: Case, where: object, treatments: Sequence[Treatment] = (by_means, by_counts), backend: str = "highs"
) -> float | None:
    """The aggregated optimum is that of the whole problem, and there and back again lead to plans of that cost.

    Gives the optimum, None where there is no plan.
    """
    found = summed(made.small, treatments)
    one, other = solve_problem(made.whole, backend, EXACT), solve_problem(found.problem, backend, EXACT)
    assert other.status == one.status, where
    if one.point is None or other.point is None:
        assert one.status == "infeasible", where
        return None
    assert one.status == "optimal", where
    best = [o.value for o in one.objectives]
    close = [pytest.approx(b, rel=1e-6, abs=1e-7) for b in best]
    assert [o.value for o in other.objectives] == close, where
    plan = unfolded(made, found.disaggregate(other.point))
    report = verify(made.whole, plan)
    assert report.feasible, (where, [str(w) for w in report.worst])
    assert [o.value for o in report.objectives] == close, where

    # Plans of single elements stand for sums that cost no more, and these for plans again.
    for given in (one.point, plan):
        start = found.aggregate(folded(made, given))
        assert start is not None, where
        report = verify(found.problem, start)
        assert report.feasible, (where, [str(w) for w in report.worst])
        assert [o.value for o in report.objectives] == close, where
        assert verify(made.whole, unfolded(made, found.disaggregate(start))).feasible, where
    return best[0]
