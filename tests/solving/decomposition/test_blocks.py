"""Recognised and unrecognised structures, uses shared by rows, and rounding cuts against all integer points."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from block_problems import any_blocks, by_type
from msgspec import structs

from gpusched_dsl.ir.blocks import blocks_of
from gpusched_dsl.ir.domains import ScalarDomain
from gpusched_dsl.ir.problem import Family, Matrix, Problem
from gpusched_dsl.solving.decomposition.blocks import BlockStructure, split_problem
from gpusched_dsl.solving.decomposition.cuts import with_rounding_cuts
from gpusched_dsl.solving.decomposition.recognition import recognise_blocks


def parts_of(problem: Problem) -> BlockStructure:
    return split_problem(problem, blocks_of(problem, "Batch"))


@pytest.mark.slow
def test_rows_of_several_services_use_a_job_alike(tmp_path: Path) -> None:
    """One use per node type and slot, however many services the node may serve; the parts give the rows back."""
    shared = 0
    for problem in by_type(tmp_path, range(10), inference_sharing="independent").values():
        parts = parts_of(problem)
        point = np.random.default_rng(1).random(problem.columns)
        linking = np.flatnonzero(parts.blocks.row < 0)
        used = parts.use @ point[parts.own]
        activity = parts.a @ point[parts.shared] + np.where(parts.use_of >= 0, used[parts.use_of], 0.0)
        assert activity == pytest.approx(problem.matrix.activity(point)[linking])
        shared += int((parts.use_of >= 0).sum()) - parts.uses
    assert shared > 0


def a_job(tmp_path: Path) -> tuple[Problem, BlockStructure, int, int]:
    """A problem, its parts, a recognised block, and a row of the block that holds the start of a slot."""
    problem = next(iter(by_type(tmp_path, range(1), work_balance="exact").values()))
    parts = parts_of(problem)
    choices = recognise_blocks(parts)
    assert choices.recognised.all()
    start = int(parts.own[choices.start[0]])
    row = int(problem.matrix.row_of[np.flatnonzero(problem.matrix.columns == start)[0]])
    return problem, parts, int(choices.block[0]), row


def known_but(problem: Problem, block: int) -> tuple[bool, bool]:
    """Whether the block is recognised, and whether all the others are."""
    known = recognise_blocks(parts_of(problem)).recognised
    return bool(known[block]), bool(np.delete(known, block).all())


def test_rows_may_be_scaled_and_turned(tmp_path: Path) -> None:
    problem, _, block, _ = a_job(tmp_path)
    factors = np.where(np.arange(problem.rows) % 2 == 0, -2.0, 4.0)
    lower, upper = factors * problem.row_lower, factors * problem.row_upper
    matrix = structs.replace(problem.matrix, values=problem.matrix.values * factors[problem.matrix.row_of])
    turned = replace(
        problem, matrix=matrix, row_lower=np.minimum(lower, upper), row_upper=np.maximum(lower, upper)
    )  # fmt: skip
    assert known_but(turned, block) == (True, True)


@pytest.mark.slow
def test_a_block_that_differs_in_any_way_is_left_to_the_backend(tmp_path: Path) -> None:
    problem, parts, block, row = a_job(tmp_path)
    choices = recognise_blocks(parts)
    slot, start, home = (int(parts.own[c]) for c in (choices.slot[0], choices.start[0], choices.home[0]))

    def with_side(value: float) -> Problem:
        lower = problem.row_lower.copy()
        lower[row] = value
        return replace(problem, row_lower=lower)

    def with_bound(column: int, low: float, high: float) -> Problem:
        lower, upper = problem.lower.copy(), problem.upper.copy()
        lower[column], upper[column] = low, high
        return replace(problem, lower=lower, upper=upper)

    integer = problem.integer.copy()
    integer[slot] = False
    at = problem.matrix.starts[row]
    values = problem.matrix.values.copy()
    values[at] *= 3
    costs = problem.objectives[0]
    cheap = tuple(
        structs.replace(t, coefficients=np.where(t.columns == start, -1.0, t.coefficients)) for t in costs.terms
    )
    different = {
        "a side": with_side(-0.5),
        "a coefficient": replace(problem, matrix=structs.replace(problem.matrix, values=values)),
        "a slot that must be used": with_bound(slot, 1, 1),
        "a slot used twice": with_bound(slot, 0, 2),
        "half an alternative": with_bound(home, 0, 0.5),
        "half a start": with_bound(start, 0, 0.5),
        "a slot that is not whole": replace(problem, integer=integer),
        "starts that pay": replace(problem, objectives=(structs.replace(costs, terms=cheap),)),
        "one row more": with_row(problem, [slot, home]),
    }
    for name, other in different.items():
        assert known_but(other, block) == (False, True), name
    assert known_but(with_bound(slot, 0, 0), block) == (True, True)  # it is never used then


def with_row(problem: Problem, columns: list[int]) -> Problem:
    count = len(columns)
    more = Matrix(np.array([0, count]), np.array(sorted(columns), dtype=np.int32), np.ones(count))
    return replace(
        problem,
        constraints=(*problem.constraints, Family("more", problem.rows, ScalarDomain())),
        matrix=problem.matrix.with_rows_below(more),
        row_lower=np.append(problem.row_lower, 0.0),
        row_upper=np.append(problem.row_upper, 2.0),
    )


@pytest.mark.quick(6)
@pytest.mark.parametrize("seed", range(40))
def test_rounding_cuts_keep_every_whole_point(seed: int) -> None:
    """And cut something off: in most cases a corner of the linear relaxation."""
    random = np.random.default_rng(seed)
    width = int(random.integers(1, 4))
    row = random.uniform(0.3, 9, width).round(2)
    side = float(random.uniform(1, 20))
    sign = -1.0 if seed % 2 else 1.0
    base = split_problem(any_blocks(0), blocks_of(any_blocks(0), "Parts"))
    problem = replace(
        base.problem, lower=np.zeros(width), upper=np.full(width, 9.0), integer=np.ones(width, dtype=np.bool_)
    )  # fmt: skip
    parts = replace(
        base,
        problem=problem,
        shared=np.arange(width),
        shared_cost=np.zeros(width),
        a=sp.csr_array(sign * row[None, :]),
        lower=np.array([side if sign > 0 else -np.inf]),
        upper=np.array([np.inf if sign > 0 else -side]),
        use_of=np.array([-1]),
    )
    strong = with_rounding_cuts(parts)
    cuts, sides = strong.a[1:].toarray(), strong.lower[1:]
    assert len(sides)
    for point in product(range(10), repeat=width):
        if row @ np.array(point) >= side:
            assert (cuts @ np.array(point) >= sides - 1e-7).all(), point
    for k in range(width):
        corner = np.zeros(width)
        corner[k] = side / row[k]
        fraction = corner[k] % 1
        if 1e-3 < fraction < 1 - 1e-3:
            assert (cuts @ corner < sides - 1e-6).any(), k
