"""The list of small problems that every backend runs. Each states its requirements; a backend without them skips it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from building import (
    INF,
    at_least,
    at_most,
    between,
    equal,
    many_knapsacks,
    market_split,
    maximize,
    minimize,
    problem,
)

from gpusched_dsl.compiling.analysis.bounds import propagate
from gpusched_dsl.ir.json.codec import from_json
from gpusched_dsl.ir.problem import Problem
from gsdsl_backends.protocol import SolveOptions

DATA = Path(__file__).parent / "data"
EXACT = SolveOptions(gap=0.0)


@dataclass(frozen=True)
class Case:
    """A problem and what every backend must say about it.

    `point`, `row_duals` and `reduced_costs` are given where they are unique. `objectives` are all values of a
    lexicographic problem. `needs` names capabilities beyond solving linear problems.
    """

    name: str
    problem: Problem
    status: str
    objective: float | None = None
    objectives: Sequence[float] | None = None
    point: Sequence[float] | None = None
    row_duals: Sequence[float] | None = None
    reduced_costs: Sequence[float] | None = None
    reason: str = ""
    incumbent: bool | None = False  # of a limit: whether there must be a point; None: either
    options: SolveOptions = EXACT
    start: Sequence[float] | None = None
    needs: frozenset[str] = field(default=frozenset())


def optimal(name: str, one: Problem, objective: float | None = None, **more: object) -> Case:
    return Case(name, one, "optimal", objective, needs=_needs(one, more), **more)  # type: ignore[arg-type]


def ended(name: str, status: str, one: Problem, **more: object) -> Case:
    return Case(name, one, status, needs=_needs(one, more), **more)  # type: ignore[arg-type]


def _needs(one: Problem, more: dict[str, object]) -> frozenset[str]:
    needs = {"integers"} if one.is_mip else set()
    fixed = one.lower == one.upper
    if not (one.integer | fixed)[: one.variables[-1].stop].all() or not _is_bounded(one):
        needs.add("continuous")
    if more.get("row_duals") is not None or more.get("reduced_costs") is not None:
        needs.add("duals")
    options = more.get("options")
    if isinstance(options, SolveOptions) and options.time_limit is not None:
        needs.add("time_limit")
    if more.get("start") is not None:
        needs.add("warm_start")
    return frozenset(needs)


def _is_bounded(one: Problem) -> bool:
    """Whether all columns have bounds, of their own or by rows."""
    bounds = propagate(one)
    return bool((np.isfinite(bounds.lower) & np.isfinite(bounds.upper)).all() or not bounds.feasible)


def stored(name: str) -> Problem:
    return from_json((DATA / f"{name}.json").read_bytes())


LINEAR = [
    optimal(
        "lp_min",
        problem(minimize(1, 2), columns=2, rows=[at_least(1, 1, 1)]),
        1.0,
        point=[1, 0],
        row_duals=[1],
        reduced_costs=[0, 1],
    ),
    optimal(
        "lp_max",
        problem(maximize(3, 5), columns=2, rows=[at_most(4, 1, 0), at_most(12, 0, 2), at_most(18, 3, 2)]),
        36.0,
        point=[2, 6],
        row_duals=[0, 1.5, 1],
        reduced_costs=[0, 0],
    ),
    optimal(
        "lp_equations",
        problem(minimize(1, 1, 3), columns=3, rows=[equal(3, 1, 1, 0), equal(2, 0, 1, -1)]),
        3.0,
        reduced_costs=[0, 0, 3],
        row_duals=[1, 0],
    ),
    optimal(
        "lp_range_from_below",
        problem(minimize(2, 3), columns=2, rows=[between(2, 6, 1, 1), at_least(-1, 1, -1)]),
        4.0,
        point=[2, 0],
        row_duals=[2, 0],
        reduced_costs=[0, 1],
    ),
    optimal(
        "lp_range_from_above",
        problem(maximize(2, 3), columns=2, rows=[between(2, 6, 1, 1)], upper=[INF, 4]),
        16.0,
        point=[2, 4],
        row_duals=[2],
        reduced_costs=[0, 1],
    ),
    optimal(
        "lp_free_row",
        problem(minimize(1, 1), columns=2, rows=[(-INF, (5, -7), INF), at_least(1, 1, 0)]),
        1.0,
        point=[1, 0],
        row_duals=[0, 1],
    ),
    optimal(
        "lp_free_column",
        problem(minimize(1, 0), columns=2, rows=[at_least(-3, 1, 1), at_least(-3, 1, -1)], lower=[-INF, -INF]),
        -3.0,
        point=[-3, 0],
        row_duals=[0.5, 0.5],
        reduced_costs=[0, 0],
    ),
    optimal(
        "lp_fixed_column",
        problem(maximize(1, 1), columns=2, rows=[at_most(5, 1, 2)], lower=[3, 0], upper=[3, INF]),
        4.0,
        point=[3, 1],
        row_duals=[0.5],
        reduced_costs=[0.5, 0],
    ),
    optimal(
        "lp_negative_bounds",
        problem(minimize(-1, 2), columns=2, rows=[at_least(-20, 1, 1)], lower=[-8, -9], upper=[-2, -4]),
        -16.0,
        point=[-2, -9],
        row_duals=[0],
        reduced_costs=[-1, 2],
    ),
    optimal(
        "lp_only_upper_bound",
        problem(maximize(1), columns=1, rows=[at_most(50, 2)], lower=-INF, upper=7),
        7.0,
        point=[7],
        row_duals=[0],
        reduced_costs=[1],
    ),
    optimal(
        "lp_degenerate",
        problem(
            maximize(1, 1),
            columns=2,
            rows=[at_most(1, 1, 0), at_most(1, 0, 1), at_most(2, 1, 1), at_most(3, 2, 1)],
        ),
        2.0,
        point=[1, 1],
    ),
    optimal(
        "lp_cycling",  # Beale's example
        problem(
            minimize(-0.75, 150, -0.02, 6),
            columns=4,
            rows=[at_most(0, 0.25, -60, -0.04, 9), at_most(0, 0.5, -90, -0.02, 3), at_most(1, 0, 0, 1, 0)],
        ),
        -0.05,
        point=[0.04, 0, 1, 0],
    ),
    optimal(
        "lp_singleton_row_as_bound",
        problem(maximize(2, 1), columns=2, rows=[at_most(3, 1, 0), at_most(10, 1, 1)]),
        13.0,
        point=[3, 7],
        row_duals=[1, 1],
        reduced_costs=[0, 0],
    ),
    optimal(
        "lp_negative_singleton_row",
        problem(minimize(4, 1), columns=2, rows=[at_most(-2, -1, 0), at_least(5, 1, 1)]),
        11.0,
        point=[2, 3],
        row_duals=[-3, 1],
        reduced_costs=[0, 0],
    ),
    optimal(
        "lp_redundant_rows",
        problem(minimize(1, 1), columns=2, rows=[at_least(1, 1, 1), at_least(-5, 1, 1), at_most(100, 1, 1)]),
        1.0,
        row_duals=[1, 0, 0],
        reduced_costs=[0, 0],
    ),
    optimal(
        "lp_same_row_twice",
        problem(minimize(1, 2), columns=2, rows=[at_least(1, 1, 1), at_least(1, 1, 1)]),
        1.0,
        point=[1, 0],
        reduced_costs=[0, 1],
    ),
    optimal(
        "lp_proportional_equations",
        problem(minimize(1, 2), columns=2, rows=[equal(2, 1, 1), equal(4, 2, 2)]),
        2.0,
        point=[2, 0],
    ),
    optimal(
        "lp_transport",
        problem(
            minimize(8, 6, 10, 9, 12, 13),
            columns=6,
            rows=[
                at_most(20, 1, 1, 1, 0, 0, 0),
                at_most(30, 0, 0, 0, 1, 1, 1),
                equal(10, 1, 0, 0, 1, 0, 0),
                equal(25, 0, 1, 0, 0, 1, 0),
                equal(15, 0, 0, 1, 0, 0, 1),
            ],
        ),
        # 20 of the first source go to the second customer, the other source serves the rest.
        465.0,
    ),
    optimal(
        "lp_costs_and_rows_of_very_different_size",
        problem(maximize(1e6, 1e-3), columns=2, rows=[at_most(2e5, 1e5, 0), at_most(3e-3, 0, 1e-3)]),
        2e6 + 3e-3,
        point=[2, 3],
    ),
    optimal(
        "lp_tiny_costs",
        problem(maximize(3e-9, 5e-9), columns=2, rows=[at_most(4, 1, 0), at_most(12, 0, 2), at_most(18, 3, 2)]),
        36e-9,
        point=[2, 6],
        row_duals=[0, 1.5e-9, 1e-9],
        reduced_costs=[0, 0],
    ),
]

CONSTANT = [
    optimal("no_objective", problem(columns=2, rows=[equal(3, 1, 2)])),
    optimal("no_objective_mip", problem(columns=2, rows=[equal(7, 2, 3)], integer=True), point=[2, 1]),
    optimal("constant_objective", problem(minimize(0, 0, offset=4.5), columns=2, rows=[at_least(1, 1, 1)]), 4.5),
    optimal("offset_min", problem(minimize(2, offset=-7.25), columns=1, rows=[at_least(3, 1)]), -1.25, row_duals=[2]),
    optimal("offset_max", problem(maximize(2, offset=100), columns=1, rows=[at_most(3, 1)]), 106.0, row_duals=[2]),
    optimal(
        "offset_max_mip",
        problem(maximize(5, 4, offset=-1000), columns=2, rows=[at_most(7, 3, 2)], upper=1, integer=True),
        -991.0,
        point=[1, 1],
    ),
    optimal("no_rows", problem(maximize(1, -2), columns=2, lower=[0, -3], upper=[5, 9]), 11.0, point=[5, -3]),
    optimal("no_rows_mip", problem(maximize(1, -2), columns=2, lower=-3.5, upper=5.5, integer=True), 11.0),
    optimal("no_columns", problem(minimize(offset=3), columns=0), 3.0),
    optimal("no_columns_rows_hold", problem(minimize(offset=3), columns=0, rows=[between(-1, 1), at_least(0)]), 3.0),
    ended("no_columns_rows_broken", "infeasible", problem(minimize(), columns=0, rows=[at_least(1)])),
    optimal("empty_row_holds", problem(minimize(1), columns=1, rows=[between(-1, 1, 0), at_least(2, 1)]), 2.0),
    ended("empty_row_broken", "infeasible", problem(minimize(1), columns=1, rows=[at_least(1, 0), at_least(2, 1)])),
    optimal("unused_column", problem(minimize(1, 0, 0), columns=3, rows=[at_least(2, 1, 0, 0)], integer=[2]), 2.0),
]

INFEASIBLE = [
    ended("crossed_bounds", "infeasible", problem(minimize(1), columns=1, lower=2, upper=1)),
    ended("crossed_sides", "infeasible", problem(minimize(1), columns=1, rows=[between(2, 1, 1)])),
    ended("infinite_lower_bound", "infeasible", problem(minimize(1), columns=1, lower=INF)),
    ended(
        "rows_exclude_each_other",
        "infeasible",
        problem(minimize(1, 1), columns=2, rows=[at_most(1, 1, 1), at_least(3, 1, 1)]),
    ),
    ended(
        "equations_exclude_each_other",
        "infeasible",
        problem(minimize(1, 1), columns=2, rows=[equal(1, 1, 1), equal(3, 2, 2)], lower=-INF),
    ),
    ended(
        "rows_against_bounds",
        "infeasible",
        problem(maximize(1, 1), columns=2, rows=[at_least(5, 1, 1)], upper=2),
    ),
    ended(
        "no_whole_number_between_bounds",
        "infeasible",
        problem(minimize(1), columns=1, lower=0.2, upper=0.8, integer=True),
    ),
    ended("parity", "infeasible", problem(minimize(1, 1), columns=2, rows=[equal(7, 2, 4)], upper=10, integer=True)),
    ended(
        "relaxation_feasible_integers_not",
        "infeasible",
        problem(
            minimize(0, 0),
            columns=2,
            rows=[between(0.1, 0.9, 1, 0), at_most(1, 1, 1)],
            upper=1,
            integer=True,
        ),
    ),
]

UNBOUNDED = [
    ended("unbounded_lp_min", "unbounded", problem(minimize(-1, 0), columns=2, rows=[equal(0, 1, -1)])),
    ended("unbounded_lp_max", "unbounded", problem(maximize(1, 1), columns=2, rows=[at_least(1, 1, -1)])),
    ended("unbounded_no_rows", "unbounded", problem(maximize(1), columns=1)),
    ended("unbounded_called_infeasible", "unbounded", stored("unbounded_called_infeasible")),
    ended("unbounded_free", "unbounded", problem(minimize(1), columns=1, lower=-INF)),
    ended("unbounded_mip", "unbounded", problem(minimize(-1, 0), columns=2, rows=[equal(0, 1, -1)], integer=True)),
    ended("unbounded_mip_no_rows", "unbounded", problem(maximize(1), columns=1, integer=True)),
    ended(
        "unbounded_mixed",
        "unbounded",
        problem(maximize(0, 1), columns=2, rows=[between(1, 3, 2, 0)], upper=[5, INF], integer=[0]),
    ),
    ended(
        "unbounded_direction_but_infeasible_lp",
        "infeasible",
        problem(minimize(-1, 0, 0), columns=3, rows=[equal(0, 1, -1, 0), at_least(2, 0, 0, 1)], upper=[INF, INF, 1]),
    ),
    ended(
        "unbounded_relaxation_but_infeasible_mip",
        "infeasible",
        problem(
            minimize(-1, 0, 0),
            columns=3,
            rows=[equal(0, 1, -1, 0), equal(1, 0, 0, 2)],
            upper=[INF, INF, 1],
            integer=True,
        ),
    ),
]

INTEGER = [
    optimal(
        "knapsack",
        problem(maximize(60, 100, 120, 30), columns=4, rows=[at_most(50, 10, 20, 30, 5)], upper=1, integer=True),
        220.0,
        point=[0, 1, 1, 0],
    ),
    optimal(
        "general_integers",
        problem(maximize(3, 4), columns=2, rows=[at_most(18, 5, 3), at_most(15, 2, 5)], integer=True),
        14.0,
        point=[2, 2],
    ),
    optimal(
        "integers_of_both_signs",
        problem(minimize(1, 1), columns=2, rows=[at_least(-7, 2, 2)], lower=-10, upper=10, integer=True),
        -3.0,
    ),
    optimal(
        "fractional_bounds",
        problem(maximize(1, 1), columns=2, lower=[-1.5, 0.5], upper=[2.7, 3.999], integer=True),
        5.0,
        point=[2, 3],
    ),
    optimal(
        "mixed",
        # The relaxation ends at y = 2.5; with y = 2 the first row leaves 2.5 for x, with y = 3 the second leaves 1.
        problem(maximize(3, 4), columns=2, rows=[at_most(4.5, 1, 1), at_most(7, 1, 2)], integer=[1]),
        15.5,
        point=[2.5, 2],
    ),
    optimal(
        "assignment",
        problem(
            minimize(9, 2, 7, 6, 4, 3, 5, 8, 1),
            columns=9,
            rows=[
                equal(1, 1, 1, 1, 0, 0, 0, 0, 0, 0),
                equal(1, 0, 0, 0, 1, 1, 1, 0, 0, 0),
                equal(1, 0, 0, 0, 0, 0, 0, 1, 1, 1),
                equal(1, 1, 0, 0, 1, 0, 0, 1, 0, 0),
                equal(1, 0, 1, 0, 0, 1, 0, 0, 1, 0),
                equal(1, 0, 0, 1, 0, 0, 1, 0, 0, 1),
            ],
            upper=1,
            integer=True,
        ),
        9.0,
        point=[0, 1, 0, 1, 0, 0, 0, 0, 1],
    ),
    ended(
        "equality_knapsack_43",  # the largest number that 6, 9 and 20 cannot make
        "infeasible",
        problem(minimize(1, 1, 1), columns=3, rows=[equal(43, 6, 9, 20)], integer=True),
    ),
    optimal(
        "equality_knapsack_44",
        problem(minimize(1, 1, 1), columns=3, rows=[equal(44, 6, 9, 20)], integer=True),
        4.0,
        point=[1, 2, 1],
    ),
    optimal(
        "big_m",
        problem(
            minimize(100, 1),
            columns=2,
            rows=[at_most(0, -1000, 1), at_least(10, 0, 1)],
            upper=[1, 1000],
            integer=[0],
        ),
        110.0,
        point=[1, 10],
    ),
    optimal(
        "fixed_charge",
        problem(
            minimize(10, 25, 2, 1),
            columns=4,
            rows=[equal(20, 0, 0, 1, 1), at_most(0, -30, 0, 1, 0), at_most(0, 0, -30, 0, 1)],
            upper=[1, 1, INF, INF],
            integer=[0, 1],
        ),
        45.0,
        point=[0, 1, 0, 20],
    ),
    optimal(
        "set_cover",
        problem(
            minimize(3, 2, 2, 4),
            columns=4,
            rows=[at_least(1, 1, 1, 0, 0), at_least(1, 0, 1, 1, 0), at_least(1, 1, 0, 1, 1)],
            upper=1,
            integer=True,
        ),
        4.0,
        point=[0, 1, 1, 0],
    ),
    optimal(
        "large_coefficients",
        problem(maximize(1e5, 1.1e5), columns=2, rows=[at_most(7e6, 2e6, 3e6)], integer=True),
        3.1e5,
        point=[2, 1],
    ),
    optimal(
        "tiny_costs_mip",  # the second best is 1e-9 away: less than every absolute tolerance of the solvers
        problem(maximize(5e-9, 4e-9, 3e-9), columns=3, rows=[at_most(10, 5, 4, 6)], upper=1, integer=True),
        9e-9,
        point=[1, 1, 0],
    ),
    optimal(
        "same_rows_mip",
        problem(maximize(1, 1), columns=2, rows=[at_most(3, 2, 2), at_most(3, 2, 2), at_most(1.5, 1, 1)], integer=True),
        1.0,
    ),
    optimal(
        "penalties_in_the_offset",  # without the offset in the gap, 5 % of 100000 would be taken for enough
        problem(
            minimize(-99990, -99987, 3, offset=200000),
            columns=3,
            rows=[at_most(2, 1, 1, -1)],
            upper=1,
            integer=True,
        ),
        23.0,
        options=SolveOptions(gap=0.05),
        point=[1, 1, 0],
    ),
    optimal(
        "integer_and_continuous_in_one_row",  # HiGHS 1.14: ERGO-Code/HiGHS#3043
        problem(minimize(3, 5), columns=2, rows=[at_least(6.5, 1, 1)], upper=20, integer=[1]),
        19.5,
        point=[6.5, 0],
    ),
    optimal(
        "tardiness_of_an_integer",  # HiGHS 1.14: ERGO-Code/HiGHS#3050
        problem(minimize(-50, 0.02), columns=2, rows=[at_most(0, 1, -1)], lower=1, upper=4, integer=[0]),
        -199.92,
        point=[4, 4],
    ),
    optimal(
        "one_of_two_slots",  # HiGHS 1.14: ERGO-Code/HiGHS#3094
        problem(
            minimize(0, 0, 0, 0, 7, 5),
            columns=6,
            rows=[
                at_most(0, -400, 0, 1, 0, 0, 0),
                at_most(0, 0, -400, 0, 1, 0, 0),
                equal(400, 0, 0, 1, 0, 1, 0),
                equal(400, 0, 0, 0, 1, 0, 1),
                at_most(1, 1, 1, 0, 0, 0, 0),
            ],
            upper=[1, 1, 400, 400, 400, 400],
            integer=[0, 1],
        ),
        2000.0,
        point=[1, 0, 400, 0, 0, 400],
    ),
    optimal("lost_by_variable_bounds", stored("lost_by_variable_bounds"), -63.2),
    optimal("capacity_pattern_presolve", stored("capacity_pattern_presolve"), 0.9167),
    optimal("cp_s_force", stored("cp_s_force"), 4.4279),
    optimal("called_infeasible_by_presolve", stored("called_infeasible_by_presolve"), 7.454080403037447),
]
SEVERAL = [
    optimal(
        "lexicographic_two_lp",
        problem(minimize(1, 1), minimize(1, 0), columns=2, rows=[at_least(4, 1, 1)], upper=3),
        4.0,
        objectives=[4, 1],
        point=[1, 3],
    ),
    optimal(
        "lexicographic_other_sense",
        problem(minimize(1, 1), maximize(1, 0), columns=2, rows=[at_least(4, 1, 1)], upper=3),
        4.0,
        objectives=[4, 3],
        point=[3, 1],
    ),
    optimal(
        "lexicographic_three_mip",
        problem(
            maximize(1, 1, 1, name="count", offset=10),
            minimize(5, 4, 3, name="cost"),
            maximize(0, 1, 2, name="taste"),
            columns=3,
            rows=[at_most(2, 1, 1, 1)],
            upper=1,
            integer=True,
        ),
        12.0,
        objectives=[12, 7, 3],
        point=[0, 1, 1],
    ),
    optimal(
        "lexicographic_tiny_first",
        problem(minimize(1e-8, 2e-8), minimize(-1, -1), columns=2, rows=[at_least(1, 1, 1)], upper=1, integer=True),
        1e-8,
        objectives=[1e-8, -1],
        point=[1, 0],
    ),
    optimal("small_costs_dropped", stored("small_costs_dropped"), 0.04802290691473027),
    optimal("suboptimal_by_enumeration", stored("suboptimal_by_enumeration"), 3.0, objectives=[3, 7.54991]),
    ended(
        "lexicographic_infeasible",
        "infeasible",
        problem(minimize(1), maximize(1), columns=1, rows=[at_least(3, 1)], upper=2),
    ),
    ended(
        "lexicographic_second_unbounded",
        "unbounded",
        problem(minimize(1, 0), maximize(0, 1), columns=2, rows=[at_least(3, 1, 0)]),
    ),
]

LIMITS = [
    ended(
        "time_limit_with_incumbent",
        "limit",
        many_knapsacks(),
        reason="time",
        incumbent=True,
        options=SolveOptions(gap=0.0, time_limit=1.0),
    ),
    ended(
        "time_limit_without_incumbent",
        "limit",
        market_split(),
        reason="time",
        options=SolveOptions(gap=0.0, time_limit=0.5),
    ),
    ended(
        "no_time_at_all",
        "limit",
        many_knapsacks(),
        reason="time",
        options=SolveOptions(time_limit=0.0),
        incumbent=None,
    ),
    optimal("gap_stop", many_knapsacks(), options=SolveOptions(gap=0.5)),
    optimal(
        "good_start",
        problem(maximize(60, 100, 120), columns=3, rows=[at_most(50, 10, 20, 30)], upper=1, integer=True),
        220.0,
        start=[0, 1, 1],
    ),
    optimal(
        "infeasible_start",
        problem(maximize(60, 100, 120), columns=3, rows=[at_most(50, 10, 20, 30)], upper=1, integer=True),
        220.0,
        start=[1, 1, 1],
    ),
    optimal(
        "fractional_start",
        problem(maximize(60, 100, 120), columns=3, rows=[at_most(50, 10, 20, 30)], upper=1, integer=True),
        220.0,
        start=[0.3, 7, -2],
    ),
    optimal(  # HiGHS 1.15.1 takes the costs of the start for the bound
        "start_that_presolve_contradicts",
        problem(
            minimize(0.25, 0, 0, 0, 0, 0, 0),
            columns=7,
            rows=[
                at_least(0, 1, 0, 0, 0, 0, 0, 0),
                equal(0, 0, 1, 1, 0, -1, -1, 0),
                equal(0, 0, 0, 0, 1, -1, -3, 0),
                at_least(0, 0, 0, 0, 0, 1, 0, -1),
                at_least(0, 0, 0, 0, 0, 0, -1, 1),
            ],
            upper=[1, 1, 1, 4, 1, 1, 1],
            integer=[0, 1, 2, 6],
        ),
        0.0,
        start=[1, 1, 0, 1, 1, 0, 1],
    ),
    optimal(
        "a_start_is_not_the_optimum",  # HiGHS 1.16.0 returns the start with the objective of the optimum
        problem(
            maximize(3, 6, -2, 4, -2, 0, -1, -1, -1),
            columns=9,
            rows=[
                between(1, 9, 0, 2, 0, 0, 0, 4, 3, 0, 0),
                between(0, 5, 4, 0, 0, 0, 0, 0, 0, 0, 2),
                between(0, 6, 0, 1, 1, 1, 0, 0, 0, 2, 0),
                between(0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0),
                between(0, 4, 0, 0, 0, 0, 0, 0, 1, 0, 0),
                at_most(3, 0, 0, 0, 0, 0, 0, 2, 0, 0),
                between(2, 5, 0, 3, 0, 4, 4, 5, 0, 5, 3),
            ],
            upper=[1, 2, 1, 2, 5, 4, 1, 1, 3],
            integer=[0, 4, 5, 8],
        ),
        13.0,
        point=[1, 5 / 3, 0, 0, 0, 0, 0, 0, 0],
        start=[0, 5 / 3, 0, 0, 0, 0, 0, 0, 0],
    ),
    optimal("start_of_an_lp", problem(minimize(1, 2), columns=2, rows=[at_least(1, 1, 1)]), 1.0, start=[0, 1]),
]

CASES = [*LINEAR, *CONSTANT, *INFEASIBLE, *UNBOUNDED, *INTEGER, *SEVERAL, *LIMITS]
