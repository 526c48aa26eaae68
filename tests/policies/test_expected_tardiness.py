"""Profiles of least expected cost and tardiness: against linear programs, optimality conditions and limit cases."""

from __future__ import annotations

import highspy
import numpy as np
import pytest
from instances import KINDS, LIMIT, Instance, cells, padded, random_instance, random_ladder

from gpusched_dsl.ir.arrays import Codes, Floats
from gpusched_dsl.ir.distributions import Distribution, Exponential, discrete, uniform
from gpusched_dsl.policies.distributions import Laws
from gpusched_dsl.policies.expected_tardiness import tardiness_profiles
from gpusched_dsl.policies.speed_levels import filter_levels
from gpusched_dsl.policies.speed_profile import ProfileStatus, SpeedProfiles, speed_profiles
from gpusched_dsl.policies.stages import MEETS, MISSES, ProfileResults, profile_stage

LADDER = (np.array([1.0, 1.8, 2.4, 2.8]), np.array([1.0, 2.0, 3.0, 4.0]))


def solved(cases: list[Instance], weights: list[float]) -> SpeedProfiles:
    ladders = filter_levels(padded([c.speed for c in cases]), padded([c.rate for c in cases]))
    laws = Laws.of([c.law for c in cases])
    return tardiness_profiles(ladders, laws, [c.left for c in cases], LIMIT, weights, [c.done for c in cases])


def linear_program(case: Instance, weight: float, ends: Floats, level: Floats) -> float:
    """The least cost if the job ends at cell ends only: work of each cell on each rung, tardiness of each end."""
    mass = level - np.append(level[1:], 0.0)
    highs = highspy.Highs()
    highs.silent()
    on = [[highs.addVariable(0, np.inf, a * q) for q in case.rate / case.speed] for a in level]
    late = [highs.addVariable(0, np.inf, weight * p) for p in mass]
    passed = []
    for i, length in enumerate(np.diff(ends, prepend=case.done)):
        highs.addConstr(sum(on[i]) == float(length))
        time = highs.addVariable(0, np.inf)
        spent = sum(float(1 / s) * x for s, x in zip(case.speed, on[i], strict=True))
        highs.addConstr(time == (spent + passed[-1] if passed else spent))
        highs.addConstr(late[i] >= time - case.left)
        passed.append(time)
    highs.run()
    return float(highs.getInfo().objective_function_value)


def draw(rng: np.random.Generator, kind: str) -> tuple[Instance, float]:
    case = random_instance(rng, kind)
    left = case.left * rng.choice([0.2, 0.6, 1.0]) if rng.random() < 0.9 else float(rng.choice([-3.0, 0.0]))
    weight = float(rng.choice([0.0, 0.3, 1.0, 4.0, 30.0]) * rng.uniform(0.5, 2))
    return Instance(case.speed, case.rate, case.law, case.done, left), weight


def test_discrete_laws_are_exact() -> None:
    rng = np.random.default_rng(3)
    cases, weights = zip(*[draw(rng, "discrete") for _ in range(40)], strict=True)
    found = solved(list(cases), list(weights))
    for row, (case, weight) in enumerate(zip(cases, weights, strict=True)):
        assert found.energy[row] == pytest.approx(linear_program(case, weight, *cells(case.law, case.done)), rel=1e-6)


@pytest.mark.quick(5)
@pytest.mark.parametrize("kind", KINDS)
def test_laws_are_close_to_fine_steps(kind: str) -> None:
    """The work is rounded up, or down, to a multiple of a step: the cost lies between the two."""
    rng = np.random.default_rng(4)
    cases, weights = zip(*[draw(rng, kind) for _ in range(6)], strict=True)
    found = solved(list(cases), list(weights))
    for row, (case, weight) in enumerate(zip(cases, weights, strict=True)):
        ends = np.linspace(case.done, LIMIT, 101)
        alive = case.law.survival(ends) / case.law.survival(np.array(case.done))
        over = linear_program(case, weight, ends[1:], alive[:-1])
        under = linear_program(case, weight, ends[1:], np.append(alive[1:-1], 0.0))
        scale = 1e-7 * max(1.0, over)
        assert under - scale <= found.energy[row] <= over + scale
        assert over - under <= 0.1 * over


