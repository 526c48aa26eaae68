"""Random single-job problems: optimality by certificates, by linear programming and by upgrading cells."""

from __future__ import annotations

import numpy as np
import pytest
from instances import KINDS, LIMIT, Instance, padded, random_instance, segment_energy, upgraded_energy

from gpusched_dsl.ir.distributions import uniform
from gpusched_dsl.policies.speed_levels import filter_levels
from gpusched_dsl.policies.speed_profile import ProfileStatus, SpeedProfiles, speed_profiles


def solved(cases: list[Instance]) -> SpeedProfiles:
    ladders = filter_levels(padded([c.speed for c in cases]), padded([c.rate for c in cases]))
    return speed_profiles(ladders, [c.law for c in cases], [c.left for c in cases], LIMIT, [c.done for c in cases])


def certify(case: Instance, found: SpeedProfiles, row: int) -> None:
    """Status, feasibility, the optimality conditions, and the energy of the switches, from the single law."""
    ladders, count = found.ladders, int(found.ladders.counts[row])
    speed, rate = ladders.speed[row, :count], ladders.rate[row, :count]
    x = np.concatenate(([case.done], found.switch_at[row, :count]))
    remaining = LIMIT - case.done
    time = float(np.sum(np.diff(x) / speed))
    energy = law_energy(case, x, rate / speed)
    assert (np.diff(x) >= -1e-9).all()
    assert x[-1] == LIMIT
    assert found.energy[row] == pytest.approx(energy, rel=1e-7)
    assert found.worst_time[row] == pytest.approx(time, rel=1e-9)
    assert found.worst_energy[row] == pytest.approx(float(np.sum(np.diff(x) * rate / speed)), rel=1e-9)
    if remaining / case.speed.max() > case.left:
        assert found.status[row] == ProfileStatus.INFEASIBLE
        assert found.lateness[row] == pytest.approx(remaining / case.speed.max() - case.left)
        assert (x[1:-1] == case.done).all()
        return
    assert found.lateness[row] == 0
    assert time <= case.left + 1e-9 * max(1.0, case.left)
    if remaining / speed[0] <= case.left:
        assert found.status[row] == ProfileStatus.LOOSE
        assert (x[1:] == LIMIT).all()
        return
    assert found.status[row] == ProfileStatus.OK
    price = float(found.deadline_price[row])
    # Rungs are left where F falls to price / time_price: a certificate, because the problem is convex.
    whole = float(case.law.survival(np.array(case.done)))
    inner, prices = x[1:-1], ladders.time_price[row, : count - 1]
    nudge = 1e-6 * LIMIT
    behind = np.where(inner + nudge >= LIMIT, 0.0, case.law.survival(inner + nudge) / whole)
    before = np.where(inner - nudge <= case.done, np.inf, case.law.survival_left(inner - nudge) / whole)
    slack = 1e-9 + 1e-7 * price
    assert (prices * behind <= price + slack).all()
    assert (prices * before >= price - slack).all()
    if price > slack:
        assert time == pytest.approx(case.left, rel=1e-9)


def law_energy(case: Instance, x: np.ndarray, cost: np.ndarray) -> float:
    law = (
        case.law.condition_above(case.done).censor(LIMIT)
        if case.done >= case.law.support[0]
        else case.law.censor(LIMIT)
    )
    return float(np.sum(cost * np.diff(law.partial_expectation(x))))


def check_many(seed: int, kind: str, count: int) -> None:
    rng = np.random.default_rng(seed)
    cases = [random_instance(rng, kind) for _ in range(count)]
    found = solved(cases)
    for row, case in enumerate(cases):
        certify(case, found, row)
    assert (found.status == ProfileStatus.OK).mean() > 0.3


@pytest.mark.quick(3)
@pytest.mark.parametrize("kind", KINDS)
def test_optimality_conditions_hold(kind: str) -> None:
    check_many(10, kind, 10 if kind == "mixture" else 60)  # a mixture inverts by bisection


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(20, 24))
def test_optimality_conditions_hold_on_thousands(seed: int, kind: str) -> None:
    check_many(seed, kind, 60 if kind == "mixture" else 400)


def agree_on_discrete_laws(seed: int, count: int) -> None:
    rng = np.random.default_rng(seed)
    cases = [random_instance(rng, "discrete") for _ in range(count)]
    found = solved(cases)
    for row, case in enumerate(cases):
        energy = segment_energy(case)
        assert np.isnan(energy) == (found.status[row] == ProfileStatus.INFEASIBLE)
        if not np.isnan(energy):
            assert found.energy[row] == pytest.approx(energy, rel=1e-6)
            rungs = int(found.ladders.counts[row])
            speed, rate = found.ladders.speed[row, :rungs], found.ladders.rate[row, :rungs]
            assert found.energy[row] == pytest.approx(upgraded_energy(case, speed, rate), rel=1e-9)


def test_energies_are_those_of_the_linear_program_over_cells() -> None:
    agree_on_discrete_laws(30, 120)


@pytest.mark.slow
def test_energies_are_those_of_thousands_of_linear_programs() -> None:
    agree_on_discrete_laws(31, 4000)


def test_one_by_one_is_as_all_together() -> None:
    rng = np.random.default_rng(40)
    cases = [random_instance(rng, kind) for kind in KINDS * 3]
    found = solved(cases)
    for row, case in enumerate(cases):
        alone = solved([case])
        assert alone.status[0] == found.status[row]
        assert alone.energy[0] == pytest.approx(found.energy[row], rel=1e-9)


