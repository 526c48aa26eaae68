"""Every plan of a run is verified against the rows of the model; a run with broken plans says so everywhere."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from found_codes import raises_code
from online_texts import driver, machines

import gpusched_dsl as gs
from gpusched_dsl.cli import exits
from gpusched_dsl.cli.run import exit_code
from gpusched_dsl.compiling.lowering.fixing import VariableValues
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.online.planners.protocol import PlanningRequest
from gpusched_dsl.policies.plan import Plan

# The model asks that two jobs run where there are two; the policy lists the shortest one alone.
TWO = (
    "constraint alone",
    "constraint two: sum[j in Jobs, n in Nodes] run[j, n] >= min(2, count(Jobs));  constraint alone",
)
SHORTEST = """
policy Shortest for Machines { order j in Jobs where left[j] == min[i in Jobs] left[i] by 1; place new_node, wait; }
"""


def demanding() -> str:
    return machines(2, JOBS).replace(*TWO) + SHORTEST


JOBS = [(0.0, 1.0), (0.5, 1.0), (2.0, 1.0), (2.5, 1.0)]


def model(folder: Path, text: str) -> gs.Model:
    path = folder / "run.gsm"
    path.write_text(text)
    return gs.load(path)


def test_a_plan_that_breaks_a_row_is_told_once(tmp_path: Path) -> None:
    broken = model(tmp_path, demanding())
    result = broken.run(method="Shortest")
    [told] = [warning for warning in result.warnings if warning.code == "GSM7008"]
    assert "by `Shortest` at 0.5 h: `two` is 1, at least 2" in told.message
    assert result.ended == "finished"
    # j0 and j1 are there from 0.5 h on, and j2 and j3 from 2.5 h on: 2 of the plans, in one row each.
    assert (result.metrics["plans_broken"], result.metrics["rows_broken"]) == (2, 2)
    assert result.steps.filter(pl.col("status") == "broken")["time"].to_list() == [0.5, 2.5]
    none = broken.run(method="Shortest", verify="none")
    assert "GSM7008" not in [warning.code for warning in none.warnings]
    assert none.total == result.total


def test_a_table_marks_the_method_and_never_calls_it_the_best(tmp_path: Path) -> None:
    """A plan that breaks a row in between is counted, whatever its number, and the command fails."""
    path = tmp_path / "run.gsm"
    path.write_text(demanding())
    compared = gs.load(path).run(method=["Shortest", "highs"])
    rows = {row.method: row for row in compared.rows}
    assert compared.is_best(rows["highs"])
    assert not compared.is_best(rows["Shortest"])
    assert "broken: 2 of" in compared.remark(rows["Shortest"])
    assert "in 2 rows, the worst by 1: `two` is 1, at least 2" in compared.remark(rows["Shortest"])
    assert compared.remark(rows["highs"]) == ""
    assert exit_code(list(compared.results)) == exits.INFEASIBLE
    assert exit_code([compared["highs"]]) == exits.OK


# The same, said by binaries that are 1 only where a job runs.
APART = (
    "placement run[j, n]",
    """var busy_with[Jobs, Nodes] binary;
  constraint marks[j in Jobs, n in Nodes]: busy_with[j, n] <= run[j, n];
  constraint many: sum[j in Jobs, n in Nodes] busy_with[j, n] >= min(2, count(Jobs));
  placement run[j, n]""",
)


def test_rows_over_variables_that_the_policy_leaves_open_are_found_by_propagation(tmp_path: Path) -> None:
    """No row is broken by itself: each could be satisfied by some value of the binaries."""
    result = model(tmp_path, machines(2, JOBS).replace(*APART) + SHORTEST).run(method="Shortest")
    assert result.metrics["plans_broken"] == 2
    assert "`many` is 1, at least 2" in next(w.message for w in result.warnings if w.code == "GSM7008")


def test_a_resumed_run_counts_the_plans_of_its_journal(tmp_path: Path) -> None:
    broken, stops = model(tmp_path, demanding()), iter([False] * 5 + [True] * 100)
    options = {"method": "Shortest", "journal": tmp_path / "run.db"}
    assert broken.run(**options, stop=lambda: next(stops)).ended == "interrupt"
    assert broken.run(**options).metrics["plans_broken"] == 2


@pytest.mark.slow
@pytest.mark.parametrize("verify", ["sample", "full"])
def test_plans_that_keep_the_model_are_no_finding(tmp_path: Path, verify: str) -> None:
    for method in ("SRPT", "FIFO", "highs"):
        result = model(tmp_path, machines(2, JOBS)).run(method=method, verify=verify)
        assert "GSM7008" not in [warning.code for warning in result.warnings]


def test_a_full_check_sees_the_plans_of_a_replay(tmp_path: Path) -> None:
    broken = model(tmp_path, demanding())
    assert "GSM7008" in [warning.code for warning in broken.run(method="Shortest", verify="full").warnings]


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
    with raises_code("GSM7011", "j0", at="run"):
        loop.run()
    assert loop.diagnostics.broken is not None
    assert loop.diagnostics.broken.text == "`once[j0]` is 2, at most 1"


@pytest.mark.parametrize("verify", ["typo", "", 1, None])
def test_other_ways_to_verify_are_refused(tmp_path: Path, verify: object) -> None:
    with pytest.raises(DiagnosticError, match="GSM4011"):
        model(tmp_path, machines(1, JOBS)).run(method="FIFO", verify=verify)  # type: ignore[arg-type]
