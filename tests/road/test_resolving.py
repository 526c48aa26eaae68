"""A re-solve with changed values equals a fresh solve with the same values."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest

import gpusched_dsl as gs
from gpusched_dsl.language.diagnostics.errors import DiagnosticError

FOLDER = Path(__file__).parent / "models"

LOTS: dict[str, Any] = {
    "setup": lambda r: r.choice((0, 20, 100, 400)),
    "holding": lambda r: r.choice((0, 0.5, 1, 3)),
    "initial": lambda r: r.choice((0, 30, 200)),
    "demand": lambda r: {week: r.choice((0, 10, 60, 100)) for week in (1, 2, 3, 4)},
    "unit_cost": lambda r: r.choice((1, {1: 1, 2: 5, 3: 2, 4: 9})),
}
WINDOWS: dict[str, Any] = {
    "tariff": lambda r: {slot: r.choice((0.01, 0.05, 0.2)) for slot in range(8)},
    "needs": lambda r: {"a": r.choice((1, 2)), "b": r.choice((1, 2, 3)), "c": 1},
    "closes": lambda r: {"a": r.choice((3, 4, 7)), "b": 7, "c": r.choice((5, 6))},  # changes which columns there are
    "power": lambda r: {"a": 1, "b": r.choice((0.5, 2)), "c": 0.5},
    "running": lambda r: r.choice((0, 1, {"a": 1, "b": 0, "c": 0})),
}
FLOWS: dict[str, Any] = {
    "price": lambda r: r.choice((0.2, {}, {("seattle", "topeka"): 0.5})),
    "width": lambda r: r.choice((1000, 300, 250)),
    "supply": lambda r: {"seattle": r.choice((350, 500)), "san_diego": 600},
    "demand": lambda r: {"new_york": 325, "chicago": r.choice((100, 300)), "topeka": 275},
    "Links": lambda r: r.choice((
        [(i, j) for i in ("seattle", "san_diego") for j in ("new_york", "chicago", "topeka")],
        [("seattle", "new_york"), ("seattle", "chicago"), ("san_diego", "topeka"), ("san_diego", "chicago")],
    )),
}  # fmt: skip


@pytest.mark.quick(2)
@pytest.mark.parametrize("backend", ["highs", "scip"])
@pytest.mark.parametrize(
    ("name", "scenario", "changes"),
    [("lotsizing", "FourWeeks", LOTS), ("windows", "Day", WINDOWS), ("transport", "Classic", FLOWS)],
)
def test_resolving_is_solving_anew(name: str, scenario: str, changes: dict[str, Any], backend: str) -> None:
    random = Random(3)
    path = FOLDER / f"{name}.gsm"
    with gs.load(path) as model:
        model.solve(scenario, backend, gap=0)
        current: dict[str, Any] = {}
        rebuilt = []
        for _ in range(12):
            for changed in random.sample(list(changes), random.randint(1, 3)):
                value = changes[changed](random)
                if value == {}:
                    model.reset(changed)
                    current.pop(changed, None)
                elif changed == "price" and isinstance(value, dict):
                    links = current.get("Links") or changes["Links"](Random(0))
                    current[changed] = {link: value.get(link, 0.1) for link in links}
                    model.set(changed, current[changed])
                else:
                    current[changed] = value
                    model.set(changed, value)
            if isinstance(current.get("price"), dict) or ("Links" in current and "price" not in current):
                current["price"] = 0.15  # a price for every link, whichever there are
                model.set("price", 0.15)
            again = model.resolve()
            rebuilt.append(again.rebuilt)
            with gs.load(path) as fresh:
                for parameter, value in current.items():
                    fresh.set(parameter, value)
                expected = fresh.solve(scenario, backend, gap=0)
            assert again.status == expected.status
            if expected.objective is not None:
                assert again.objective == pytest.approx(expected.objective, rel=1e-6, abs=1e-6)
    if backend == "highs":
        assert None in rebuilt  # some changes of numbers are made in the loaded problem


def test_values_are_set_before_a_scenario_is_chosen() -> None:
    model = gs.load(FOLDER / "maxflow.gsm")  # three scenarios of two models
    model.set("wanted", 3.0)
    assert model.solve("Cheap").objective == 6
    model.reset()
    model.set("width", 1.0)
    assert model.solve("Textbook").objective == 2
    assert model.resolve().objective == 2
    with pytest.raises(DiagnosticError, match="GSM6012"):
        gs.load(FOLDER / "maxflow.gsm").set("breadth", 1.0)
