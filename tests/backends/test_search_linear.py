"""Linear problems beside local search, and the relaxation as its advice."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from building import Row, at_least, at_most, equal, minimize, problem

from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.ir.verify import verify
from gpusched_dsl.solving.solve import solve_problem
from gsdsl_backends.protocol import Silent, SolveOptions
from gsdsl_backends.search import run as search_run
from gsdsl_backends.search.arrays import (
    arrays_of,
    begin_beyond,
    by_reduced_costs,
    rounded,
    set_best,
    state_at,
    with_own_sides,
)
from gsdsl_backends.search.backend import SearchBackend, SearchSession
from gsdsl_backends.search.kernels.annealing import search
from gsdsl_backends.search.kernels.jumps import ASPIRES, BEST, HAS_BEST, PAUSE, STEPS, UNTIL, VIOLATED, WORK
from gsdsl_backends.search.linear import LinearNeighbourhoods

NONE = np.zeros(0, dtype=np.int64)


def lots(seed: int, periods: int = 8, items: int = 3) -> Problem:
    """Lot sizing: a set-up, a lot and a stock for each item and period, and room that all lots of a period share."""
    rng = np.random.default_rng(seed)
    demand = rng.integers(0, 20, (items, periods))
    cells = items * periods
    rows: list[Row] = []
    for i, t in itertools.product(range(items), range(periods)):
        at, balance, set_up = i * periods + t, np.zeros(3 * cells), np.zeros(3 * cells)
        balance[cells + at], balance[2 * cells + at] = 1, -1
        if t:
            balance[2 * cells + at - 1] = 1
        set_up[cells + at], set_up[at] = 1, -80
        rows += [equal(float(demand[i, t]), *balance), at_most(0, *set_up)]
    for t in range(periods):
        room = np.zeros(3 * cells)
        room[cells + t : 2 * cells : periods], room[t:cells:periods] = 1, 4
        rows.append(at_most(float(1.3 * demand.sum() / periods + 25), *room))
    costs = np.concatenate((np.repeat(rng.integers(20, 60, items), periods), np.zeros(cells), np.ones(cells)))
    upper = [*[1.0] * cells, *[1e6] * (2 * cells)]
    return problem(
        minimize(*costs.astype(float)), columns=3 * cells, rows=rows, upper=upper, integer=list(range(cells))
    )


@pytest.mark.quick(1)
@pytest.mark.parametrize("seed", range(4))
def test_neighbourhoods_of_lot_sizes(seed: int) -> None:
    """From a set-up in each period each point is feasible and better; the last is near the optimum."""
    one = lots(seed)
    exact = solve_problem(one, "highs", SolveOptions(gap=0.0)).objective
    assert exact is not None
    model, rng, options = arrays_of(one), np.random.default_rng(seed), SolveOptions(threads=1)
    linear = LinearNeighbourhoods(one, model)
    best = linear.complete(one.integer.astype(float), options, Silent())
    assert best is not None
    assert best[1] > 1.3 * exact
    for _ in range(150):
        found = linear.improve(*best, NONE, options, Silent(), rng)
        if found is not None:
            assert found[1] < best[1]
            assert verify(one, found[0]).feasible
            best = found
    assert linear.work > 0
    linear.close()
    assert one.objectives[0].value(best[0]) == pytest.approx(best[1])
    assert exact - 1e-6 <= best[1] <= 1.04 * exact


def test_slack_leads_to_a_point() -> None:
    """Without any set-up demand is missed; what rows lack falls from one linear problem to the next, until nothing."""
    one = lots(1)
    model, rng, options = arrays_of(one), np.random.default_rng(1), SolveOptions(threads=1)
    linear = LinearNeighbourhoods(one, model, elastic=True)
    nearest = (np.zeros(one.columns), np.inf)
    for _ in range(200):
        found = linear.improve(*nearest, NONE, options, Silent(), rng)
        if found is not None:
            assert found[1] < nearest[1]
            nearest = found
        if nearest[1] < 1e-6:
            break
    linear.close()
    assert verify(one, nearest[0]).feasible


def test_a_dive_ends_where_nothing_is_better() -> None:
    """At the optimum no neighbourhood has a better point; where rows have no point there is none."""
    one = lots(2)
    exact = solve_problem(one, "highs", SolveOptions(gap=0.0))
    assert exact.point is not None
    assert exact.objective is not None
    rng, options = np.random.default_rng(1), SolveOptions(threads=1)
    linear = LinearNeighbourhoods(one, arrays_of(one))
    for _ in range(20):
        assert linear.improve(exact.point, exact.objective, NONE, options, Silent(), rng) is None
    assert linear.complete(np.zeros(one.columns), options, Silent()) is None
    linear.close()


@pytest.mark.quick(1)
@pytest.mark.parametrize("seed", range(3))
def test_a_search_of_lot_sizes(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Moves and linear problems together, from nothing, with the same point for the same seed."""
    monkeypatch.setattr(search_run, "FIRST_PAUSE", 1_000)
    one = lots(seed)
    exact = solve_problem(one, "highs", SolveOptions(gap=0.0)).objective
    assert exact is not None
    found, again = (SearchBackend().open(one).solve(SolveOptions(seed=seed, extra={"steps": 3_000})) for _ in range(2))
    assert found.values is not None
    assert verify(one, found.values).feasible
    assert found.objective == again.objective
    assert found.objective is not None
    assert exact - 1e-6 <= found.objective <= 1.15 * exact


