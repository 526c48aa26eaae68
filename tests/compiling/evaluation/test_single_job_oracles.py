"""The single-job problem, solved from its text: optima known to better than 1e-6 from other algorithms."""

from __future__ import annotations

import pytest
from random_models import instance_of

from gpusched_dsl.compiling.evaluation.limits import MemoryLimits
from gpusched_dsl.compiling.lowering.ground import ground
from gpusched_dsl.compiling.passes.partial_expectations import PartialExpectations
from gpusched_dsl.solving.solution import Solution
from gpusched_dsl.solving.solve import solve_problem

MODEL = """
  param K integer >= 1;  set Levels = 1..K;
  param speed[Levels] in epoch/s > 0;  param power[Levels] in $/s >= 0;
  param done in epoch default 0[epoch];  param limit in epoch = 100[epoch];  param due in s;
  random length in epoch;
  var leave[k in 0..K] in epoch >= done <= limit;
  minimize energy in $: sum[k in Levels] power[k] / speed[k]
    * (E(min(length, leave[k]) given length > done) - E(min(length, leave[k-1]) given length > done));
  constraint starts: leave[0] == done;
  constraint ends: leave[K] == limit;
  constraint ordered[k in Levels]: leave[k-1] <= leave[k];
  constraint on_time: sum[k in Levels] (leave[k] - leave[k-1]) / speed[k] <= due;
"""
LADDER = {1.0: 1, 1.8: 2, 2.4: 3, 2.8: 4}
UNIFORM = "uniform(0[epoch], 100[epoch])"
STEPS = "discrete({ (10[epoch], 0.3), (20[epoch], 0.2), (40[epoch], 0.2), (70[epoch], 0.1), (100[epoch], 0.2) })"
HUNDRED = "empirical({ k * 1[epoch] : k in 1..100 })"
EXPONENTIAL = "exponential(rate = 0.03[1/epoch])"
ORACLES = {
    "SJ-1": (UNIFORM, 60, 0, 3302 / 61),
    "SJ-2": (UNIFORM, 45, 0, 59.065278),
    "SJ-2b": (UNIFORM, 36, 0, 70.592),
    "SJ-3": (f"truncate({EXPONENTIAL}, high = 100[epoch])", 60, 0, 29.634154),
    "SJ-4": (f"censor({EXPONENTIAL}, 100[epoch])", 60, 0, 33.892810),
    "SJ-4b": (f"censor({EXPONENTIAL}, 100[epoch])", 45, 0, 36.924802),
    "SJ-5": (STEPS, 62, 0, 45.205556),
    "SJ-5b": (STEPS, 60, 0, 45.555556),
    "SJ-5c": (STEPS, 50, 0, 47.916667),
    "SJ-5d": (STEPS, 36, 0, 59.142857),
    "SJ-7": (UNIFORM, 120, 0, 50.0),
    "SJ-11": ("uniform(20[epoch], 100[epoch])", 60, 0, 65.158730),
    "SJ-12": ("censor(weibull(45[epoch], 1.5), 100[epoch])", 60, 0, 42.746095),
    "SJ-13": ("censor(lognormal(median = exp(3.5) * 1[epoch], sigma = 0.5), 100[epoch])", 60, 0, 39.099046),
    "SJ-14": ("survival_points({ (0[epoch], 1), (30[epoch], 0.4), (100[epoch], 0.1) })", 60, 0, 41.659033),
    "SJ-15": (UNIFORM, 24.499089, 50, 28.455015),
    "SJ-15b": (UNIFORM, 20, 50, 31.588889),
    "SJ-15d": (UNIFORM, 40, 50, 25.516393),
    "SJ-17": (HUNDRED, 60, 0, 54.697560),
}
EXACT = ("SJ-5", "SJ-5b", "SJ-5c", "SJ-5d", "SJ-17")


def solution(name: str, backend: str) -> Solution:
    law, due, done, _ = ORACLES[name]
    rungs = " ".join(f"{at} {s} {p}" for at, (s, p) in enumerate(LADDER.items(), start=1))
    given = f"""K = {len(LADDER)};  due = {due}[s];  done = {done}[epoch];
    table Levels: speed[epoch/s] power[$/s] = {rungs};  length ~ {law};"""
    instance = instance_of(f"model M {{ {MODEL} }}\nscenario S for M {{ {given} }}")
    return solve_problem(ground(instance.scenario.model, instance.store, MemoryLimits()), backend)


@pytest.mark.quick(6)
@pytest.mark.parametrize("name", ORACLES)
def test_the_linear_programme_of_the_text_has_the_optimum(name: str) -> None:
    solved = solution(name, "highs")
    energy = ORACLES[name][3]
    assert solved.status == "optimal"
    assert not solved.reformulated.problem.is_mip
    if name in EXACT:
        assert solved.objective == pytest.approx(energy, rel=1e-6)
        assert solved.reformulated.bound_error == 0
    assert energy * (1 - 1e-7) <= solved.objective <= energy * (1 + 3e-5)
    assert solved.bound <= energy * (1 + 1e-7)
    assert solved.gap <= 1e-4


@pytest.mark.quick(3)
@pytest.mark.parametrize("name", ["SJ-1", "SJ-3", "SJ-4", "SJ-11", "SJ-14", "SJ-15"])
def test_smooth_forms_are_exact(name: str) -> None:
    solved = solution(name, "scip")
    assert solved.reformulated.bound_error == 0
    notes = [note for note in solved.reformulated.notes if note.pass_name == PartialExpectations.name]
    assert all(note.effect == "constant" or note.effect.startswith("written with") for note in notes)
    assert solved.objective == pytest.approx(ORACLES[name][3], rel=1e-4)  # within the gap at which SCIP stops
