"""The reference reproduces the worked instances by enumeration alone: no compiler, no solver."""

import pytest
from capacity_oracles import ORACLES, Oracle
from capacity_reference import cheapest, evaluate

CASES = [pytest.param(oracle, rule, id=f"{oracle.name} {rule}") for oracle in ORACLES for rule in oracle.optimum]


@pytest.mark.quick(6)
@pytest.mark.parametrize(("oracle", "rule"), CASES)
def test_enumeration_finds_the_stated_optimum(oracle: Oracle, rule: str) -> None:
    best, winners = cheapest(oracle.instance, rule, oracle.deadline_terms)
    assert best == pytest.approx(oracle.optimum[rule], abs=1e-9)
    if oracle.winners is not None:
        assert len(winners) == oracle.winners


def test_parts_of_the_cost_add_up() -> None:
    instance = next(oracle.instance for oracle in ORACLES if oracle.name == "CP-LS")
    cost = evaluate(instance, (("K4", (("J1", 2), ("J2", 2))), ("K2", (("J3", 2),))))
    assert cost.lateness == pytest.approx(1.64)
    assert cost.rent == pytest.approx(9.9)
    assert cost.postponed == pytest.approx(30.0)
    assert cost.idle == 0
    assert cost.total == pytest.approx(41.54)
