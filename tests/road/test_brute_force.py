"""Models without a test block of their own: their optima against plain enumeration, with both solvers."""

from __future__ import annotations

import itertools
import math
from pathlib import Path

import numpy as np
import pytest

import gpusched_dsl as gs
from gpusched_dsl.reporting.result import Result

MODELS = Path(__file__).parent / "models"
BACKENDS = ("highs", "scip")


def solved(name: str, scenario: str | None = None, backend: str = "highs", **settings: str | float) -> Result:
    result = gs.load(MODELS / f"{name}.gsm").solve(scenario, backend, gap=0.0, settings=settings)
    assert result.status == "optimal"
    return result


@pytest.mark.quick(6)
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(("setup", "holding", "initial"), [(100, 1, 0), (20, 1, 0), (300, 0.5, 70), (0, 2, 35)])
def test_lot_sizing(backend: str, setup: float, holding: float, initial: float) -> None:
    demand = [60, 100, 10, 120]
    best = math.inf
    for opened in itertools.product((0, 1), repeat=4):
        stock, cost = initial, 0.0
        for week, needed in enumerate(demand):
            later = next((w for w in range(week + 1, 4) if opened[w]), 4)
            made = max(0.0, sum(demand[week:later]) - stock) if opened[week] else 0.0
            stock += made - needed
            cost += setup * opened[week] + made + holding * stock
            if stock < 0:
                break
        else:
            best = min(best, cost)
    settings = {"setup": f"{setup}[$]", "holding": f"{holding}[$]", "initial": initial}
    result = solved("lotsizing", None, backend, **settings)
    assert result.objective == pytest.approx(best)
    assert sum(result.terms.values()) == pytest.approx(best)


@pytest.mark.parametrize("backend", BACKENDS)
def test_job_shop(backend: str) -> None:
    jobs = {
        "a": [("m1", 3), ("m2", 2), ("m3", 2)], "b": [("m1", 2), ("m3", 1), ("m2", 4)],
        "c": [("m2", 4), ("m3", 3), ("m1", 1)],
    }  # fmt: skip
    best = math.inf
    for order in set(itertools.permutations([j for j in jobs for _ in range(3)])):
        free = {"m1": 0, "m2": 0, "m3": 0}
        done = dict.fromkeys(jobs, 0)
        step = dict.fromkeys(jobs, 0)
        for job in order:
            machine, takes = jobs[job][step[job]]
            done[job] = free[machine] = max(done[job], free[machine]) + takes
            step[job] += 1
        best = min(best, *[max(done.values())])
    result = solved("jobshop", None, backend)
    assert result.objective == pytest.approx(best / 60)
    assert result.table("end").rows() == [(pytest.approx(best),)]


POINTS = {"a": (0, 0), "b": (0, 1), "c": (3, 0), "d": (3, 4), "e": (0, 2)}
HEAVY = {"a": 1, "b": 1, "c": 1, "d": 5, "e": 1}


@pytest.mark.quick(3)
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("count", [1, 2, 3, 5])
def test_p_median_and_p_centre(backend: str, count: int) -> None:
    def nearest(chosen: tuple[str, ...]) -> dict[str, float]:
        return {p: min(math.dist(POINTS[p], POINTS[c]) for c in chosen) for p in POINTS}

    choices = [nearest(c) for c in itertools.combinations(POINTS, count)]
    median = min(sum(HEAVY[p] * d for p, d in c.items()) for c in choices)
    centre = min(max(c.values()) for c in choices)
    assert solved("pmedian", "Square", backend, open=count).objective == pytest.approx(median)
    worst = solved("pmedian", "Worst", backend, open=count)
    assert worst.objective == pytest.approx(centre)
    assert worst.terms == {"walking": 0.0, "longest": pytest.approx(centre)}


def test_derived_elements_of_p_median() -> None:
    result = solved("pmedian", "Square")
    nearest = {p: min((q for q in POINTS if q != p), key=lambda q: math.dist(POINTS[p], POINTS[q])) for p in POINTS}
    assert dict(result["nearest"].rows()) == nearest
    farthest = {p: pytest.approx(max(math.dist(at, to) for to in POINTS.values())) for p, at in POINTS.items()}
    assert dict(result["farthest"].rows()) == farthest


