"""The reference reproduces the worked instances of GPU sharing by enumeration alone: no compiler, no solver."""

import pytest
from sharing_oracles import ORACLES, RS7, Oracle
from sharing_reference import Options, Schedule, bins, cheapest, evaluate

CASES = [pytest.param(oracle, rule, id=f"{oracle.name} {rule}") for oracle in ORACLES for rule in oracle.optima]


@pytest.mark.quick(6)
@pytest.mark.parametrize(("oracle", "rule"), CASES)
def test_enumeration_finds_the_stated_optimum(oracle: Oracle, rule: str) -> None:
    best, winners = cheapest(oracle.instance, oracle.choices(rule))
    assert best == pytest.approx(oracle.optima[rule], abs=1e-9)
    if rule in oracle.winners:
        assert len(winners) == oracle.winners[rule]


@pytest.mark.parametrize(
    ("gpus", "costs"),
    [((1, 2), (50.5, 25.65, 26.65, 15.85)), ((1, 1), (57.2, 17.1, 20.1, 13.98)), ((2, 1), (68.8, 15.39, 17.39, 13.61))],
)
def test_expectations_of_given_decisions(gpus: tuple[int, int], costs: tuple[float, ...]) -> None:
    schedule: Schedule = {"A": (0, gpus[0], 20), "B": (0, gpus[1], 20)}
    for expectation, cost in zip(("worst_case", "mean_value", "here_and_now", "by_outcome"), costs, strict=True):
        assert evaluate(RS7, schedule, (sum(gpus),), Options(expectation=expectation)).total == pytest.approx(cost)


def test_packing_is_exact() -> None:
    assert bins((3,) * 6) == 1
    assert bins((3,) * 7) == 2
    assert bins((3,) * 6 + (2,)) == 1
    assert bins((3,) * 12 + (2,) * 2) == 2
    assert bins((3,) * 12 + (2,) * 3) == 3
    assert bins((10, 10, 5, 5)) == 2
