"""The search for prices of time by tables, problem by problem, against the same search for all problems at once."""

from __future__ import annotations

import numpy as np
import pytest
from instances import LIMIT, padded, random_instance

from gpusched_dsl.policies import price_search
from gpusched_dsl.policies.kernels import price_brackets as kernels
from gpusched_dsl.policies.kernels.compiled import Kernel, machine_code_or
from gpusched_dsl.policies.price_search import PriceSearch
from gpusched_dsl.policies.speed_levels import filter_levels
from gpusched_dsl.policies.speed_profile import ProfileStatus, speed_profiles

TABLES = ["discrete", "points", "uniform"]


def searches_of(seed: int, count: int, monkeypatch: pytest.MonkeyPatch) -> PriceSearch:
    """The search of random problems with binding due dates."""
    rng = np.random.default_rng(seed)
    cases = [random_instance(rng, TABLES[number % len(TABLES)]) for number in range(count)]
    made: list[PriceSearch] = []
    original = PriceSearch.run

    def run(self: PriceSearch) -> price_search.PriceBracket:
        made.append(self)
        return original(self)

    monkeypatch.setattr(PriceSearch, "run", run)
    ladders = filter_levels(padded([c.speed for c in cases]), padded([c.rate for c in cases]))
    found = speed_profiles(ladders, [c.law for c in cases], [c.left for c in cases], LIMIT, [c.done for c in cases])
    assert (found.status == ProfileStatus.OK).sum() > 0
    return made[0]


def one_by_one(search: PriceSearch, monkeypatch: pytest.MonkeyPatch) -> tuple[np.ndarray, np.ndarray]:
    """The prices as the kernel computes them, in plain Python where it is not compiled."""

    def call(_otherwise: object, kernel: object, *arguments: object) -> object:
        plain = kernel._plain_function() if isinstance(kernel, Kernel) else kernel
        return plain(*arguments)  # type: ignore[operator]

    monkeypatch.setattr(price_search, "machine_code_or", call)
    bracket = search.run()
    return bracket.low, bracket.high


@pytest.mark.quick(2)
@pytest.mark.parametrize("seed", range(20))
def test_the_results_are_the_same_to_the_last_bit(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    search = searches_of(seed, 150, monkeypatch)
    assert search.work.tables is not None
    low, high = search.search_together()
    assert (low < high).any()
    assert (low == high).any()
    found = one_by_one(search, monkeypatch)
    assert found[0].tolist() == low.tolist()
    assert found[1].tolist() == high.tolist()


@pytest.mark.slow
def test_machine_code_gives_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    assert isinstance(kernels.price_brackets, Kernel)
    monkeypatch.setattr(kernels.price_brackets, "_at_once", True)
    for seed in range(100, 130):
        search = searches_of(seed, 200, monkeypatch)
        low, high = search.search_together()
        bracket = search.run()
        assert kernels.price_brackets._is_ready
        assert bracket.low.tolist() == low.tolist()
        assert bracket.high.tolist() == high.tolist()
        monkeypatch.undo()
        monkeypatch.setattr(kernels.price_brackets, "_at_once", True)


def test_laws_without_tables_are_computed_together(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    cases = [random_instance(rng, kind) for kind in ("exponential", "points", "weibull", "discrete") for _ in range(9)]
    kernel_calls: list[object] = []
    monkeypatch.setattr(price_search, "machine_code_or", lambda *call: kernel_calls.append(call))
    ladders = filter_levels(padded([c.speed for c in cases]), padded([c.rate for c in cases]))
    speed_profiles(ladders, [c.law for c in cases], [c.left for c in cases], LIMIT, [c.done for c in cases])
    assert not kernel_calls


def test_without_a_compiler_the_arrays_are_used() -> None:
    assert machine_code_or(lambda: 3, lambda: 4) == 3