@pytest.mark.parametrize("kind", KINDS)
def test_optimality_conditions(kind: str) -> None:
    """At work x the rung minimises Q + r c F(max(x, m)) / F(x); integrals of this profile are its results."""
    rng = np.random.default_rng(5)
    cases, weights = zip(*[draw(rng, kind) for _ in range(30)], strict=True)
    found = solved(list(cases), list(weights))
    for row, (case, weight) in enumerate(zip(cases, weights, strict=True)):
        count = int(found.ladders.counts[row])
        speed, rate = found.ladders.speed[row, :count], found.ladders.rate[row, :count]
        switches = found.switch_at[row, :count]
        assert (np.diff(switches, prepend=case.done) >= -1e-9).all()
        assert switches[-1] == LIMIT
        work = np.linspace(case.done, LIMIT, 40001)
        middle = (work[1:] + work[:-1]) / 2
        rung = np.searchsorted(switches, middle)
        times = np.concatenate(([0.0], np.cumsum(np.diff(work) / speed[rung])))
        alive = np.where(middle < LIMIT, case.law.survival(middle), 0.0) / float(case.law.survival(np.array(case.done)))
        late = (times[1:] > case.left) * weight
        cost = float(np.sum(alive * np.diff(work) * (rate[rung] + late) / speed[rung]))
        assert found.energy[row] == pytest.approx(cost + weight * max(-case.left, 0.0), rel=2e-3, abs=1e-3)
        assert found.time[row] == pytest.approx(float(np.sum(alive * np.diff(work) / speed[rung])), rel=2e-3)
        assert found.expected_work[row, :count].sum() == pytest.approx(float(np.sum(alive * np.diff(work))), rel=2e-3)
        assert found.worst_time[row] == pytest.approx(times[-1], rel=1e-3)
        if weight > 0:
            assert cost_gap(case, weight, times, middle, alive, rung, found, row) <= 2e-3 * cost + 1e-3


def cost_gap(
    case: Instance,
    weight: float,
    times: Floats,
    middle: Floats,
    alive: Floats,
    rung: Codes,
    found: SpeedProfiles,
    row: int,
) -> float:
    """How far the profile is from the least value of its Lagrangian, over all rungs of the input."""
    due = middle[min(int(np.searchsorted(times, max(case.left, 0.0))), len(middle) - 1)]
    price = np.minimum(float(found.deadline_price[row]), weight * alive)
    after = np.where(middle >= due, weight * alive, price)
    values = alive[:, None] * (case.rate / case.speed) + after[:, None] / case.speed
    count = int(found.ladders.counts[row])
    speed, rate = found.ladders.speed[row, :count], found.ladders.rate[row, :count]
    own = alive * (rate / speed)[rung] + after / speed[rung]
    return float(np.sum(own - values.min(axis=1)) * (middle[1] - middle[0]))


def test_heavy_tardiness_is_the_certain_profile() -> None:
    """If some probability needs all work, a large weight leaves no tardiness where the due date can be met."""
    rng = np.random.default_rng(6)
    cases = []
    for _ in range(50):
        speed, rate = random_ladder(rng, 5)
        left = LIMIT / speed.max() * rng.uniform(1.01, 3)
        cases.append(Instance(speed, rate, Exponential(rng.uniform(20, 60)).censor(LIMIT), 0.0, left))
    ladders = filter_levels(padded([c.speed for c in cases]), padded([c.rate for c in cases]))
    laws, left = Laws.of([c.law for c in cases]), [c.left for c in cases]
    certain = speed_profiles(ladders, laws, left, LIMIT)
    found = tardiness_profiles(ladders, laws, left, LIMIT, 1e9)
    assert (found.status == certain.status).all()
    assert found.lateness.tolist() == [0.0] * 50
    np.testing.assert_allclose(found.energy, certain.energy, rtol=1e-9)
    np.testing.assert_allclose(found.switch_at[:, 0], certain.switch_at[:, 0], rtol=1e-6)
    np.testing.assert_allclose(found.deadline_price, certain.deadline_price, rtol=1e-6, atol=1e-9)


def test_no_cost_of_tardiness() -> None:
    ladders = filter_levels([LADDER[0]] * 3, [LADDER[1]] * 3)
    found = tardiness_profiles(ladders, Laws.of([uniform(0.0, LIMIT)] * 3), [120.0, 60.0, -5.0], LIMIT, 0.0)
    assert found.ladders.counts.tolist() == [1, 1, 1]
    assert found.energy == pytest.approx([50.0] * 3)
    assert found.lateness == pytest.approx([0.0, 40.0, 105.0])
    assert found.deadline_price.tolist() == [0.0] * 3
    assert found.status.tolist() == [ProfileStatus.LOOSE, ProfileStatus.INFEASIBLE, ProfileStatus.INFEASIBLE]


