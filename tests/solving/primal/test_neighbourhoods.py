"""Neighbourhoods along the indices of a model."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from building import minimize, problem

from gpusched_dsl.ir.domains import IntervalDomain, ProductDomain, Universe
from gpusched_dsl.ir.problem import Family, Problem
from gpusched_dsl.solving.primal.neighbourhoods import Direction, choose, directions_of

JOBS = Universe("Jobs", ("a", "b", "c"))
NODES = Universe("Nodes", ("n", "m"))


def placed() -> Problem:
    """run[Jobs, Nodes] and late[Jobs], of which `late` is continuous, and open[Nodes]."""
    jobs, nodes = IntervalDomain(0, 2, 1, JOBS), IntervalDomain(0, 1, 1, NODES)
    families = (Family("run", 0, ProductDomain((jobs, nodes))), Family("late", 6, jobs), Family("open", 9, nodes))
    one = problem(minimize(*[1.0] * 11), columns=11, upper=1, integer=[*range(6), 9, 10])
    return replace(one, variables=families)


def test_columns_lie_along_the_sets_of_their_families() -> None:
    jobs, nodes = directions_of(placed())
    assert jobs.columns.tolist() == [0, 1, 2, 3, 4, 5]
    assert jobs.codes.tolist() == [0, 0, 1, 1, 2, 2]
    assert nodes.columns.tolist() == [0, 1, 2, 3, 4, 5, 9, 10]
    assert not nodes.stretch


def test_all_columns_of_the_drawn_elements_are_taken() -> None:
    _, nodes = directions_of(placed())
    random = np.random.default_rng(1)
    seen = {tuple(sorted(nodes.draw(4, random).tolist())) for _ in range(20)}
    assert seen == {(0, 2, 4, 9), (1, 3, 5, 10)}
    assert sorted(nodes.draw(8, random).tolist()) == nodes.columns.tolist()


def test_integers_are_drawn_side_by_side() -> None:
    slots = Direction(np.arange(20), np.repeat(np.arange(3, 13), 2), stretch=True)
    random = np.random.default_rng(1)
    for _ in range(20):
        codes = np.unique(slots.codes[np.isin(slots.columns, slots.draw(6, random))])
        assert len(codes) == 3
        assert codes[-1] - codes[0] == 2


def test_what_helped_is_taken_more_often() -> None:
    first, second = directions_of(placed())
    first.tries, first.wins = 100, 1
    random = np.random.default_rng(1)
    assert sum(choose([first, second], random) is second for _ in range(100)) > 90