def test_linear_problems_are_left_out_when_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search_run, "FIRST_PAUSE", 0)

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError

    monkeypatch.setattr(search_run, "LinearNeighbourhoods", refuse)
    one = lots(1)
    SearchBackend().open(one).solve(SolveOptions(heuristic="off", extra={"steps": 200}))
    with pytest.raises(AssertionError):
        SearchBackend().open(one).solve(SolveOptions(extra={"steps": 200}))


def assignment(jobs: int = 40, nodes: int = 30, seed: int = 1) -> tuple[Problem, np.ndarray]:
    """Each job on one node; most nodes cost 1,000, some 1; at most two jobs on each."""
    rng = np.random.default_rng(seed)
    columns = jobs * nodes
    once, room = np.zeros((jobs, columns)), np.zeros((nodes, columns))
    for j in range(jobs):
        once[j, j * nodes : (j + 1) * nodes] = 1
        room[np.arange(nodes), j * nodes + np.arange(nodes)] = 1
    costs = np.where(rng.random(columns) < 0.2, 1.0, 1_000.0)
    rows = [*(equal(1, *row) for row in once), *(at_most(2, *row) for row in room)]
    return problem(minimize(*costs), columns=columns, rows=rows, upper=1, integer=True), costs


def test_reduced_costs_order_the_columns_of_choices() -> None:
    one, _ = assignment()
    model = arrays_of(one)
    reduced = np.random.default_rng(2).random(one.columns)
    ordered = by_reduced_costs(model, reduced)
    assert len(model.must) > 1
    for g in range(len(model.must)):
        part = slice(model.members_from[g], model.members_from[g + 1])
        assert set(ordered.members[part]) == set(model.members[part])
        assert (np.diff(reduced[ordered.members[part]]) >= 0).all()


def test_a_choice_is_rounded_to_the_column_it_prefers() -> None:
    one = problem(
        minimize(1, 1, 1, 1, 1), columns=5, rows=[equal(1, 1, 1, 1, 0, 0), at_most(1, 0, 0, 0, 1, 1)], upper=1,
        integer=True,
    )  # fmt: skip
    model = arrays_of(one)
    assert list(rounded(model, np.array([0.3, 0.4, 0.3, 0.2, 0.2]))) == [0, 1, 0, 0, 0]
    assert list(rounded(model, np.array([0.3, 0.3, 0.4, 0.2, 0.6]))) == [0, 0, 1, 0, 1]


def test_it_repairs_the_rounded_relaxation() -> None:
    """A dear start, and advice that is cheap but crowds a node: the search ends near the advice, not at the start."""
    one, costs = assignment()
    exact = solve_problem(one, "highs", SolveOptions(gap=0.0))
    assert exact.objective is not None
    cheap = costs.reshape(40, 30).argmin(1)
    advice = np.zeros((40, 30))
    advice[np.arange(40), cheap] = 1.0
    dear = np.zeros((40, 30))
    dear[np.arange(40), np.arange(40) % 30] = 1.0
    session = SearchSession(one)
    session.advise(advice.ravel(), costs)
    found = session.solve(SolveOptions(extra={"steps": 60}), dear.ravel())
    without = SearchBackend().open(one).solve(SolveOptions(extra={"steps": 60}), dear.ravel())
    assert found.values is not None
    assert verify(one, found.values).feasible
    assert found.objective is not None
    assert without.objective is not None
    assert found.objective <= exact.objective + 1_000
    assert found.objective < without.objective
    kept = session.solve(SolveOptions(extra={"steps": 1}), dear.ravel())  # too few steps to repair it
    assert kept.objective == pytest.approx(float(costs @ dear.ravel()))


def test_a_solvers_point_is_accepted_up_to_its_tolerance() -> None:
    one = problem(minimize(1, 1), columns=2, rows=[at_least(1, 1, 1)], upper=[1, 9], integer=[0])
    exact = arrays_of(one)
    for lack, accepted in ((1e-7, True), (1e-3, False)):
        model = with_own_sides(exact)
        state = state_at(model, np.array([1.0, 5.0]))
        set_best(exact, model, state, np.array([0.0, 1.0 - lack]))
        assert bool(state.counts[HAS_BEST]) is accepted
        assert bool(state.counts[VIOLATED]) is not accepted
        assert exact.row_lower[0] == 1.0


def test_it_pauses_by_work() -> None:
    """The steps until a pause are the same, however many are asked for at once."""
    one, _ = assignment()
    ends = []
    for length in (1, 7, 1_000):
        model = with_own_sides(arrays_of(one))
        state = state_at(model, np.zeros(one.columns))
        state.counts[PAUSE] = 30_000
        rng = np.random.default_rng(1)
        while state.counts[WORK] < state.counts[PAUSE]:
            search(model, state, length, rng)
        ends.append((int(state.counts[STEPS]), float(state.numbers[BEST])))
    assert ends[0] == ends[1] == ends[2]


def test_an_aspiration_that_fails_returns_to_the_best() -> None:
    one, _ = assignment()
    exact = arrays_of(one)
    model = with_own_sides(exact)
    dear = np.zeros((40, 30))
    dear[np.arange(40), np.arange(40) % 30] = 1.0
    state = state_at(model, dear.ravel())
    set_best(exact, model, state, dear.ravel())
    begin_beyond(model, state, np.zeros(one.columns))
    assert state.counts[VIOLATED] == 40
    state.counts[[ASPIRES, WORK, UNTIL]] = 1, 1, 0  # no work is left for it
    search(model, state, 1, np.random.default_rng(1))
    assert state.counts[VIOLATED] == 0
    assert list(state.point) == list(dear.ravel())
