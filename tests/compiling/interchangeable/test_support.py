"""The nonzero part of a problem gives the same verification as the full problem, also for infeasible plans."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import capacity_cases
import numpy as np
import pytest
import sharing_cases
from exactness import EXACT, built, loaded
from summing import Case, unfolded

from gpusched_dsl.compiling.build import Built
from gpusched_dsl.compiling.interchangeable import support as supporting
from gpusched_dsl.compiling.interchangeable.parts import Spread
from gpusched_dsl.compiling.interchangeable.quotient import Quotient
from gpusched_dsl.compiling.interchangeable.support import support
from gpusched_dsl.ir.verify import verify
from gpusched_dsl.solving.solve import solve_problem


def plans(folder: Path, model: str, seeds: range) -> Iterator[tuple[Built, Spread]]:
    """Problems with a plan of single elements each, the best one."""
    if model == "sharing":
        workspace, settings = loaded(sharing_cases.write_cases(folder, seeds)), sharing_cases.settings
    elif model == "zoned":
        workspace, settings = loaded(capacity_cases.write_zoned(folder, seeds)), capacity_cases.settings
    else:
        workspace = loaded(capacity_cases.write_cases(folder, seeds, "CapacityPlanningPrinted"))
    for seed in seeds:
        made = built(workspace, f"Seed{seed}", {} if model == "printed" else settings(seed))
        if made.aggregated is None:
            continue
        point = solve_problem(made.aggregated.problem, "highs", EXACT).point
        if point is not None:
            yield made, made.aggregated.disaggregate(point)


def broken(small: Quotient, spread: Spread, random: np.random.Generator) -> Spread:
    """The plan with some values taken away, given to other elements of the class, changed or added."""
    columns, elements, values = spread.columns.copy(), spread.elements.copy(), spread.values.copy()
    for _ in range(int(random.integers(1, 4))):
        what = int(random.integers(5)) if len(values) else 4  # an empty plan can only be added to
        at = int(random.integers(max(len(values), 1)))
        if what == 0:
            values[at] = 0
        elif what == 1 and elements[at] >= 0:
            alike = np.flatnonzero(small.classes.of == small.classes.of[elements[at]])
            other = int(random.choice(alike))
            if not ((columns == columns[at]) & (elements == other)).any():
                elements[at] = other
        elif what == 2:
            values[at] += random.choice((-1.0, 1.0, 0.5))
        else:  # a column that was zero
            column = int(random.integers(small.problem.columns))
            kind = int(small.column_class[column])
            element = -1 if kind < 0 else int(random.choice(np.flatnonzero(small.classes.of == kind)))
            if not ((columns == column) & (elements == element)).any():
                columns, elements = np.append(columns, column), np.append(elements, element)
                values = np.append(values, random.choice((1.0, 2.0, -1.0)))
    return Spread(columns, elements, values)


def check_says_the_same(made: Built, spread: Spread, where: object) -> bool:
    """Whether the plan is feasible."""
    assert made.aggregated is not None
    small = made.aggregated.quotient
    part, values = support(small, spread)
    mine = verify(part, values)
    whole = verify(made.problem, unfolded(Case(made.problem, small), spread))
    assert mine.feasible == whole.feasible, where
    for told, true in ((mine.row, whole.row), (mine.bound, whole.bound), (mine.integrality, whole.integrality)):
        assert told == pytest.approx(true, abs=1e-9), where
    assert [o.value for o in mine.objectives] == [
        pytest.approx(o.value, rel=1e-9, abs=1e-9) for o in whole.objectives
    ], where
    return whole.feasible


def check_plans(folder: Path, model: str, seeds: range, times: int) -> None:
    found = feasible = 0
    for number, (made, spread) in enumerate(plans(folder, model, seeds)):
        assert made.aggregated is not None
        assert check_says_the_same(made, spread, (model, number))
        random = np.random.default_rng(number)
        for turn in range(times):
            again = broken(made.aggregated.quotient, spread, random)
            feasible += check_says_the_same(made, again, (model, number, turn))
            found += 1
    assert 0 < feasible < 0.9 * found


@pytest.mark.quick(2)
@pytest.mark.parametrize("heavy", [0, 2, 50])
@pytest.mark.parametrize("model", ["printed", "zoned", "sharing"])
def test_support_says_the_same(tmp_path: Path, model: str, heavy: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supporting, "HEAVY", heavy)
    check_plans(tmp_path, model, range(4), 25)


@pytest.mark.slow
@pytest.mark.parametrize("start", range(1000, 1075, 25))
@pytest.mark.parametrize("model", ["printed", "zoned", "sharing"])
def test_support_says_the_same_often(tmp_path: Path, model: str, start: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supporting, "HEAVY", start // 25 % 3)
    check_plans(tmp_path, model, range(start, start + 25), 100)