def test_a_due_date_that_is_past() -> None:
    """All work is late: at 0.9 $/h rung 2 costs (2 + 0.9) / 1.8 for a unit of work, the least of all."""
    ladders = filter_levels([LADDER[0]] * 2, [LADDER[1]] * 2)
    found = tardiness_profiles(ladders, Laws.of([uniform(0.0, LIMIT)] * 2), [0.0, -3.0], LIMIT, 0.9)
    assert found.energy == pytest.approx([50 * 2.9 / 1.8, 50 * 2.9 / 1.8 + 2.7])
    assert found.time == pytest.approx([50 / 1.8] * 2)
    assert found.lateness == pytest.approx([100 / 1.8, 100 / 1.8 + 3])
    assert found.deadline_price.tolist() == [0.9, 0.9]
    assert found.ladders.rung[:, 1].tolist() == [1, 1]
    assert found.first_used().tolist() == [1, 1]


def test_price_is_the_slope_of_the_cost() -> None:
    rng = np.random.default_rng(7)
    for kind in ("uniform", "weibull", "exponential"):
        cases, weights = zip(*[draw(rng, kind) for _ in range(20)], strict=True)
        step = 1e-4
        low, high, here = (
            solved([Instance(c.speed, c.rate, c.law, c.done, c.left + by) for c in cases], list(weights))
            for by in (-step, step, 0.0)
        )
        slope = (low.energy - high.energy) / (2 * step)
        np.testing.assert_allclose(here.deadline_price, slope, rtol=2e-2, atol=1e-3)
        assert (here.deadline_price <= np.array(weights) * (1 + 1e-9)).all()


def test_a_profile_continues_itself() -> None:
    """Solved again after some work, the switches are the same."""
    rng = np.random.default_rng(8)
    for _ in range(20):
        speed, rate = random_ladder(rng, 5)
        case = Instance(speed, rate, Exponential(40.0).truncate(high=LIMIT), 0.0, float(60 / speed.mean()))
        first = solved([case], [2.0])
        count = int(first.ladders.counts[0])
        switches = first.switch_at[0, :count]
        done = 15.0
        starts = np.concatenate(([0.0], switches[:-1]))
        spent = float(np.sum(np.clip(np.minimum(switches, done) - starts, 0, None) / first.ladders.speed[0, :count]))
        later = solved([Instance(speed, rate, case.law, done, case.left - spent)], [2.0])
        np.testing.assert_allclose(later.switch_at[0, :count], np.maximum(switches, done), atol=1e-4)


# --- results for policies --------------------------------------------------------------------------------------------


def staged(law: Distribution, left: float, weight: float, shortest: float = 0.0, done: float = 0.0) -> ProfileResults:
    one = np.ones(1)
    return profile_stage(
        1,
        np.zeros(4, dtype=np.int64),
        *LADDER,
        Laws.of([law]),
        LIMIT * one,
        done * one,
        left * one,
        shortest * one,
        weight * one,
    )


def test_the_way_changes_at_the_due_date() -> None:
    """The job ends at 10 with 90 %, else at 100: slow up to 10, then (2 + 0.9) / 1.8 is the least cost of late work."""
    law = discrete(np.array([10.0, 100.0]), np.array([0.9, 0.1]))
    found = staged(law, 10.0, 0.9)
    assert found.status.tolist() == [MISSES]
    assert found.first.tolist() == [1, 0, 0, 0]
    assert found.leaves[0] == pytest.approx(10.0)
    assert found.switch[0] == pytest.approx(10.0)
    assert found.leaves[1] == np.inf
    assert found.cost[0] == pytest.approx(10 + 0.1 * 90 * 2.9 / 1.8)
    assert found.time[0] == pytest.approx(10 + 0.1 * 90 / 1.8)
    assert found.late[0] == pytest.approx(90 / 1.8)
    assert 0.09 <= found.price[0] <= 0.9
    assert staged(law, 10.0, 0.9, shortest=10.0).first.tolist() == [0, 1, 0, 0]


def test_a_due_date_that_is_met() -> None:
    found = staged(uniform(0.0, LIMIT), 120.0, 1.0)
    assert found.status.tolist() == [MEETS]
    assert found.late.tolist() == [0.0]
    assert found.price.tolist() == [0.0]
    assert found.switch.tolist() == [np.inf]


def test_work_that_is_over() -> None:
    found = staged(uniform(0.0, LIMIT), -5.0, 1.0, done=LIMIT)
    assert found.cost.tolist() == [0.0]
    assert found.late.tolist() == [0.0]
