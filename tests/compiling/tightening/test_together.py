"""Tightening passes in the order of a solve, and each of them disabled."""

from __future__ import annotations

import numpy as np
import pytest
from choices import random_choices, relaxed
from drafts import Draft

import gpusched_dsl as gs
from gpusched_dsl.compiling.passes.pipeline import TIGHTENINGS, reformulate
from gpusched_dsl.compiling.passes.steps import Pass, Target
from gpusched_dsl.compiling.tightening.clique_links import CliqueLinks
from gpusched_dsl.compiling.tightening.implied_rows import ImpliedRows
from gpusched_dsl.compiling.tightening.lifted_capacities import LiftedCapacities
from gpusched_dsl.compiling.tightening.positive_parts import PositiveParts
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.solving.solve import solve_problem
from gsdsl_backends.protocol import SolveOptions

HERE: tuple[Pass, ...] = (PositiveParts(), ImpliedRows(), CliqueLinks(), LiftedCapacities())

PRINTED = """
import "gsdsl:capacity_planning/printed.gsm";
scenario Small for CapacityPlanningPrinted {
  Nodes = { n1, n2 };
  table Types:  gpus  price[$/h] =
    small       1     1.0
    large       2     2.0;
  table Jobs:  deadline[h]  weight[$/h] =
    a          1            3
    b          2            3
    c          0.5          3;
  table Jobs, Configs:  exec_time[h] =
    a  small  1  2  a  large  1  2    a  large  2  1.2
    b  small  1  3  b  large  1  2.5  b  large  2  1.5
    c  small  1  1  c  large  1  1    c  large  2  0.6;
}
"""


@pytest.fixture(scope="module")
def printed() -> Problem:
    return gs.compile(PRINTED)


def test_the_printed_model_loses_what_it_says_twice(printed: Problem) -> None:
    reformulated = reformulate(printed, Target("test"), tighten=True)
    by = {(n.pass_name, n.term): n.entries for n in reformulated.notes}
    assert by["positive_parts", "tardiness"] == by["positive_parts", "postponed_tardiness"] == 3
    assert by["implied_rows", "only_if_run"] == 18
    assert by["clique_links", "on_hosted_type"] == 12
    assert by["lifted_capacities", "capacity"] == 4
    assert not {"tardiness", "postponed_tardiness"} & {f.name for f in reformulated.problem.variables}
    assert relaxed(reformulated.problem).value > relaxed(printed).value + 1.0


@pytest.mark.parametrize("without", ["aggregation", *(p.name for p in HERE), "all"])
def test_each_is_switched_off_by_its_name(printed: Problem, without: str) -> None:
    reformulated = reformulate(printed, Target("test"), tighten=True, without={without})
    used = {n.pass_name for n in reformulated.notes}
    wanted = {p.name for p in HERE} - {without}
    assert used & {p.name for p in HERE} == (set() if without == "all" else wanted)
    plain, tight = (
        solve_problem(printed, options=SolveOptions(tighten=tighten, without=frozenset({without})))
        for tighten in (False, True)
    )
    assert tight.objectives[0].value == pytest.approx(plain.objectives[0].value)
    assert tight.objectives[0].terms is not None
    assert tight.verification is not None
    assert tight.verification.feasible
    plain.close(), tight.close()


def test_continuous_problems_are_left_as_they_are() -> None:
    problem = random_choices(np.random.default_rng(0))
    problem.integer[:] = False
    assert reformulate(problem, Target("test"), tighten=True).problem is problem


def test_a_pass_that_does_nothing_leaves_no_trace() -> None:
    draft = Draft()
    x = draft.columns("x", 3)
    draft.rows("r", [(-np.inf, dict.fromkeys(x, 1), 2)])
    draft.maximize({x[0]: 1, x[1]: 2, x[2]: 1})
    problem = draft.problem()
    others = {p.name for p in TIGHTENINGS} - {p.name for p in HERE}
    assert reformulate(problem, Target("test"), tighten=True, without=others).problem is problem


def test_a_start_goes_through(printed: Problem) -> None:
    first = solve_problem(printed)
    again = solve_problem(printed, start=first.point)
    assert again.objectives[0].value == pytest.approx(first.objectives[0].value)
    first.close(), again.close()
