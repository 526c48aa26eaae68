"""Capacity planning with counted nodes: only counts are integer, also if a model declares jobs as 0 or 1."""

from __future__ import annotations

from pathlib import Path

import pytest
from brute import apply

import gpusched_dsl as gs
from gpusched_dsl.compiling.tightening.network_integrality import NetworkIntegrality
from gpusched_dsl.solving.solve import solve_problem
from gsdsl_backends.protocol import SolveOptions

FAMILY = Path(__file__).resolve().parents[3] / "models" / "capacity_planning"
STATED, BINARY = "var config[Runnable] >= 0 <= 1", "var config[Runnable] binary"
SCENARIO = """
scenario TwoVmsOfFour extends AllPatterns {
  Nodes = { n1, n2 };
  table Types:  gpus  price[$/h] =
    D           4     2.0;
  table Jobs:  deadline[h]  weight[$/h] =
    J1         3            2
    J2         3            2
    J3         3            2;
  table Runnable:                                        exec_time[h] =
    J1  D  1  8  J1  D  2  4.5  J1  D  3  3    J1  D  4  2.8
    J2  D  1  8  J2  D  2  4.5  J2  D  3  3    J2  D  4  2.8
    J3  D  1  5  J3  D  2  3    J3  D  3  2.4  J3  D  4  2.1;
}
"""


@pytest.mark.parametrize("rule", ["paper", "force", "at_most"])
def test_only_counts_stay_whole(rule: str) -> None:
    text = (FAMILY / "patterns.gsm").read_text(encoding="utf-8")
    assert STATED in text
    model = gs.loads(text.replace(STATED, BINARY) + SCENARIO, base=FAMILY)
    problem = model.ground("TwoVmsOfFour", settings={"node_rule": rule})
    assert problem.integer.all()
    after = apply(problem, NetworkIntegrality()).problem
    counts, config = problem.variable("rent_as"), problem.variable("config")
    assert after.integer[counts.slice].all()
    assert not after.integer[config.slice].any()
    exact = SolveOptions(gap=0.0)
    assert solve_problem(problem, "highs", exact).objective == pytest.approx(16.0)
