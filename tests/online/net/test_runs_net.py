"""Random runs: equal results by every method of execution, and by a simulator based on the documentation alone."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from net_cases import drawn
from net_hunt import EVENTS, TYPED, WINDOWS, hunt
from net_roads import check
from net_simulator import Simulation
from typed_cases import drawn_typed
from window_cases import WindowCase, drawn_window, text_of
from window_roads import check_windows

WITH_JOURNAL = 10  # one case in so many is recorded, killed, resumed and estimated too


@pytest.mark.parametrize("cases", [40, pytest.param(100, marks=pytest.mark.slow)])
def test_random_runs(cases: int, tmp_path: Path) -> None:
    counts = hunt(EVENTS, range(cases), tmp_path, WITH_JOURNAL)
    assert counts["cases"] == cases
    assert counts["replayed"] >= 0.1 * cases, counts
    assert counts["finished"] >= 0.6 * cases, counts
    assert counts["stuck"] >= 1, counts
    assert counts["plans"] >= 5 * cases, counts


def test_ten_random_runs_on_nodes_of_several_types(tmp_path: Path) -> None:
    counts = hunt(TYPED, range(20, 30), tmp_path, WITH_JOURNAL)
    assert counts["cases"] == 10
    assert counts["finished"] >= 6, counts
    assert counts["replayed"] >= 1, counts


@pytest.mark.slow
def test_random_runs_on_nodes_of_several_types(tmp_path: Path) -> None:
    counts = hunt(TYPED, range(30), tmp_path, WITH_JOURNAL)
    assert counts["cases"] == 30
    assert counts["finished"] >= 20, counts
    assert counts["replayed"] >= 1, counts


@pytest.mark.parametrize("seed", [7_700_287])  # `next_choice` goes on with the ways of `otherwise`
def test_typed_runs_that_were_found(seed: int) -> None:
    assert TYPED.check(drawn_typed(seed), None).wrong == []


def test_random_windows(tmp_path: Path) -> None:
    counts = hunt(WINDOWS, range(15), tmp_path, 8)
    assert counts["horizon"] == counts["cases"] == 15
    assert counts["plans"] >= 60, counts


@pytest.mark.slow
@pytest.mark.parametrize("part", range(10))
def test_five_thousand_random_runs(part: int, tmp_path: Path) -> None:
    first = 10_000 + 500 * part
    assert hunt(EVENTS, range(first, first + 500), tmp_path, WITH_JOURNAL)["replayed"] >= 50


@pytest.mark.slow
@pytest.mark.parametrize("part", range(4))
def test_many_random_runs_on_nodes_of_several_types(part: int, tmp_path: Path) -> None:
    first = 10_000 + 100 * part
    assert hunt(TYPED, range(first, first + 100), tmp_path, WITH_JOURNAL)["replayed"] >= 3


@pytest.mark.slow
@pytest.mark.parametrize("part", range(5))
def test_many_random_windows(part: int, tmp_path: Path) -> None:
    first = 10_000 + 100 * part
    assert hunt(WINDOWS, range(first, first + 100), tmp_path, 2)["plans"] >= 300


def test_the_net_catches_a_price_that_is_charged_wrongly() -> None:
    """The simulator is no copy of the engine's result: another tariff is another bill."""
    seed = next(s for s in range(1000) if drawn(s).factor == "tariff" and "price" in drawn(s).carries)
    case = drawn(seed)
    assert not check(case).wrong
    other = Simulation(replace(case, tariff=tuple(p + 1 for p in case.tariff))).run()
    assert other.terms != Simulation(case).run().terms


def test_the_net_catches_a_window_that_is_planned_wrongly(monkeypatch: pytest.MonkeyPatch) -> None:
    """The model that is solved has another price than the case of the simulator."""
    cases = (drawn_window(seed) for seed in range(1000))
    case = next(c for c in cases if c.method == "highs" and c.tariff == "told" and c.charges and not c.outages)
    dearer = replace(case, forecast=tuple(price + 1 for price in case.forecast))
    monkeypatch.setattr(WindowCase, "text", text_of(dearer))
    assert any("costs" in wrong for wrong in check_windows(case).wrong)
