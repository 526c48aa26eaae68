"""Random nonlinear problems of integers: every backend against complete enumeration."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from brute import optimum
from random_terms import LINEARISABLE, NATIVE_OF_SCIP, random_problem
from solvers import GENERAL

from gpusched_dsl.solving.solve import solve_problem
from gsdsl_backends.protocol import SolveOptions

EXACT = SolveOptions(gap=0.0, time_limit=60.0)


def check_against_enumeration(name: str, seed: int, kinds: Sequence[str]) -> None:
    one = random_problem(seed, kinds)
    best = optimum(one)
    solved = solve_problem(one, name, EXACT)
    assert solved.status == best.status, (name, seed)
    if best.status == "optimal":
        assert solved.objective == pytest.approx(best.value, rel=1e-6, abs=1e-6), (name, seed)
        assert solved.bound == pytest.approx(best.value, rel=1e-5, abs=1e-5), (name, seed)
        assert solved.point is not None
        assert solved.verification is not None
        assert solved.verification.feasible
        results = np.concatenate([d.results for d in one.definitions])
        assert np.isfinite(solved.point[results]).all()
    solved.close()


@pytest.mark.quick(2)
@pytest.mark.parametrize("name", GENERAL)
def test_terms_that_passes_make_linear(name: str) -> None:
    for seed in range(30):
        check_against_enumeration(name, seed, LINEARISABLE)


@pytest.mark.slow
def test_terms_that_scip_takes() -> None:
    for seed in range(30):
        check_against_enumeration("scip", seed, NATIVE_OF_SCIP)


@pytest.mark.slow
@pytest.mark.parametrize("name", GENERAL)
def test_many_terms_that_passes_make_linear(name: str) -> None:
    for seed in range(30, 1000):
        check_against_enumeration(name, seed, LINEARISABLE)


@pytest.mark.slow
def test_many_terms_that_scip_takes() -> None:
    for seed in range(30, 1200):
        check_against_enumeration("scip", seed, NATIVE_OF_SCIP + LINEARISABLE)
