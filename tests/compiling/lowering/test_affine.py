"""Rows are assembled from blocks: repeats summed, zeros dropped, order of rows kept."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpusched_dsl.compiling.lowering.affine import Affine, AffineBlock, assemble
from gpusched_dsl.ir.problem import Matrix

SIZE, COLUMNS = 5, 6


@st.composite
def blocks(draw: st.DrawFn) -> list[AffineBlock]:
    made = []
    for number in range(draw(st.integers(0, 4))):
        everywhere = draw(st.booleans())
        rows = None
        count = SIZE
        if not everywhere:
            rows = np.array(sorted(draw(st.lists(st.integers(0, SIZE - 1), max_size=12))), dtype=np.int64)
            count = len(rows)
        columns = np.array(draw(st.lists(st.integers(0, COLUMNS - 1), min_size=count, max_size=count)), dtype=np.int64)
        coefficients = np.array(
            draw(st.lists(st.sampled_from([-2.0, -1.0, 0.0, 0.5, 3.0]), min_size=count, max_size=count))
        )
        made.append(AffineBlock(rows, columns, coefficients, f"v{number % 2}", frozenset(), distinct=False))
    return made


def dense(made: list[AffineBlock]) -> np.ndarray:
    result = np.zeros((SIZE, COLUMNS))
    for block in made:
        rows = np.arange(SIZE) if block.rows is None else block.rows
        np.add.at(result, (rows, block.columns), block.coefficients)
    return result


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(blocks())
def test_assembled_rows_equal_the_dense_sum(made: list[AffineBlock]) -> None:
    starts, columns, values = assemble(SIZE, made)
    matrix = Matrix(starts, columns, values)
    result = np.zeros((SIZE, COLUMNS))
    result[matrix.row_of, columns] = values
    np.testing.assert_allclose(result, dense(made))
    assert np.all(values != 0.0)
    assert len(set(zip(matrix.row_of.tolist(), columns.tolist(), strict=True))) == len(columns)


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(blocks(), st.lists(st.integers(0, 2), min_size=SIZE, max_size=SIZE))
def test_summing_over_parents_adds_rows(made: list[AffineBlock], parents: list[int]) -> None:
    parent = np.array(sorted(parents), dtype=np.int64)
    affine = Affine(SIZE, np.arange(SIZE, dtype=np.float64), tuple(made))
    summed = affine.sum_rows(parent, 3, frozenset())
    expected = np.zeros((3, COLUMNS))
    np.add.at(expected, parent, dense(made))
    starts, columns, values = assemble(3, summed.blocks)
    result = np.zeros((3, COLUMNS))
    result[Matrix(starts, columns, values).row_of, columns] = values
    np.testing.assert_allclose(result, expected)
    np.testing.assert_allclose(summed.constant, np.bincount(parent, weights=np.arange(SIZE), minlength=3))


def test_spread_puts_rows_where_they_belong() -> None:
    block = AffineBlock(None, np.array([1, 2]), np.array([3.0, 4.0]), "v", frozenset())
    spread = Affine(2, np.array([5.0, 6.0]), (block,)).spread(np.array([0, 3]), 4)
    assert spread.constant.tolist() == [5.0, 0.0, 0.0, 6.0]
    starts, columns, values = assemble(4, spread.blocks)
    assert starts.tolist() == [0, 1, 1, 1, 2]
    assert (columns.tolist(), values.tolist()) == ([1, 2], [3.0, 4.0])


def test_blocks_of_one_family_are_merged_although_each_is_distinct() -> None:
    columns = np.arange(SIZE, dtype=np.int64)
    made = [AffineBlock(None, columns, np.full(SIZE, factor), "v", frozenset(), distinct=True) for factor in (1.0, 2.0)]
    starts, found, values = assemble(SIZE, made)
    assert starts.tolist() == list(range(SIZE + 1))
    assert found.tolist() == columns.tolist()
    assert values.tolist() == [3.0] * SIZE
