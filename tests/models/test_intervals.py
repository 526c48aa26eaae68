"""The models with intervals: the shipped scenarios against enumeration, published optima and other solvers."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

import gpusched_dsl as gs

SCENARIOS = Path(__file__).parents[2] / "models" / "intervals" / "scenarios"
POSITIONS = {
    "g1_5gb": (1, range(7)), "g2_10gb": (2, (0, 2, 4)), "g3_20gb": (4, (0, 4)), "g4_20gb": (4, (0,)),
    "g7_40gb": (8, (0,)),
}  # fmt: skip
JOBS = {
    "training": ("g7_40gb", 4.0), "tuning_1": ("g4_20gb", 2.4), "tuning_2": ("g3_20gb", 2.0), "batch": ("g3_20gb", 1.8),
    "chat": ("g2_10gb", 1.5), "search": ("g2_10gb", 1.2), "speech": ("g1_5gb", 0.8), "ranking": ("g1_5gb", 0.7),
    "notebook": ("g1_5gb", 0.4), "debug": ("g1_5gb", 0.3),
}  # fmt: skip


def fit(profiles: tuple[str, ...], taken: frozenset[int] = frozenset()) -> bool:
    """Whether instances of these profiles fit on one GPU."""
    if not profiles:
        return True
    size, starts = POSITIONS[profiles[0]]
    places = (frozenset(range(start, start + size)) for start in starts)
    return any(not place & taken and fit(profiles[1:], taken | place) for place in places)


def best_profit() -> float:
    """The best value of jobs on two GPUs at 1 $/h each, over all pairs of sets of jobs."""
    names = list(JOBS)
    fits = {
        chosen: sum(JOBS[names[j]][1] for j in chosen) - (1.0 if chosen else 0.0)
        for size in range(len(names) + 1)
        for chosen in map(frozenset, itertools.combinations(range(len(names)), size))
        if fit(tuple(sorted((JOBS[names[j]][0] for j in chosen), key=lambda p: -POSITIONS[p][0])))
    }
    return max(
        one + other for (a, one), (b, other) in itertools.combinations_with_replacement(fits.items(), 2) if not a & b
    )


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["highs", "cpsat"])
def test_instances_against_all_divisions(backend: str) -> None:
    result = gs.load(SCENARIOS / "a100.gsm").solve(backend=backend, gap=0.0)
    assert (result.status, result.objective) == ("optimal", pytest.approx(best_profit()))
    places: dict[str, list[tuple[int, int]]] = {}
    for job, gpu, slot, _ in result["at"].iter_rows():
        places.setdefault(gpu, []).append((int(slot), POSITIONS[JOBS[job][0]][0]))
        assert int(slot) in POSITIONS[JOBS[job][0]][1]
    for used in places.values():
        assert all(a + n <= b or b + m <= a for (a, n), (b, m) in itertools.combinations(used, 2))


@pytest.mark.slow
def test_the_published_optimum() -> None:
    result = gs.load(SCENARIOS / "ft06.gsm").solve(backend="cpsat", gap=0.0)
    assert (result.status, result.objective, result.bound) == ("optimal", 55.0, 55.0)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_solvers_agree_on_named_nodes() -> None:
    model = gs.load(SCENARIOS / "maintenance.gsm")
    values = [[o.value for o in model.solve(backend=name, gap=0.0).objectives] for name in ("cpsat", "highs+cpsat")]
    assert values[0] == pytest.approx(values[1])
