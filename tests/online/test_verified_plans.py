"""Plans of a run are checked against the rows of the model in production: some by default, all with `verify="full"`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from online_texts import driver, machines

import gpusched_dsl as gs
from gpusched_dsl.compiling.lowering.fixing import VariableValues
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.online.planners.protocol import Plan, PlanningRequest

# One job at a time may run in the model, which is no matter of the placement: the policy does not know.
ONE = ("constraint alone", "constraint single: sum[j in Jobs, n in Nodes] run[j, n] <= 1;  constraint alone")
JOBS = [(0.0, 1.0), (0.5, 1.0), (2.0, 1.0), (2.5, 1.0)]


def model(folder: Path, text: str) -> gs.Model:
    path = folder / "run.gsm"
    path.write_text(text)
    return gs.load(path)


def test_a_plan_that_breaks_a_row_is_told_once(tmp_path: Path) -> None:
    broken = model(tmp_path, machines(2, JOBS).replace(*ONE))
    result = broken.run(method="SRPT")
    [told] = [warning for warning in result.warnings if warning.code == "GSM7008"]
    assert "`single` is 2, at most 1" in told.message
    assert "at 0.5 h" in told.message
    assert result.ended == "finished"
    none = broken.run(method="SRPT", verify="none")
    assert "GSM7008" not in [warning.code for warning in none.warnings]
    assert none.total == result.total


@pytest.mark.slow
@pytest.mark.parametrize("verify", ["sample", "full"])
def test_plans_that_keep_the_model_are_no_finding(tmp_path: Path, verify: str) -> None:
    for method in ("SRPT", "FIFO", "highs"):
        result = model(tmp_path, machines(2, JOBS)).run(method=method, verify=verify)
        assert "GSM7008" not in [warning.code for warning in result.warnings]


def test_a_full_check_sees_the_plans_of_a_replay(tmp_path: Path) -> None:
    broken = model(tmp_path, machines(2, JOBS).replace(*ONE))
    assert "GSM7008" in [warning.code for warning in broken.run(method="FIFO", verify="full").warnings]


def test_a_defective_planner_is_found() -> None:
    """A planner that runs a job on two nodes at once: the first plan is in the sample."""

    class Doubled:
        name = "Doubled"

        def plan(self, request: PlanningRequest) -> Plan:
            pairs = (np.array([0, 0]), np.array([0, 1]))
            return Plan({"run": VariableValues(pairs, np.ones(2))}, self.name)

        def fresh(self) -> Doubled:
            return self

        def close(self) -> None:
            pass

    loop = driver(machines(2, JOBS))
    loop.planner, loop.fast_replay, loop.stop = Doubled(), None, lambda: bool(loop.steps)
    with pytest.raises(DiagnosticError, match="the plan runs the job `j0` in several places at once"):
        loop.run()
    assert ["`once[j0]` is 2, at most 1" in warning.message for warning in loop.diagnostics.warnings] == [True]


@pytest.mark.parametrize("verify", ["typo", "", 1, None])
def test_other_ways_to_verify_are_refused(tmp_path: Path, verify: object) -> None:
    with pytest.raises(DiagnosticError, match="GSM4011"):
        model(tmp_path, machines(1, JOBS)).run(method="FIFO", verify=verify)  # type: ignore[arg-type]