def test_more_time_costs_less_at_the_stated_price() -> None:
    """E is convex and does not increase in d; its slope is minus the price."""
    rng = np.random.default_rng(41)
    for kind in KINDS:
        case = random_instance(rng, kind)
        count = 60
        low, high = (LIMIT - case.done) / case.speed.max(), (LIMIT - case.done) / case.speed.min()
        left = np.linspace(low, high * 1.01, count)
        ladders = filter_levels(np.tile(case.speed, (count, 1)), np.tile(case.rate, (count, 1)))
        found = speed_profiles(ladders, [case.law] * count, left, LIMIT, case.done)
        step = left[1] - left[0]
        slopes = np.diff(found.energy) / step
        scale = 1e-7 * np.abs(found.energy).max() / step
        assert (slopes <= scale).all()
        assert (np.diff(slopes) >= -scale).all()
        price = found.deadline_price
        some = found.status == ProfileStatus.OK
        assert (-slopes <= price[:-1] + scale)[some[:-1]].all()
        assert (-slopes >= price[1:] - scale)[some[1:]].all()


def test_going_on_changes_nothing() -> None:
    """Solved again on the way, an undisturbed profile stays; the price grows as the chance to get there falls."""
    rng = np.random.default_rng(42)
    for kind in KINDS:
        case = random_instance(rng, kind)
        found = solved([case])
        if found.status[0] != ProfileStatus.OK:
            continue
        count = int(found.ladders.counts[0])
        x = np.append(case.done, found.switch_at[0, :count])
        further = case.done + 0.3 * (LIMIT - case.done)
        chance = float(case.law.survival(np.array(further)) / case.law.survival(np.array(case.done)))
        if chance < 1e-3:
            continue
        spent = float(np.sum(np.diff(np.minimum(x, further)) / found.ladders.speed[0, :count]))
        later = solved([Instance(case.speed, case.rate, case.law, further, case.left - spent)])
        tail = law_energy(
            Instance(case.speed, case.rate, case.law, further, 0), np.maximum(x, further), found.ladders.cost[0, :count]
        )
        assert later.energy[0] == pytest.approx(tail, rel=1e-7)


def test_ends() -> None:
    law = uniform(0.0, LIMIT)
    ladders = filter_levels(np.tile([1.0, 1.8], (5, 1)), np.tile([1.0, 2.0], (5, 1)))
    found = speed_profiles(ladders, [law] * 5, [-3, 0, 5, 1, np.inf], [100, 100, 50, 40, 100], [0, 0, 50, 45, 0])
    names = [ProfileStatus(s).name for s in found.status]
    assert names == ["INFEASIBLE", "INFEASIBLE", "DONE", "DONE", "LOOSE"]
    assert found.lateness[0] == pytest.approx(100 / 1.8 + 3)
    assert found.energy[2] == found.time[2] == found.worst_energy[3] == 0.0
    assert np.isfinite(found.energy).all()


def test_a_law_that_ends_before_the_limit_runs_the_rest_for_nothing() -> None:
    """Work beyond 60 never comes; the due date must hold for it all the same, at no expected cost."""
    ladders = filter_levels([[1.0, 2.0]] * 2, [[1.0, 3.0]] * 2)
    found = speed_profiles(ladders, [uniform(0.0, 60.0)] * 2, [80.0, 75.0], 100.0)
    assert found.energy[0] == pytest.approx(30.0)
    assert found.deadline_price[0] == 0.0
    assert found.energy[1] > 30.0
    assert found.worst_time.tolist() == pytest.approx([80.0, 75.0])


def test_units_do_not_matter() -> None:
    """Seconds or hours, cents or dollars, single epochs or thousands: the same profile in other numbers."""
    rng = np.random.default_rng(43)
    cases = [random_instance(rng, "discrete") for _ in range(40)]
    found = solved(cases)
    ladders = filter_levels(padded([c.speed for c in cases]) / 3600, padded([c.rate for c in cases]) * 1e-5)
    left = np.array([c.left for c in cases]) * 3600
    scaled = speed_profiles(ladders, [c.law for c in cases], left, LIMIT, [c.done for c in cases])
    np.testing.assert_array_equal(scaled.status, found.status)
    np.testing.assert_allclose(scaled.energy, found.energy * 3600e-5, rtol=1e-9)
    np.testing.assert_allclose(scaled.switch_at, found.switch_at, atol=1e-7)


def test_a_job_on_its_last_rung_stays_in_time() -> None:
    """Just enough time, up to rounding, is enough."""
    done = np.linspace(0, 99.9, 200)
    ladders = filter_levels(np.tile([1.0, 1.8, 2.4], (200, 1)), np.tile([1.0, 2.0, 3.0], (200, 1)))
    for left in ((LIMIT - done) / 2.4, np.nextafter((LIMIT - done) / 2.4, 0)):
        found = speed_profiles(ladders, [uniform(0.0, LIMIT)] * 200, left, LIMIT, done)
        assert (found.status == ProfileStatus.OK).all()
        np.testing.assert_allclose(found.switch_at[:, :2], np.tile(done[:, None], 2), atol=1e-9)
        assert not found.lateness.any()