@pytest.mark.parametrize("backend", BACKENDS)
def test_lexicographic(backend: str) -> None:
    takes, due = {"a": 4.0, "b": 6.0, "c": 2.0}, {"a": 2.0, "b": 4.0, "c": 0.5}
    speed, price = {"slow": 1, "medium": 2, "fast": 4, "spare": 1}, {"slow": 1, "medium": 4, "fast": 8, "spare": 1}
    outcomes = []
    for nodes in itertools.permutations(speed, 3):
        ends = {j: takes[j] / speed[n] for j, n in zip(takes, nodes, strict=True)}
        late = {j: max(0.0, ends[j] - due[j]) for j in takes}
        rent = sum(price[n] * ends[j] for j, n in zip(takes, nodes, strict=True))
        outcomes.append((sum(t > 1e-9 for t in late.values()), 60 * sum(late.values()), rent))
    best = min(outcomes)
    result = solved("lexicographic", None, backend)
    assert [o.value for o in result.objectives] == [pytest.approx(v) for v in (best[0], best[1], -best[2])]
    assert result.terms["saved_rent"] == pytest.approx(-best[2])


@pytest.mark.quick(2)
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(("scenario", "length"), [("Day", 8), ("Long", 12)])
def test_shifts(backend: str, scenario: str, length: int) -> None:
    need = np.ones(24)
    for hour, people in ((0, 2), (4, 1), (5, 3), (8, 4), (9, 6), (12, 5), (13, 5), (17, 7), (20, 3), (22, 4)):
        need[hour] = people
    starts = range(0, 24, 4)
    plans = np.array(list(itertools.product(range(8), repeat=6)))
    cover = np.array([[(h - s) % 24 < length for h in range(24)] for s in starts], dtype=float)
    fine = plans[(plans @ cover >= need).all(axis=1)]
    staff = fine.sum(axis=1)
    nights = fine[staff == staff.min()][:, [0, 5]].sum(axis=1)
    result = solved("shifts", scenario, backend)
    assert [o.value for o in result.objectives] == [pytest.approx(staff.min()), pytest.approx(nights.min())]


@pytest.mark.parametrize("backend", BACKENDS)
def test_windows(backend: str) -> None:
    tariff = [100, 40, 30, 20, 90, 80, 10, 60]
    jobs = {"a": (0, 4, 2, 1.0, 1), "b": (2, 7, 3, 2.0, 0), "c": (5, 5, 1, 0.5, 0)}
    best = math.inf
    choices = [itertools.combinations(range(first, last + 1), n) for first, last, n, _, _ in jobs.values()]
    for plan in itertools.product(*map(list, choices)):
        used = [h for slots in plan for h in slots]
        if len(set(used)) < len(used) or any({h - 1, h, h + 1} <= set(s) for s in plan for h in range(1, 7)):
            continue
        cost = 0.0
        for (first, _, _, power, running), slots in zip(jobs.values(), plan, strict=True):
            cost += sum(tariff[h] / 1000 * 0.5 * power for h in slots)
            before = [h - 1 in slots if h > 0 else bool(running) for h in range(first, 8)]
            cost += 0.1 * sum(h in slots and not b for h, b in zip(range(first, 8), before, strict=True))
        best = min(best, cost)
    result = solved("windows", None, backend)
    assert result.objective == pytest.approx(best)
    opened = {(j, h) for j, (first, last, *_) in jobs.items() for h in range(first, last + 1)}
    assert set(result.table("run", zeros=True).select("j", "h").rows()) == opened


@pytest.mark.parametrize("backend", BACKENDS)
def test_unit_commitment(backend: str) -> None:
    demand = np.array([120, 180, 260, 300, 210, 90])
    low, high, price = [50, 20, 5], [200, 100, 50], [20, 40, 80]
    idle, start, least, was_on = [300, 100, 20], [1000, 200, 20], [3, 2, 1], [1, 0, 0]
    hourly = np.full((6, 2, 2, 2), np.inf)  # the cheapest dispatch of an hour by which units run
    for hour, on in itertools.product(range(6), itertools.product((0, 1), repeat=3)):
        rest = demand[hour] - sum(low[u] for u in range(3) if on[u])
        if rest < 0 or sum(high[u] for u in range(3) if on[u]) < 1.05 * demand[hour]:
            continue
        cost = sum(low[u] * price[u] + idle[u] for u in range(3) if on[u])
        for u in range(3):  # by price
            more = min(rest, high[u] - low[u]) if on[u] else 0
            cost, rest = cost + more * price[u], rest - more
        if not rest:
            hourly[(hour, *on)] = cost
    patterns: list[list[tuple[tuple[int, ...], float]]] = []
    for u in range(3):
        allowed = []
        for on in itertools.product((0, 1), repeat=6):
            begun = [h for h in range(6) if on[h] and not (on[h - 1] if h else was_on[u])]
            if all(all(on[h : h + least[u]]) for h in begun):
                allowed.append((on, float(start[u] * len(begun))))
        patterns.append(allowed)
    best = min(
        sum(hourly[(h, a[h], b[h], c[h])] for h in range(6)) + x + y + z
        for (a, x), (b, y), (c, z) in itertools.product(*patterns)
    )
    assert solved("unit_commitment", None, backend).objective == pytest.approx(best)
