"""The representative of nodes that side rows do not distinguish admits the jobs that each of them admits."""

from __future__ import annotations

import numpy as np
import pytest
from drawn_limits import JOBS, LIMITS, OTHERS, built_of

from gpusched_dsl.compiling.evaluation.limits import MemoryLimits
from gpusched_dsl.policies.cluster import Cluster
from gpusched_dsl.policies.kernels.row_guard import admits, enter, holds
from gpusched_dsl.policies.rows.alike_nodes import problem_of_alike_nodes
from gpusched_dsl.policies.rows.guard import Running, SideRows, with_start
from gpusched_dsl.policies.rows.problem import SideProblem, side_problem, side_problem_on_nodes
from gpusched_dsl.policies.workload import NONE


def rows_with(side: SideProblem, cluster: Cluster, draw: np.random.Generator) -> SideRows:
    """The rows of a decision in which some jobs run, in places that may break a row."""
    work = cluster.work
    job = np.flatnonzero(draw.random(JOBS) < 0.2)
    way = np.array([draw.integers(work.first_way[j], work.first_way[j + 1]) for j in job], dtype=np.int64)
    node = np.array([draw.choice(np.flatnonzero(work.node_kind == work.kind[w])) for w in way], dtype=np.int64)
    queue = np.flatnonzero(draw.random(JOBS) < 0.9)
    start = Running(job, node, way, np.ones(len(job)))
    return with_start(side, cluster, np.ones(JOBS, dtype=np.int64), queue, start, None)


def answers_of(form: str, seed: int) -> set[bool]:
    """Ask for jobs in turn, with one node for each class and with each node, and compare all answers."""
    built, side, cluster = built_of(LIMITS[form], seed, modes=seed % 3 == 2)
    placement, store, limits = cluster.placement, built.instance.store, MemoryLimits()
    few = side_problem_on_nodes(side, placement, store, limits)
    every = side_problem(side, placement, store, limits)
    assert few.representative is not None
    assert few.problem.columns < every.problem.columns
    one, other = (rows_with(each, cluster, np.random.default_rng(seed)) for each in (few, every))
    np.testing.assert_array_equal(one.relaxed, other.relaxed)
    assert [one.name(row) for row in range(len(few.rows))] == [other.name(row) for row in range(len(every.rows))]
    work, draw = cluster.work, np.random.default_rng([1, seed])
    node, way = np.full(JOBS, NONE), np.full(JOBS, NONE)
    node[one.start.job], way[one.start.job] = one.start.node, one.start.way
    answers = set()
    for j in draw.permutation(np.flatnonzero(node == NONE)).tolist():
        admitted = []
        for w in range(work.first_way[j], work.first_way[j + 1]):
            for n in np.flatnonzero(work.node_kind == work.kind[w]).tolist():
                answer = admits(one.guard, w, n)
                assert answer == admits(other.guard, w, n)
                answers.add(bool(answer))
                admitted += [(w, n)] if answer else []
        if admitted:
            w, n = admitted[draw.integers(len(admitted))]
            assert enter(one.guard, w, n) == enter(other.guard, w, n)
            node[j], way[j] = n, w
    placed = np.setdiff1d(np.flatnonzero(node != NONE), one.start.job)  # jobs that run already stay
    for j in draw.permutation(placed)[:10].tolist():  # plans as a whole
        again = node.copy()
        again[j] = draw.choice(np.flatnonzero(work.node_kind == work.kind[way[j]]))
        answer = holds(one.guard, again, way)
        assert answer == holds(other.guard, again, way)
        answers.add(bool(answer))
    return answers


@pytest.mark.parametrize("form", LIMITS)
def test_alike_nodes_admit_what_each_node_admits(form: str) -> None:
    assert set.union(*(answers_of(form, seed) for seed in range(6))) == {True, False}


@pytest.mark.parametrize("form", OTHERS)
def test_nodes_are_grounded_one_by_one_where_rows_distinguish_them_or_are_no_limits(form: str) -> None:
    built, side, cluster = built_of(OTHERS[form], 0, least=form == "everywhere")
    assert problem_of_alike_nodes(side, cluster.placement, built.instance.store, MemoryLimits()) is None
