"""Enumeration alone reproduces the worked instances with rent until the first end."""

import pytest
from capacity_oracles import ORACLES
from first_ending_reference import Options, cheapest, cost

INSTANCES = {oracle.name: oracle.instance for oracle in ORACLES}
CASES = [
    ("CP-1", Options(), 2.4),
    ("CP-2", Options(), 3.24),
    ("CP-3", Options(), 26.0),
    ("CP-4 mu=1", Options(), 2.8),
    ("CP-4 mu=0", Options(), 2.7),
    ("CP-4 mu=0.3", Options(), 2.8),
    ("CP-6", Options(), 3.8),
    ("CP-7", Options(), 1.0),
    ("CP-7", Options(node_rule="force"), 5.6),
    ("CP-7", Options(node_rule="at_most"), 5.6),
    ("CP-8", Options(), 253.5),
    ("CP-9", Options(), 14.2),
    ("CP-9", Options(scope="node"), 14.5),
    ("CP-10", Options(), 3.2),
    ("CP-10", Options(scope="node"), 4.5),
    ("CP-LS", Options(), 3.51),
]


@pytest.mark.parametrize(("name", "options", "optimum"), CASES)
def test_enumeration_finds_the_stated_optimum(name: str, options: Options, optimum: float) -> None:
    assert cheapest(INSTANCES[name], options) == pytest.approx(optimum, abs=1e-9)


def test_schedules_of_the_local_search_cost_what_is_stated() -> None:
    instance = INSTANCES["CP-LS"]
    start = (("K4", (("J1", 2), ("J2", 2))), ("K2", (("J3", 2),)))
    assert cost(instance, start, Options()).total == pytest.approx(38.24)
    after = (("M4", (("J1", 2), ("J3", 2))), ("K2", (("J4", 2),)))
    assert cost(instance, after, Options()).total == pytest.approx(4.48)
