"""Both models of defragmentation have the optimum of complete enumeration; the policy is close to it."""

from __future__ import annotations

import pytest
from defragmentation_oracle import Case, draw

import gpusched_dsl as gs


def solve(case: Case, file: str, backend: str, *, at_once: bool) -> gs.Result:
    text = case.text_by_size() if file == "by_size.gsm" else case.text()
    model = gs.loads(f'import "gsdsl:defragmentation/{file}";\n{text}')
    settings = {"change": "at_once" if at_once else "in_rounds"}
    return model.solve(backend=backend, settings=settings, gap=0.0)


@pytest.mark.quick(12)
@pytest.mark.parametrize("at_once", [True, False])
@pytest.mark.parametrize("seed", range(20))
def test_the_optimum_is_that_of_enumeration(seed: int, at_once: bool) -> None:
    case = draw(seed)
    least = case.least(at_once=at_once)
    for file in ("model.gsm", "by_size.gsm"):
        result = solve(case, file, "highs", at_once=at_once)
        assert result.status == "optimal"
        assert result.objective == pytest.approx(least, abs=1e-6), file


@pytest.mark.parametrize("cases", [7, pytest.param(20, marks=pytest.mark.slow)])
def test_the_policy_is_never_better_than_the_optimum_and_never_broken(cases: int) -> None:
    """Its plans obey every row, also where a worker would take the place of a job that may not halt."""
    cost, least = 0.0, 0
    for seed in range(cases):
        case = draw(seed)
        plan = solve(case, "policies.gsm", "CheapestNodes", at_once=True)
        assert plan.status == "feasible", seed
        assert plan.objective is not None
        assert plan.objective >= case.least(at_once=True) - 1e-6
        cost, least = cost + plan.objective, least + case.least(at_once=True)
    assert cost <= 1.5 * least, (cost, least)
